package native

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// copyBound is how long a guest may take to set itself up if it may have to copy an
// image.
const copyBound = 30 * time.Minute

// creation is a native sandbox in the making.
type creation struct {
	host.Making
	engine *Engine
	ids    idMap
	image  *image.Image // nil for the host's own programs
	layers []string     // of the image, the topmost first
	stack  stack        // frozen files that it stands on
	// user is who commands run as, and imageUser whom the image names but who does
	// not exist here.
	user, imageUser string
	group           *cgroup.Group
	verdict         cgroup.Verdict
}

func (e *Engine) create(ctx context.Context, id sandbox.Identity, spec sandbox.Spec) (*host.State, error) {
	c := &creation{Making: e.NewMaking(id, spec), engine: e}
	return c.Make(ctx,
		c.traced("check spec", c.checkSpec),
		c.traced("plan ids", c.planIDs),
		c.traced("get image", c.getImage),
		c.traced("check user", c.checkUser),
		c.traced("make socket", c.Listen),
		c.traced("make cgroups", c.makeGroup),
		c.traced("start guest", c.startGuest),
		// What the guest does not need to start is done while it starts.
		c.traced("map ids", c.mapIDs),
		c.traced("make directories", c.makeDirs),
		c.traced("describe", c.describe),
		c.traced("set up inside", c.configure),
		c.traced("record state", c.recordState),
		c.traced("hand over", c.HandOver),
	)
}

// traced is a step whose time is told to whoever asked for it.
func (c *creation) traced(name string, step func(context.Context) error) func(context.Context) error {
	trace := c.engine.options.Trace
	if trace == nil {
		return step
	}
	return func(ctx context.Context) error {
		began := time.Now()
		if err := step(ctx); err != nil {
			return err
		}
		trace(name, time.Since(began))
		return nil
	}
}

// checkSpec refuses what only containers have.
func (c *creation) checkSpec(context.Context) error {
	switch l := c.Spec.Limits; {
	case c.Spec.Network == sandbox.NetworkBridge:
		return fmt.Errorf("a native sandbox has no network %q: ask for %q or %q, or use the docker engine", c.Spec.Network, sandbox.NetworkNone, sandbox.NetworkHost)
	case l.Disk > 0 || l.SharedMemory > 0:
		return errors.New("a native sandbox has no limit of disk or shared memory: leave them out, or use the docker engine")
	}
	return nil
}

func (c *creation) planIDs(context.Context) (err error) {
	c.user = c.Spec.User
	c.ids, err = c.engine.planIDs(c.ID)
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
	if err := c.MakeDir(); err != nil {
		return err
	}
	names := []string{host.SpoolName}
	if !c.Spec.Ephemeral {
		names = append(names, host.KeptDirs...)
	}
	for _, name := range names {
		if err := c.makeOwned(name); err != nil {
			return err
		}
	}
	return nil
}

// makeOwned makes a directory for root of the sandbox, who to an ordinary caller
// is the caller.
func (c *creation) makeOwned(name string) error {
	err := ownDir(filepath.Join(c.Dir, name), c.ids)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot make its directory: %w", err)
	}
	return nil
}

func (c *creation) makeGroup(context.Context) (err error) {
	l := c.Spec.Limits
	c.group, c.verdict, err = cgroup.Create(c.engine.RunName(c.ID), cgroup.Limits{MemoryBytes: max(l.Memory, 0), CPUs: l.CPUs, Pids: max(l.Pids, 0)}, c.ids.UID, c.ids.GID)
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
	flags := uint64(unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC)
	if c.Spec.Network == sandbox.NetworkNone {
		flags |= unix.CLONE_NEWNET
	}
	return c.StartGuest(c.group, spawn.Command{Argv: []string{"hermes-guest"}, Namespaces: flags, Ambient: setupCapabilities}, explainStart)
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
	return c.ids.apply(ctx, c.PID())
}

func (c *creation) configure(ctx context.Context) error {
	bound := host.SetupBound
	if c.image != nil {
		bound = copyBound
	}
	report, err := c.Configure(ctx, bound)
	if err != nil {
		return err
	}
	if trace := c.engine.options.Trace; trace != nil {
		for _, step := range report.Steps {
			trace("inside: "+step.Name, step.Took)
		}
	}
	return c.Judge(c.posture(report))
}

// giveGroup hands the guest what it needs to put commands into the sandbox's cgroups.
func (c *creation) giveGroup() error {
	handles, err := c.group.Files()
	if err != nil {
		return err
	}
	for i, f := range handles.V1Tasks {
		c.Give(jail.TasksFD+strconv.Itoa(i), f)
	}
	if handles.V2Cmd != nil {
		c.Give(jail.CommandsFD, handles.V2Cmd)
	}
	if handles.OOMEvents != nil {
		c.Give(jail.OOMFD, handles.OOMEvents)
	}
	return nil
}

// recordState also writes down the ids, and what later forks have to know.
func (c *creation) recordState(ctx context.Context) (err error) {
	if c.State.Own, err = json.Marshal(c.ids); err != nil {
		return err
	}
	if c.image != nil && !c.Spec.Ephemeral {
		if err := rememberSpec(c.Dir, c.Spec); err != nil {
			return err
		}
	}
	return c.RecordState(ctx)
}
