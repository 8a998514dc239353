package pyruntime_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"hermes.example/hermes/test/apis"
)

// oddSDK stands for Firecrawl's: what is searched for is the name of what it does.
const oddSDK = `
import os, subprocess, sys, threading, time

print("rubbish of the import")

class Found:
    def __init__(self, text): self.web = [type("Item", (), {"title": text, "url": "u", "description": ""})]

class Firecrawl:
    def __init__(self, api_key, **_): self.key = api_key
    def search(self, query, limit):
        name, _, argument = query.partition(" ")
        return Found(getattr(self, name)(argument))
    def echo(self, argument): return argument
    def rubbish(self, _):
        print("rubbish of Python")
        os.write(1, b"rubbish of C\n")
        subprocess.run(["echo", "rubbish of a child"])
        return repr(sys.stdin.read())
    def fails(self, _): raise KeyError("two\nlines with " + self.key)
    def exits(self, _): sys.exit("I leave")
    def huge(self, megabytes): return "x" * (int(megabytes) << 20)
    def surrogate(self, _): return "half \ud800 of one"
    def object(self, _): return object()
    def memory(self, _): raise MemoryError
    def hangs(self, _): time.sleep(1000)
    def reads(self, path): return open(path).read()
    def forks(self, _):
        child = os.fork()
        if child == 0:
            time.sleep(1000)
            os._exit(0)
        return str(child)
    together = threading.Barrier(20)
    def meet(self, _): return str(self.together.wait(60))
`

// odd is the host with that SDK.
func odd(t *testing.T) *hosted {
	t.Helper()
	s := newStore(t)
	s.publish(map[string]string{"firecrawl.py": oddSDK})
	s.env = append(s.env, "FIRECRAWL_API_KEY="+apis.Key)
	return s.host("adapter", "firecrawl")
}

func search(query string) map[string]any { return map[string]any{"query": query} }

// title is what the odd SDK has answered.
func (h *hosted) title(query string) string {
	h.Helper()
	r := h.call("web_search", search(query))
	_, title, _ := strings.Cut(string(r.Structured), `"title":"`)
	title, _, _ = strings.Cut(title, `","url"`)
	if r.Failed {
		h.Errorf("%s: %s", query, r.text())
	}
	return title
}

func TestTheHostSpeaksTheProtocol(t *testing.T) {
	h := odd(t)
	for asked, answered := range map[string]string{
		"2025-11-25": "2025-11-25", "2025-06-18": "2025-06-18", "2024-11-05": "2024-11-05", "2025-03-26": "2025-11-25", "2031-01-01": "2025-11-25",
	} {
		m := h.ask("initialize", map[string]any{"protocolVersion": asked, "capabilities": map[string]any{}, "clientInfo": map[string]any{}})
		if want := `"protocolVersion":"` + answered + `"`; !strings.Contains(string(m.Result), want) || !strings.Contains(string(m.Result), `"capabilities":{"tools":{}}`) {
			t.Errorf("asked for %s it says %s", asked, m.Result)
		}
	}
	h.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	if m := h.ask("ping", nil); string(m.Result) != "{}" {
		t.Errorf("ping: %s", m.Result)
	}
	if m := h.ask("tools/list", nil); !strings.Contains(string(m.Result), `"name":"web_search"`) || !strings.Contains(string(m.Result), `"outputSchema"`) {
		t.Errorf("its tools are %s", m.Result)
	}
	for line, code := range map[string]int{
		`{"jsonrpc":"2.0","id":"a","method":"server/discover"}`:                     -32601,
		`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"none"}}`: -32602,
		`{"jsonrpc":"2.0","id":1,"method":["ping"]}`:                                -32600,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":[1]}}`:      -32602,
		`{"jsonrpc":"2.0","id":null,"method":"ping"}`:                               -32600,
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}`:                     -32600,
		`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`:                                -32600,
		`{"id":1,"method":"ping"}`:                                                  -32600,
		`{"jsonrpc":`:                                                               -32700,
		"\xff\xfe":                                                                  -32700,
		strings.Repeat("[", 100_000):                                                -32700,
	} {
		h.send(line)
		if m := h.read(); m.Error == nil || m.Error.Code != code {
			t.Errorf("%.80s is answered %s, %+v", line, m.Result, m.Error)
		}
	}
	h.send("\n" + `{"jsonrpc":"2.0","id":7,"result":{}}` + "\n" + `{"jsonrpc":"2.0","method":"notifications/of/others"}`)
	if got := h.title("echo still here"); got != "still here" {
		t.Errorf("then it says %q", got)
	}
}

// Who asks which tools there are does not wait for the SDK.
func TestToolsAreListedBeforeTheSDKIsLoaded(t *testing.T) {
	s := newStore(t)
	gate := filepath.Join(t.TempDir(), "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	s.publish(map[string]string{"firecrawl.py": "open(" + strconv.Quote(gate) + ").read()\n" + oddSDK})
	s.env = append(s.env, "FIRECRAWL_API_KEY="+apis.Key)
	h := s.host("adapter", "firecrawl")
	h.ask("tools/list", nil)
	h.begin("web_search", search("echo loaded"))
	h.ask("ping", nil)
	if err := os.WriteFile(gate, nil, 0); err != nil {
		t.Fatal(err)
	}
	if r := h.result(h.read()); !strings.Contains(r.text(), "loaded") {
		t.Errorf("the call is answered %v", r)
	}
}

func TestArgumentsAreChecked(t *testing.T) {
	h := odd(t)
	for _, c := range []struct {
		tool, arguments, why string
	}{
		{"web_search", `{}`, `"query" is missing`},
		{"web_search", `{"query":1}`, `"query" must be a text`},
		{"web_search", `{"query":""}`, `"query" must have at least 1 characters`},
		{"web_search", `{"query":"echo","limit":0}`, `"limit" must be at least 1`},
		{"web_search", `{"query":"echo","limit":51}`, `"limit" must be at most 50`},
		{"web_search", `{"query":"echo","limit":true}`, `"limit" must be a whole number`},
		{"web_search", `{"query":"echo","Limit":1}`, `there is no "Limit"; it takes query, limit`},
		{"web_search", `["echo"]`, `the arguments must be an object`},
		{"web_extract", `{"urls":"https://example.com"}`, `"urls" must be a list`},
		{"web_extract", `{"urls":["https://example.com",1]}`, `entry 2 of "urls" must be a text`},
		{"web_extract", `{"urls":[]}`, `"urls" must have at least 1 entries`},
	} {
		h.next++
		h.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, h.next, c.tool, c.arguments))
		if r := h.result(h.read()); !r.Failed || r.text() != "cannot call "+c.tool+": "+c.why {
			t.Errorf("%s %s: %v", c.tool, c.arguments, r)
		}
	}
}

func TestWhatAToolRaisesIsItsAnswer(t *testing.T) {
	h := odd(t)
	for query, want := range map[string]string{
		"fails":     `web_search has failed: KeyError: 'two\nlines with [hidden]'`,
		"exits":     `web_search has failed: SystemExit: I leave`,
		"object":    `web_search has failed: TypeError: Object of type object is not JSON serializable`,
		"huge 16":   `the answer of web_search has`,
		"unknown x": `web_search has failed: AttributeError`,
	} {
		if r := h.call("web_search", search(query)); !r.Failed || !strings.HasPrefix(r.text(), want) || strings.Contains(r.text(), "\n") {
			t.Errorf("%s: %v", query, r)
		}
	}
	if got := h.title("echo on"); got != "on" {
		t.Errorf("then it says %q", got)
	}
	h.finish()
	if said := h.said.String(); !strings.Contains(said, "Traceback") || !strings.Contains(said, "lines with [hidden]") || strings.Contains(said, apis.Key) {
		t.Errorf("on standard error: %s", said)
	}
}

// What an SDK prints, in whichever way, is no message; and it cannot read what we are asked.
func TestRubbishIsNoMessage(t *testing.T) {
	h := odd(t)
	if got := h.title("rubbish"); got != "''" {
		t.Errorf("it could read %s", got)
	}
	h.finish()
	for _, rubbish := range []string{"of the import", "of Python", "of C", "of a child"} {
		if !strings.Contains(h.said.String(), "rubbish "+rubbish) {
			t.Errorf("rubbish %s is lost", rubbish)
		}
	}
}

func TestAnswersAreUTF8AndMayBeLarge(t *testing.T) {
	h := odd(t)
	h.begin("web_search", search("surrogate"))
	line := <-h.lines
	if !utf8.ValidString(line) || !strings.Contains(line, "half ? of one") {
		t.Errorf("half of a character: %q", line)
	}
	if got := h.title("huge 5"); len(got) != 5<<20 {
		t.Errorf("of 5 MiB came %d", len(got))
	}
}

func TestCallsRunSideBySide(t *testing.T) {
	h := odd(t)
	open := map[any]bool{}
	for range 20 { // each waits for all others
		open[float64(h.begin("web_search", search("meet")))] = true
	}
	for range 80 {
		open[float64(h.begin("web_search", search("echo")))] = true
	}
	for len(open) > 0 {
		m := h.read()
		if !open[m.ID] || h.result(m).Failed {
			t.Fatalf("answered is %v: %s", m.ID, m.Result)
		}
		delete(open, m.ID)
	}
}

func TestACancelledCallHasNoAnswer(t *testing.T) {
	h := odd(t)
	gate := filepath.Join(t.TempDir(), "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	running := h.begin("web_search", search("reads "+gate))
	open, err := os.OpenFile(gate, os.O_WRONLY, 0) // when it has begun
	if err != nil {
		t.Fatal(err)
	}
	h.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, running))
	h.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":["no id"]}}`)
	if got := h.title("echo now"); got != "now" { // it keeps no other one waiting
		t.Errorf("beside it, it says %q", got)
	}
	open.Close()
	for range 20 {
		if got := h.title("echo on"); got != "on" {
			t.Errorf("then it says %q", got)
		}
	}
}

func TestOneIDIsOneCall(t *testing.T) {
	h := odd(t)
	id := h.begin("web_search", search("hangs"))
	h.next--
	if m := h.ask("tools/call", map[string]any{"name": "web_search", "arguments": search("echo")}); m.ID != float64(id) || m.Error == nil || m.Error.Code != -32600 {
		t.Errorf("the second one is answered %s, %+v", m.Result, m.Error)
	}
}

// Its end is at once, whatever its threads do, and is seen although its children live on.
func TestTheEndOfInputEndsItAtOnce(t *testing.T) {
	h := odd(t)
	child, err := strconv.Atoi(h.title("forks"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(child, syscall.SIGKILL) })
	h.begin("web_search", search("hangs"))
	began := time.Now()
	h.finish()
	if err := syscall.Kill(child, 0); err != nil || time.Since(began) > hang/2 {
		t.Errorf("after %s its child is: %v", time.Since(began), err)
	}
}

func TestWithoutMemoryItEnds(t *testing.T) {
	h := odd(t)
	h.begin("web_search", search("memory"))
	if status := h.wait(); status != 1 || !strings.HasSuffix(h.said.String(), "out of memory\n") {
		t.Errorf("it ended with %d: %s", status, h.said)
	}
}

func TestAnSDKThatCannotBeLoaded(t *testing.T) {
	for content, want := range map[string]string{
		"":                                  "cannot load search.firecrawl: ModuleNotFoundError: No module named 'firecrawl'\n",
		"raise ImportError('two\\nlines')":  "cannot load search.firecrawl: ImportError: two lines\n",
		"import sys; sys.exit('not today')": "cannot load search.firecrawl: SystemExit: not today\n",
	} {
		s := newStore(t)
		if content != "" {
			s.publish(map[string]string{"firecrawl.py": content})
		}
		h := s.host("adapter", "firecrawl")
		if status := h.wait(); status != 1 || !strings.HasSuffix(h.said.String(), want) {
			t.Errorf("%s: it ended with %d: %s", content, status, h.said)
		}
	}
}

// A server of others has its input and output as they are.
func TestAModuleIsRunAsItIs(t *testing.T) {
	s := newStore(t)
	s.publish(map[string]string{"ready/__init__.py": "", "ready/__main__.py": "import sys\nprint(sys.argv[1:], __name__, sys.stdin.read())\n"})
	cmd := s.command("-I", "-m", "hermes_host", "module", "ready", "--repository", "x")
	cmd.Stdin = strings.NewReader("all of it")
	if got := s.output(cmd); got != "['--repository', 'x'] __main__ all of it" {
		t.Errorf("it is %s", got)
	}
}

func TestWhatTheHostCannotStart(t *testing.T) {
	s := newStore(t)
	s.publish(map[string]string{"hermes_adapters/mine.py": "", "hermes_host/mine.py": ""})
	for arguments, want := range map[string]string{
		"":                      "wanted is adapter NAME",
		"adapter":               "wanted is adapter NAME",
		"adapter a.b":           "wanted is adapter NAME",
		"adapter firecrawl now": "wanted is adapter NAME",
		"adapter none":          `there is no adapter "none"`,
		"adapter mine":          `there is no adapter "mine"`, // no add-on brings one
		"module":                "wanted is adapter NAME",
		"module none":           "No module named none",
	} {
		h := s.host(strings.Fields(arguments)...)
		if status := h.wait(); status != 1 || !strings.Contains(h.said.String(), want) {
			t.Errorf("%q: it ended with %d: %s", arguments, status, h.said)
		}
	}
}
