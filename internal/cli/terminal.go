package cli

import (
	"context"
	"os"

	"golang.org/x/term"

	"hermes.example/hermes/sandbox"
)

// onTerminal makes exec run its command on the caller's terminal, which is given
// back on every way out.
func (a *app) onTerminal(exec execFunc, raw bool) execFunc {
	return func(ctx context.Context, command sandbox.Command) (sandbox.Result, error) {
		t, giveBack, err := a.borrowTerminal(raw)
		if err != nil {
			return sandbox.Result{}, err
		}
		defer giveBack()
		command.Terminal = t
		return exec(ctx, command)
	}
}

// borrowTerminal describes the caller's terminal for a command that gets one. It
// is made raw if the command reads from it: then every key is the command's, also
// the one that interrupts. The returned function gives it back as it was.
func (a *app) borrowTerminal(raw bool) (*sandbox.Terminal, func(), error) {
	fd := int(a.stdin.Fd())
	resized := make(chan sandbox.Size, 1)
	stopWatch := watchSize(func() {
		if cols, rows, err := term.GetSize(fd); err == nil {
			offer(resized, sandbox.Size{Rows: uint16(rows), Cols: uint16(cols)})
		}
	})
	cols, rows, err := term.GetSize(fd)
	if err != nil {
		rows, cols = 24, 80
	}
	kind, _ := a.lookup("TERM")
	t := &sandbox.Terminal{Rows: uint16(rows), Cols: uint16(cols), Term: kind, Resized: resized}
	if !raw {
		return t, stopWatch, nil
	}
	before, err := term.MakeRaw(fd)
	if err != nil {
		stopWatch()
		return nil, nil, cannot("use the terminal", err)
	}
	restore := a.onLeave(func() { _ = term.Restore(fd, before) }) // nothing is left to try
	return t, func() {
		restore()
		stopWatch()
	}, nil
}

// offer puts the newest size into a channel of one, in place of an older one
// that nobody has taken.
func offer(to chan sandbox.Size, size sandbox.Size) {
	for {
		select {
		case to <- size:
			return
		default:
		}
		select {
		case <-to:
		default:
		}
	}
}

func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
