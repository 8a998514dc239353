package lifeline

import (
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// lastGrace is more than a supervisor gives its services to end. Without one nobody else kills what does not.
const lastGrace = 15 * time.Second

// Hold returns a context that ends with ctx or with the supervisor, and what lets go of the line. It is called before
// anything is opened: what has the number then was handed to this process. Only a pipe is taken, so that a variable
// that came down from an ancestor means nothing. A process that has not let go long after its supervisor ended is stuck,
// and is killed.
func Hold(ctx context.Context, lookup func(string) (string, bool)) (context.Context, func()) {
	return hold(ctx, lookup, lastGrace)
}

func hold(ctx context.Context, lookup func(string) (string, bool), grace time.Duration) (context.Context, func()) {
	line := claim(lookup)
	if line == nil {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	letGo, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		_, err := line.Read(make([]byte, 1)) // nobody ever writes: it returns when the other end, or this one, is closed
		cancel()
		if !errors.Is(err, io.EOF) {
			return
		}
		late := time.NewTimer(grace)
		defer late.Stop()
		select {
		case <-letGo:
		case <-late.C:
			unix.Kill(os.Getpid(), unix.SIGKILL)
		}
	}()
	return ctx, func() {
		close(letGo)
		line.Close()
		<-done
	}
}

func claim(lookup func(string) (string, bool)) *os.File {
	text, _ := lookup(Variable)
	fd, err := strconv.ParseUint(text, 10, 16)
	if err != nil || fd <= 2 {
		return nil
	}
	var st unix.Stat_t
	if unix.Fstat(int(fd), &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFIFO {
		return nil
	}
	unix.CloseOnExec(int(fd)) // what this process starts has a line of its own: this process
	// The poller waits for it, so that letting go ends the wait.
	if unix.SetNonblock(int(fd), true) != nil {
		return nil
	}
	return os.NewFile(uintptr(fd), Variable)
}
