package pyruntime_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hermes.example/hermes/test/apis"
)

// hostileSDK is one that does what nobody would expect of an SDK.
const hostileSDK = oddSDK + `
import json

class Refused(Exception):
    status_code = 400

class Silent(Exception):
    def __str__(self): raise ValueError("I say nothing")

class Firecrawl(Firecrawl):
    def talks(self, megabytes): raise KeyError("x" * (int(megabytes) << 20))
    def silent(self, _): raise Silent
    def portal(self, _): json.loads("<html>")
    def often(self, seconds):
        refused = Refused()
        refused.status_code, refused.headers = 429, {"Retry-After": seconds}
        raise refused
    def quotes(self, before): raise Refused("." * int(before) + self.key)
    def shows(self, _): raise KeyError({"key": self.key})
    def mute(self, _):
        os.close(2)
        raise KeyError("on a closed door")
    def forks_twice(self, path):
        if os.fork() == 0:
            files = [open(path, "w") for _ in range(8)]  # under the numbers that are free in a child
            if os.fork() == 0:
                for file in files:
                    file.write("kept")
                    file.flush()
                open(path + ".done", "w").close()
                os._exit(0)
            os._exit(os.wait()[1] != 0)
        return str(os.wait()[1])
`

func hostile(t *testing.T, key string) *hosted {
	t.Helper()
	s := newStore(t)
	s.publish(map[string]string{"firecrawl.py": hostileSDK})
	s.env = append(s.env, "FIRECRAWL_API_KEY="+key)
	return s.host("adapter", "firecrawl")
}

// No message ends it, however strange its parts are.
func TestMessagesOfOtherShapesAreAnswered(t *testing.T) {
	h := hostile(t, apis.Key)
	for line, code := range map[string]int{
		`{"jsonrpc":"2.0","id":1,"method":["ping"]}`:                                -32600,
		`{"jsonrpc":"2.0","id":1,"method":{}}`:                                      -32600,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":["a"]}}`:    -32602,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":{"a":{}}}}`: -32602,
	} {
		h.send(line)
		if m := h.read(); m.Error == nil || m.Error.Code != code {
			t.Errorf("%s is answered %s, %+v", line, m.Result, m.Error)
		}
	}
	m := h.ask("initialize", map[string]any{"protocolVersion": []string{"2025-11-25"}})
	if !strings.Contains(string(m.Result), `"protocolVersion":"2025-11-25"`) {
		t.Errorf("it says %s", m.Result)
	}
	h.send(`{"jsonrpc":"2.0","method":["notifications"]}`)
	if got := h.title("echo on"); got != "on" {
		t.Errorf("then it says %q", got)
	}
}

// Every call has an answer of a length that somebody reads, whatever was raised in it.
func TestWhateverIsRaisedIsAnswered(t *testing.T) {
	h := hostile(t, apis.Key)
	for query, want := range map[string]string{
		"talks 20":                          "web_search has failed: KeyError: 'xxx",
		"silent":                            "web_search has failed: Silent",
		"portal":                            "cannot understand Firecrawl: the answer is no JSON; check the network",
		"often 12":                          "Firecrawl was asked too often: try again in 12 s",
		"often " + strings.Repeat("9", 900): "Firecrawl was asked too often: try again later",
		"mute":                              "web_search has failed: KeyError: 'on a closed door'",
	} {
		if r := h.call("web_search", search(query)); !r.Failed || !strings.HasPrefix(r.text(), want) || len(r.text()) > 5000 {
			t.Errorf("%s: %.200s", query, r)
		}
	}
	if got := h.title("echo on"); got != "on" {
		t.Errorf("then it says %q", got)
	}
}

// What a cut leaves of a secret is one, too, and so is a secret that was quoted.
func TestNoPartOfASecretIsShown(t *testing.T) {
	h := hostile(t, apis.Key)
	for before := 200 - len(apis.Key) - 2; before <= 200; before++ {
		r := h.call("web_search", search(fmt.Sprint("quotes ", before)))
		if !r.Failed || strings.Contains(r.text(), apis.Key[:4]) {
			t.Fatalf("%d before it: %s", before, r)
		}
	}
	h = hostile(t, "two\nlines'of a\\key")
	if r := h.call("web_search", search("shows")); !r.Failed || strings.Contains(r.text(), "lines") || strings.Contains(h.said.String(), "lines") {
		t.Errorf("%s; on standard error: %s", r, h.said)
	}
}

// A child of a child loses no file of its own.
func TestTheChildrenOfChildrenKeepTheirFiles(t *testing.T) {
	h := hostile(t, apis.Key)
	path := filepath.Join(t.TempDir(), "file")
	if got := h.title("forks_twice " + path); got != "0" {
		t.Errorf("they ended with %s: %s", got, h.said)
	}
	if _, err := os.Stat(path + ".done"); err != nil {
		t.Errorf("%v: %s", err, h.said)
	}
}

// However many callers give up waiting for an API that never ends its answer, the next one is served; a process that
// has too many of such calls ends, and is started anew.
func TestCallsThatNobodyWaitsForBlockNobody(t *testing.T) {
	h := hostile(t, apis.Key)
	abandon := func() {
		gate := filepath.Join(t.TempDir(), "gate")
		if err := syscall.Mkfifo(gate, 0o600); err != nil {
			t.Fatal(err)
		}
		id := h.begin("web_search", search("reads "+gate))
		open, err := os.OpenFile(gate, os.O_WRONLY, 0) // when it has begun
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { open.Close() })
		h.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id))
	}
	for range 64 {
		abandon()
	}
	if got := h.title("echo on"); got != "on" {
		t.Errorf("then it says %q", got)
	}
	h.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"web_search","arguments":{"query":"echo again"}}}`, 1))
	if m := h.read(); m.ID != float64(1) || !strings.Contains(string(m.Result), "again") { // an id that is free again
		t.Errorf("%v: %s", m.ID, m.Result)
	}
	abandon()
	if status := h.wait(); status != 1 || !strings.HasSuffix(h.said.String(), "65 calls do not end\n") {
		t.Errorf("it ended with %d: %s", status, h.said)
	}
}
