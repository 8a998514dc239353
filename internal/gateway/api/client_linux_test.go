package api_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hermes.example/hermes/client"
	"hermes.example/hermes/sandbox"
)

// cutter stands between a client and the API, and cuts connections off after a random number of bytes.
type cutter struct {
	t      *testing.T
	to     string
	random *rand.Rand
	left   int // how many it still cuts
	cuts   atomic.Int32
	mu     sync.Mutex
	work   sync.WaitGroup
}

// cut makes the client go through a cutter that cuts so many connections, each before it has brought most bytes.
func (w *world) cut(times, most int) *cutter {
	w.t.Helper()
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("HERMES_TEST_SEED"); s != "" {
		seed, _ = strconv.ParseUint(s, 10, 64)
	}
	w.t.Logf("HERMES_TEST_SEED=%d", seed)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	c := &cutter{t: w.t, to: w.server.Listener.Addr().String(), random: rand.New(rand.NewPCG(seed, 0)), left: times}
	c.work.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			c.work.Go(func() { c.carry(conn, most) })
		}
	})
	w.t.Cleanup(func() { listener.Close(); w.server.CloseClientConnections(); c.work.Wait() })
	through, err := client.New("http://"+listener.Addr().String(), "", client.Options{Patience: 30 * time.Second})
	if err != nil {
		w.t.Fatal(err)
	}
	w.client, w.task = through, through.Task("work")
	return c
}

func (c *cutter) carry(from net.Conn, most int) {
	defer from.Close()
	to, err := net.Dial("tcp", c.to)
	if err != nil {
		return
	}
	defer to.Close()
	var back io.Reader = to
	c.mu.Lock()
	if c.left > 0 {
		c.left--
		back = io.LimitReader(to, 1+c.random.Int64N(int64(most)))
	}
	c.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		io.Copy(to, from)
		to.(*net.TCPConn).CloseWrite()
	}()
	io.Copy(from, back)
	if back != io.Reader(to) {
		c.cuts.Add(1)
	}
	to.Close()
	from.Close()
	<-done
}

// A command whose connection breaks again and again runs once, and its output is the same byte for byte.
func TestABrokenStreamGoesOnWhereItWas(t *testing.T) {
	w := newWorld(t).begin()
	for name, o := range map[string]struct {
		stdin    string
		terminal bool
	}{"events": {}, "websocket": {stdin: "some input\n"}} {
		t.Run(name, func(t *testing.T) {
			w := &world{t: t, server: w.server}
			c := w.cut(12, 60_000)
			var stdout, stderr bytes.Buffer
			options := client.ExecOptions{Stdout: &stdout, Stderr: &stderr}
			if o.stdin != "" {
				options.Stdin = strings.NewReader(o.stdin)
			}
			line := `echo once >>runs-` + name + `; for i in $(seq 1 400); do printf '%s\377 %0700d\n' $i $i; echo err $i >&2; done; sleep 0.2; wc -l <runs-` + name + `; exit 5`
			r, err := w.task.Exec(t.Context(), client.Exec{Line: line}, options)
			if err != nil || r.Code != 5 || r.Missed != 0 {
				t.Fatalf("%+v, %v", r, err)
			}
			var out, errs strings.Builder
			for i := 1; i <= 400; i++ {
				fmt.Fprintf(&out, "%d\xff %0700d\n", i, i)
				fmt.Fprintf(&errs, "err %d\n", i)
			}
			out.WriteString("1\n")
			if stdout.String() != out.String() || stderr.String() != errs.String() {
				t.Errorf("%d of %d bytes, %d of %d bytes of errors", stdout.Len(), out.Len(), stderr.Len(), errs.Len())
			}
			if c.cuts.Load() < 3 {
				t.Errorf("only %d connections were cut", c.cuts.Load())
			}
			t.Logf("%d connections were cut", c.cuts.Load())
		})
	}
}

// Whoever asks again under the same key gets the same answer, and nothing runs a second time.
func TestTheSameKeyRunsOnce(t *testing.T) {
	w := newWorld(t).begin()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			var out bytes.Buffer
			r, err := w.task.Exec(t.Context(), client.Exec{Line: "echo x >>runs; sleep 0.3; wc -l <runs; exit 3"}, client.ExecOptions{Key: "job-1", Stdout: &out})
			if err != nil || r.Code != 3 || out.String() != "1\n" {
				t.Errorf("%q, %+v, %v", out.String(), r, err)
			}
		})
	}
	all.Wait()
	_, err := w.task.Exec(t.Context(), client.Exec{Line: "echo another"}, client.ExecOptions{Key: "job-1"})
	if !errors.Is(err, sandbox.ErrIDReused) {
		t.Errorf("another command under the same key: %v", err)
	}
	var out bytes.Buffer
	if r, err := w.task.Follow(t.Context(), "job-1", &out, nil); err != nil || r.Code != 3 || out.String() != "1\n" {
		t.Errorf("followed: %q, %+v, %v", out.String(), r, err)
	}
	if _, err := w.task.Follow(t.Context(), "job-2", nil, nil); !errors.Is(err, sandbox.ErrNoCommand) {
		t.Errorf("one that there is not: %v", err)
	}
}

// The end of the context is the end of the command with everything that it started, by either way.
func TestCancellingEndsTheWholeTree(t *testing.T) {
	w := newWorld(t).begin()
	for name, stdin := range map[string]io.Reader{"events": nil, "websocket": blocked{}} {
		ctx, cancel := context.WithCancel(t.Context())
		began := make(chan struct{})
		out := writerFunc(func(p []byte) (int, error) {
			if bytes.Contains(p, []byte("began")) {
				close(began)
			}
			return len(p), nil
		})
		go func() {
			<-began
			cancel()
		}()
		r, err := w.task.Exec(ctx, client.Exec{Line: "setsid sleep 4242 & echo began; sleep 4242"}, client.ExecOptions{Stdout: out, Stdin: stdin})
		if err != nil || r.Reason != sandbox.Interrupted {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		var left bytes.Buffer
		if _, err := w.task.Exec(t.Context(), client.Exec{Line: "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '"}, client.ExecOptions{Stdout: &left}); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(left.String(), "sleep 4242") {
			t.Errorf("%s: there is still %q", name, left.String())
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.task.Exec(ctx, client.Exec{Line: "echo x >never"}, client.ExecOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled before: %v", err)
	}
	if _, err := w.task.Files().Stat(t.Context(), "never"); err == nil {
		t.Error("what was cancelled before ran")
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// blocked is an input that nobody types anything into.
type blocked struct{}

func (blocked) Read([]byte) (int, error) { select {} }

func TestACallerThatCannotWriteEndsTheCommand(t *testing.T) {
	w := newWorld(t).begin()
	full := errors.New("the disk is full")
	_, err := w.task.Exec(t.Context(), client.Exec{Line: "while sleep 0.01; do echo x; done"}, client.ExecOptions{Key: "endless", Stdout: writerFunc(func([]byte) (int, error) { return 0, full })})
	if !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
	if r, err := w.task.Follow(t.Context(), "endless", nil, nil); err != nil || r.Reason != sandbox.Interrupted {
		t.Errorf("it ended with %+v, %v", r, err)
	}
}

func TestInputIsStreamedByteForByte(t *testing.T) {
	w := newWorld(t).begin()
	data := make([]byte, 3<<20)
	rand.NewChaCha8([32]byte{1}).Read(data)
	var out, errs bytes.Buffer
	r, err := w.task.Exec(t.Context(), client.Exec{Argv: []string{"sh", "-c", "cat; echo end >&2"}}, client.ExecOptions{Stdin: bytes.NewReader(data), Stdout: &out, Stderr: &errs})
	if err != nil || r.Code != 0 || !bytes.Equal(out.Bytes(), data) || errs.String() != "end\n" {
		t.Errorf("%+v, %v, %d bytes, %q", r, err, out.Len(), errs.String())
	}
}

// A shell on a terminal: what is typed is echoed, and its size follows the caller's.
func TestAShellOnATerminal(t *testing.T) {
	w := newWorld(t).begin()
	typed, keyboard := io.Pipe()
	sizes := make(chan sandbox.Size, 1)
	screen := &screen{seen: make(chan struct{}, 1)}
	ended := make(chan error, 1)
	go func() {
		r, err := w.task.Shell(t.Context(), client.ExecOptions{Stdin: typed, Stdout: screen, Terminal: &sandbox.Terminal{Rows: 20, Cols: 70, Term: "xterm", Resized: sizes}})
		if err == nil && r.Code != 7 {
			err = fmt.Errorf("it ended with %+v", r)
		}
		ended <- err
	}()
	io.WriteString(keyboard, "stty size; tty -s && echo yes, a terminal; echo $TERM\n")
	screen.await(t, "20 70")
	screen.await(t, "yes, a terminal\r\n")
	screen.await(t, "xterm\r\n")
	sizes <- sandbox.Size{Rows: 33, Cols: 99}
	io.WriteString(keyboard, "until stty size | grep '33 99'; do sleep 0.05; done; echo now\n")
	screen.await(t, "33 99")
	io.WriteString(keyboard, "exit 7\n")
	if err := <-ended; err != nil {
		t.Errorf("%v\n%s", err, screen.text())
	}
	if _, err := w.task.Shell(t.Context(), client.ExecOptions{}); err == nil {
		t.Error("a shell without a terminal was opened")
	}
}

// screen is what a person sees.
type screen struct {
	mu   sync.Mutex
	all  bytes.Buffer
	seen chan struct{}
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case s.seen <- struct{}{}:
	default:
	}
	return s.all.Write(p)
}

func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.String()
}

func (s *screen) await(t *testing.T, text string) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for !strings.Contains(s.text(), text) {
		select {
		case <-s.seen:
		case <-deadline:
			t.Fatalf("%q does not show:\n%s", text, s.text())
		}
	}
}
