package supervise

import (
	"os"
	"testing"
)

// ForSuite is a supervisor as this package's own tests use it: they share the one reaper that a process can have.
func ForSuite(t testing.TB) (s *Supervisor, user *User, dir string, output func() string) {
	t.Helper()
	b := newBench(t, nil)
	if os.Geteuid() == 0 {
		user = &User{UID: stranger, GID: stranger, Groups: []int{stranger + 1}}
	}
	return b.Supervisor, user, b.dir, b.out.String
}
