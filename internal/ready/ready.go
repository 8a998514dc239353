// Package ready is a service's half of telling its supervisor that it can be used: a line on a descriptor that it
// was started with.
//
// The gateway and the dashboard use it. It never writes to a descriptor that it was not given for that.
package ready

import (
	"os"
	"strconv"
)

// Variable names the descriptor.
const Variable = "HERMES_NOTIFY_FD"

// Notifier tells once. A nil one tells nobody: nobody asked.
type Notifier struct{ pipe *os.File }

// Claim takes the descriptor that the environment names. It is called before anything is opened: what has the number
// then was handed to this process, and not opened by it. Only a pipe is taken, so that a variable that came down
// from an ancestor spoils no file.
func Claim(lookup func(string) (string, bool)) *Notifier {
	text, _ := lookup(Variable)
	fd, err := strconv.ParseUint(text, 10, 16)
	if err != nil || fd <= 2 {
		return nil
	}
	pipe := os.NewFile(uintptr(fd), Variable)
	if pipe == nil {
		return nil
	}
	if info, err := pipe.Stat(); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		return nil
	}
	return &Notifier{pipe}
}

// Tell says that this process can be used, and closes the descriptor. A supervisor that does not listen is no reason
// to fail.
func (n *Notifier) Tell() {
	if n == nil || n.pipe == nil {
		return
	}
	n.pipe.Write([]byte("\n"))
	n.pipe.Close()
	n.pipe = nil
}
