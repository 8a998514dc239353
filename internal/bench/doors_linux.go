package bench

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"sync"
	"syscall"
	"time"

	"hermes.example/hermes/client"
	"hermes.example/hermes/sandbox"
)

// atOnce is how many commands are run at the same time over HTTP.
const atOnce = 500

// doors measures what the gateway's API adds to a command, against a gateway that is a process of its own.
func (r *runner) doors() error {
	if r.Hermes == "" {
		r.progress("the doors are left out: there is no program to start")
		return nil
	}
	g, err := r.gateway()
	if err != nil {
		return err
	}
	defer g.end()
	if _, err := g.exec("true", nil); err != nil {
		return err
	}
	box, err := r.manager.Attach(r.ctx, sandbox.Identity{Home: r.home, Task: doorTask})
	if err != nil {
		return err
	}
	defer box.Close()
	medians, err := r.interleave(max(r.Rounds, 50),
		func() error {
			result, err := box.Exec(r.ctx, sandbox.Command{Argv: []string{"bash", "-c", "true"}})
			if err == nil && result.Code != 0 {
				err = fmt.Errorf("the command ended with %d", result.Code)
			}
			return err
		},
		func() error { _, err := g.exec("", nil); return err },
		func() error {
			_, err := g.exec("", http.Header{"Accept": {"text/event-stream"}})
			return err
		})
	if err != nil {
		return err
	}
	note := fmt.Sprintf("%.3g ms, and %.3g ms of the sandbox's own", medians[1], medians[0])
	r.report.figure("API: what a command in one piece adds to the sandbox's own", "ms", medians[1]-medians[0], 1, false, note)
	r.report.figure("API: what a command as events adds to it", "ms", medians[2]-medians[0], 1, false, "")
	return r.visitors(g)
}

// visitors run many commands at once through the gateway.
func (r *runner) visitors(g *gatewayProcess) error {
	took := make([]float64, atOnce)
	failures := make([]error, atOnce)
	var all sync.WaitGroup
	began := time.Now()
	for i := range atOnce {
		all.Go(func() {
			took[i], failures[i] = timed(func() error { _, err := g.exec("", nil); return err })
		})
	}
	all.Wait()
	whole := time.Since(began)
	failed := 0
	for _, err := range failures {
		if err != nil {
			failed++
		}
	}
	slices.Sort(took)
	r.report.figure(fmt.Sprintf("API: errors among %d commands at once over HTTP", atOnce), "", float64(failed), 0, false, fmt.Sprintf("%d ms in all", whole.Milliseconds()))
	r.report.figure("the same: 99 of 100 were answered within", "ms", took[atOnce*99/100-1], 0, false, fmt.Sprintf("half of them within %.3g ms", took[atOnce/2]))
	return errors.Join(failures...)
}

// doorTask is the one whose sandbox the gateway is asked for.
const doorTask = "doors"

// gatewayProcess is a gateway of the bench's home.
type gatewayProcess struct {
	url, key string
	cmd      *exec.Cmd
	client   http.Client
	ctx      context.Context
}

var listening = regexp.MustCompile(`msg=listening address=(\S+)`)

// gateway starts one, and waits until it listens.
func (r *runner) gateway() (*gatewayProcess, error) {
	g := &gatewayProcess{key: rand.Text(), ctx: r.ctx}
	g.client.Transport = &http.Transport{MaxIdleConnsPerHost: atOnce}
	g.cmd = exec.CommandContext(r.ctx, r.Hermes, "gateway", "run", "--no-supervise")
	g.cmd.Env = append(os.Environ(), "HERMES_HOME="+r.home, "TERMINAL_ENV=native", "API_SERVER_HOST=127.0.0.1", "API_SERVER_PORT=0", "API_SERVER_KEY="+g.key, "HERMES_ALLOW_ROOT_GATEWAY=1")
	g.cmd.Cancel = func() error { return g.cmd.Process.Signal(syscall.SIGTERM) }
	g.cmd.WaitDelay = 10 * time.Second
	log, err := g.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := g.cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewReader(log)
	for {
		line, err := lines.ReadString('\n')
		if found := listening.FindStringSubmatch(line); found != nil {
			g.url = "http://" + found[1]
			go io.Copy(io.Discard, lines) // which ends with the process
			return g, nil
		}
		if err != nil {
			g.end()
			return nil, fmt.Errorf("the gateway did not start: %s", bytes.TrimSpace([]byte(line)))
		}
	}
}

func (g *gatewayProcess) end() {
	g.cmd.Process.Signal(syscall.SIGTERM)
	g.cmd.Wait()
}

// exec runs `bash -c true`, or a line, through the API.
func (g *gatewayProcess) exec(line string, header http.Header) (string, error) {
	e := client.Exec{Line: line}
	if line == "" {
		e.Argv = []string{"bash", "-c", "true"}
	}
	body, err := json.Marshal(e)
	if err != nil {
		return "", err
	}
	q, err := http.NewRequestWithContext(g.ctx, http.MethodPost, g.url+"/v1/sandboxes/"+doorTask+"/exec", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	for name, values := range header {
		q.Header[name] = values
	}
	q.Header.Set("Authorization", "Bearer "+g.key)
	q.Header.Set("Content-Type", "application/json")
	answer, err := g.client.Do(q)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && (answer.StatusCode != http.StatusOK || !bytes.Contains(text, []byte(`"code":0`))) {
		err = fmt.Errorf("the gateway answered %s: %s", answer.Status, text)
	}
	return string(text), err
}
