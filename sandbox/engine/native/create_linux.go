package native

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/cgroup"
	"hermes.example/hermes/internal/guest/jail"
	"hermes.example/hermes/internal/guest/spawn"
	"hermes.example/hermes/internal/image"
	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/engine/internal/host"
)

// setupBound is how long a guest may take to set itself up, and copyBound the same if
// it may have to copy an image.
const (
	setupBound = 30 * time.Second
	copyBound  = 30 * time.Minute
)

// creation is a sandbox in the making. Every step adds to it; undo takes back
// what was done, and hand-over makes undo do nothing.
//
// A creator that is killed leaves no guest, because the guest ends when the setup
// conversation does, and leaves at most a run directory and empty cgroups, which
// the next Create or Sweep of the identity removes.
type creation struct {
	engine *Engine
	id     sandbox.Identity
	spec   sandbox.Spec
	dir    string
	madeIt bool // dir did not exist before
	ids    idMap
	image  *image.Image // nil for the host's own programs
	layers []string     // of the image, the topmost first
	stack  stack        // frozen files that it stands on
	// user is who commands run as, and imageUser whom the image names but who does
	// not exist here.
	user, imageUser string

	group    *cgroup.Group
	verdict  cgroup.Verdict
	listener *net.UnixListener
	outer    *jail.Outer
	guest    *spawn.Process
	files    []*os.File // given to the guest, closed here afterwards
	config   jail.Config
	state    host.State
	done     bool
}

func (e *Engine) create(ctx context.Context, id sandbox.Identity, spec sandbox.Spec) (*host.State, error) {
	c := &creation{engine: e, id: id, spec: spec, dir: e.options.dir(id)}
	defer c.undo()
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"check spec", c.checkSpec},
		{"plan ids", c.planIDs},
		{"get image", c.getImage},
		{"check user", c.checkUser},
		{"make socket", c.listen}, // its directory says whose all the rest is
		{"make cgroups", c.makeGroup},
		{"start guest", c.startGuest},
		// What the guest does not need to start is done while it starts.
		{"map ids", c.mapIDs},
		{"make directories", c.makeDirs},
		{"describe", c.describe},
		{"set up inside", c.configure},
		{"record state", c.recordState},
		{"hand over", c.handOver},
	} {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		began := time.Now()
		if err := step.do(ctx); err != nil {
			return nil, err
		}
		if e.options.Trace != nil {
			e.options.Trace(step.name, time.Since(began))
		}
	}
	return &c.state, nil
}

// checkSpec refuses what only containers have.
func (c *creation) checkSpec(context.Context) error {
	switch l := c.spec.Limits; {
	case c.spec.Network == sandbox.NetworkBridge:
		return fmt.Errorf("a native sandbox has no network %q: ask for %q or %q, or use the docker engine", c.spec.Network, sandbox.NetworkNone, sandbox.NetworkHost)
	case l.Disk > 0 || l.SharedMemory > 0:
		return errors.New("a native sandbox has no limit of disk or shared memory: leave them out, or use the docker engine")
	}
	return nil
}

func (c *creation) planIDs(context.Context) (err error) {
	c.user = c.spec.User
	c.ids, err = c.engine.planIDs(c.id)
	return err
}

func (c *creation) checkUser(context.Context) error {
	uid, gid, err := c.userIDs()
	if err != nil {
		return err
	}
	if !covers(c.ids.UIDs, uid) || !covers(c.ids.GIDs, gid) {
		return fmt.Errorf("there is no user %d:%d inside: ids are %q here; subordinate ids (newuidmap and a line in /etc/subuid) give more", uid, gid, c.ids.Mode)
	}
	return nil
}

func (c *creation) userIDs() (uid, gid int, err error) {
	return sandbox.Spec{User: c.user}.UserIDs()
}

// makeDirs makes the directories of the sandbox, owned by its root. The guest
// gives the home and the workspace to the user who is to have them.
func (c *creation) makeDirs(context.Context) error {
	if err := c.makeDir(); err != nil {
		return err
	}
	names := []string{host.SpoolName}
	if !c.spec.Ephemeral {
		names = append(names, host.KeptDirs...)
	}
	for _, name := range names {
		if err := c.makeOwned(name); err != nil {
			return err
		}
	}
	return nil
}

func (c *creation) makeDir() error {
	_, err := os.Stat(c.dir)
	c.madeIt = c.madeIt || errors.Is(err, os.ErrNotExist)
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return fmt.Errorf("cannot make its directory: %w", err)
	}
	return nil
}

// makeOwned makes a directory for root of the sandbox, who to an ordinary caller
// is the caller.
func (c *creation) makeOwned(name string) error {
	err := ownDir(filepath.Join(c.dir, name), c.ids)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot make its directory: %w", err)
	}
	return nil
}

// listen makes the door to the guest. It is bound outside, so no path to it
// exists inside, and the guest gets it as a descriptor.
func (c *creation) listen(context.Context) (err error) {
	c.listener, err = c.engine.Listen(c.id)
	return err
}

func (c *creation) makeGroup(context.Context) (err error) {
	l := c.spec.Limits
	c.group, c.verdict, err = cgroup.Create(c.engine.RunName(c.id), cgroup.Limits{MemoryBytes: max(l.Memory, 0), CPUs: l.CPUs, Pids: max(l.Pids, 0)}, c.ids.UID, c.ids.GID)
	return err
}

// Capabilities that the guest needs in its own user namespace to set it up. They
// are ambient because the namespace has no ids yet when the guest is executed,
// and would be lost otherwise.
var setupCapabilities = []uintptr{
	unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_KILL, unix.CAP_SETGID, unix.CAP_SETUID,
	unix.CAP_SETPCAP, unix.CAP_NET_ADMIN, unix.CAP_NET_BIND_SERVICE, unix.CAP_SYS_ADMIN, unix.CAP_SYS_RESOURCE,
}

func (c *creation) startGuest(context.Context) error {
	path, err := c.engine.GuestPath()
	if err != nil {
		return err
	}
	var inner *os.File
	if c.outer, inner, err = jail.SocketPair(); err != nil {
		return err
	}
	defer inner.Close()
	flags := uint64(unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC)
	if c.spec.Network == sandbox.NetworkNone {
		flags |= unix.CLONE_NEWNET
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	start := func(cgroupFD int) (int, error) {
		// A vfork, so that the size of our own process does not count.
		guest, err := spawn.Start(&spawn.Command{
			Path: path, Argv: []string{"hermes-guest"}, Env: []string{"GOMAXPROCS=2", "GOGC=50"}, Dir: "/",
			Files:      map[int]int{0: int(null.Fd()), 1: int(null.Fd()), 2: int(null.Fd()), 3: int(inner.Fd())},
			Namespaces: flags, Ambient: setupCapabilities, Cgroup: cgroupFD,
		})
		if err != nil {
			return 0, err
		}
		c.guest = &guest
		return guest.PID, nil
	}
	if err := c.group.Start(start); err != nil {
		return explainStart(err)
	}
	return nil
}

// explainStart says what a failed start of the guest means.
func explainStart(err error) error {
	switch {
	case errors.Is(err, unix.ENOSPC) || host.ReadLine("/proc/sys/user/max_user_namespaces") == "0":
		return fmt.Errorf("user namespaces are disabled (sysctl user.max_user_namespaces): %w"+AskDoctor, err)
	case host.ReadLine("/proc/sys/kernel/unprivileged_userns_clone") == "0":
		return fmt.Errorf("user namespaces are disabled for ordinary users (sysctl kernel.unprivileged_userns_clone): %w"+AskDoctor, err)
	case errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES):
		return fmt.Errorf("this process may not make user namespaces (a container's seccomp profile or AppArmor can forbid it): %w"+AskDoctor, err)
	}
	return fmt.Errorf("cannot start its guest: %w", err)
}

func (c *creation) mapIDs(ctx context.Context) error {
	return c.ids.apply(ctx, c.guest.PID)
}

// configure describes the sandbox to its guest and takes the guest's report.
func (c *creation) configure(ctx context.Context) error {
	bound := setupBound
	if c.image != nil {
		bound = copyBound
	}
	c.outer.Conn().SetDeadline(time.Now().Add(bound))
	defer context.AfterFunc(ctx, func() { c.outer.Conn().SetDeadline(time.Now()) })()
	report, err := c.outer.Configure(c.config, c.files)
	if err != nil {
		return err
	}
	if trace := c.engine.options.Trace; trace != nil {
		for _, step := range report.Steps {
			trace("inside: "+step.Name, step.Took)
		}
	}
	c.state.Posture = c.posture(report)
	return c.state.Posture.CheckSetUp(c.spec.Require)
}

func (c *creation) give(name string, f *os.File) {
	c.config.Descriptors = append(c.config.Descriptors, name)
	c.files = append(c.files, f)
}

func (c *creation) addDescriptors(ctx context.Context) error {
	listener, err := c.listener.File()
	if err != nil {
		return err
	}
	c.give(jail.ListenerFD, listener)
	spool, err := host.HoldSpool(ctx, c.dir)
	if err != nil {
		return err
	}
	c.give(jail.SpoolFD, spool)
	handles, err := c.group.Files()
	if err != nil {
		return err
	}
	for i, f := range handles.V1Tasks {
		c.give(jail.TasksFD+strconv.Itoa(i), f)
	}
	if handles.V2Cmd != nil {
		c.give(jail.CommandsFD, handles.V2Cmd)
	}
	if handles.OOMEvents != nil {
		c.give(jail.OOMFD, handles.OOMEvents)
	}
	return nil
}

// recordState writes down what was made. From here on others can find it.
func (c *creation) recordState(context.Context) error {
	c.state.Identity, c.state.Spec, c.state.SpecHash = c.id, c.spec.Public(), c.spec.Hash()
	c.state.Created, c.state.Build = time.Now().UTC(), c.engine.Build()
	var err error
	if c.state.Own, err = json.Marshal(c.ids); err != nil {
		return err
	}
	if err := c.state.Describe(c.guest.PID); err != nil {
		return err
	}
	if c.image != nil && !c.spec.Ephemeral {
		if err := rememberSpec(c.dir, c.spec); err != nil {
			return err
		}
	}
	return c.state.Write(c.dir)
}

func (c *creation) handOver(context.Context) error {
	if err := c.outer.Keep(); err != nil {
		return err
	}
	c.done = true
	// The guest outlives us; while we live it is our child and must be reaped.
	go c.guest.Wait()
	return nil
}

func (c *creation) undo() {
	for _, f := range c.files {
		f.Close()
	}
	if c.listener != nil {
		c.listener.Close()
	}
	if c.done {
		return
	}
	if c.outer != nil {
		c.outer.Close()
	}
	if c.guest != nil {
		c.guest.Kill()
		c.guest.Wait()
	}
	if c.group != nil {
		c.group.Kill()
		c.group.Remove()
	}
	if c.listener != nil {
		os.RemoveAll(c.engine.RunDir(c.id))
	}
	if c.madeIt {
		ctx := context.Background()
		removeAs(ctx, c.ids, c.dir) // nothing was in it: no command ever ran
		unpin(ctx, c.id.Home, c.dir)
	}
}
