package up

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"hermes.example/hermes/sandbox/enginetest/account"
	"hermes.example/hermes/test/machine"
)

func itoa(n int) string { return strconv.Itoa(n) }

// bare is a machine with the program where only root can reach it.
func bare(t *testing.T) *machine.Machine {
	t.Helper()
	if notBuilt != "" {
		t.Skip(notBuilt)
	}
	m := machine.New(t)
	m.Binds = append(m.Binds, [2]string{filepath.Join(binDir, "hermes"), "/root/bin/hermes:ro"})
	return m
}

// Called by root, all runs as the service user, in that user's home, wherever the program lies.
func TestRootBecomesTheServiceUser(t *testing.T) {
	m := bare(t)
	m.File("/etc/passwd", "root:x:0:0:root:/root:/bin/bash\nhermes:x:10000:10000::/var/lib/hermes:/bin/bash\n", 0o644)
	r := m.Start(machine.Boot{Argv: []string{"/root/bin/hermes", "up"}, Env: []string{"HOME=/root"}})
	r.Eventually("it prints where to look", func() bool { return strings.Contains(r.Output(), "Ctrl-C stops") || r.Ended() })
	if out := r.Output(); !strings.Contains(out, "running as the user hermes, in /var/lib/hermes") || !oneTime.MatchString(out) {
		t.Fatalf("it says %s", out)
	}
	services := 0
	for line := range strings.Lines(r.Must("", "ps", "-eo", "uid=,args=")) {
		if strings.Contains(line, "gateway run") || strings.Contains(line, " dashboard ") {
			if services++; !strings.HasPrefix(strings.TrimSpace(line), "10000 ") {
				t.Errorf("a service runs as another: %s", line)
			}
		}
	}
	if services != 2 {
		t.Errorf("there are %d services", services)
	}
	// Root finds it by the home, and is let in.
	if out := r.Must("", "env", "HERMES_HOME=/var/lib/hermes", "/root/bin/hermes", "service", "ls"); strings.Count(out, "ready") != 2 {
		t.Errorf("root sees %s", out)
	}
	if out := r.Must("", "env", "HERMES_HOME=/var/lib/hermes", "/root/bin/hermes", "dashboard", "url"); !oneTime.MatchString(out) {
		t.Errorf("root is given %s", out)
	}
	r.Signal(syscall.SIGINT)
	if code := r.Wait(bound); code != 0 {
		t.Errorf("it ends with %d: %s", code, r.Output())
	}
}

// Where nobody is there to run the services as, one line says what to do, and nothing is made.
func TestRootWithoutAServiceUserIsTold(t *testing.T) {
	for name, c := range map[string]struct{ passwd, says string }{
		"nobody":    {"root:x:0:0:root:/root:/bin/bash\n", "useradd"},
		"root's id": {"root:x:0:0:root:/root:/bin/bash\nhermes:x:0:0::/var/lib/hermes:/bin/bash\n", "useradd"},
		"no home":   {"root:x:0:0:root:/root:/bin/bash\nhermes:x:10000:10000::/:/bin/bash\n", "HERMES_HOME"},
		"another's": {"root:x:0:0:root:/root:/bin/bash\nhermes:x:10000:10000::/srv/full:/bin/bash\n", "chown -R hermes /srv/full"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := bare(t)
			m.File("/etc/passwd", c.passwd, 0o644)
			m.File("/srv/full/file", "somebody's", 0o644)
			r := m.Start(machine.Boot{Argv: []string{"/root/bin/hermes", "up"}, Env: []string{"HOME=/root"}})
			if code := r.Wait(bound); code != 78 || strings.Count(r.Output(), "\n") != 1 || !strings.Contains(r.Output(), c.says) {
				t.Errorf("%d: %s", code, r.Output())
			}
			if _, err := os.Stat(m.Path("/root/.hermes")); err == nil {
				t.Error("root has a home now")
			}
			if info, err := os.Stat(m.Path("/srv/full")); err != nil || info.Sys().(*syscall.Stat_t).Uid != 0 {
				t.Errorf("what was another's was given away: %v", err)
			}
		})
	}
}

// An address that logs in is for who runs the dashboard, and for root: another user gets none, even where the directory
// of the sockets stands open.
func TestAnotherUserGetsNoAddress(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can be another user")
	}
	w := newWorld(t, ordinary)
	w.up().there()
	stranger := account.Account{Name: "stranger", UID: 54324, GID: 54324}
	other := *w
	other.who, other.env = &stranger, append(other.env, "HERMES_HOME="+w.home)
	if out, code := other.hermes("dashboard", "url"); code != 1 || strings.Contains(out, "token=") {
		t.Errorf("by hermes: %d %s", code, out)
	}
	for _, dir := range []string{filepath.Dir(w.run), w.run, filepath.Join(w.run, "hermes")} {
		os.Chmod(dir, 0o755)
	}
	bells, _ := filepath.Glob(filepath.Join(w.run, "hermes", "dashboard-*.sock"))
	if len(bells) != 1 {
		t.Fatalf("the bells are %v", bells)
	}
	os.Chmod(bells[0], 0o666)
	for who, may := range map[account.Account]bool{stranger: false, *ordinary: true} {
		cmd := exec.Command("/proc/self/exe")
		cmd.Env, cmd.Dir = []string{ringVariable + "=" + bells[0]}, "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(who.UID), Gid: uint32(who.GID)}}
		out, err := cmd.CombinedOutput()
		if err != nil || oneTime.Match(out) != may || !may && len(out) > 0 {
			t.Errorf("%s is told %q, %v", who.Name, out, err)
		}
	}
}
