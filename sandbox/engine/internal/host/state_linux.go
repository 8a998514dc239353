package host

import (
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
	"hermes.example/hermes/internal/proc"
	"hermes.example/hermes/sandbox"
)

// State is what any later process needs to find a sandbox again. It is written
// before the sandbox is handed over, so a living guest always has one.
type State struct {
	Identity sandbox.Identity
	Spec     sandbox.Spec // without the values of variables
	SpecHash string
	Created  time.Time
	Build    string
	// Host, Boot, PID and Started name one process for ever; Namespace is the
	// inode of its pid namespace, or 0 where the kernel does not tell us.
	Host, Boot string
	PID        int
	Started    string
	Namespace  uint64
	// Own is what the engine itself wants to know again.
	Own     json.RawMessage `json:",omitempty"`
	Posture sandbox.Posture

	dir string // where it was read
}

// readState reads the state of the sandbox in dir.
func readState(dir string) (*State, error) {
	s := new(State)
	data, err := atomicfile.Read(filepath.Join(dir, stateName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err == nil {
		err = json.Unmarshal(data, s)
	}
	if err != nil {
		return nil, fmt.Errorf("its state cannot be used (%w); %s", err, startAnew)
	}
	s.dir = dir
	return s, nil
}

const startAnew = "remove the sandbox with its files to start anew"

// write replaces the state for all processes at once. It does not wait for the
// disk: what it says is about a process that no crash of the machine survives,
// and who owns the files can be read off the files.
func (s *State) write(dir string) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Replace(filepath.Join(dir, stateName), data, 0o600)
}

// describe fills in which process the guest is.
func (s *State) describe(pid int) error {
	started, err := proc.StartTime(pid)
	if err != nil {
		return err
	}
	namespace, err := namespaceOf(pid)
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	s.Host, s.Boot, s.PID, s.Started, s.Namespace = hostID(), proc.BootID(), pid, started, namespace
	return nil
}

// open returns the guest, or nil when it no longer lives.
func (s *State) open() (*Guest, error) {
	if s.Host != hostID() {
		// A container that was made anew is another host, too.
		if !heldElsewhere(s.dir) {
			return nil, nil
		}
		return nil, fmt.Errorf("the sandbox %q runs on another host, or in another container: end it there, or choose another task", s.Identity.Task)
	}
	if s.Boot != proc.BootID() {
		return nil, nil
	}
	fd, err := unix.PidfdOpen(s.PID, 0)
	if err == unix.ESRCH || err == unix.EINVAL {
		return nil, nil
	}
	if err != nil {
		return nil, os.NewSyscallError("pidfd_open", err)
	}
	guest := GuestOf(s.Identity, s.PID, fd)
	// The time alone does not tell: it counts in hundredths of a second.
	started, err := proc.StartTime(s.PID)
	namespace, namespaceErr := namespaceOf(s.PID)
	inIts := namespace == s.Namespace || namespaceErr != nil && guest.exited() ||
		s.Namespace == 0 || errors.Is(namespaceErr, fs.ErrPermission)
	if err != nil || started != s.Started || !inIts {
		guest.Close()
		return nil, nil
	}
	return guest, nil
}

// heldElsewhere says whether a guest lives that has the sandbox's directory, where
// its process id means nothing here. When it cannot be told, one may.
func heldElsewhere(dir string) bool {
	locked, err := held(filepath.Join(dir, SpoolName))
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

func (s *State) alive() bool {
	guest, err := s.open()
	if err != nil {
		return true // not ours to judge, and so not ours to clear away
	}
	if guest == nil {
		return false
	}
	defer guest.Close()
	return !guest.exited()
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

// hostID tells hosts apart that share a home over the network.
func hostID() string {
	if id := ReadLine("/etc/machine-id"); id != "" {
		return id
	}
	name, _ := os.Hostname()
	return name
}

// ReadLine is the content of a small file of the kernel's, or "".
func ReadLine(path string) string {
	data, _ := os.ReadFile(path)
	return strings.TrimSpace(string(data))
}
