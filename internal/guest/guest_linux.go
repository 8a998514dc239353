// Package guest is what runs inside a sandbox: it starts commands, carries their
// input and output, ends their whole trees, keeps sessions, and holds the lease
// that says whether the sandbox is in use.
//
// cmd/hermes-guest runs it, as PID 1 or beside other processes. It knows the wire
// and nothing of engines, and it must never let a process inside drive it: whoever
// comes in by a Door is known to be outside.
package guest

import (
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/contained"
	"hermes.example/hermes/internal/guest/spawn"
	"hermes.example/hermes/internal/wire"
)

// Config is what a guest is made of.
type Config struct {
	Build   string
	Spawner *spawn.Spawner
	// Env is the environment of a command that belongs to no session.
	Env []string
	Cwd string
	// UID and GID are who commands run as.
	UID, GID int
	// Rlimits are set in every command.
	Rlimits []spawn.Rlimit
	// Spool is a directory outside the sandbox for output and the journal, or nil.
	Spool *os.File
	// Commands is a cgroup v2 directory in which each command gets its own, or nil.
	Commands *os.File
	// OutOfMemory is the file that counts the kernel's kills, or nil.
	OutOfMemory *os.File
	// Lookups is where name lookups arrive that nobody can answer, or nil.
	Lookups *net.UDPConn
	// Lock is what a caller's key is given to who is known to be outside, or nil.
	Lock *contained.Lock
	// ActAsCommand takes from the calling thread, for good, all that a command
	// does not have. Without it no files are served.
	ActAsCommand func() error
	// Ephemeral ends the sandbox when its last user is gone.
	Ephemeral bool
	// Successor is a guest that will be given the sessions of an earlier one: none
	// begins before that.
	Successor bool
	// Beside says that the guest is not PID 1 of a namespace of its own, but one
	// process of the machine among others.
	Beside bool
	// StopSignal ends the sandbox, or is 0.
	StopSignal syscall.Signal
	// Name is put before the ids of commands in their environment, so that what a
	// guest that was killed has left can be found; empty for PID 1, who leaves none.
	Name string
}

// Server is the guest at work.
type Server struct {
	config  Config
	reaper  *reaper
	shell   shell
	journal *journal
	// registry and events are of background processes.
	registry *registry
	events   *events
	names    *resolver     // nil where names can be resolved
	cgroups  *cgroups      // nil where commands cannot have their own
	null     int           // what a command without input reads
	serving  chan struct{} // holds one for each thread that serves files

	mu          sync.Mutex
	commands    map[string]*command
	finished    []*command // oldest first
	dropped     int        // how many of them have no output any more
	memory      int64      // kept by the others, in bytes
	disk        int64
	sessions    map[string]*session
	connections int
	visited     bool // somebody was here
	running     int
	ends        int64 // how many commands have ended
	lastUse     time.Duration
	retiring    bool
	orphans     map[int]orphan
	trim        *time.Timer
	sequence    uint64

	findings findings

	// inherited is closed when no sessions are awaited any more.
	inherited chan struct{}
	inherits  sync.Once

	ended chan struct{}
	lines sync.Map // the connections, where we must end them ourselves
	// ending says that commands end because the sandbox does.
	ending atomic.Bool
	// started says that a command was started at some time.
	started atomic.Bool
}

// trimAfter is how long the guest is idle before it gives memory back.
const (
	trimAfter = 20 * time.Second
	trimFirst = 200 * time.Millisecond
)

// New prepares a server; Serve runs it.
func New(c Config) *Server {
	s := &Server{
		config:   c,
		registry: openRegistry(c.Spool),
		events:   openEvents(c.Spool),
		reaper:   newReaper(c.Spawner),
		shell:    findShell(c.Env),
		journal:  openJournal(c.Spool),
		commands: make(map[string]*command),
		sessions: make(map[string]*session),
		orphans:  make(map[int]orphan),
		lastUse:  bootTime(),
		serving:  make(chan struct{}, filesAtOnce),
		ended:    make(chan struct{}),

		inherited: make(chan struct{}),
	}
	if !c.Successor {
		s.endInheriting()
	}
	if c.Lookups != nil {
		s.names = newResolver(c.Lookups)
	}
	if c.Commands != nil {
		s.cgroups = &cgroups{parent: c.Commands}
	}
	var err error
	if s.null, err = unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
		s.null = -1 // every command that needs it will say so
	}
	s.recall()
	// The setup leaves some garbage behind; the first trim is for that.
	s.trim = time.AfterFunc(trimFirst, trim)
	return s
}

// ShellName says which shell runs command lines, or "" when there is none.
func (s *Server) ShellName() string { return s.shell.path }

func (s *Server) serveStream(stream net.Conn, r *wire.Reader, w *wire.Writer) {
	frame, err := r.NextMessage()
	if err != nil {
		return
	}
	switch frame.Type {
	case wire.TypeExec:
		answer(w, frame, func(req wire.Exec) { s.serveExec(stream, r, w, req) })
	case wire.TypeAttach:
		answer(w, frame, func(req wire.Attach) { s.serveAttach(stream, r, w, req) })
	case wire.TypeControl:
		answer(w, frame, func(req wire.Control) { s.serveControl(w, req) })
	case wire.TypeStatus:
		w.WriteMessage(wire.TypeStatus, s.status())
	case wire.TypeRetire:
		answer(w, frame, func(req wire.Retire) { s.serveRetire(stream, w, req) })
	case wire.TypeSession:
		answer(w, frame, func(req wire.Session) { s.serveSession(w, req) })
	case wire.TypeFile:
		if s.config.ActAsCommand == nil {
			w.Write(wire.TypeUnsupported, []byte{byte(frame.Type)})
			return
		}
		answer(w, frame, func(req wire.File) { s.serveFile(stream, r, w, req) })
	case wire.TypeStart, wire.TypeProcesses, wire.TypeLog, wire.TypeInput, wire.TypeWait, wire.TypeEvents:
		s.serveBackground(stream, r, w, frame)
	case wire.TypeProbe:
		s.serveProbe(w)
	case wire.TypeInherit:
		s.serveInherit(r, w)
	case wire.TypeKey:
		answer(w, frame, func(req wire.Key) { s.serveKey(w, req) })
	default:
		w.Write(wire.TypeUnsupported, []byte{byte(frame.Type)})
	}
}

// answer serves a request, if it can be read.
func answer[T any](w *wire.Writer, f wire.Frame, serve func(T)) {
	var req T
	if err := f.Decode(&req); err != nil {
		fail(w, wire.FailureBadRequest, err.Error())
		return
	}
	serve(req)
}

func fail(w *wire.Writer, code wire.FailureCode, message string) {
	w.WriteMessage(wire.TypeError, wire.Failure{Code: code, Message: message})
}
