package boot

import (
	"os"
	"strings"
	"syscall"
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

// Kubernetes' restricted profile: no root, no capability, no new privileges, a root file system that cannot be written.
func TestTheRestrictedProfile(t *testing.T) {
	m := image(t)
	volume(t, m, 10000, 10000)
	r := m.Start(machine.Boot{User: hermes, Restricted: true, ReadOnly: true, Argv: []string{"/init", "gateway", "run"}})
	ready(m, r)
	r.Eventually("the gateway is ready", func() bool { return of(t, r, "gateway-default").State == "ready" || r.Ended() })
	r.Eventually("the command only waits", func() bool { return count(r, heartbeat) == 1 || r.Ended() })
	if code, took := stops(r, syscall.SIGTERM); code != 143 || took > stopTime {
		t.Errorf("it ended with %d after %v: %s", code, took, r.Output())
	}
	if n := strings.Count(r.Output(), "level=WARN") + strings.Count(r.Output(), "hermes-init:"); n > 1 {
		t.Errorf("it takes more than a line to say what could not be done: %s", r.Output())
	}
}

// A root file system that cannot be written, with root as the user: compose's read_only with a tmpfs at /tmp.
func TestServicesOfAReadOnlyRootAreAskedFor(t *testing.T) {
	m := image(t)
	r := m.Start(machine.Boot{ReadOnly: true, Argv: []string{"/init", "sh", "-c", "id -u; hermes gateway start && hermes health"}})
	if code := r.Wait(bound); code != 0 || !strings.Contains(r.Output(), "10000\n") || !strings.Contains(r.Output(), "healthy\n") {
		t.Errorf("it ended with %d: %s", code, r.Output())
	}
}

// A platform may give any user that can write the volume, as OpenShift does with the group root.
func TestAnyUserThatCanWriteTheVolume(t *testing.T) {
	m := image(t)
	volume(t, m, 0, 0)
	m.Dir("/opt/data", 0o775)
	r := m.Start(machine.Boot{User: "1000650000:0", Restricted: true, ReadOnly: true, Argv: []string{"/init", "sh", "-c", "echo up as $(id -u) in $HOME; hermes service ls"}})
	if code := r.Wait(bound); code != 0 || !strings.Contains(r.Output(), "up as 1000650000 in /opt/data\n") || !strings.Contains(r.Output(), "gateway-default") {
		t.Errorf("it ended with %d: %s", code, r.Output())
	}
}
