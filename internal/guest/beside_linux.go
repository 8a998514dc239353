package guest

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strconv"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/guest/mark"
	"hermes.example/hermes/internal/proc"
)

// A guest that is not PID 1 lives beside everything else of the machine. What PID 1
// has by the kernel's grace it must do itself: its commands are what descends from
// it, since it adopts all orphans, and when it ends, it ends them first.

// Adopt makes the calling process one that can be a guest beside others, or says why
// it cannot here.
func Adopt() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl", err)
	}
	if _, err := os.Stat("/proc/thread-self/children"); err != nil {
		return fmt.Errorf("cannot find what commands leave behind: %w (the kernel needs CONFIG_PROC_CHILDREN)", err)
	}
	if newMarks() == nil {
		return errors.New("the limit of file locks leaves no room to tell commands from callers: raise it with \"ulimit -x unlimited\"")
	}
	return nil
}

// retireOn makes a signal end the sandbox, which is how its engine, and who stops the
// machine, asks for it.
func (s *Server) retireOn(stop os.Signal) {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, stop)
	go func() {
		<-asked
		s.mu.Lock()
		defer s.mu.Unlock()
		s.retire()
	}()
}

// AdmitUnmarked says whether whoever connected is no command of a sandbox. The door is
// a file that commands of the same user can reach, but none of them may come in.
func AdmitUnmarked(conn net.Conn) bool {
	line, ok := conn.(*net.UnixConn)
	if !ok {
		return false
	}
	err := mark.Compare(line)
	return err == nil || errors.Is(err, mark.ErrAbove) // who made us is above us
}

// endAll ends every process of the sandbox. Callers are cut off first, so that they
// do not take the end of their commands for the commands' own.
func (s *Server) endAll() {
	s.ending.Store(true)
	s.lines.Range(func(line, _ any) bool {
		line.(net.Conn).Close()
		return true
	})
	killUntilQuiet(descendants, descendants, func() []int {
		var alive []int
		descendants(func(pid int) { alive = append(alive, pid) })
		return alive
	})
}

// descendants calls f at once for every living process that descends from us, and
// returns how many were gone before they could be looked at. The dead count as gone:
// their children have become ours since we listed those.
func descendants(f func(pid int)) (missed int) {
	self := os.Getpid()
	next := []int{self}
	for len(next) > 0 {
		pid := next[len(next)-1]
		next = next[:len(next)-1]
		if pid != self {
			p, ok := proc.Read(pid)
			if !ok || p.Zombie {
				missed++
				continue
			}
			f(pid)
		}
		children, ok := childrenOf(pid)
		if !ok {
			missed++
		}
		next = append(next, children...)
	}
	return missed
}

// childrenOf lists a process's children, whichever of its threads they belong to.
// False means that the process was gone.
func childrenOf(pid int) (children []int, ok bool) {
	tasks := "/proc/" + strconv.Itoa(pid) + "/task"
	dir, err := os.Open(tasks)
	if err != nil {
		return nil, false
	}
	threads, err := dir.Readdirnames(-1)
	dir.Close()
	for _, thread := range threads {
		list, readErr := os.ReadFile(tasks + "/" + thread + "/children")
		if readErr != nil {
			continue // its children are another thread's by now
		}
		for _, field := range bytes.Fields(list) {
			if child, err := strconv.Atoi(string(field)); err == nil {
				children = append(children, child)
			}
		}
	}
	return children, err == nil
}
