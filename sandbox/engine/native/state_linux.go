package native

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/atomicfile"
	"hermes.example/hermes/sandbox"
)

const stateName = "state.json"

// state is what any later process needs to find a sandbox again. It is written
// before the sandbox is handed over, so a living guest always has one.
type state struct {
	Identity sandbox.Identity
	Spec     sandbox.Spec // without the values of variables
	SpecHash string
	Created  time.Time
	Build    string
	// Host, Boot, PID and Started name one process for ever; Namespace is the
	// inode of its pid namespace.
	Host, Boot string
	PID        int
	Started    string
	Namespace  uint64
	IDs        idMap
	Posture    sandbox.Posture

	dir string // where it was read
}

func (s *state) info() sandbox.Info {
	info := sandbox.Info{Identity: s.Identity, Engine: "native", State: sandbox.Stopped, Spec: s.Spec, SpecHash: s.SpecHash, Created: s.Created, Build: s.Build}
	if s.alive() {
		info.State = sandbox.Running
	}
	return info
}

func readState(path string) (*state, error) {
	s := new(state)
	data, err := atomicfile.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err == nil {
		err = json.Unmarshal(data, s)
	}
	if err != nil {
		return nil, fmt.Errorf("its state cannot be used (%w); %s", err, startAnew)
	}
	s.dir = filepath.Dir(path)
	return s, nil
}

const startAnew = "remove the sandbox with its files to start anew"

// write replaces the state for all processes at once. It does not wait for the
// disk: what it says is about a process that no crash of the machine survives,
// and who owns the files can be read off the files.
func (s *state) write(dir string) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Replace(filepath.Join(dir, stateName), data, 0o600)
}

// describe fills in which process the guest is.
func (s *state) describe(pid int) error {
	started, err := startTime(pid)
	if err != nil {
		return err
	}
	namespace, err := namespaceOf(pid)
	if err != nil {
		return err
	}
	s.Host, s.Boot, s.PID, s.Started, s.Namespace = hostID(), bootID(), pid, started, namespace
	return nil
}

// open returns a descriptor of the guest's process, or -1 when it no longer
// lives. Only through the descriptor is it ever signalled: a number may have
// been given to another process meanwhile.
func (s *state) open() (int, error) {
	if s.Host != hostID() {
		// A container that was made anew is another host, too.
		if !heldElsewhere(s.dir) {
			return -1, nil
		}
		return -1, fmt.Errorf("the sandbox %q runs on another host, or in another container: end it there, or choose another task", s.Identity.Task)
	}
	if s.Boot != bootID() {
		return -1, nil
	}
	fd, err := unix.PidfdOpen(s.PID, 0)
	if err == unix.ESRCH || err == unix.EINVAL {
		return -1, nil
	}
	if err != nil {
		return -1, os.NewSyscallError("pidfd_open", err)
	}
	// The time alone does not tell: it counts in hundredths of a second.
	started, err := startTime(s.PID)
	namespace, namespaceErr := namespaceOf(s.PID)
	inIts := namespaceErr == nil && namespace == s.Namespace || namespaceErr != nil && exited(fd)
	if err != nil || started != s.Started || !inIts {
		unix.Close(fd)
		return -1, nil
	}
	return fd, nil
}

// heldElsewhere says whether a guest lives that has the sandbox's directory, where
// its process id means nothing here. When it cannot be told, one may.
func heldElsewhere(dir string) bool {
	locked, err := held(filepath.Join(dir, spoolName))
	return locked || err != nil && !errors.Is(err, fs.ErrNotExist)
}

// held says whether somebody holds the lock on a file or directory.
func held(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close() // and with it our own hold
	return unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) != nil, nil
}

func (s *state) alive() bool {
	fd, err := s.open()
	if err != nil {
		return true // not ours to judge, and so not ours to clear away
	}
	if fd < 0 {
		return false
	}
	defer unix.Close(fd)
	return !exited(fd)
}

// exited says whether the process is dead, be it not yet waited for.
func exited(pidfd int) bool {
	fds := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n == 1
}

// kill ends the guest, and with it all processes of its pid namespace, and waits
// until that is so.
func (s *state) kill(ctx context.Context) error {
	fd, err := s.open()
	if err != nil || fd < 0 {
		return err
	}
	defer unix.Close(fd)
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && err != unix.ESRCH {
		return fmt.Errorf("cannot end the sandbox %q: %w", s.Identity.Task, err)
	}
	for {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		if n, err := unix.Poll(fds, 50); err == nil && n == 1 {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("the sandbox %q did not end: %w", s.Identity.Task, ctx.Err())
		}
	}
}

// startTime is when a process started, in ticks since the machine did.
func startTime(pid int) (string, error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", err
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	const started = 19
	if len(fields) <= started {
		return "", fmt.Errorf("cannot read the start time of process %d", pid)
	}
	return fields[started], nil
}

func namespaceOf(pid int) (uint64, error) {
	var stat unix.Stat_t
	if err := unix.Stat("/proc/"+strconv.Itoa(pid)+"/ns/pid_for_children", &stat); err != nil {
		if err = unix.Stat("/proc/"+strconv.Itoa(pid)+"/ns/pid", &stat); err != nil {
			return 0, os.NewSyscallError("stat", err)
		}
	}
	return stat.Ino, nil
}

func bootID() string { return readLine("/proc/sys/kernel/random/boot_id") }

// hostID tells hosts apart that share a home over the network.
func hostID() string {
	if id := readLine("/etc/machine-id"); id != "" {
		return id
	}
	name, _ := os.Hostname()
	return name
}

func readLine(path string) string {
	data, _ := os.ReadFile(path)
	return strings.TrimSpace(string(data))
}
