package clients

import (
	"bytes"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// lockedBuffer may be read while a process writes to it.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

const (
	initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"curl","version":"1"}}}`
	terminal   = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"terminal","arguments":{"command":"echo $((6*7))"}}}`
)

func TestCurl(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("there is no curl")
	}
	w := newWorld(t)
	url := w.serve("mcp", "--http", "127.0.0.1:0") + "/mcp"
	curl := func(args ...string) string {
		t.Helper()
		out, err := w.command("curl", append([]string{"-sS", "-i", "-H", "Accept: application/json, text/event-stream"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("curl %q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	json := []string{"-H", "Content-Type: application/json"}
	with := append(json, "-H", "Authorization: Bearer "+key)
	began := curl(slices.Concat(with, []string{"-d", initialize, url})...)
	found := regexp.MustCompile(`(?i)mcp-session-id: (\S+)`).FindStringSubmatch(began)
	if found == nil || !strings.Contains(began, "200 OK") || !strings.Contains(began, `"hermes"`) {
		t.Fatalf("initialize: %s", began)
	}
	session := "Mcp-Session-Id: " + found[1]
	with = slices.Concat(with, []string{"-H", session})
	curl(slices.Concat(with, []string{"-d", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, url})...)
	if out := curl(slices.Concat(with, []string{"-d", terminal, url})...); !strings.Contains(out, "42") {
		t.Errorf("terminal: %s", out)
	}
	for name, test := range map[string]struct {
		args   []string
		status string
	}{
		"no key":                            {[]string{"-d", initialize, url}, "401"},
		"another key, with a session's id":  {[]string{"-H", "Authorization: Bearer 00000000000000000000", "-H", session, "-d", terminal, url}, "401"},
		"no key, with a session's id":       {[]string{"-H", session, "-X", "DELETE", url}, "401"},
		"a foreign host":                    {slices.Concat(with, []string{"-H", "Host: evil.example", "-d", terminal, url}), "421"},
		"a foreign origin":                  {slices.Concat(with, []string{"-H", "Origin: https://evil.example", "-d", terminal, url}), "403"},
		"a foreign origin without a key":    {[]string{"-H", "Origin: https://evil.example", "-d", terminal, url}, "403"},
		"a stream without a session":        {[]string{"-H", "Authorization: Bearer " + key, url}, "400"},
		"a session that there is not":       {slices.Concat(json, []string{"-H", "Authorization: Bearer " + key, "-H", "Mcp-Session-Id: none", "-d", terminal, url}), "404"},
		"a version that there is not":       {slices.Concat(with, []string{"-H", "Mcp-Protocol-Version: 1999-01-01", "-d", terminal, url}), "400"},
		"another method":                    {slices.Concat(with, []string{"-X", "PUT", "-d", terminal, url}), "405"},
		"another kind of content":           {[]string{"-H", "Authorization: Bearer " + key, "-H", session, "-H", "Content-Type: text/plain", "-d", terminal, url}, "415"},
		"another path":                      {slices.Concat(with, []string{strings.TrimSuffix(url, "mcp") + "elsewhere"}), "404"},
		"whether it is well, for everybody": {[]string{strings.TrimSuffix(url, "mcp") + "health"}, "200"},
	} {
		if out := curl(test.args...); !regexp.MustCompile(`^HTTP/1.1 ` + test.status).MatchString(out) {
			t.Errorf("%s: not %s: %s", name, test.status, out)
		}
	}
	if out := curl(slices.Concat(with, []string{"-X", "DELETE", url})...); !strings.Contains(out, "204") {
		t.Errorf("the end of the session: %s", out)
	}
	if out := curl(slices.Concat(with, []string{"-d", terminal, url})...); !strings.Contains(out, "404") {
		t.Errorf("afterwards: %s", out)
	}
}
