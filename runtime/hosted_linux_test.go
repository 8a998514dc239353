package pyruntime_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// hang is how long a test waits for what comes at once.
const hang = 45 * time.Second

// hosted is a process of the host, spoken to line by line.
type hosted struct {
	testing.TB
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string
	end   chan error
	said  *record
	next  int
}

// record is what a process says on its standard error.
type record struct {
	mu   sync.Mutex
	text strings.Builder
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

// host starts the host with arguments, as backends are started.
func (s *store) host(arguments ...string) *hosted {
	s.Helper()
	return start(s, s.command(append([]string{"-I", "-m", "hermes_host"}, arguments...)...))
}

func start(t testing.TB, cmd *exec.Cmd) *hosted {
	t.Helper()
	h := &hosted{TB: t, cmd: cmd, lines: make(chan string), end: make(chan error, 1), said: &record{}}
	cmd.Stderr = h.said
	cmd.WaitDelay = time.Second // for children that keep its standard error
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	h.in = in
	go func() {
		defer close(h.lines)
		for reader := bufio.NewReader(out); ; {
			line, err := reader.ReadString('\n')
			if line != "" {
				h.lines <- line
			}
			if err != nil {
				h.end <- cmd.Wait()
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		for range h.lines { // until it has ended
		}
	})
	return h
}

// message is a message of JSON-RPC.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      any             `json:"id"`
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Code    int
		Message string
	}
}

func (h *hosted) send(line string) {
	h.Helper()
	if _, err := io.WriteString(h.in, line+"\n"); err != nil {
		h.Fatalf("%v; it said %s", err, h.said)
	}
}

// read is the next line, which must be a message.
func (h *hosted) read() message {
	h.Helper()
	select {
	case line, open := <-h.lines:
		var m message
		if err := json.Unmarshal([]byte(line), &m); !open || err != nil || m.JSONRPC != "2.0" {
			h.Fatalf("instead of a message: %.300q, %v; it said %s", line, err, h.said)
		}
		return m
	case <-time.After(hang):
		h.Fatalf("no answer; it said %s", h.said)
	}
	return message{}
}

// request sends one, and returns its id.
func (h *hosted) request(method string, params any) int {
	h.Helper()
	h.next++
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": h.next, "method": method, "params": params})
	if err != nil {
		h.Fatal(err)
	}
	h.send(string(line))
	return h.next
}

// ask sends a request, and returns the answer, which must be the next message.
func (h *hosted) ask(method string, params any) message {
	h.Helper()
	id := h.request(method, params)
	m := h.read()
	if m.ID != float64(id) {
		h.Fatalf("asked %d, and %v is answered", id, m.ID)
	}
	return m
}

// result is that of a call.
type result struct {
	Content    []struct{ Type, Text, Data, MimeType string }
	Structured json.RawMessage `json:"structuredContent"`
	Failed     bool            `json:"isError"`
}

func (r result) String() string { return fmt.Sprint(r.Content, string(r.Structured), r.Failed) }

// text is the first block of text.
func (r result) text() string {
	if len(r.Content) == 0 {
		return ""
	}
	return r.Content[0].Text
}

func (h *hosted) begin(tool string, arguments any) int {
	h.Helper()
	return h.request("tools/call", map[string]any{"name": tool, "arguments": arguments})
}

// call calls a tool, and returns its result, failed or not.
func (h *hosted) call(tool string, arguments any) result {
	h.Helper()
	id := h.begin(tool, arguments)
	m := h.read()
	if m.ID != float64(id) {
		h.Fatalf("asked %d, and %v is answered", id, m.ID)
	}
	return h.result(m)
}

func (h *hosted) result(m message) (r result) {
	h.Helper()
	if m.Error != nil {
		h.Fatalf("the protocol failed: %+v", *m.Error)
	}
	if err := json.Unmarshal(m.Result, &r); err != nil {
		h.Fatal(err)
	}
	return r
}

// wait is the status with which it ends, all by itself.
func (h *hosted) wait() int {
	h.Helper()
	for {
		select {
		case line, open := <-h.lines:
			if open {
				h.Errorf("it still said %.300q", line)
				continue
			}
			err := <-h.end
			if err != nil && !errors.As(err, new(*exec.ExitError)) && !errors.Is(err, exec.ErrWaitDelay) {
				h.Fatal(err)
			}
			return h.cmd.ProcessState.Sys().(syscall.WaitStatus).ExitStatus()
		case <-time.After(hang):
			h.Fatalf("it does not end; it said %s", h.said)
		}
	}
}

// finish ends its input, and with that the process; all that it said is there then.
func (h *hosted) finish() {
	h.Helper()
	if err := h.in.Close(); err != nil {
		h.Fatal(err)
	}
	if status := h.wait(); status != 0 {
		h.Errorf("it ended with %d: %s", status, h.said)
	}
}
