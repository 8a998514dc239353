package cli

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// A command under a key goes on when its gateway is killed, and who asks the next gateway for it gets what it did.
func TestACommandOutlivesAKilledGateway(t *testing.T) {
	home, run := t.TempDir(), t.TempDir()
	env := []string{"XDG_RUNTIME_DIR=" + run, "API_SERVER_KEY=of-a-killed-gateway", "TERMINAL_ENV=local"}
	t.Cleanup(func() {
		if status := hermes(t, home, env, "sandbox", "prune", "--all", "--yes").ends(); status != 0 {
			t.Errorf("prune: %d", status)
		}
	})
	ask := func(address, key, line string) (*http.Response, error) {
		r, _ := http.NewRequest("POST", address+"/v1/sandboxes/t/exec", strings.NewReader(`{"line":"`+line+`"}`))
		r.Header = http.Header{"Authorization": {"Bearer of-a-killed-gateway"}, "Content-Type": {"application/json"}}
		if key != "" {
			r.Header.Set("Idempotency-Key", key)
		}
		return http.DefaultClient.Do(r)
	}
	const line = "echo ran >>ran; echo begun; until [ -e go ]; do sleep 0.05; done; cat ran; exit 4"
	first := hermes(t, home, env, "gateway", "run")
	address := first.address()
	lost := make(chan error, 1)
	go func() {
		_, err := ask(address, "once", line)
		lost <- err
	}()
	for begun := false; !begun; {
		answer, err := ask(address, "", "until [ -e ran ]; do sleep 0.02; done")
		if err != nil {
			t.Fatal(err)
		}
		begun = answer.StatusCode == 200
		answer.Body.Close()
	}
	first.cmd.Process.Kill()
	if err := <-lost; err == nil {
		t.Error("a killed gateway has answered")
	}
	first.ends()
	address = hermes(t, home, env, "gateway", "run").address()
	if answer, err := ask(address, "", ": >go"); err != nil || answer.StatusCode != 200 {
		t.Fatalf("%v, %v", answer, err)
	}
	answer, err := ask(address, "once", line)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, _ := io.ReadAll(answer.Body); !strings.Contains(string(text), `"code":4`) || !strings.Contains(string(text), `"text":"begun\nran\n"`) {
		t.Errorf("asked for again: %d %s", answer.StatusCode, text)
	}
}
