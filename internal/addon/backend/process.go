package backend

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hermes.example/hermes/internal/addon/lastwords"
	"hermes.example/hermes/internal/addon/unavailable"
	"hermes.example/hermes/internal/version"
	"hermes.example/hermes/sandbox"
)

// Backend is one process that answers calls. It is made by Start, ends by itself or by Close, and is done when the last
// process that it started is gone. One that has ended stays so.
type Backend struct {
	launch  Launch
	manager *sandbox.Manager
	box     *sandbox.Sandbox
	line    *line
	session *mcp.ClientSession
	tools   []Tool
	words   lastwords.Tail
	secrets lastwords.Secrets
	kill    context.CancelFunc
	done    chan struct{}
	left    error // what could not be removed; set when it is done

	mu   sync.Mutex
	why  string // it has ended
	said string // until then
}

// protocol is the version that is spoken: the first in which a result can be an object. Whoever speaks later ones
// speaks this one, too.
const protocol = "2025-06-18"

// window is how much of its output the guest keeps for us. What it writes is read at once.
const window = 256 << 10

// leaving is how long a backend may take to end when its input does, before it is ended.
const leaving = time.Second

// removal is how long the removal of its sandbox may take.
const removal = 30 * time.Second

// Start starts a backend and asks it for its tools. Home is whose sandbox it runs in. The error is an
// *unavailable.Error, unless ctx ended.
func Start(ctx context.Context, m *sandbox.Manager, home string, l Launch) (*Backend, error) {
	l.Bounds = l.Bounds.normal()
	b := &Backend{launch: l, manager: m, done: make(chan struct{})}
	b.learn()
	limited, cancel := context.WithTimeout(ctx, l.Bounds.Start)
	defer cancel()
	id := sandbox.Identity{Home: home, Task: "addon-" + l.Feature + "-" + random()}
	box, err := m.Ensure(limited, id, sandbox.Spec{Network: sandbox.NetworkHost, Ephemeral: true})
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, unavailable.BackendFailed(b.secrets.Hide(err.Error()), "", err).For(l.Feature, nil)
	}
	b.box, b.line = box, newLine(l.Bounds.Answer, &b.words, b.end)
	life, kill := context.WithCancel(context.Background())
	b.kill = kill
	go b.run(life)
	err = b.meet(limited)
	if err == nil {
		return b, nil
	}
	switch {
	case ctx.Err() != nil:
		b.end("its caller left")
	case limited.Err() != nil:
		b.end(fmt.Sprintf("it did not say which tools it has within %s", l.Bounds.Start))
	default:
		b.end(err.Error())
	}
	<-b.done
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return nil, b.failure()
}

// learn finds the secrets among its variables: those that are named, and the logins of proxies.
func (b *Backend) learn() {
	for _, name := range b.launch.Secrets {
		b.secrets.Value(b.launch.Env[name])
	}
	for _, value := range b.launch.Env {
		b.secrets.Address(value)
	}
}

func random() string {
	var b [6]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// bounded is the program that becomes the backend, with a limit to the memory of every process of it, before the first
// instruction of the backend. A limit that is lower already stays: only root could raise it.
const bounded = `most=$(ulimit -H -d)
if [ "$most" = unlimited ] || [ "$most" -gt "$1" ]; then ulimit -d "$1" || exit; fi
shift
exec "$@"`

func (b *Backend) command() sandbox.Command {
	argv := []string{"/bin/sh", "-c", bounded, "hermes-backend", strconv.FormatInt(b.launch.Bounds.Memory>>10, 10)}
	return sandbox.Command{
		Argv: append(argv, b.launch.Argv...), Env: b.launch.Env, Cwd: b.launch.Dir,
		Stdin: &input{line: b.line}, Stdout: output{b.line}, Stderr: &b.words, Window: window,
	}
}

// run is the process's life. Nothing of it is left when it is done: what it started and left behind goes with its
// sandbox.
func (b *Backend) run(ctx context.Context) {
	defer close(b.done)
	result, err := b.box.Exec(ctx, b.command())
	b.end(told(result, err))
	b.box.Close()
	removing, cancel := context.WithTimeout(context.Background(), removal)
	defer cancel()
	b.left = b.manager.Remove(removing, b.box.Identity(), true)
}

// told is how a process ended, in words.
func told(r sandbox.Result, err error) string {
	switch {
	case err != nil:
		return err.Error()
	case r.Message != "":
		return r.Message
	case r.Reason == sandbox.OutOfMemory:
		return "it used more memory than there is"
	case r.Signal != 0:
		return fmt.Sprintf("its process was ended by signal %d", r.Signal)
	}
	return fmt.Sprintf("its process ended with status %d", r.Code)
}

// end ends the backend for a reason, of which the first counts.
func (b *Backend) end(why string) {
	b.because(why)
	b.line.Close()
	b.kill()
}

func (b *Backend) because(why string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.why == "" {
		b.why, b.said = b.secrets.Hide(why), b.lastWords()
	}
}

// lastWords are what it said last, without secrets.
func (b *Backend) lastWords() string { return b.secrets.Hide(b.words.Text()) }

// meet introduces us, and asks for its tools.
func (b *Backend) meet(ctx context.Context) error {
	client := mcp.NewClient(&mcp.Implementation{Name: "hermes", Version: version.Current().Version}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{}, MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
	})
	session, err := client.Connect(ctx, b.line, &mcp.ClientSessionOptions{ProtocolVersion: protocol})
	if err != nil {
		return err
	}
	b.session = session
	b.tools, err = listTools(ctx, session)
	return err
}

// Done is closed when nothing of the backend is left.
func (b *Backend) Done() <-chan struct{} { return b.done }

// Ended says whether it takes no calls any more, and why.
func (b *Backend) Ended() (why string, ended bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.why, b.why != ""
}

// failure is why it is not available, with what it said last.
func (b *Backend) failure() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return unavailable.BackendFailed(b.why, b.said, nil).For(b.launch.Feature, nil)
}

// Close ends the backend and waits until nothing of it is left, or says what is. Its input ends first, which is how it
// is told.
func (b *Backend) Close() error {
	b.because("it was stopped")
	b.line.Close()
	select {
	case <-b.done:
	case <-time.After(leaving):
		b.kill()
		<-b.done
	}
	return b.left
}
