// Command attempt tries to get out of a sandbox, by direct system calls. The escape
// suite runs it inside sandboxes, where every attempt has to be refused, and outside
// as root, where it has to work: only then is it known that the attempt is one.
//
//	attempt WORLD         make all attempts, each in a process of its own: one line of JSON each
//	attempt WORLD NAME    make one attempt, in this process
//	attempt victim        be a process outside that others try to reach, until standard input ends
//	attempt whoami        tell the rights of this process
//
// WORLD is a JSON object that says where everything is.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// attempt is one way out.
//
// Some ways would harm the machine if they worked. Those have arguments that the
// kernel refuses after it has looked at the caller's rights: such an answer, in
// past, means that the rights were there.
type attempt struct {
	name string
	try  func(w world) error
	// refused are the answers, besides EPERM and EACCES, that mean a refusal.
	refused []syscall.Errno
	past    []syscall.Errno
}

type group struct {
	name     string
	attempts []attempt
}

func groups() []group {
	return []group{
		{"mounts", mountAttempts},
		{"namespaces", namespaceAttempts},
		{"processes outside", processAttempts},
		{"the guest", guestAttempts},
		{"files of the host", fileAttempts},
		{"paths through mounts", pathAttempts},
		{"kernel settings", settingAttempts},
		{"devices", deviceAttempts},
		{"cgroups", cgroupAttempts},
		{"kernel interfaces", kernelAttempts},
		{"privileges", privilegeAttempts},
		{"terminals", terminalAttempts},
		{"network", networkAttempts},
		{"system call tables", tableAttempts},
	}
}

// Outcome is what became of an attempt.
type Outcome struct {
	Group, Name string
	Verdict     string
	Answer      string // the kernel's
}

// The verdicts.
const (
	worked  = "worked"
	past    = "past" // the rights were there, the rest was meant to fail
	refused = "refused"
	absent  = "absent" // this machine has nothing to try it on
	odd     = "odd"    // none of these: the attempt itself is wrong
)

func main() {
	switch {
	case len(os.Args) == 2 && os.Args[1] == "victim":
		exitWith(beVictim())
	case len(os.Args) == 2 && os.Args[1] == "whoami":
		exitWith(whoami())
	case len(os.Args) == 2:
		exitWith(all(os.Args[1]))
	case len(os.Args) == 3:
		exitWith(one(os.Args[1], os.Args[2]))
	default:
		exitWith(errors.New("usage: attempt WORLD [NAME]"))
	}
}

func exitWith(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "attempt:", err)
		os.Exit(1)
	}
}

// all makes every attempt in a child: one that works may change its process, and
// one that is refused may be killed.
func all(text string) error {
	w, err := parseWorld(text)
	if err != nil {
		return err
	}
	if w.Guest == 0 {
		w.Guest = os.Getppid()
	}
	whole, err := json.Marshal(w)
	if err != nil {
		return err
	}
	world := string(whole)
	for _, g := range groups() {
		for _, a := range g.attempts {
			o := Outcome{Group: g.name, Name: a.name}
			o.Verdict, o.Answer = inChild(world, g.name+": "+a.name, a)
			line, err := json.Marshal(o)
			if err != nil {
				return err
			}
			fmt.Println(string(line))
		}
	}
	return nil
}

// stuck is how long an attempt may take.
const stuck = 10 * time.Second

// inChild makes an attempt in a child, whose exit status is the errno.
func inChild(world, name string, a attempt) (verdict, answer string) {
	// Descriptors are handed on as they are: some attempts look at them.
	child, err := os.StartProcess("/proc/self/exe", []string{"attempt", world, name}, &os.ProcAttr{Env: os.Environ(), Files: inherited()})
	if err != nil {
		return odd, err.Error()
	}
	timer := time.AfterFunc(stuck, func() { child.Kill() })
	defer timer.Stop()
	state, err := child.Wait()
	if err != nil {
		return odd, err.Error()
	}
	status := state.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		if status.Signal() == unix.SIGSYS {
			return refused, "killed"
		}
		return odd, status.Signal().String()
	}
	errno := syscall.Errno(status.ExitStatus())
	switch {
	case errno == 0:
		return worked, ""
	case errno == unix.ENODATA:
		return absent, ""
	case slices.Contains(a.past, errno):
		return past, unix.ErrnoName(errno)
	case errno == unix.EPERM || errno == unix.EACCES || slices.Contains(a.refused, errno):
		return refused, unix.ErrnoName(errno)
	}
	return odd, unix.ErrnoName(errno)
}

func inherited() []*os.File {
	files := []*os.File{os.Stdin, os.Stdout, os.Stderr}
	for fd := uintptr(3); fd < 64; fd++ {
		if flags, err := unix.FcntlInt(fd, unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			files = append(files, os.NewFile(fd, "inherited"))
		}
	}
	return files
}

func one(world, name string) error {
	w, err := parseWorld(world)
	if err != nil {
		return err
	}
	for _, g := range groups() {
		for _, a := range g.attempts {
			if g.name+": "+a.name != name {
				continue
			}
			err := a.try(w)
			var errno syscall.Errno
			switch {
			case err == nil:
				os.Exit(0)
			case errors.As(err, &errno):
				os.Exit(int(errno))
			}
			return err
		}
	}
	return fmt.Errorf("no attempt %q", name)
}
