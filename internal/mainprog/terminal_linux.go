package mainprog

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// Terminal is how the program gets the container's terminal.
type Terminal int

const (
	// NoTerminal: the input is no terminal. The program gets a session of its own, so that what it does to its process
	// group stays there.
	NoTerminal Terminal = iota
	// ours: the terminal was our session's and is free now. The program becomes the leader of a new session that has
	// it, which puts it into the foreground before its first instruction, and out of the reach of a Ctrl-Z after
	// which nobody could continue it.
	ours
	// shared: another init leads our session and keeps the terminal. The program inherits our place in the
	// foreground, and we leave it.
	shared
)

// Prepare looks at the terminal and gives it up if it is ours to give. It is called once, before any signal is
// watched: the kernel sends a hangup to who gives up a terminal.
func Prepare() Terminal {
	switch _, err := unix.IoctlGetTermios(0, unix.TCGETS); {
	case err != nil:
		return NoTerminal
	case session() != os.Getpid():
		return shared
	}
	signal.Ignore(syscall.SIGHUP)
	defer signal.Reset(syscall.SIGHUP)
	// It fails where nobody has the terminal yet, which is what is wanted.
	unix.IoctlSetInt(0, unix.TIOCNOTTY, 0)
	return ours
}

func session() int {
	sid, _ := unix.Getsid(0)
	return sid
}

// give says how the program is started.
func (t Terminal) give(sys *syscall.SysProcAttr) {
	switch t {
	case NoTerminal:
		sys.Setsid = true
	case ours:
		sys.Setsid, sys.Setctty, sys.Ctty = true, true, 0
	case shared:
	}
}

// leave is called when the program was started. Where it shares our place, Ctrl-C is for it alone from now on: were
// we in the foreground too, it would get the kernel's signal and the one that we hand on. Who cannot leave is in the
// group of a script that started us, and stays like every other program of it.
func (t Terminal) leave() {
	if t != shared {
		return
	}
	if group, err := unix.Getpgid(os.Getppid()); err == nil {
		unix.Setpgid(0, group)
	}
}

// giveStdio makes terminals and pipes the user's, as container runtimes do for the user of a container: otherwise
// it could write to its output, but not open /dev/stdout. What cannot be given is left.
func giveStdio(uid int) {
	for fd := range 3 {
		var st unix.Stat_t
		if unix.Fstat(fd, &st) != nil {
			continue
		}
		if _, err := unix.IoctlGetTermios(fd, unix.TCGETS); err == nil || st.Mode&unix.S_IFMT == unix.S_IFIFO {
			unix.Fchown(fd, uid, -1)
		}
	}
}
