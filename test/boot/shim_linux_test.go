package boot

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hermes.example/hermes/internal/entry"
	"hermes.example/hermes/test/machine"
)

// shimmed is a machine whose real program says who it is, and that runs.
func shimmed(t *testing.T) (*machine.Machine, *machine.Running) {
	t.Helper()
	m := machine.New(t)
	m.Binds = append(m.Binds, [2]string{filepath.Join(built, "hermes-shim"), entry.Shim + ":ro"})
	name(t, m, entry.Link{Name: entry.Typed, To: entry.Shim})
	m.File(entry.Program, `#!/bin/sh
echo "$(id -u):$(id -g):$(id -G) home $HOME in $(pwd) args $#"
for a; do printf '%s|' "$a"; done
[ "$1" != status ] || exit "$2"
`, 0o755)
	r := m.Start(machine.Boot{Argv: []string{"/bin/sh", "-c", "echo up; exec sleep infinity"}})
	r.Eventually("it is up", func() bool { return r.Output() == "up\n" })
	return m, r
}

func TestTheShimBecomesTheServiceUser(t *testing.T) {
	_, r := shimmed(t)
	if got, want := r.Must("", "hermes", "a b", "", "*"), "10000:10000:10000 home /opt/data in / args 3\na b||*|"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, value := range []string{"0", "no", "on", "true ", "", "tRUE"} {
		if got := r.Must("", "env", "HERMES_DOCKER_EXEC_AS_ROOT="+value, "HOME=/root", "hermes"); !strings.HasPrefix(got, "10000:10000:10000 home /opt/data ") {
			t.Errorf("%q: %s", value, got)
		}
	}
	for _, value := range []string{"1", "true", "TRUE", "True", "yes", "YES", "Yes"} {
		if got := r.Must("", "env", "HERMES_DOCKER_EXEC_AS_ROOT="+value, "HOME=/root", "hermes"); !strings.HasPrefix(got, "0:0:") || !strings.Contains(got, "home /root ") {
			t.Errorf("%q: %s", value, got)
		}
	}
}

func TestTheShimLeavesOthersAsTheyAre(t *testing.T) {
	_, r := shimmed(t)
	for _, user := range []string{hermes, "65534:65534", "4321:4321"} {
		if got, want := r.Must(user, "env", "HOME=/somewhere", "hermes"), user+":"+strings.Split(user, ":")[0]+" home /somewhere in / args 0"; got != want {
			t.Errorf("%s: got %q, want %q", user, got, want)
		}
	}
}

// A boot may have given the service user another number, and groups.
func TestTheShimAsksWhoTheServiceUserIsNow(t *testing.T) {
	m, r := shimmed(t)
	m.File("/etc/passwd", "root:x:0:0:root:/root:/bin/bash\nother:x:10000:10000::/:/bin/sh\nhermes:x:99:100::/opt/data:/bin/bash\n", 0o644)
	m.File("/etc/group", "root:x:0:hermes\nusers:x:100:\nvideo:x:44:hermes,root\nshermes:x:45:xhermes\n", 0o644)
	if got := r.Must("", "hermes"); !strings.HasPrefix(got, "99:100:100 0 44 home /opt/data ") {
		t.Error(got)
	}
}

func TestTheShimPassesTheStatusOn(t *testing.T) {
	_, r := shimmed(t)
	for _, status := range []string{"0", "1", "126", "255"} {
		if _, code := r.Exec("", "sh", "-c", "hermes status "+status+" >/dev/null; [ $? = "+status+" ]"); code != 0 {
			t.Errorf("status %s became another", status)
		}
	}
}

func TestAShimWithoutItsProgram(t *testing.T) {
	m, r := shimmed(t)
	for _, c := range []struct {
		what  string
		spoil func() error
	}{
		{"not executable", func() error { return os.Chmod(m.Path(entry.Program), 0o644) }},
		{"missing", func() error { return os.Remove(m.Path(entry.Program)) }},
	} {
		if err := c.spoil(); err != nil {
			t.Fatal(err)
		}
		// It is looked at first: not even who cannot become the service user is told something else.
		for _, user := range []string{"", hermes} {
			out, code := r.Exec(user, "hermes")
			if code != 127 || strings.Count(out, "\n") != 1 || !strings.Contains(out, "cannot run "+entry.Program) {
				t.Errorf("%s as %q: %d %s", c.what, user, code, out)
			}
		}
	}
}

func TestAShimThatCannotBecomeTheServiceUserIsNotRoot(t *testing.T) {
	m, r := shimmed(t)
	check := func(what string, argv ...string) {
		t.Helper()
		out, code := r.Exec("", argv...)
		if code != 126 || strings.Count(out, "\n") != 2 || strings.Contains(out, "args") || !strings.Contains(out, "HERMES_DOCKER_EXEC_AS_ROOT=1") {
			t.Errorf("%s: %d %s", what, code, out)
		}
	}
	check("no right to change the user", "setpriv", "--bounding-set", "-setuid", "--inh-caps", "-setuid", "hermes")
	check("no right to change the groups", "setpriv", "--bounding-set", "-setgid", "--inh-caps", "-setgid", "hermes")
	users, err := os.ReadFile(m.Path("/etc/passwd"))
	if err != nil {
		t.Fatal(err)
	}
	m.File("/etc/passwd", strings.Replace(string(users), "hermes:x:10000", "hermes:x:0", 1), 0o644)
	check("a service user that is root", "hermes")
	m.File("/etc/passwd", strings.Replace(string(users), "hermes:", "homer:", 1), 0o644)
	check("no service user", "hermes")
	if out, code := r.Exec("", "env", "HERMES_DOCKER_EXEC_AS_ROOT=1", "hermes"); code != 0 || !strings.HasPrefix(out, "0:0:") {
		t.Errorf("told to be root: %d %s", code, out)
	}
}
