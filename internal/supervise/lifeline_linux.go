package supervise

import (
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// lifelineVariable tells a service which descriptor ends with the supervisor.
const lifelineVariable = "HERMES_LIFELINE_FD"

// lifeline is a pipe of which services have one end and only this process has the other: whatever ends this process,
// the kernel closes that. It is made for the first who wants it.
type lifeline struct {
	mu           sync.Mutex
	made         bool
	theirs, ours int
}

// end is the descriptor that services get.
func (l *lifeline) end() (fd int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.made {
		var fds [2]int
		if err := unix.Pipe2(fds[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
			return 0, os.NewSyscallError("pipe2", err)
		}
		l.made, l.theirs, l.ours = true, fds[0], fds[1]
	}
	return l.theirs, nil
}

func (l *lifeline) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.made {
		unix.Close(l.theirs)
		unix.Close(l.ours)
		l.made = false
	}
}
