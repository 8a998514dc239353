package e2e

import (
	"bytes"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// apiPage shows the API by commands that need a gateway.
const apiPage = "api.md"

// apiKey is that of the gateways here, and documented where the pages say that one listens.
const (
	apiKey     = "0123456789abcdef-test"
	documented = "http://127.0.0.1:8642"
)

// gateway runs one of the world until the test ends, and returns its address. The world's commands know its key.
func (w *world) gateway() string {
	w.t.Helper()
	port, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	address := port.Addr().String()
	port.Close()
	_, number, _ := strings.Cut(address, ":")
	w.env = append(w.env, "API_SERVER_KEY="+apiKey, "API_SERVER_PORT="+number, "HERMES_ALLOW_ROOT_GATEWAY=1")
	cmd := w.command("gateway", "run")
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			w.t.Errorf("the gateway ended with %v: %s", err, said.String())
		}
	})
	eventually(w.t, "the gateway answers", func() bool {
		answer, err := http.Get("http://" + address + "/health")
		if err != nil {
			return false
		}
		answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})
	return "http://" + address
}

// Every command of the page about the API is run, in order, against one gateway, and has to say what the page says.
func TestAPIPageIsTrue(t *testing.T) {
	for _, program := range []string{"curl", "jq"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	who := ordinary // a gateway is nobody's who has all rights
	w := newWorld(t, who)
	address := w.gateway()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", apiPage))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, m := range fence.FindAllStringSubmatch(string(text), -1) {
		if m[1] != "console" {
			continue
		}
		for _, s := range transcript(m[2]) {
			found++
			began := time.Now()
			out, status := w.shell(strings.ReplaceAll(s.command, documented, address))
			if status != s.status || !s.pattern().MatchString(out) {
				t.Errorf("%s\nsays (status %d)\n%s\nthe page says (status %d)\n%s", s.command, status, out, s.status, strings.Join(s.output, "\n"))
			}
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("%s\ntook %v", s.command, took)
			}
		}
	}
	if found < 30 {
		t.Errorf("only %d commands were found", found)
	}
	// What it made is what the command line knows.
	if list := w.must("sandbox", "ls"); !strings.Contains(list, "build") {
		t.Errorf("the command line does not know the sandbox:\n%s", list)
	}
}
