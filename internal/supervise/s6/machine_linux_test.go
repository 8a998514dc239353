package s6

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes.example/hermes/internal/supervise"
	"hermes.example/hermes/test/machine"
)

// booted is a machine whose PID 1 is root's s6-svscan.
type booted struct {
	*machine.Running
	*machine.Machine
	t *testing.T
}

// path has a directory of the user's before the system's, as the image's PATH has.
const path = "PATH=/opt/data/.local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// boot makes a machine, lets the test arrange it, runs a script as root and then s6-svscan on a directory.
func boot(t *testing.T, script, scan string, arrange func(*machine.Machine)) *booted {
	t.Helper()
	newReal(t) // skips without s6
	m := machine.New(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	m.Program(self, itself)
	if err := os.Chown(m.Path("/opt/data"), hermes.UID, hermes.GID); err != nil {
		t.Fatal(err)
	}
	arrange(m)
	r := m.Start(machine.Boot{Argv: []string{"/bin/sh", "-c", "set -e\n" + script + "\nexec /usr/bin/s6-svscan " + scan}, Env: []string{path}})
	return &booted{r, m, t}
}

// prepared boots the tree of Prepare, and waits for the user's scanner.
func prepared(t *testing.T, arrange func(*machine.Machine)) *booted {
	t.Helper()
	b := boot(t, asProgram+"=prepare "+itself, rootScan, arrange)
	b.Eventually("the user's scanner takes orders", func() bool {
		_, code := b.Exec(asHermes, "s6-svscanctl", "-a", DefaultScanDir)
		return code == 0
	})
	return b
}

// do runs the test binary as a program in the machine.
func (b *booted) do(user string, words ...string) (string, int) {
	b.t.Helper()
	return b.Exec(user, "env", asProgram+"="+strings.Join(words, " "), itself)
}

func (b *booted) must(user string, words ...string) string {
	b.t.Helper()
	out, code := b.do(user, words...)
	if code != 0 {
		b.t.Fatalf("%v ended with %d: %s\n%s", words, code, out, b.Output())
	}
	return out
}

func (b *booted) status(name string) (st supervise.Status) {
	b.t.Helper()
	if err := json.Unmarshal([]byte(b.must(asHermes, "status", name)), &st); err != nil {
		b.t.Fatal(err)
	}
	return st
}

func (b *booted) running(name string) supervise.Status {
	b.t.Helper()
	var st supervise.Status
	b.Eventually(name+" runs", func() bool { st = b.status(name); return st.State == supervise.Ready })
	return st
}

// uid is whose process it is.
func (b *booted) uid(pid int) string {
	b.t.Helper()
	return strings.TrimSpace(b.Must("", "ps", "-o", "uid=", "-p", fmt.Sprint(pid)))
}

// The life of a slot, with PID 1 an s6-svscan of root's: as the user, and as root with the user's rights.
func TestInATreeOfRootsAndTheUsersScanner(t *testing.T) {
	b := prepared(t, func(*machine.Machine) {})
	for _, user := range []string{asHermes, ""} {
		b.must(user, "register", "gateway-a")
		if st := b.status("gateway-a"); st.Want != "down" || st.State != supervise.Down {
			t.Errorf("as %q: its status is %+v", user, st)
		}
		if out, code := b.do(user, "register", "gateway-a"); code != 1 || !strings.Contains(out, "already registered") {
			t.Errorf("as %q: %d %s", user, code, out)
		}
		b.must(user, "start", "gateway-a")
		first := b.running("gateway-a")
		if uid := b.uid(first.PID); uid != "10000" {
			t.Errorf("as %q: it runs as %s", user, uid)
		}
		if groups := b.Must("", "grep", "Groups:", fmt.Sprintf("/proc/%d/status", first.PID)); strings.TrimSpace(groups) != "Groups:\t44 10000" {
			t.Errorf("as %q: it has the groups %q", user, groups)
		}
		b.must(user, "restart", "gateway-a")
		b.Eventually("it is another process", func() bool { st := b.status("gateway-a"); return st.Running() && st.PID != first.PID })
		b.must(user, "stop", "gateway-a")
		b.Eventually("it is down", func() bool { return b.status("gateway-a").State == supervise.Down })
		if out := b.must(user, "list"); out != "gateway-a down\n" {
			t.Errorf("as %q: the list is %s", user, out)
		}
		b.must(user, "unregister", "gateway-a")
		if out := b.must(user, "list"); out != "" {
			t.Errorf("as %q: the list is %s", user, out)
		}
		if out, code := b.do(user, "start", "gateway-a"); code != 1 || !strings.Contains(out, "no such service") {
			t.Errorf("as %q: %d %s", user, code, out)
		}
	}
	b.must(asHermes, "register", "gateway-b", "up")
	b.running("gateway-b")
	b.Signal(syscall.SIGTERM)
	b.Wait(30 * time.Second)
}

// The reference's scanner is root's. What s6 makes for a slot of the user's is then root's alone, and the user cannot
// control its own service.
func TestTheReferencesRootOwnedSlotDeniesTheUser(t *testing.T) {
	byHand := func(m *machine.Machine) {
		m.File(DefaultScanDir+"/gateway-a/run", "#!/bin/sh\nexec sleep 1000\n", 0o755)
		for _, path := range []string{DefaultScanDir, DefaultScanDir + "/gateway-a"} {
			if err := os.Chown(m.Path(path), hermes.UID, hermes.GID); err != nil {
				t.Fatal(err)
			}
		}
	}
	b := boot(t, "", DefaultScanDir, byHand)
	b.Eventually("root looks after it", func() bool { _, code := b.Exec("", "s6-svok", DefaultScanDir+"/gateway-a"); return code == 0 })
	for _, verb := range []string{"status", "start", "stop", "restart"} {
		if out, code := b.do(asHermes, verb, "gateway-a"); code != exitSystem || !strings.Contains(out, "rc=111") || !strings.Contains(out, "permission denied") {
			t.Errorf("%s ends with %d: %s", verb, code, out)
		}
	}
	if _, code := b.Exec(asHermes, "s6-svc", "-d", DefaultScanDir+"/gateway-a"); code != exitSystem {
		t.Errorf("s6-svc ends with %d", code)
	}
	if out, code := b.do(asHermes, "unregister", "gateway-a"); code != exitSystem || absent(b.Path(DefaultScanDir+"/gateway-a")) {
		t.Errorf("unregister ends with %d: %s", code, out)
	}
	// What the driver makes could be controlled even so, but root would run it.
	if out, code := b.do(asHermes, "register", "gateway-b", "up"); code != 1 || !strings.Contains(out, "user 0's") || !absent(b.Path(DefaultScanDir+"/gateway-b")) {
		t.Errorf("register ends with %d: %s", code, out)
	}

	ours := prepared(t, func(*machine.Machine) {})
	ours.Must(asHermes, "sh", "-ec", "cd "+DefaultScanDir+"; mkdir .x; echo '#!/bin/sh\nexec sleep 1000' >.x/run; chmod 755 .x/run; mv .x gateway-a; s6-svscanctl -a .")
	ours.running("gateway-a")
	for _, verb := range []string{"stop", "start", "restart", "unregister"} {
		ours.must(asHermes, verb, "gateway-a")
	}
}

// Every script that the user can write, and every program that its PATH can replace, says who runs it.
func TestNothingThatTheUserWritesRunsAsRoot(t *testing.T) {
	tell := "/usr/bin/id -u >>/opt/data/uids\n"
	b := prepared(t, func(m *machine.Machine) {
		for _, name := range []string{"sh", "id", "env", "sleep", "cat", "date", "mkdir", "rm", "kill", "printf", "s6-svscan", "s6-supervise",
			"s6-applyuidgid", "s6-setuidgid", "s6-log", "s6-svstat", "s6-softlimit"} {
			m.File("/opt/data/.local/bin/"+name, "#!/bin/dash\n"+tell+"exec /usr/bin/"+name+" \"$@\"\n", 0o755)
		}
		for _, path := range []string{"/opt/data/.local", "/opt/data/.local/bin"} {
			if err := os.Chown(m.Path(path), hermes.UID, hermes.GID); err != nil {
				t.Fatal(err)
			}
		}
	})
	b.must(asHermes, "register", "gateway-a")
	slot := DefaultScanDir + "/gateway-a/"
	for _, script := range []string{slot + "run", slot + "finish", slot + "log/run", DefaultScanDir + "/.s6-svscan/finish", DefaultScanDir + "/.s6-svscan/crash",
		DefaultScanDir + "/.s6-svscan/SIGUSR1"} {
		b.Must(asHermes, "sh", "-ec", fmt.Sprintf("old=$(cat %[1]s 2>/dev/null | tail -n +2); printf '#!/bin/sh\\n%%s' \"echo %[1]s >>/opt/data/ran; $0$old\" >%[1]s; chmod 755 %[1]s", script), tell)
	}
	b.must(asHermes, "start", "gateway-a")
	b.running("gateway-a")
	b.must(asHermes, "restart", "gateway-a")
	b.must("", "stop", "gateway-a")
	b.Eventually("it is down", func() bool { return b.status("gateway-a").State == supervise.Down })
	scanner, err := strconv.Atoi(b.Must("", "s6-svstat", "-o", "pid", rootScan+"/user-services"))
	if err != nil || scanner <= 1 {
		t.Fatalf("the scanner is %d, %v", scanner, err)
	}
	b.Must(asHermes, "kill", "-USR1", strconv.Itoa(scanner))
	b.Must(asHermes, "s6-svc", "-t", slot+"log")
	b.Eventually("its scripts ran", func() bool {
		ran, _ := os.ReadFile(b.Path("/opt/data/ran"))
		return strings.Contains(string(ran), slot+"run") && strings.Contains(string(ran), slot+"finish") && strings.Contains(string(ran), "log/run") && strings.Contains(string(ran), "SIGUSR1")
	})
	for _, file := range []string{rootScan + "/x", rootScan + "/user-services/run", rootScan + "/user-services/supervise/x", rootScan + "/.s6-svscan/finish"} {
		if out, code := b.Exec(asHermes, "sh", "-c", "echo x >>"+file); code == 0 {
			t.Errorf("the user can write %s: %s", file, out)
		}
	}
	if out, code := b.Exec(asHermes, "mv", rootScan+"/user-services", "/opt/data/"); code == 0 {
		t.Errorf("the user can take root's slot away: %s", out)
	}
	// The scanner ends and comes back; its own finish script runs, too.
	b.Must(asHermes, "s6-svscanctl", "-t", DefaultScanDir)
	b.Eventually("the scanner's finish ran", func() bool {
		ran, _ := os.ReadFile(b.Path("/opt/data/ran"))
		return strings.Contains(string(ran), ".s6-svscan/finish")
	})
	b.Eventually("the scanner is back", func() bool { _, code := b.Exec(asHermes, "s6-svscanctl", "-a", DefaultScanDir); return code == 0 })

	uids, err := os.ReadFile(b.Path("/opt/data/uids"))
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Fields(string(uids)); len(lines) < 5 || slices.ContainsFunc(lines, func(uid string) bool { return uid != "10000" }) {
		t.Errorf("what the user can write ran as %q", lines)
	}
	procs := b.Must("", "ps", "-U", "0", "-o", "args=")
	for line := range strings.Lines(procs) {
		switch line = strings.TrimSpace(line); line {
		case "/usr/bin/s6-svscan " + rootScan, "s6-supervise user-services", "ps -U 0 -o args=":
		default:
			t.Errorf("root runs %q", line)
		}
	}
}

// What an earlier boot left is no hindrance, though the user could not remove it.
func TestPrepareSweepsWhatAnEarlierBootLeft(t *testing.T) {
	b := prepared(t, func(m *machine.Machine) {
		m.File(DefaultScanDir+"/.gateway-a.tmp/run", "x", 0o644)
		m.Dir(DefaultScanDir+"/.gateway-a.tmp", 0o700)
		m.File(DefaultScanDir+"/gateway-a/supervise/lock", "", 0o600)
		m.Dir(DefaultScanDir+"/gateway-a/supervise", 0o700)
		m.File(DefaultScanDir+"/.s6-svscan/lock", "", 0o600)
		m.Dir(DefaultScanDir+"/.s6-svscan", 0o700)
		m.File("/etc/precious", "x", 0o644)
		if err := os.Symlink("/etc", m.Path(DefaultScanDir+"/gateway-link")); err != nil {
			t.Fatal(err)
		}
		m.File(DefaultScanDir+"/mine", "x", 0o644)
	})
	b.must(asHermes, "register", "gateway-a", "up")
	b.running("gateway-a")
	for path, want := range map[string]bool{"/etc/precious": true, DefaultScanDir + "/mine": true, DefaultScanDir + "/gateway-link": false, DefaultScanDir + "/.gateway-a.tmp": false} {
		if absent(b.Path(path)) == want {
			t.Errorf("that %s is there is %v", path, !want)
		}
	}
	// A second time, while all is in use, changes nothing.
	before := b.status("gateway-a")
	b.must("", "prepare")
	if after := b.status("gateway-a"); after.PID != before.PID || !after.Running() {
		t.Errorf("its status is %+v", after)
	}
}

// Root's directory must be root's.
func TestPrepareRefusesADirectoryOfOthers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give directories away")
	}
	for what, spoil := range map[string]func(string) error{
		"others can write it": func(dir string) error { return os.Chmod(dir, 0o777) },
		"somebody else's":     func(dir string) error { return os.Chown(dir, stranger, stranger) },
		"a link":              func(dir string) error { os.Remove(dir); return os.Symlink("/", dir) },
	} {
		dir := t.TempDir()
		root := filepath.Join(dir, "root")
		if err := os.Mkdir(root, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := spoil(root); err != nil {
			t.Fatal(err)
		}
		if err := Prepare(Tree{Root: root, Scan: filepath.Join(dir, "scan"), User: hermes}); err == nil {
			t.Errorf("%s: it was used", what)
		}
	}
}
