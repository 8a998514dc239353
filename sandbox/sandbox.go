package sandbox

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"hermes.example/hermes/internal/wire"
)

// Sandbox is a caller's hold on one isolated place. While it is open the sandbox
// is in use and nobody reaps it, unless it is for one who only looks. It is made
// by a Manager and ends with it.
type Sandbox struct {
	manager  *Manager
	identity Identity
	spec     Spec
	hash     string
	// owner says that we ensured it: we know its whole spec, so we can make it
	// anew, and we remove it if it is ephemeral.
	owner bool
	// observer says that we only look: our connections are no leases.
	observer bool

	mu   sync.Mutex
	conn *connection
	// closed is set with mu, and read without: who has mu may wait for a sandbox to be made.
	closed  atomic.Bool
	remade  atomic.Int64
	running map[hangUp]struct{}
}

// Identity says whose sandbox this is.
func (s *Sandbox) Identity() Identity { return s.identity }

// Spec is what the sandbox was made as. The values of variables are only there
// if we made it.
func (s *Sandbox) Spec() Spec { return s.spec }

// SpecHash is the hash of all that it was made as, values of variables among it.
func (s *Sandbox) SpecHash() string { return s.hash }

// Exec runs a command and waits for its end. When ctx is cancelled the command
// and its whole tree are ended, and the result says Interrupted.
//
// The error is about Hermes, not about the command: a command that fails, times
// out or cannot be found has a Result and no error.
func (s *Sandbox) Exec(ctx context.Context, c Command) (Result, error) {
	return s.exec(ctx, c, "")
}

func (s *Sandbox) exec(ctx context.Context, c Command, session string) (Result, error) {
	if err := c.validate(); err != nil {
		return Result{}, err
	}
	if c.ID == "" {
		c.ID = randomID()
	}
	x := &execution{box: s, command: c, request: wire.Exec{
		ID: c.ID, Argv: c.Argv, Line: c.Line, Session: session, Env: c.Env, Cwd: c.Cwd,
		Stdin: c.Stdin != nil, Merge: c.Stderr == nil, Timeout: c.Timeout, Grace: c.Grace,
		KillWhenLost: !c.Detached, Window: c.Window, Asked: c.Asked,
	}}
	if t := c.Terminal; t != nil {
		x.request.TTY = &wire.Size{Rows: t.Rows, Cols: t.Cols, Term: t.Term}
	}
	return x.run(ctx)
}

// Shell runs an interactive login shell on a terminal.
func (s *Sandbox) Shell(ctx context.Context, c Command) (Result, error) {
	if c.Terminal == nil {
		return Result{}, errors.New("cannot open a shell: it needs a terminal")
	}
	st, err := s.Status(ctx)
	if err != nil {
		return Result{}, err
	}
	if st.Shell == "" {
		return Result{}, errors.New("cannot open a shell: the sandbox has neither bash nor sh")
	}
	c.Argv, c.Line = []string{st.Shell, "-l"}, ""
	return s.Exec(ctx, c)
}

// Session returns the named session of the sandbox. It is made by its first
// command and lives as long as the sandbox runs, and on in one that replaces it.
func (s *Sandbox) Session(name string) *Session { return &Session{s, name} }

// Recreations is how often the sandbox had ended and was made anew for something that
// was asked of this hold. Of a command and of a process its result says so, too.
func (s *Sandbox) Recreations() int { return int(s.remade.Load()) }

// Posture finds out what is enforced.
func (s *Sandbox) Posture(ctx context.Context) (Posture, error) {
	return s.manager.posture(ctx, s.identity, s.spec)
}

// Status tells who uses the sandbox.
type Status struct {
	// Connections are open holds of other callers, Commands what they run,
	// Processes everything that lives inside.
	Connections int           `json:"connections"`
	Commands    int           `json:"commands"`
	Processes   int           `json:"processes"`
	Sessions    []string      `json:"sessions,omitempty"`
	Idle        time.Duration `json:"idle"`
	Shell       string        `json:"shell"`
	Build       string        `json:"build"`
	// Usage is absent where the guest is older than it.
	Usage *Usage `json:"usage,omitempty"`
}

// Usage is what commands have used since the guest of their sandbox started.
type Usage struct {
	// CPU is the time that the processors spent on what lives and on what has ended.
	CPU time.Duration `json:"cpu"`
	// Memory is what processes have of it now, in bytes. What several of them share counts for each.
	Memory int64 `json:"memory"`
	// Finished is how many commands have ended.
	Finished int64 `json:"finished"`
}

// Status asks the guest for its lease. This hold itself is not counted.
func (s *Sandbox) Status(ctx context.Context) (Status, error) {
	var st wire.Status
	err := s.inquire(ctx, func(conn *connection) (err error) {
		st, err = conn.status()
		return err
	})
	if err != nil {
		return Status{}, fmt.Errorf("cannot ask the sandbox for its status: %w", err)
	}
	if !s.observer {
		st.Connections--
	}
	return publicStatus(st), nil
}

// inquire asks what may be asked twice: the line that is there may have broken
// without anybody having noticed yet.
func (s *Sandbox) inquire(ctx context.Context, ask func(*connection) error) error {
	conn, _, err := s.connected(ctx)
	if err != nil {
		return err
	}
	err = ask(conn)
	var answer *wire.Failure
	if err == nil || errors.As(err, &answer) || errors.Is(err, errUnsupported) {
		return err
	}
	conn.close()
	if conn, err = s.reconnect(ctx); err != nil {
		return err
	}
	return ask(conn)
}

func publicStatus(st wire.Status) Status {
	public := Status{Connections: st.Connections, Commands: st.Commands, Processes: st.Processes, Sessions: st.Sessions,
		Idle: st.Idle, Shell: st.Shell, Build: st.Build}
	if st.Usage != nil {
		public.Usage = &Usage{CPU: st.Usage.CPU, Memory: st.Usage.Memory, Finished: st.Usage.Finished}
	}
	return public
}

// Close gives the hold up. The sandbox goes on, unless it is ephemeral and this
// was the last one. Commands that are waited for return ErrClosed: detached ones
// go on and can be followed again by their id, the others are ended.
func (s *Sandbox) Close() error {
	s.manager.forget(s)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed.Store(true)
	for x := range s.running {
		x.hangUp()
	}
	if s.conn == nil {
		return nil
	}
	err := s.conn.close()
	s.conn = nil
	return err
}

// Alive says whether the line to the sandbox stands, as far as that is known without asking. Where it does not, the
// sandbox has probably ended.
func (s *Sandbox) Alive() bool { return !s.closed.Load() && s.current().alive() }

func (s *Sandbox) isClosed() bool { return s.closed.Load() }

// hangUp is what is under way: it returns when it is hung up.
type hangUp interface{ hangUp() }

// track keeps what must return when the hold is closed.
func (s *Sandbox) track(x hangUp, runs bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !runs {
		delete(s.running, x)
		return
	}
	if s.running == nil {
		s.running = make(map[hangUp]struct{})
	}
	s.running[x] = struct{}{}
}

func (s *Sandbox) current() *connection {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn
}

// connected returns a live connection. A sandbox that has ended meanwhile is
// made anew, if it is one that persists and we know its spec; recreated says so.
func (s *Sandbox) connected(ctx context.Context) (conn *connection, recreated bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed.Load() {
		return nil, false, ErrClosed
	}
	if s.conn.alive() {
		return s.conn, false, nil
	}
	if s.conn, err = dial(ctx, s.manager.engine, s.identity, s.observer); err == nil {
		return s.conn, false, nil
	}
	s.conn = nil
	if !errors.Is(err, ErrGone) && !errors.Is(err, ErrNotFound) || s.spec.Ephemeral || !s.owner {
		return nil, false, err
	}
	if s.conn, err = s.manager.open(ctx, s.identity, s.spec); err != nil {
		s.conn = nil
		return nil, false, err
	}
	s.remade.Add(1)
	return s.conn, true, nil
}

// reconnect dials the same guest again and never makes a new one.
func (s *Sandbox) reconnect(ctx context.Context) (*connection, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed.Load() {
		return nil, ErrClosed
	}
	if s.conn.alive() {
		return s.conn, nil
	}
	conn, err := dial(ctx, s.manager.engine, s.identity, s.observer)
	if err != nil {
		return nil, err
	}
	s.conn = conn
	return conn, nil
}

func (s *Sandbox) disconnect() {
	if conn := s.current(); conn != nil {
		conn.close()
	}
}

func randomID() string {
	var b [12]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// Session is shell state that lasts from one command line to the next:
// directory, exported variables, functions and aliases. Commands of one session
// may run at the same time; their changes are merged, and for one variable the
// command that ends later wins.
type Session struct {
	box  *Sandbox
	name string
}

// Exec runs a command in the session. A Line may change the session's state;
// a program with arguments only uses it.
func (s *Session) Exec(ctx context.Context, c Command) (Result, error) {
	return s.box.exec(ctx, c, s.name)
}

// SessionState is what a session holds, by name.
type SessionState struct {
	Cwd string `json:"cwd"`
	// Home is the session's own HOME; empty where the guest does not say.
	Home      string   `json:"home,omitempty"`
	Variables []string `json:"variables,omitempty"`
	Functions []string `json:"functions,omitempty"`
	Aliases   []string `json:"aliases,omitempty"`
}

// State describes the session as it is now.
func (s *Session) State(ctx context.Context) (SessionState, error) {
	var state SessionState
	err := s.box.inquire(ctx, func(conn *connection) (err error) {
		state, err = conn.session(s.name, false)
		return err
	})
	if err != nil {
		return state, fmt.Errorf("cannot read the session %q: %w", s.name, err)
	}
	return state, nil
}
