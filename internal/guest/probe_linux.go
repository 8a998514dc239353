package guest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/guest/probe"
	"hermes.example/hermes/internal/guest/spawn"
	"hermes.example/hermes/internal/proc"
	"hermes.example/hermes/internal/wire"
)

const (
	// probeBound is how long a probe may take.
	probeBound = 10 * time.Second
	maxReport  = 1 << 20
)

// findings remembers what was found: nothing of it changes while the guest lives.
type findings struct {
	mu    sync.Mutex
	found *wire.Probe
}

func (s *Server) serveProbe(w *wire.Writer) {
	s.findings.mu.Lock()
	defer s.findings.mu.Unlock()
	if s.findings.found == nil {
		found, err := s.probe()
		if err != nil {
			fail(w, wire.FailureInternal, err.Error())
			return
		}
		s.findings.found = found
	}
	w.WriteMessage(wire.TypeProbe, s.findings.found)
}

// probe starts our own program as a command, to find out what a command can do.
func (s *Server) probe() (*wire.Probe, error) {
	program, err := ownProgram()
	if err != nil {
		return nil, fmt.Errorf("cannot make a program of the probe: %w", err)
	}
	defer program.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	// Landlock keeps commands from abstract sockets that are not their own. This one
	// is there for the probe to try; nobody answers.
	door, err := net.Listen("unix", "@hermes-probe-"+strconv.FormatInt(int64(bootTime()), 36))
	if err != nil {
		return nil, err
	}
	defer door.Close()
	const programFD = 3
	sc := &spawn.Command{
		Path: "/proc/self/fd/" + strconv.Itoa(programFD), Argv: []string{"hermes-guest", probe.Mode, door.Addr().String()},
		// One processor, so that it needs few threads where those are limited.
		Env: mergeEnv(s.config.Env, map[string]string{"GOMAXPROCS": "1"}), Dir: "/",
		Files: map[int]int{0: s.null, 1: int(w.Fd()), 2: s.null, programFD: int(program.Fd())},
	}
	c := newCommand(wire.Exec{})
	pid, exited, tree, err := s.startTree(sc, "probe", func(p proc.Process) bool { return s.ownedByAnother(c, p) })
	w.Close()
	if err != nil {
		return nil, fmt.Errorf("cannot start the probe: %w", err)
	}
	c.pid = pid
	defer tree.close()
	found, err := readReport(r, exited)
	if err != nil {
		endTree(tree, 0)
	}
	return found, err
}

func readReport(r *os.File, exited <-chan syscall.WaitStatus) (*wire.Probe, error) {
	if err := r.SetReadDeadline(time.Now().Add(probeBound)); err != nil {
		return nil, err
	}
	report, err := io.ReadAll(io.LimitReader(r, maxReport))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, fmt.Errorf("the probe took longer than %v", probeBound)
	}
	if err != nil {
		return nil, err
	}
	select {
	case status := <-exited:
		found := new(wire.Probe)
		if json.Unmarshal(report, found) != nil {
			return nil, fmt.Errorf("the probe ended with status %d and no report", status.ExitStatus())
		}
		return found, nil
	case <-time.After(probeBound):
		return nil, errors.New("the probe does not end")
	}
}

// ownProgram returns our program as a file in memory: it has no path inside, and
// Landlock lets nothing be executed from elsewhere.
func ownProgram() (*os.File, error) {
	own, err := os.Open("/proc/self/exe")
	if err != nil {
		return nil, err
	}
	defer own.Close()
	fd, err := unix.MemfdCreate("hermes-guest", unix.MFD_CLOEXEC|unix.MFD_EXEC)
	if err == unix.EINVAL { // before Linux 6.3 all of them can be executed
		fd, err = unix.MemfdCreate("hermes-guest", unix.MFD_CLOEXEC)
	}
	if err != nil {
		return nil, fmt.Errorf("memfd_create: %w (see the sysctl vm.memfd_noexec)", err)
	}
	file := os.NewFile(uintptr(fd), "hermes-guest")
	defer file.Close()
	if _, err := io.Copy(file, own); err != nil {
		return nil, err
	}
	// Nothing can be executed that is open for writing.
	return os.Open("/proc/self/fd/" + strconv.Itoa(fd))
}
