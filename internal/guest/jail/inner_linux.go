package jail

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/guest"
	"hermes.example/hermes/internal/guest/spawn"
	"hermes.example/hermes/internal/rmtree"
	"hermes.example/hermes/internal/seccomp"
	"hermes.example/hermes/internal/wire"
)

// setupFD is the guest's end of the setup conversation.
const setupFD = 3

// Run is the whole life of a sandbox's guest. It returns when the sandbox
// has ended, or could not be made.
func Run() error {
	setup := os.NewFile(setupFD, "setup")
	closeOtherDescriptors()
	config, files, err := receiveConfig(setup)
	if err != nil {
		return err
	}
	enter := enter
	if config.Beside != nil {
		enter = settle
	}
	server, report, err := enter(config, files)
	w := wire.NewWriter(setup)
	if err != nil {
		send(w, frameReport, Report{Error: err.Error()})
		return err
	}
	if err := send(w, frameReport, report); err != nil {
		return err
	}
	if frame, err := wire.NewReader(setup).Next(); err != nil || frame.Type != frameKeep {
		return fmt.Errorf("the creator is gone before the hand-over: %v", err)
	}
	listener, err := net.FileListener(files[ListenerFD])
	if err != nil {
		return err
	}
	files[ListenerFD].Close()
	setup.Close()
	door := guest.Door{Listener: listener}
	if config.Beside != nil {
		door.Admit = guest.AdmitUnmarked
	}
	err = server.Serve(door)
	if b := config.Beside; b != nil && b.Scratch != "" {
		err = errors.Join(err, rmtree.Remove(b.Scratch))
	}
	return err
}

// closeOtherDescriptors closes what a careless creator let us inherit: we would hold it
// as long as the sandbox lives. What our own runtime has opened closes on exec, which
// nothing does that was inherited.
func closeOtherDescriptors() {
	open, _ := os.ReadDir("/proc/self/fd")
	for _, entry := range open {
		fd, err := strconv.Atoi(entry.Name())
		if err != nil || fd <= setupFD {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			unix.Close(fd)
		}
	}
	unix.CloseRange(setupFD+1, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
}

func receiveConfig(setup *os.File) (Config, map[string]*os.File, error) {
	var config Config
	var one [1]byte
	control := make([]byte, unix.CmsgSpace(4*253))
	_, n, _, _, err := unix.Recvmsg(int(setup.Fd()), one[:], control, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return config, nil, os.NewSyscallError("recvmsg", err)
	}
	var fds []int
	messages, err := unix.ParseSocketControlMessage(control[:n])
	if err == nil && len(messages) > 0 {
		fds, err = unix.ParseUnixRights(&messages[0])
	}
	if err != nil {
		return config, nil, err
	}
	if err := receive(wire.NewReader(setup), frameConfig, &config); err != nil {
		return config, nil, err
	}
	if len(fds) != len(config.Descriptors) {
		return config, nil, fmt.Errorf("%d descriptors came, %d were announced", len(fds), len(config.Descriptors))
	}
	files := make(map[string]*os.File, len(fds))
	for i, name := range config.Descriptors {
		files[name] = os.NewFile(uintptr(fds[i]), name)
	}
	return config, files, nil
}

// enter makes the sandbox around this process, in the order that each step's
// privileges allow, and gives all of them up that the guest does not need.
func enter(c Config, files map[string]*os.File) (*guest.Server, Report, error) {
	var report Report
	began := time.Now()
	lap := func(name string) {
		now := time.Now()
		report.Steps = append(report.Steps, Step{name, now.Sub(began)})
		began = now
	}
	if err := becomeRoot(c.SetGroups); err != nil {
		return nil, report, err
	}
	if err := unix.Sethostname([]byte(c.Hostname)); err != nil {
		return nil, report, fmt.Errorf("cannot set the host name: %w", err)
	}
	if c.Loopback {
		if err := loopbackUp(); err != nil {
			return nil, report, err
		}
	}
	var lookups *net.UDPConn
	if c.Loopback {
		var err error
		if lookups, err = guest.ListenForLookups(); err != nil {
			return nil, report, fmt.Errorf("cannot listen for name lookups: %w", err)
		}
	}
	lap("ids, host name, loopback")
	if err := forbidUserNamespaces(); err != nil {
		return nil, report, err
	}
	copied, err := buildRoot(c, files)
	if err != nil {
		return nil, report, err
	}
	report.CopyReason = copied
	lap("mounts")
	if err := allThreads(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1); err != nil {
		return nil, report, fmt.Errorf("cannot set no-new-privileges: %w", err)
	}
	ruleset, abi, landlockErr := newRuleset(writablePaths(c))
	report.LandlockABI = abi
	spawner, err := spawn.New(func() error {
		return prepareSpawner(c.UID, files, ruleset)
	})
	if err != nil {
		return nil, report, err
	}
	if landlockErr != nil {
		report.LandlockABI, report.LandlockError = 0, landlockErr.Error()
	}
	if err := keepCapabilities(spawner, files[CommandsFD] != nil); err != nil {
		return nil, report, err
	}
	lap("landlock, capabilities, cgroup")
	// One filter for the guest and all it starts: loading is dear, and the
	// guest needs nothing that a command may not do, except to bear commands
	// into cgroups.
	if err := seccomp.LoadExcept(spawn.ForkAddress(), unix.SECCOMP_FILTER_FLAG_TSYNC); err != nil {
		return nil, report, err
	}
	lap("seccomp")
	// Nothing inside may trace the guest or read its memory and descriptors.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return nil, report, fmt.Errorf("cannot protect the guest's memory: %w", err)
	}
	if err := spawner.Prepare(func() error { return readBack(&report) }); err != nil {
		return nil, report, err
	}
	server := guest.New(guest.Config{
		Build: c.Build, Spawner: spawner, Env: c.Env, Cwd: c.Cwd, UID: c.UID, GID: c.GID, Rlimits: limits(c),
		Spool: files[SpoolFD], Commands: files[CommandsFD], OutOfMemory: files[OOMFD], Lookups: lookups, Ephemeral: c.Ephemeral, Successor: c.Successor,
		ActAsCommand: deputy(c.UID, c.GID, ruleset),
	})
	report.Shell = server.ShellName()
	report.CommandCgroups = files[CommandsFD] != nil
	lap("read back")
	return server, report, nil
}

// prepareSpawner restricts the thread that all commands are forked from, as far
// as that needs privileges which the guest gives up afterwards.
func prepareSpawner(uid int, files map[string]*os.File, ruleset int) error {
	for i := 0; ; i++ {
		tasks := files[TasksFD+strconv.Itoa(i)]
		if tasks == nil {
			break
		}
		if _, err := tasks.Write([]byte("0")); err != nil {
			return fmt.Errorf("cannot enter the cgroup of commands: %w", err)
		}
		tasks.Close()
	}
	// A command that is born in a cgroup gets its namespace then: the kernel lets
	// nobody start one outside of the cgroup that its own namespace begins with.
	if files[CommandsFD] == nil {
		if err := unix.Unshare(unix.CLONE_NEWCGROUP); err != nil {
			return fmt.Errorf("cannot make a cgroup namespace: %w", err)
		}
	}
	if err := dropBounding(uid); err != nil {
		return err
	}
	if ruleset >= 0 {
		if err := restrictSelf(ruleset); err != nil {
			return fmt.Errorf("cannot enforce Landlock: %w", err)
		}
	}
	return nil
}

// limits are the resource limits of every command. Nothing here raises a hard
// limit, because that takes a privilege that nobody has here.
func limits(c Config) []spawn.Rlimit {
	rs := []spawn.Rlimit{{Resource: unix.RLIMIT_CORE}}
	var files unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &files) == nil {
		const wanted = 65536
		files.Max = min(files.Max, wanted)
		files.Cur = min(files.Max, 4096)
		rs = append(rs, spawn.Rlimit{Resource: unix.RLIMIT_NOFILE, Value: files})
	}
	if c.Processes > 0 {
		var procs unix.Rlimit
		if unix.Getrlimit(unix.RLIMIT_NPROC, &procs) == nil {
			n := min(c.Processes, procs.Max)
			rs = append(rs, spawn.Rlimit{Resource: unix.RLIMIT_NPROC, Value: unix.Rlimit{Cur: n, Max: n}})
		}
	}
	return rs
}

func writablePaths(c Config) []string {
	if c.Image != nil {
		return []string{"/"}
	}
	// Not /proc, which is not writable to begin with.
	paths := []string{"/dev"}
	for _, s := range c.Scratch {
		paths = append(paths, s.Path)
	}
	for _, b := range c.Binds {
		if b.Writable {
			paths = append(paths, b.Target)
		}
	}
	return paths
}

// becomeRoot takes the ids that are root's inside. The process was started with
// all capabilities of its user namespace as ambient ones, before its ids were
// mapped, so it may.
func becomeRoot(setGroups bool) error {
	if setGroups {
		if err := syscall.Setgroups(nil); err != nil {
			return fmt.Errorf("cannot clear the supplementary groups: %w", err)
		}
	}
	if err := syscall.Setresgid(0, 0, 0); err != nil {
		return fmt.Errorf("cannot take the sandbox's group id: %w", err)
	}
	if err := syscall.Setresuid(0, 0, 0); err != nil {
		return fmt.Errorf("cannot take the sandbox's user id: %w", err)
	}
	return nil
}

// forbidUserNamespaces makes the kernel refuse any further user namespace below
// ours, whatever system call asks for it. All other kinds of namespaces need a
// capability that no command has.
func forbidUserNamespaces() error {
	if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil {
		return fmt.Errorf("cannot forbid nested user namespaces: %w", err)
	}
	return nil
}

// loopbackUp is what `ip link set lo up` does.
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("cannot bring up the loopback device: %w", err)
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request); err != nil {
		return fmt.Errorf("cannot bring up the loopback device: %w", err)
	}
	return nil
}
