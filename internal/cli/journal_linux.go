package cli

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/ready"
)

// journaled says whether what is printed is kept by systemd, for others to read: what logs in is not for that. The variable
// alone says little, for all that a desktop's session starts has it: it names the stream that the journal reads.
func (a *app) journaled() bool {
	if socket, _ := a.lookup(ready.SystemdVariable); socket != "" {
		return true
	}
	out, ok := a.stdout.(*os.File)
	stream, _ := a.lookup("JOURNAL_STREAM")
	if !ok || stream == "" {
		return false
	}
	var st unix.Stat_t
	return unix.Fstat(int(out.Fd()), &st) == nil && fmt.Sprintf("%d:%d", st.Dev, st.Ino) == stream
}
