package mcp

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hermes.example/hermes/internal/toolbox"
	"hermes.example/hermes/sandbox"
)

// session is one client's: its directory, variables, functions and aliases in the sandbox, and its calls. It is made by
// the client's first call and ends with the client.
type session struct {
	name    string // in the sandbox
	task    string // whose sandbox it is
	remote  bool   // the client comes over HTTP
	tools   *toolbox.Toolbox
	notices chan toolbox.Notice

	mu    sync.Mutex
	calls map[int]context.CancelFunc
	last  int
	// present is how many requests of an HTTP client are under way, a stream that it listens to among them.
	present int
	leaving func() bool // stops the timer that runs while nobody is there; nil while somebody is
}

// mostCalls is how many calls of one session may run at a time.
const mostCalls = 64

// welcome makes a client known from its first word on, so that it is noticed when it goes.
func (d *Door) welcome(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		if ss, ok := r.GetSession().(*mcp.ServerSession); ok && method == "initialize" {
			if d.of(ctx, ss) == nil {
				return nil, errors.New(tooManySessions)
			}
		}
		return next(ctx, method, r)
	}
}

// of returns the client's session; nil for one too many. Its task is the one that its first request named: what a context
// holds is that request's, as long as the client is there.
func (d *Door) of(ctx context.Context, ss *mcp.ServerSession) *session {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.sessions[ss]
	if s != nil {
		return s
	}
	s = &session{name: sessionName(), task: d.Task, notices: make(chan toolbox.Notice, 64), calls: make(map[int]context.CancelFunc)}
	if task, ok := ctx.Value(taskKey{}).(string); ok {
		if s.task, s.remote = task, true; len(d.sessions) >= mostSessions {
			return nil
		}
	}
	s.tools = toolbox.New(toolbox.Options{Place: place{d, s.task}, Session: s.name, Home: d.Home, Settings: d.Settings, Secrets: d.Secrets, Log: d.Log})
	d.sessions[ss] = s
	d.work.Go(func() { d.keep(ss, s) })
	return s
}

// sessionName is the name of a session in the sandbox, which no other client has.
func sessionName() string {
	var b [6]byte
	rand.Read(b[:])
	return "mcp-" + hex.EncodeToString(b[:])
}

// keep tells the client what happens to its background processes, until it has gone.
func (d *Door) keep(ss *mcp.ServerSession, s *session) {
	cancel := s.tools.Subscribe(func(n toolbox.Notice) {
		select {
		case s.notices <- n:
		default: // the next answer has it
		}
	})
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		ss.Wait()
	}()
	for open := true; open; {
		select {
		case n := <-s.notices:
			//lint:ignore SA1019 clients of all versions with sessions know it, and the next answer has it too
			ss.Log(d.life, &mcp.LoggingMessageParams{Level: "notice", Logger: "process", Data: n})
		case <-gone:
			open = false
		}
	}
	cancel()
	s.interrupt()
	s.tools.Close()
	if s.called() {
		d.forget(s)
	}
	d.mu.Lock()
	delete(d.sessions, ss)
	d.mu.Unlock()
}

// forgetBound is how long a sandbox may take to forget a session. It is a courtesy, and nobody waits long for it.
const forgetBound = 2 * time.Second

// forget has the sandbox forget the session of a client that has gone: none comes back to it. Where there is no sandbox,
// or no command was run in it, there is nothing to forget.
func (d *Door) forget(s *session) {
	ctx, cancel := context.WithTimeout(context.Background(), forgetBound)
	defer cancel()
	if err := d.Sandboxes.Manager().ForgetSession(ctx, d.Sandboxes.Identity(s.task), s.name); err != nil {
		d.Log.Debug("a session was not forgotten", "why", err)
	}
}

// enter begins a call of a client's session. Its context ends when the client cancels it, when the client is gone, and
// when the door ends.
func (d *Door) enter(ctx context.Context, ss *mcp.ServerSession) (_ *session, _ context.Context, leave func(), err error) {
	s := d.of(ctx, ss)
	if s == nil {
		return nil, nil, nil, errors.New(tooManySessions)
	}
	if err := d.begin(); err != nil {
		return nil, nil, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(d.life, cancel)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.calls) >= mostCalls {
		stop()
		cancel()
		d.end()
		return nil, nil, nil, &toolbox.Refusal{Text: fmt.Sprintf("cannot take the call: %d calls are under way; wait for one of them", mostCalls)}
	}
	s.last++
	number := s.last
	s.calls[number] = cancel
	if s.remote && s.present == 0 && s.leaving == nil {
		s.leave(d.abandon) // its request was over before the call began
	}
	return s, ctx, func() {
		s.mu.Lock()
		delete(s.calls, number)
		s.mu.Unlock()
		stop()
		cancel()
		d.end()
	}, nil
}

// called says whether the client has ever called a tool.
func (s *session) called() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last > 0
}

// interrupt ends every call of the session.
func (s *session) interrupt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, cancel := range s.calls {
		cancel()
	}
}

// place is the sandbox of a session.
type place struct {
	door *Door
	task string
}

func (p place) Use(ctx context.Context, f func(*sandbox.Sandbox) error) error {
	return p.door.Sandboxes.Use(ctx, p.task, f)
}

func (p place) Variables() (map[string]string, error) {
	values, err := p.door.Sandboxes.Forwarded()
	if err != nil {
		return nil, err
	}
	return values.Under(nil), nil
}

func (p place) Isolated() bool { return p.door.Sandboxes.Manager().Capabilities().Isolated }
