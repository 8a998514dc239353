package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"hermes.example/hermes/internal/cgroup"
	"hermes.example/hermes/internal/guest/jail"
	"hermes.example/hermes/internal/guest/spawn"
	"hermes.example/hermes/sandbox"
)

// SetupBound is how long a guest may take to set itself up.
const SetupBound = 30 * time.Second

// Making is a sandbox in the making, as far as all engines of this machine make it
// alike. An engine's own creation embeds one, adds what is the engine's, and puts the
// steps of both in order: Listen before anything is running, because the run directory
// says whose that is; the start of the guest early, because what it does not need yet
// can be done meanwhile; HandOver last.
//
// A step that fails, and a caller who gives up, take back all that was done. A creator
// that is killed leaves no guest, because the guest ends when the setup conversation
// does, and leaves at most a run directory and empty cgroups, which the next Create or
// Sweep of the identity removes.
type Making struct {
	ID   sandbox.Identity
	Spec sandbox.Spec
	Dir  string // of its files
	// Config is what the guest is told, and State what others are. Steps fill them.
	Config jail.Config
	State  State

	core     *Core
	madeDir  bool // Dir did not exist before
	listener *net.UnixListener
	outer    *jail.Outer
	guest    *spawn.Process
	files    []*os.File // given to the guest, closed here afterwards
	done     bool
}

// NewMaking begins to make a sandbox. Nothing is done yet.
func (c *Core) NewMaking(id sandbox.Identity, spec sandbox.Spec) Making {
	return Making{ID: id, Spec: spec, Dir: c.files.Of(id), core: c}
}

// Make takes the steps, the last of which is HandOver.
func (m *Making) Make(ctx context.Context, steps ...func(context.Context) error) (*State, error) {
	defer m.end()
	for _, step := range steps {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return &m.State, nil
}

// Listen makes the door to the guest. It is bound outside, so that no path to it need
// exist inside, and the guest gets it as a descriptor.
func (m *Making) Listen(context.Context) (err error) {
	m.listener, err = m.core.listen(m.ID)
	return err
}

// MakeDir makes the directory of the sandbox's files. More than one step may need it.
func (m *Making) MakeDir() error {
	_, err := os.Stat(m.Dir)
	m.madeDir = m.madeDir || errors.Is(err, os.ErrNotExist)
	if err := os.MkdirAll(m.Dir, 0o700); err != nil {
		return fmt.Errorf("cannot make its directory: %w", err)
	}
	return nil
}

// StartGuest starts the guest, in a group if the engine has one. Of the command the
// engine says what is its own: arguments and namespaces. explain says what it means
// when the start itself fails.
func (m *Making) StartGuest(group *cgroup.Group, command spawn.Command, explain func(error) error) error {
	path, err := m.core.GuestPath()
	if err != nil {
		return err
	}
	var inner *os.File
	if m.outer, inner, err = jail.SocketPair(); err != nil {
		return err
	}
	defer inner.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	// Nothing of our environment goes along: it may hold secrets.
	command.Path, command.Dir, command.Env = path, "/", []string{"GOMAXPROCS=2", "GOGC=50"}
	command.Files = map[int]int{0: int(null.Fd()), 1: int(null.Fd()), 2: int(null.Fd()), 3: int(inner.Fd())}
	start := func(cgroupFD int) (int, error) {
		command.Cgroup = cgroupFD
		// A vfork, so that the size of our own process does not count.
		guest, err := spawn.Start(&command)
		if err != nil {
			return 0, err
		}
		m.guest = &guest
		return guest.PID, nil
	}
	if group != nil {
		err = group.Start(start)
	} else {
		_, err = start(-1)
	}
	if err != nil {
		return explain(err)
	}
	return nil
}

// PID is the guest's process id, once it has started.
func (m *Making) PID() int { return m.guest.PID }

// Give hands the guest a descriptor under a name. It is closed here when the sandbox
// is made.
func (m *Making) Give(name string, f *os.File) {
	m.Config.Descriptors = append(m.Config.Descriptors, name)
	m.files = append(m.files, f)
}

// GiveDoor hands the guest what every guest has: the door, and its spool, locked.
func (m *Making) GiveDoor(ctx context.Context) error {
	listener, err := m.listener.File()
	if err != nil {
		return err
	}
	m.Give(jail.ListenerFD, listener)
	spool, err := holdSpool(ctx, m.Dir)
	if err != nil {
		return err
	}
	m.Give(jail.SpoolFD, spool)
	return nil
}

// Configure describes the sandbox to its guest and takes the guest's report, for which
// it waits no longer than bound.
func (m *Making) Configure(ctx context.Context, bound time.Duration) (jail.Report, error) {
	m.outer.Conn().SetDeadline(time.Now().Add(bound))
	defer context.AfterFunc(ctx, func() { m.outer.Conn().SetDeadline(time.Now()) })()
	return m.outer.Configure(m.Config, m.files)
}

// Judge records what is enforced, unless that is less than was demanded.
func (m *Making) Judge(p sandbox.Posture) error {
	m.State.Posture = p
	return p.CheckSetUp(m.Spec.Require)
}

// RecordState writes down what was made. From here on others can find it.
func (m *Making) RecordState(context.Context) error {
	s := &m.State
	s.Identity, s.Spec, s.SpecHash = m.ID, m.Spec.Public(), m.Spec.Hash()
	s.Created, s.Build = time.Now().UTC(), m.core.Build()
	if err := s.describe(m.guest.PID); err != nil {
		return err
	}
	return s.write(m.Dir)
}

// HandOver leaves the sandbox to itself. From here on nothing is taken back.
func (m *Making) HandOver(context.Context) error {
	if err := m.outer.Keep(); err != nil {
		return err
	}
	m.done = true
	// The guest outlives us; while we live it is our child and must be reaped.
	go m.guest.Wait()
	return nil
}

// end closes what only the making needed, and undoes it unless it was handed over.
func (m *Making) end() {
	for _, f := range m.files {
		f.Close()
	}
	if m.listener != nil {
		m.listener.Close()
	}
	if !m.done {
		m.undo()
	}
}

// undo leaves nothing of the sandbox, also for a caller who has given up waiting: first
// the guest ends, then goes what a removal clears away.
func (m *Making) undo() {
	if m.outer != nil {
		m.outer.Close()
	}
	if m.guest != nil {
		m.guest.Kill()
		m.guest.Wait()
	}
	ctx := context.Background()
	if m.listener != nil {
		m.core.clear(ctx, m.ID)
	}
	if m.madeDir {
		m.core.body.RemoveFiles(ctx, m.ID, nil, m.Dir) // nothing was in it: no command ever ran
	}
}
