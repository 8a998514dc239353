package boot

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/asuser"
	"hermes.example/hermes/internal/rooted"
	"hermes.example/hermes/internal/userdb"
)

// User is the service user.
type User = userdb.User

// boot is what the steps hand on to each other.
type boot struct {
	Machine
	result Result
	// system resolves paths as the machine itself does; what root reads by it is root's.
	system *rooted.Root
	users  userdb.Files
	// stranger means that we are neither root nor the service user.
	stranger bool
	// home is the data volume; nil if there is a link in its place. rootHome is that of all profiles, often the same.
	home, rootHome *volume
	hand           *asuser.Hand
	// skipped are the steps that were not ours to do.
	skipped []string
}

func (b *boot) close() {
	if b.rootHome != nil && b.rootHome != b.home {
		b.rootHome.root.Close()
	}
	if b.home != nil {
		b.home.root.Close()
	}
	if b.system != nil {
		b.system.Close()
	}
	b.hand.Close()
}

// shortfall is something that could not be done: a warning now, and a line of the result.
func (b *boot) shortfall(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	b.result.Shortfalls = append(b.result.Shortfalls, line)
	b.Log.Warn(line)
}

// summary says in one line what was left out, and why. That another one supervises is said by who needs to know it.
func (b *boot) summary() {
	if len(b.skipped) == 0 {
		return
	}
	steps := strings.Join(b.skipped, ", ")
	if b.result.Holder != nil {
		b.Log.Info("left to who supervises this home", "steps", steps)
		return
	}
	why := "not root"
	if b.home == nil {
		why = "there is a link in the place of the home"
	}
	b.shortfall("left out (%s): %s", why, steps)
}

// machineFiles opens the root of the machine.
func (b *boot) machineFiles() error {
	fd, err := unix.Open(b.Root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("cannot open the root directory: %w", err)
	}
	b.system = rooted.New(fd, rooted.AsRoot)
	return nil
}

// path is where a file of the machine is for this process.
func (b *boot) path(inside string) string {
	return strings.TrimSuffix(b.Root, "/") + "/" + strings.TrimPrefix(inside, "/")
}
