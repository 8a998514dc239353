package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"hermes.example/hermes/internal/supervise"
	"hermes.example/hermes/internal/survey"
)

// The whole of it: the command line opens the home, the door stands before it, and the house tells of it.
func TestTheDashboardShowsTheHomeToWhoHasASession(t *testing.T) {
	b := newBoard("gateway-default")
	b.statuses["gateway-default"] = supervise.Status{Name: "gateway-default", Want: "up", State: supervise.Ready, PID: 7, Since: time.Now()}
	a, _, stderr := testApp()
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	a.stdout, a.services, a.lookup = write, b, lookupIn(map[string]string{"HERMES_HOME": t.TempDir(), "TERMINAL_ENV": "local", allowRoot: "1"})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan int, 1)
	go func() {
		ended <- a.run(ctx, []string{"dashboard", "--port", "0"})
		write.Close()
	}()
	line, err := bufio.NewReader(read).ReadString('\n')
	if err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	open, err := url.Parse(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	jar, _ := cookiejar.New(nil)
	client := &http.Client{Jar: jar, Timeout: 20 * time.Second}
	ask := func(path string) (int, string) {
		r, err := client.Get(open.Scheme + "://" + open.Host + path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		text, _ := io.ReadAll(r.Body)
		return r.StatusCode, string(text)
	}
	for _, path := range []string{"/api/overview", "/api/sessions", "/api/profiles/default/v1/sandboxes", "/api/nothing"} {
		if status, text := ask(path); status != 401 {
			t.Errorf("without a session: %s: %d %s", path, status, text)
		}
	}
	if status, text := ask(open.RequestURI()); status != 200 {
		t.Fatalf("the address does not log in: %d %s", status, text)
	}
	status, text := ask("/api/overview")
	var o survey.Overview
	if err := json.Unmarshal([]byte(text), &o); err != nil || status != 200 {
		t.Fatalf("%d %s: %v", status, text, err)
	}
	if o.Engine.Name != "local" || len(o.Profiles) != 1 || o.Profiles[0].Gateway == nil || o.Profiles[0].Gateway.PID != 7 || o.Addons.Features == 0 {
		t.Errorf("%s", text)
	}
	if status, text := ask("/api/profiles/default/v1/sandboxes"); status != 200 || !strings.Contains(text, `"sandboxes":[]`) {
		t.Errorf("%d %s", status, text)
	}
	if status, text := ask("/api/sessions"); status != 404 {
		t.Errorf("%d %s", status, text)
	}
	stop()
	select {
	case status := <-ended:
		if status != 0 {
			t.Errorf("it ends with %d: %s", status, stderr)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("it does not end")
	}
}
