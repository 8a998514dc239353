package guest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/guest/shellstate"
	"hermes.example/hermes/internal/guest/spawn"
	"hermes.example/hermes/internal/proc"
	"hermes.example/hermes/internal/wire"
)

// shell is the program that runs command lines.
type shell struct {
	path string
	kind shellstate.Shell
}

func findShell(env []string) shell {
	if path, err := lookPath("bash", env, "/"); err == nil {
		return shell{path, shellstate.Bash}
	}
	for _, path := range []string{"/bin/bash", "/usr/bin/bash"} {
		if unix.Access(path, unix.X_OK) == nil {
			return shell{path, shellstate.Bash}
		}
	}
	if path, err := lookPath("sh", env, "/"); err == nil {
		return shell{path, shellstate.Posix}
	}
	if unix.Access("/bin/sh", unix.X_OK) == nil {
		return shell{"/bin/sh", shellstate.Posix}
	}
	return shell{}
}

// session is a caller's shell state. It lives in the guest's memory only: nothing
// of it is ever on a disk, and no process inside can read it there. A guest that is
// replaced hands it to its successor through the caller who replaces it.
type session struct {
	name string

	// initialised once, by the first command that needs it
	once sync.Once
	err  error

	mu    sync.Mutex
	state shellstate.State
}

// session returns the named session, made and initialised if it is new.
func (s *Server) session(name string) (*session, error) {
	<-s.inherited
	s.mu.Lock()
	sess := s.sessions[name]
	if sess == nil {
		sess = &session{name: name}
		s.sessions[name] = sess
	}
	s.mu.Unlock()
	sess.once.Do(func() { sess.err = sess.initialise(s) })
	if sess.err != nil {
		s.mu.Lock()
		if s.sessions[name] == sess {
			delete(s.sessions, name) // the next command tries again
		}
		s.mu.Unlock()
	}
	return sess, sess.err
}

func (sess *session) environment() []string {
	sess.mu.Lock()
	defer sess.mu.Unlock()
	env := make([]string, 0, len(sess.state.Env))
	for name, value := range sess.state.Env {
		env = append(env, name+"="+value)
	}
	sort.Strings(env)
	return env
}

func (sess *session) directory() string {
	sess.mu.Lock()
	defer sess.mu.Unlock()
	return sess.state.Cwd
}

const initTimeout = 30 * time.Second

// initialise takes up what the login scripts set. A login shell that does not
// work is not a reason to have no session, one that cannot start at all is.
func (sess *session) initialise(s *Server) error {
	plain := s.plainState()
	sess.state = plain
	if s.shell.path == "" {
		return nil
	}
	login, loginErr := sess.probe(s, plain, true)
	if loginErr == nil {
		sess.state.ApplyLogin(login.start, login.end)
		return nil
	}
	if _, err := sess.probe(s, plain, false); err != nil {
		return fmt.Errorf("cannot start a session: the shell %s fails: %w (as a login shell: %w)", s.shell.path, err, loginErr)
	}
	return nil
}

// probed is a shell's state before and after.
type probed struct{ start, end shellstate.State }

// probe runs an empty line and returns the state that the shell reports.
func (sess *session) probe(s *Server, start shellstate.State, login bool) (probed, error) {
	transfer, sc, err := newTransfer(s, start, ":", shellstate.Options{Login: login})
	if err != nil {
		return probed{}, err
	}
	defer transfer.close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return probed{}, err
	}
	defer null.Close()
	sc.Files[0], sc.Files[1], sc.Files[2] = int(null.Fd()), int(null.Fd()), int(null.Fd())
	sc.Dir = nearestDirectory(start.Cwd)
	_, exited, tree, err := s.startTree(sc, "session", func(p proc.Process) bool { return s.reaper.isMain(p.PID) })
	if err != nil {
		return probed{}, err
	}
	defer tree.close()
	var status syscall.WaitStatus
	select {
	case status = <-exited:
	case <-time.After(initTimeout):
		endTree(tree, 0)
		return probed{}, fmt.Errorf("it did not end within %s", initTimeout)
	}
	if status != 0 {
		return probed{}, errors.New(describe(status))
	}
	end, err := shellstate.Decode(transfer.report())
	return probed{transfer.start, end}, err
}

func describe(status syscall.WaitStatus) string {
	if status.Signaled() {
		return "killed by " + status.Signal().String()
	}
	return fmt.Sprintf("exit status %d", status.ExitStatus())
}

// stateTransfer carries a session's state into one shell and back.
type stateTransfer struct {
	session       *session
	start         shellstate.State
	prelude, side *os.File
}

// reportLimit bounds what the guest reads of a report: a command may write
// anything to the descriptor.
const reportLimit = 16 << 20

func newTransfer(s *Server, start shellstate.State, line string, opts shellstate.Options) (*stateTransfer, *spawn.Command, error) {
	// High numbers keep out of the way of scripts; sh knows only one digit.
	opts.PreludeFD, opts.ReportFD = 97, 98
	if s.shell.kind == shellstate.Posix {
		opts.PreludeFD, opts.ReportFD = 9, 8
	}
	inv := shellstate.Invoke(s.shell.kind, s.shell.path, line, &start, opts)
	t := &stateTransfer{start: inv.Start}
	var err error
	if t.prelude, err = memoryFile("prelude"); err != nil {
		return nil, nil, err
	}
	if t.side, err = memoryFile("state"); err != nil {
		t.close()
		return nil, nil, err
	}
	if _, err = t.prelude.WriteAt(inv.Prelude, 0); err != nil {
		t.close()
		return nil, nil, err
	}
	sc := &spawn.Command{Path: s.shell.path, Argv: inv.Argv, Env: inv.Env,
		Files: map[int]int{opts.PreludeFD: int(t.prelude.Fd()), opts.ReportFD: int(t.side.Fd())}}
	return t, sc, nil
}

func memoryFile(name string) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

// startFromSession makes sc the shell that continues sess with the request's line.
func (c *command) startFromSession(s *Server, sc *spawn.Command, sess *session, extra map[string]string) error {
	sess.mu.Lock()
	start := sess.state.Clone()
	sess.mu.Unlock()
	if c.fallback == "" {
		// Where the caller put this one command is not the session's doing; where
		// we had to put it, because the session's directory is gone, is.
		start.Cwd = physical(sc.Dir)
	}
	t, shellCommand, err := newTransfer(s, start, c.request.Line, shellstate.Options{Inject: extra})
	if err != nil {
		return err
	}
	t.session = sess
	c.state = t
	dir := sc.Dir
	*sc = *shellCommand
	sc.Dir = dir
	sc.Argv[0] = filepath.Base(s.shell.path) // as outside of sessions
	return nil
}

// physical is a directory by the name that a shell reports for it.
func physical(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}

func (t *stateTransfer) closePrelude() {
	t.prelude.Close()
}

func (t *stateTransfer) close() {
	t.prelude.Close()
	if t.side != nil {
		t.side.Close()
	}
}

// report reads what the shell has written, without waiting for other holders of
// the descriptor.
func (t *stateTransfer) report() []byte {
	info, err := t.side.Stat()
	if err != nil || info.Size() == 0 || info.Size() > reportLimit {
		return nil
	}
	data := make([]byte, info.Size())
	n, err := t.side.ReadAt(data, 0)
	if err != nil && err != io.EOF {
		return nil
	}
	return data[:n]
}

// finish takes the reported state into the session, if the command ended on its
// own, and returns the session's directory.
func (t *stateTransfer) finish(take bool) string {
	defer t.side.Close()
	t.session.mu.Lock()
	defer t.session.mu.Unlock()
	if take {
		if end, err := shellstate.Decode(t.report()); err == nil {
			t.session.state.Apply(shellstate.Delta(t.start, end))
		}
	}
	return t.session.state.Cwd
}

func (s *Server) serveSession(w *wire.Writer, req wire.Session) {
	s.mu.Lock()
	sess := s.sessions[req.Name]
	if req.Forget {
		delete(s.sessions, req.Name) // commands that run in it end with it, and leave nothing
	}
	s.mu.Unlock()
	if sess == nil {
		fail(w, wire.FailureUnknownID, "no session has this name")
		return
	}
	sess.mu.Lock()
	defer sess.mu.Unlock()
	w.WriteMessage(wire.TypeSession, wire.Session{Name: sess.name, Cwd: sess.state.Cwd, Home: sess.state.Env["HOME"],
		Variables: sortedKeys(sess.state.Env), Functions: sortedKeys(sess.state.Functions), Aliases: sortedKeys(sess.state.Aliases)})
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
