package gateway

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/proc"
)

// process is another gateway that lives. It is held by a descriptor, so that what is signalled is this one and
// nothing that got its number later.
type process struct {
	holder
	fd int
}

// open finds the process of a holder, or nil when it does not live any more.
func open(h holder) (*process, error) {
	if h.PID <= 1 || h.PID == os.Getpid() {
		return nil, nil
	}
	fd, err := unix.PidfdOpen(h.PID, 0)
	if err == unix.ESRCH || err == unix.EINVAL {
		return nil, nil
	}
	if err != nil {
		return nil, os.NewSyscallError("pidfd_open", err)
	}
	p := &process{h, fd}
	if start, err := proc.StartTime(h.PID); err != nil || start != h.Start || p.ended(0) {
		unix.Close(fd)
		return nil, nil
	}
	return p, nil
}

// How long another gateway may take to end: to drain, and after it was killed.
const (
	evictGrace = DrainTime + 4*time.Second
	killGrace  = 5 * time.Second
)

// give makes the other gateway give way, or says why this one has to. One that a supervisor keeps would come back and
// do the same to us: only another supervised one, whose supervisor must be a later one, may end it.
func (p *process) give(o Options) error {
	defer unix.Close(p.fd)
	switch {
	case !o.Replace:
		return fmt.Errorf("cannot run the gateway of %q: it is already running as process %d; end it, or use --replace", o.Profile, p.PID)
	case p.Supervised && !o.Supervised:
		return fmt.Errorf("cannot replace the gateway of %q: it is already running as process %d, and its supervisor would bring it back; use \"hermes gateway stop\" first", o.Profile, p.PID)
	}
	if !ours(p.PID) {
		return fmt.Errorf("cannot replace the gateway of %q: process %d belongs to another user", o.Profile, p.PID)
	}
	o.Log.Info("ending another gateway of this profile", "profile", o.Profile, "pid", p.PID)
	for _, step := range []struct {
		signal unix.Signal
		grace  time.Duration
	}{{unix.SIGTERM, cmp.Or(o.grace, evictGrace)}, {unix.SIGKILL, killGrace}} {
		if err := unix.PidfdSendSignal(p.fd, step.signal, nil, 0); err != nil && err != unix.ESRCH {
			return fmt.Errorf("cannot end process %d, the gateway of %q that runs already: %w", p.PID, o.Profile, err)
		}
		if p.ended(step.grace) {
			return nil
		}
	}
	return fmt.Errorf("cannot end process %d, the gateway of %q that runs already: it does not go away", p.PID, o.Profile)
}

// ours says whether a process is this user's. Who it is comes from a file of the volume, and root must not end what
// such a file names.
func ours(pid int) bool {
	var stat unix.Stat_t
	return unix.Stat("/proc/"+strconv.Itoa(pid), &stat) == nil && int(stat.Uid) == os.Geteuid()
}

// ended waits until the process has ended, or the time is over.
func (p *process) ended(within time.Duration) bool {
	until := time.Now().Add(within)
	for {
		left := max(time.Until(until), 0)
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(p.fd), Events: unix.POLLIN}}, int(left.Milliseconds()))
		if err != unix.EINTR {
			return err == nil && n > 0
		}
	}
}
