package boot

import (
	"os"
	"strings"
	"testing"

	"hermes.example/hermes/test/machine"
)

func TestAForeignUserIsToldWhatToDo(t *testing.T) {
	out, code := run(t, machine.Boot{User: "1000:1000", Argv: []string{"/init", "sh", "-c", "echo main up"}})
	if code != 1 || strings.Contains(out, "main up") || !strings.Contains(out, "HERMES_UID") || !strings.Contains(out, "PUID") {
		t.Errorf("it ended with %d: %s", code, out)
	}
}

func TestTheServiceUserNeedsNoRoot(t *testing.T) {
	m := image(t)
	volume(t, m, 10000, 10000)
	r := m.Start(machine.Boot{User: hermes, Argv: []string{"/init", "sh", "-c", "echo up as $(id -u)"}})
	if code := r.Wait(bound); code != 0 || !strings.Contains(r.Output(), "up as 10000\n") {
		t.Errorf("it ended with %d: %s", code, r.Output())
	}
}

// volume gives the data volume an owner.
func volume(t *testing.T, m *machine.Machine, uid, gid int) {
	t.Helper()
	if err := os.Chown(m.Path("/opt/data"), uid, gid); err != nil {
		t.Fatal(err)
	}
}
