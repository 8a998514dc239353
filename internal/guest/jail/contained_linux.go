package jail

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/accounts"
	"hermes.example/hermes/internal/capability"
	"hermes.example/hermes/internal/contained"
	"hermes.example/hermes/internal/guest"
	"hermes.example/hermes/internal/guest/spawn"
	"hermes.example/hermes/internal/ownthread"
	"hermes.example/hermes/internal/peercred"
	"hermes.example/hermes/internal/seccomp"
)

// RunContained is the whole life of a guest that is PID 1 of a container. What holds
// its commands is the container, made by an engine that we know nothing of; here the
// guest is only put out of their reach.
//
// Everything that it needs to know is in its arguments, its environment and its
// directory, so that it comes back by itself when somebody starts the container again.
func RunContained(args []string) error {
	runtime.GOMAXPROCS(2)
	debug.SetGCPercent(50)
	start, err := contained.ParseStart(args)
	if err != nil {
		return err
	}
	cwd, err := os.Getwd()
	if err != nil {
		cwd = "/"
	}
	server, lock, err := contain(start, cwd)
	if err != nil {
		return err
	}
	doors, err := openDoors(lock)
	if err != nil {
		return err
	}
	// Commands share the container's limit of processes with us.
	ownthread.Spare(spareThreads)
	return server.Serve(doors...)
}

// spareThreads is a few more than the guest was ever seen to need at once.
const spareThreads = 8

func contain(start contained.Start, cwd string) (*guest.Server, *contained.Lock, error) {
	ruleset, err := harden()
	if err != nil {
		return nil, nil, err
	}
	spawner, err := spawn.New(func() error {
		if ruleset < 0 {
			return nil
		}
		return restrictSelf(ruleset)
	})
	if err != nil {
		return nil, nil, fmt.Errorf("cannot enforce Landlock: %w", err)
	}
	// Nothing inside may trace the guest or read its memory and descriptors.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return nil, nil, fmt.Errorf("cannot protect the guest's memory: %w", err)
	}
	user, env, err := commandUser(start)
	if err != nil {
		return nil, nil, err
	}
	uid, gid := user.UID, user.GID
	if uid == 0 && gid == 0 {
		uid, gid = unix.Getuid(), unix.Getgid() // commands stay who their guest is
	}
	lock := new(contained.Lock)
	config := guest.Config{
		Build: start.Build, Spawner: spawner, Env: env, Cwd: cwd, UID: user.UID, GID: user.GID, Rlimits: limits(Config{}),
		Spool: openSpool(), OutOfMemory: openKills(), Ephemeral: start.Ephemeral, StopSignal: contained.StopSignal, Lock: lock,
		ActAsCommand: deputy(uid, gid, ruleset),
	}
	if start.Offline {
		// Without the right to it there is no hint, and lookups take as long as they do.
		config.Lookups, _ = guest.ListenForLookups()
	}
	server := guest.New(config)
	lock.Open = func() bool { return !server.Started() }
	return server, lock, nil
}

// harden adds to what the engine of the container does what needs no privilege. Commands
// may have our user id, and could otherwise end us by our limits. The filter of native
// sandboxes is loaded besides: an engine's own may be years old. But one who gave the
// container more rights than it usually has means them to be used.
func harden() (ruleset int, err error) {
	var now Report
	if err := readBack(&now); err != nil {
		return -1, err
	}
	if !now.NoNewPrivileges {
		return -1, nil
	}
	ruleset, _, err = scopeOnly()
	if err != nil {
		ruleset = -1 // the posture says so
	}
	usual := now.Seccomp && !slices.ContainsFunc(now.Capabilities, func(c string) bool {
		return !slices.Contains(capability.Names(mask(commandCapabilities)), c)
	})
	if usual {
		return ruleset, seccomp.LoadGuarding(unix.SECCOMP_FILTER_FLAG_TSYNC)
	}
	return ruleset, seccomp.LoadGuard(unix.SECCOMP_FILTER_FLAG_TSYNC)
}

func mask(capabilities []int) (bits uint64) {
	for _, c := range capabilities {
		bits |= 1 << c
	}
	return bits
}

// commandUser is who commands run as, if that is another user than ours, with the
// environment of the container as it is for that user. What is that user's is given to
// it.
func commandUser(start contained.Start) (other accounts.Account, env []string, err error) {
	who := start.User
	if who == "" {
		who = strconv.Itoa(unix.Getuid())
	}
	user, err := accounts.Resolve(who, func(file string) (string, error) {
		text, err := os.ReadFile("/" + file)
		return string(text), err
	})
	if err != nil {
		return other, nil, fmt.Errorf("cannot use this image: %w", err)
	}
	if user.Home == "" && start.Home != "" {
		user.Home = start.Home
		start.Owned = append(start.Owned, start.Home)
	}
	env = os.Environ()
	// The engine has set this one by whom the guest runs as, and to the root directory if
	// the image does not know that one.
	if i := slices.IndexFunc(env, func(e string) bool { return e == "HOME=/" || e == "HOME=/root" && start.User != "" }); i >= 0 && user.Home != "" {
		env[i] = "HOME=" + user.Home
	}
	for name, value := range map[string]string{"LANG": "C.UTF-8", "USER": user.Name, "LOGNAME": user.Name} {
		if value != "" && !slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, name+"=") }) {
			env = append(env, name+"="+value)
		}
	}
	if start.User == "" {
		return other, env, nil
	}
	// The engine has put the guest into groups of root's.
	if err := syscall.Setgroups(nil); err != nil {
		return other, nil, fmt.Errorf("cannot clear the supplementary groups: %w", err)
	}
	for _, dir := range start.Owned {
		if err := os.Chown(dir, user.UID, user.GID); err != nil {
			return other, nil, fmt.Errorf("cannot give %s to user %d: %w", dir, user.UID, err)
		}
	}
	return user, env, nil
}

// openSpool is the directory outside, or one of the container's own where nothing of
// the outside can be mounted. Without either, output lasts as long as the guest.
func openSpool() *os.File {
	os.MkdirAll(contained.Spool, 0o700)
	spool, err := os.Open(contained.Spool)
	if err != nil {
		return nil
	}
	return spool
}

// openKills is the file in which the kernel counts processes that it ended for want of
// memory, by the old layout of cgroups or by the new.
func openKills() *os.File {
	for _, name := range []string{"/sys/fs/cgroup/memory/memory.oom_control", "/sys/fs/cgroup/memory.events"} {
		if f, err := os.Open(name); err == nil {
			return f
		}
	}
	return nil
}

// openDoors opens the two ways in: a socket in a directory that may be visible outside,
// and one that only processes of the container can reach, which a bridge among them
// does for who has the key. That one has no file that a command could remove.
func openDoors(lock *contained.Lock) ([]guest.Door, error) {
	name, err := bridgeAddress()
	if err != nil {
		return nil, err
	}
	within, err := net.Listen("unix", name)
	if err != nil {
		return nil, fmt.Errorf("cannot make the door for bridges: %w", err)
	}
	doors := []guest.Door{{Listener: within, Bridged: true, Admit: func(conn net.Conn) bool {
		conn.SetDeadline(time.Now().Add(proofBound))
		defer conn.SetDeadline(time.Time{})
		return !fromOutside(conn) && lock.Admit(conn) // a network that is the host's has the host's processes at this door
	}}}
	path := filepath.Join(contained.Door, contained.Socket)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return doors, nil // nothing is mounted there, or it is not ours to write
	}
	if outer, err := net.Listen("unix", path); err == nil {
		// Who may reach it is decided by the directory that it is in outside.
		if os.Chmod(path, 0o666) == nil {
			doors = append(doors, guest.Door{Listener: outer, Admit: fromOutside})
		}
	}
	return doors, nil
}

// proofBound is how long a caller may take to prove itself.
const proofBound = 10 * time.Second

// bridgeAddress is the same for all processes of a container, and for no others.
func bridgeAddress() (string, error) {
	space, err := os.Readlink("/proc/self/ns/pid")
	return "@hermes-guest-" + space, err
}

// fromOutside says whether the process that connected is none of the container: those
// have no number that we could know.
func fromOutside(conn net.Conn) bool {
	line, ok := conn.(*net.UnixConn)
	if !ok {
		return false
	}
	who, err := peercred.Of(line)
	return err == nil && who.Pid == 0
}

// dialGuest waits for a guest that is still starting.
func dialGuest(name string) (*net.UnixConn, error) {
	const patience = 5 * time.Second
	for bound := time.Now().Add(patience); ; time.Sleep(patience / 500) {
		conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: name, Net: "unix"})
		if err == nil || !errors.Is(err, unix.ECONNREFUSED) || time.Now().After(bound) {
			return conn, err
		}
	}
}

// RunBridge carries a stream between its own input and output and the guest.
func RunBridge() error {
	// What passes through here is not for commands to read.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return err
	}
	name, err := bridgeAddress()
	if err != nil {
		return err
	}
	line, err := dialGuest(name)
	if err != nil {
		return err
	}
	go func() {
		io.Copy(line, os.Stdin)
		line.CloseWrite()
	}()
	_, err = io.Copy(os.Stdout, line)
	return err
}
