package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// homeProcess is a whole home that runs, with somebody who has logged in to its dashboard.
type homeProcess struct {
	url, home string
	pid       string // of the dashboard
	cmd       *exec.Cmd
	client    http.Client
	ctx       context.Context
}

// wholeHome runs `hermes up` in a home of its own until somebody is logged in.
func (r *runner) wholeHome() (*homeProcess, error) {
	run := filepath.Join(r.home, "run")
	if err := os.MkdirAll(run, 0o700); err != nil {
		return nil, err
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	h := &homeProcess{home: filepath.Join(r.home, "up"), ctx: r.ctx, client: http.Client{Jar: jar, Transport: &http.Transport{DisableCompression: true}}}
	h.cmd = exec.CommandContext(r.ctx, r.Hermes, "up", "--json")
	h.cmd.Env = append(os.Environ(), "HERMES_HOME="+h.home, "XDG_RUNTIME_DIR="+run, "API_SERVER_PORT=0", "HERMES_DASHBOARD_PORT=0", "HERMES_ALLOW_ROOT_GATEWAY=1")
	h.cmd.Cancel = func() error { return h.cmd.Process.Signal(syscall.SIGTERM) }
	h.cmd.WaitDelay = 15 * time.Second
	said, err := h.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := h.cmd.Start(); err != nil {
		return nil, err
	}
	var found struct{ Dashboard struct{ URL, Problem string } }
	if err = json.NewDecoder(said).Decode(&found); err == nil && found.Dashboard.URL == "" {
		err = errors.New(found.Dashboard.Problem)
	}
	if err == nil {
		err = h.enter(found.Dashboard.URL)
	}
	if err != nil {
		h.end()
		return nil, fmt.Errorf("cannot start a home: %w", err)
	}
	return h, nil
}

// enter uses the address that logs in, and finds the dashboard among the services.
func (h *homeProcess) enter(address string) error {
	open, err := url.Parse(address)
	if err != nil {
		return err
	}
	h.url = "http://" + open.Host
	answer, err := h.client.Get(address)
	if err != nil {
		return err
	}
	answer.Body.Close()
	if answer, err = h.client.Get(h.url + "/api/services"); err != nil {
		return err
	}
	defer answer.Body.Close()
	var services []struct {
		Name string
		PID  int
	}
	if err := json.NewDecoder(answer.Body).Decode(&services); err != nil {
		return fmt.Errorf("cannot read the services of the dashboard: %w", err)
	}
	for _, s := range services {
		if s.Name == "dashboard" {
			h.pid = strconv.Itoa(s.PID)
		}
	}
	if h.pid == "" || h.pid == "0" {
		return fmt.Errorf("the dashboard is not among the services %v", services)
	}
	return nil
}

// stream opens a stream of events.
func (h *homeProcess) stream(ctx context.Context, address string) (io.ReadCloser, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	q.Header.Set("Accept", "text/event-stream")
	answer, err := h.client.Do(q)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		answer.Body.Close()
		return nil, fmt.Errorf("%s was answered %s", address, answer.Status)
	}
	return answer.Body, nil
}

func (h *homeProcess) end() {
	h.cmd.Process.Signal(syscall.SIGTERM)
	h.cmd.Wait()
}
