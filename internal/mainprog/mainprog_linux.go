// Package mainprog is the container's command: the one program whose end is the container's end. It has the
// container's own input, output, terminal and directory, runs as the service user, and its status becomes the
// container's.
//
// hermes-init starts it when everything else is up. Everything that a program could tell apart from being PID 1 of
// its container is a fault here, except that it is not.
package mainprog

import (
	"errors"
	"fmt"
	"syscall"

	"hermes.example/hermes/internal/supervise"
	"hermes.example/hermes/internal/supervise/reaper"
	"hermes.example/hermes/internal/supervise/tree"
)

// Program is what to run.
type Program struct {
	Path string
	Argv []string
	Env  []string
	// Dir is where it starts; empty is where we are, whether or not its user could go there.
	Dir string
	// User is who it runs as; nil means as we do.
	User *supervise.User
}

// Running is a program that was started. Its life ends when Ended gives its status.
type Running struct {
	reaper *reaper.Reaper
	pid    int
	ended  chan int
}

// Start starts the program. Terminal is what Prepare returned.
func Start(r *reaper.Reaper, p Program, t Terminal) (*Running, error) {
	sys := &syscall.SysProcAttr{}
	if p.User != nil {
		sys.Credential = Credential(*p.User)
		giveStdio(p.User.UID)
	}
	t.give(sys)
	attr := &syscall.ProcAttr{Dir: p.Dir, Env: p.Env, Files: []uintptr{0, 1, 2}, Sys: sys}
	pid, status, err := r.Start(func() (int, error) { return syscall.ForkExec(p.Path, p.Argv, attr) })
	if err != nil {
		return nil, &StartError{p.Path, p.Dir, err}
	}
	t.leave()
	m := &Running{reaper: r, pid: pid, ended: make(chan int, 1)}
	go func() { m.ended <- code(<-status) }()
	return m, nil
}

// Ended gives, once, the status that the container has to end with.
func (m *Running) Ended() <-chan int { return m.ended }

// Signal hands a signal on. One that ended gets none.
func (m *Running) Signal(sig syscall.Signal) {
	m.reaper.Signal(m.pid, func(pid int) error { return tree.Signal(pid, sig) })
}

// code is the end of a process as shells and container runtimes say it.
func code(s syscall.WaitStatus) int {
	if s.Signaled() {
		return 128 + int(s.Signal())
	}
	return s.ExitStatus()
}

// Credential is who a process becomes. Its own group is among the further ones, as a login has it.
func Credential(u supervise.User) *syscall.Credential {
	c := &syscall.Credential{Uid: uint32(u.UID), Gid: uint32(u.GID), Groups: []uint32{uint32(u.GID)}}
	for _, g := range u.Groups {
		if g != u.GID {
			c.Groups = append(c.Groups, uint32(g))
		}
	}
	return c
}

// StartError is a program that could not be started.
type StartError struct {
	Path, Dir string
	Err       error
}

func (e *StartError) Error() string {
	if e.Dir != "" {
		return fmt.Sprintf("cannot run %s in %s: %v", e.Path, e.Dir, e.Err)
	}
	return fmt.Sprintf("cannot run %s: %v", e.Path, e.Err)
}

func (e *StartError) Unwrap() error { return e.Err }

// Code is what a shell would end with.
func (e *StartError) Code() int {
	if errors.Is(e.Err, syscall.ENOENT) {
		return 127
	}
	return 126
}
