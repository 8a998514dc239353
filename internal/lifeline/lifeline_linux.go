package lifeline

import (
	"context"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Hold returns a context that ends with ctx or with the supervisor, and what lets go of the line. It is called before
// anything is opened: what has the number then was handed to this process. Only a pipe is taken, so that a variable
// that came down from an ancestor means nothing.
func Hold(ctx context.Context, lookup func(string) (string, bool)) (context.Context, func()) {
	line := claim(lookup)
	if line == nil {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer cancel()
		line.Read(make([]byte, 1)) // nobody ever writes: it returns when the other end, or this one, is closed
	}()
	return ctx, func() {
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
