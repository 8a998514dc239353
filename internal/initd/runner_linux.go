package initd

import (
	"context"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"hermes.example/hermes/internal/boot"
	"hermes.example/hermes/internal/mainprog"
	"hermes.example/hermes/internal/supervise/reaper"
	"hermes.example/hermes/internal/supervise/tree"
)

const (
	// largestOutput bounds what is captured of a program that belongs to the boot.
	largestOutput = 1 << 20
	// outputDelay is how long the rest of the output may take when the program has ended: what it left in the
	// background may keep the pipe open for ever.
	outputDelay = 200 * time.Millisecond
)

// runner runs the programs that belong to the boot: through the reaper, because nobody else may wait for a child. They
// write to our standard error: the container's output is the main program's and the services'.
func runner(r *reaper.Reaper) boot.Runner {
	return func(ctx context.Context, c boot.Command) ([]byte, error) {
		null, err := os.Open(os.DevNull)
		if err != nil {
			return nil, err
		}
		defer null.Close()
		if !c.Capture {
			return nil, run(ctx, r, c, null, os.Stderr)
		}
		from, to, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		defer from.Close()
		var output []byte
		read := make(chan struct{})
		go func() {
			defer close(read)
			output, _ = io.ReadAll(io.LimitReader(from, largestOutput))
			io.Copy(io.Discard, from)
		}()
		err = run(ctx, r, c, null, to)
		to.Close()
		from.SetReadDeadline(time.Now().Add(outputDelay))
		<-read
		return output, err
	}
}

// run is one program, to its end or to that of ctx. It leads a session, so that what it started is ended with it.
func run(ctx context.Context, r *reaper.Reaper, c boot.Command, stdin, stdout *os.File) error {
	attr := &syscall.ProcAttr{Dir: c.Dir, Env: c.Env, Files: []uintptr{stdin.Fd(), stdout.Fd(), 2}, Sys: &syscall.SysProcAttr{Setsid: true}}
	if c.User != nil {
		attr.Sys.Credential = mainprog.Credential(*c.User)
	}
	pid, ended, err := r.Start(func() (int, error) { return syscall.ForkExec(c.Argv[0], c.Argv, attr) })
	if err != nil {
		return fmt.Errorf("cannot run %s: %w", c.Argv[0], err)
	}
	select {
	case status := <-ended:
		return failure(status)
	case <-ctx.Done():
		r.Signal(pid, func(pid int) error { return tree.Signal(-pid, syscall.SIGKILL) })
		<-ended
		return ctx.Err()
	}
}

func failure(s syscall.WaitStatus) error {
	switch {
	case s.Signaled():
		return fmt.Errorf("it was ended by %v", s.Signal())
	case s.ExitStatus() != 0:
		return fmt.Errorf("it ended with status %d", s.ExitStatus())
	}
	return nil
}
