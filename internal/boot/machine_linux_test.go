package boot

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/test/machine"
)

// report is what a boot in a machine of its own says of itself.
type report struct {
	User       User
	Home       string
	Root       bool
	Shortfalls []string
	Holder     string
	Leased     bool
	Environ    []string
}

// The test's own program is PID 1 of those machines: it boots, reports, and stays until its input ends.
func TestMain(m *testing.M) {
	if os.Getenv("BOOT_TEST") == "" {
		os.Exit(m.Run())
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	machine := Here(run, log)
	machine.Program = os.Getenv("BOOT_PROGRAM")
	r, err := Run(context.Background(), machine)
	if err != nil {
		fmt.Fprintln(os.Stderr, "hermes-init:", err)
		os.Exit(1)
	}
	out := report{User: r.User, Home: r.Home, Root: r.Root, Shortfalls: r.Shortfalls, Leased: r.Lease != nil, Environ: r.Environ()}
	if r.Holder != nil {
		out.Holder = r.Holder.Error()
	}
	text, _ := json.Marshal(out)
	fmt.Printf("report %s\n", text)
	io.Copy(io.Discard, os.Stdin)
	r.Lease.Release()
	os.Exit(0)
}

const bound = 60 * time.Second

// newMachine has this program as its init.
func newMachine(t *testing.T) *machine.Machine {
	t.Helper()
	m := machine.New(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	m.Program(self, "/init")
	m.File("/opt/hermes/seeds/config.yaml", "# settings\n", 0o644)
	m.File("/opt/hermes/seeds/SOUL.md", "You are Hermes.\n", 0o644)
	return m
}

// booted boots a machine, and ends it.
func booted(t *testing.T, m *machine.Machine, b machine.Boot) (report, string, int) {
	t.Helper()
	b.Argv = []string{"/init"}
	b.Env = append(b.Env, "BOOT_TEST=1")
	running := m.Start(b)
	code := running.Wait(bound)
	return parse(t, running.Output()), running.Output(), code
}

func parse(t *testing.T, output string) (r report) {
	t.Helper()
	for line := range strings.Lines(output) {
		if text, ok := strings.CutPrefix(line, "report "); ok {
			if err := json.Unmarshal([]byte(text), &r); err != nil {
				t.Fatal(err)
			}
		}
	}
	return r
}

func owner(t *testing.T, file string) [2]int {
	t.Helper()
	info, err := os.Lstat(file)
	if err != nil {
		t.Fatal(err)
	}
	st := info.Sys().(*syscall.Stat_t)
	return [2]int{int(st.Uid), int(st.Gid)}
}

func TestAMachineBoots(t *testing.T) {
	m := newMachine(t)
	r, out, code := booted(t, m, machine.Boot{Env: []string{"PUID=1000", "PGID=1000"}})
	if code != 0 || r.User.UID != 1000 || r.User.GID != 1000 || len(r.Shortfalls) > 0 || !r.Leased {
		t.Fatalf("it ended with %d: %+v\n%s", code, r, out)
	}
	if owner(t, m.Path("/opt/data/config.yaml")) != [2]int{1000, 1000} {
		t.Error("the config is another's")
	}
	for _, step := range steps {
		if strings.Count(out, " step="+name(step)+" at=") != 1 {
			t.Errorf("there is not one line of the step %q:\n%s", step.name, out)
		}
	}
	if r, out, code := booted(t, m, machine.Boot{Env: []string{"PUID=1000", "PGID=1000"}}); code != 0 || len(r.Shortfalls) > 0 {
		t.Errorf("the second time it ended with %d: %s", code, out)
	}
}

func name(s step) string {
	if strings.Contains(s.name, " ") {
		return `"` + s.name + `"`
	}
	return s.name
}

func TestAForeignUserIsRefusedWithGuidance(t *testing.T) {
	m := newMachine(t)
	_, out, code := booted(t, m, machine.Boot{User: "1000:1000"})
	if code != 1 || strings.Contains(out, "report") || strings.Count(out, "hermes-init: ") != 1 {
		t.Fatalf("it ended with %d: %s", code, out)
	}
	for _, word := range []string{"cannot run as user 1000", "HERMES_UID=1000", "HERMES_GID=1000", "PUID", "PGID", "/opt/data"} {
		if !strings.Contains(out, word) {
			t.Errorf("%q is not said: %s", word, out)
		}
	}
}

func TestTheServiceUserItself(t *testing.T) {
	m := newMachine(t)
	if err := os.Chown(m.Path("/opt/data"), 10000, 10000); err != nil {
		t.Fatal(err)
	}
	r, out, code := booted(t, m, machine.Boot{User: "10000:10000"})
	if code != 0 || r.User.Name != "hermes" || r.Root || !r.Leased {
		t.Fatalf("it ended with %d: %s", code, out)
	}
	if len(r.Shortfalls) != 1 || !strings.Contains(r.Shortfalls[0], "left out (not root): ids,") {
		t.Errorf("what it could not do is not one line: %q", r.Shortfalls)
	}
	if owner(t, m.Path("/opt/data/logs/gateways")) != hermes || !slices.Contains(r.Environ, "HOME=/opt/data") {
		t.Errorf("it is not seeded: %v", r.Environ)
	}
}

// TestKubernetesRestricted is a pod without root, capabilities, new privileges and a writable root.
func TestKubernetesRestricted(t *testing.T) {
	for what, c := range map[string]struct {
		user  string
		owner [2]int
		mode  os.FileMode
	}{
		"the service user":        {"10000:10000", hermes, 0o755},
		"a foreign user, fsGroup": {"1234:1234:5678", [2]int{0, 5678}, 0o2775},
		"a foreign user, group 0": {"1234:0", [2]int{0, 0}, 0o775},
	} {
		t.Run(what, func(t *testing.T) {
			m := newMachine(t)
			if err := os.Chown(m.Path("/opt/data"), c.owner[0], c.owner[1]); err != nil {
				t.Fatal(err)
			}
			m.Dir("/opt/data", c.mode)
			if err := unix.Chmod(m.Path("/opt/data"), uint32(c.mode)); err != nil {
				t.Fatal(err)
			}
			r, out, code := booted(t, m, machine.Boot{User: c.user, Restricted: true, ReadOnly: true})
			if code != 0 || !r.Leased || len(r.Shortfalls) != 1 {
				t.Fatalf("it ended with %d: %+v\n%s", code, r, out)
			}
			if _, err := os.Stat(m.Path("/opt/data/logs/gateways")); err != nil {
				t.Error(err)
			}
			if !slices.Contains(r.Environ, "HOME=/opt/data") {
				t.Errorf("no home among %v", r.Environ)
			}
		})
	}
}

func TestAReadOnlyVolumeStopsTheBoot(t *testing.T) {
	for _, user := range []string{"", "10000:10000"} {
		m := newMachine(t)
		data := t.TempDir()
		if err := os.Chown(data, 10000, 10000); err != nil {
			t.Fatal(err)
		}
		m.Binds = append(m.Binds, [2]string{data, "/opt/data:ro"})
		_, out, code := booted(t, m, machine.Boot{User: user})
		if code != 1 || strings.Contains(out, "report") || !strings.Contains(out, `boot stopped at "writable": cannot use /opt/data: it is mounted read-only`) {
			t.Errorf("user %q: it ended with %d: %s", user, code, out)
		}
	}
}

func TestWithoutTheRightToChown(t *testing.T) {
	m := newMachine(t)
	if err := os.Chown(m.Path("/opt/data"), 10000, 10000); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		m.File(fmt.Sprintf("/opt/data/cron/%d", i), "", 0o644)
	}
	m.Dir("/tmp/hermes-files", 0o700) // root's, from an earlier boot
	r, out, code := booted(t, m, machine.Boot{Without: []string{"chown"}})
	if code != 0 || !r.Leased {
		t.Fatalf("it ended with %d: %s", code, out)
	}
	if len(r.Shortfalls) != 2 || !strings.Contains(r.Shortfalls[0], "cannot give 6 files to user 10000") || !strings.Contains(r.Shortfalls[1], "/tmp/hermes-files") {
		t.Errorf("%q", r.Shortfalls)
	}
	if owner(t, m.Path("/tmp/hermes-files")) != [2]int{0, 0} || owner(t, m.Path("/opt/data/skills")) != hermes {
		t.Error("the scratch directory was opened to others, or nothing was seeded")
	}
}

func TestAHomeThatTheServiceUserCannotWrite(t *testing.T) {
	for what, c := range map[string]struct {
		boot  machine.Boot
		owner int
		want  string
	}{
		"as itself":                 {machine.Boot{User: "10000:10000"}, 0, "user 10000 may not write it; give it to user 10000\n"},
		"by root, who may not give": {machine.Boot{Without: []string{"chown"}}, 1000, "may not write it; set HERMES_UID=1000 and HERMES_GID=1000 (or PUID and PGID), or give it to user 10000\n"},
		"of root, who may not give": {machine.Boot{Without: []string{"chown"}}, 0, "may not write it; give it to user 10000\n"},
	} {
		m := newMachine(t)
		if err := os.Chown(m.Path("/opt/data"), c.owner, c.owner); err != nil {
			t.Fatal(err)
		}
		if _, out, code := booted(t, m, c.boot); code != 1 || !strings.Contains(out, c.want) {
			t.Errorf("%s: it ended with %d: %s", what, code, out)
		}
	}
}

func TestAReadOnlyRootWithARemap(t *testing.T) {
	m := newMachine(t)
	r, out, code := booted(t, m, machine.Boot{ReadOnly: true, Env: []string{"PUID=1000"}})
	if code != 0 || r.User.UID != 10000 {
		t.Fatalf("it ended with %d: %s", code, out)
	}
	if len(r.Shortfalls) != 1 || !strings.Contains(r.Shortfalls[0], "it stays 10000:10000") {
		t.Errorf("%q", r.Shortfalls)
	}
}

func TestTwoContainersOnOneVolume(t *testing.T) {
	data := t.TempDir()
	first, second := newMachine(t), newMachine(t)
	for _, m := range []*machine.Machine{first, second} {
		m.Binds = append(m.Binds, [2]string{data, "/opt/data"})
	}
	input, output := pipe(t)
	running := first.Start(machine.Boot{Argv: []string{"/init"}, Env: []string{"BOOT_TEST=1"}, Stdin: input})
	running.Eventually("the first is booted", func() bool { return strings.Contains(running.Output(), "report ") })
	if r := parse(t, running.Output()); !r.Leased {
		t.Fatal(running.Output())
	}
	if err := os.WriteFile(filepath.Join(data, "auth.json"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r, out, code := booted(t, second, machine.Boot{Env: []string{"PUID=1234"}})
	if code != 0 || r.Leased || !strings.Contains(r.Holder, "process 1 on host") {
		t.Fatalf("it ended with %d, holder %q: %s", code, r.Holder, out)
	}
	if owner(t, data) != hermes || owner(t, filepath.Join(data, "auth.json")) != [2]int{0, 0} {
		t.Error("what the holder owns was changed")
	}
	// The holder is killed: nobody has to clean up.
	running.Kill()
	running.Wait(bound)
	output.Close()
	if r, out, code := booted(t, second, machine.Boot{Env: []string{"PUID=1234"}}); code != 0 || !r.Leased {
		t.Errorf("after the first's end it ended with %d: %s", code, out)
	}
	if owner(t, filepath.Join(data, "auth.json")) != [2]int{1234, 10000} {
		t.Error("the new holder repaired nothing")
	}
}

func pipe(t *testing.T) (in, out *os.File) {
	t.Helper()
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); out.Close() })
	return in, out
}

// TestMountsBelowAreOthers repairs a tree with a mount in it.
func TestMountsBelowAreOthers(t *testing.T) {
	m := newMachine(t)
	mounted, managed := t.TempDir(), t.TempDir()
	for _, dir := range []string{mounted, managed} {
		if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	m.File("/opt/data/profiles/x/file", "", 0o644)
	m.Binds = append(m.Binds, [2]string{mounted, "/opt/data/profiles/x/mounted"}, [2]string{managed, "/opt/data/cron"})
	if r, out, code := booted(t, m, machine.Boot{}); code != 0 || len(r.Shortfalls) > 0 {
		t.Fatalf("it ended with %d: %s", code, out)
	}
	if owner(t, mounted) != [2]int{0, 0} || owner(t, filepath.Join(mounted, "file")) != [2]int{0, 0} {
		t.Error("what is mounted below was given away")
	}
	if owner(t, m.Path("/opt/data/profiles/x/file")) != hermes || owner(t, filepath.Join(managed, "file")) != hermes {
		t.Error("what is managed was not repaired")
	}
}
