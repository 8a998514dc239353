// Command tree makes processes that are hard to find and hard to end. The fault
// tests run it inside sandboxes.
//
//	tree NAME FLAG,FLAG…
//
// starts a leaf that calls itself NAME, says "ready" when the leaf lives, and
// waits for ever. The flags say how the leaf is started and what it does.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The flags of the start.
const (
	session  = "setsid"  // twice forked, in a session of its own
	clear    = "clear"   // without environment
	user     = "uid"     // as another user
	sibling  = "sibling" // a child of the guest instead of its maker's
	quick    = "return"  // the maker ends as soon as the leaf lives
	stubborn = "main"    // the maker itself ignores what can be ignored
)

// The flags of the leaf.
const (
	deaf      = "ignore" // ignores every signal that can be ignored
	stopped   = "stop"   // stops itself
	chain     = "chain"  // forks for ever, each parent ending at once
	headless  = "thread" // its first thread ends, another goes on
	hidden    = "hide"   // nobody may read its environment
	lowered   = "limits" // lowers every resource limit that it can do without
	closing   = "close"  // gives its descriptors up
	otherUser = 1234
)

func init() { runtime.LockOSThread() } // main stays on the first thread

func main() {
	if len(os.Args) != 3 && len(os.Args) != 4 {
		fatal("usage: tree NAME FLAG,FLAG…")
	}
	name, flags := os.Args[1], strings.Split(os.Args[2], ",")
	has := func(flag string) bool { return slices.Contains(flags, flag) }
	switch {
	case len(os.Args) == 3:
		grow(name, has)
	case os.Args[3] == "twig":
		// In between, so that the leaf's parent is gone.
		must(start(name, has, "leaf", &syscall.SysProcAttr{Setsid: true}))
	default:
		leaf(name, has)
	}
}

func grow(name string, has func(string) bool) {
	if has(stubborn) {
		ignoreAll()
	}
	switch {
	case has(sibling):
		must(startSibling(name, has))
	case has(session):
		must(start(name, has, "twig", &syscall.SysProcAttr{Setsid: true}))
	default:
		must(start(name, has, "leaf", &syscall.SysProcAttr{}))
	}
	for end := time.Now().Add(10 * time.Second); !lives(name); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			fatal("the leaf does not live")
		}
	}
	fmt.Println("ready")
	if !has(quick) {
		pause()
	}
}

func start(name string, has func(string) bool, part string, attr *syscall.SysProcAttr) error {
	cmd := exec.Command("/proc/self/exe", name, os.Args[2], part)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env = environment(has)
	if part == "leaf" && has(user) {
		attr.Credential = &syscall.Credential{Uid: otherUser, Gid: otherUser}
	}
	cmd.SysProcAttr = attr
	return cmd.Start()
}

// environment is never nil, which would mean ours.
func environment(has func(string) bool) []string {
	if has(clear) {
		return []string{}
	}
	return os.Environ()
}

func leaf(name string, has func(string) bool) {
	if has(deaf) {
		ignoreAll()
	}
	if has(hidden) {
		must(unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0))
	}
	if has(lowered) {
		lowerLimits()
	}
	if has(closing) {
		for fd := range 3 {
			unix.Close(fd)
		}
	}
	if has(session) {
		unix.Setsid()
	}
	must(unix.Prctl(unix.PR_SET_NAME, namePointer(name), 0, 0, 0))
	if has(chain) {
		forkForEver()
	}
	if has(headless) {
		ready := make(chan struct{})
		go func() { // on another thread, because this one is locked
			close(ready)
			pause()
		}()
		<-ready
		for {
			unix.RawSyscall(unix.SYS_EXIT, 0, 0, 0)
		}
	}
	if has(stopped) {
		unix.Kill(os.Getpid(), unix.SIGSTOP)
	}
	pause()
}

func ignoreAll() {
	for s := syscall.Signal(1); s < 65; s++ {
		if s != syscall.SIGCHLD && s != syscall.SIGURG {
			signal.Ignore(s)
		}
	}
}

// lowerLimits lowers hard limits, which nobody can undo.
func lowerLimits() {
	for _, r := range []int{unix.RLIMIT_LOCKS, unix.RLIMIT_RTTIME, unix.RLIMIT_RSS, unix.RLIMIT_MSGQUEUE, unix.RLIMIT_SIGPENDING, unix.RLIMIT_CORE} {
		var old unix.Rlimit
		if unix.Getrlimit(r, &old) == nil && old.Max > 0 {
			old.Max--
			old.Cur = min(old.Cur, old.Max)
			unix.Setrlimit(r, &old)
		}
	}
}

func lives(name string) bool {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		if comm, err := os.ReadFile("/proc/" + e.Name() + "/comm"); err == nil && strings.TrimSpace(string(comm)) == name {
			return true
		}
	}
	return false
}

func pause() {
	for {
		time.Sleep(time.Hour)
	}
}

func must(err error) {
	if err != nil {
		fatal(err.Error())
	}
}

func fatal(message string) {
	os.Stderr.WriteString("tree: " + message + "\n")
	os.Exit(2)
}
