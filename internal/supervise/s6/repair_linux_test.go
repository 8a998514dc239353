package s6

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/supervise"
	"hermes.example/hermes/test/machine"
)

// A foreign image has its own root scanner, with slots that it was built with. Its user can control them after a
// repair, except those that are the supervisor's own.
func TestStaticSlotsOfAForeignImageAreRepaired(t *testing.T) {
	const static = "/run/s6-rc/servicedirs"
	slots := []string{"dashboard", "main-hermes", "s6rc-oneshot-runner", "s6-linux-init-shutdownd"}
	b := boot(t, "", static, func(m *machine.Machine) {
		for _, slot := range slots {
			m.File(static+"/"+slot+"/run", "#!/bin/sh\nexec sleep 1000\n", 0o755)
		}
	})
	for _, slot := range slots {
		b.Eventually(slot+" is looked after", func() bool { _, code := b.Exec("", "s6-svstat", static+"/"+slot); return code == 0 })
		if out, code := b.Exec(asHermes, "s6-svc", "-r", static+"/"+slot); code != exitSystem {
			t.Errorf("%s: before, s6-svc ends with %d: %s", slot, code, out)
		}
	}
	for range 2 {
		b.must("", "repair", static)
	}
	for i, slot := range slots {
		dir := static + "/" + slot
		for _, argv := range [][]string{{"s6-svc", "-d", dir}, {"s6-svstat", "-o", "wantedup", dir}, {"s6-svwait", "-t", "10000", "-d", dir}} {
			if out, code := b.Exec(asHermes, argv...); (i < 2) != (code == 0) {
				t.Errorf("%v ends with %d: %s", argv, code, out)
			}
		}
		// Root writes there: the user must not be able to put a link in its way.
		if out, code := b.Exec(asHermes, "ln", "-s", "/etc/passwd", dir+"/supervise/status.new"); code == 0 {
			t.Errorf("%s: the user can lead root's supervisor astray: %s", slot, out)
		}
	}
	modes := b.Must("", "stat", "-c", "%U:%G %a", static+"/dashboard/supervise", static+"/dashboard/supervise/control", static+"/dashboard/event")
	if modes != "root:hermes 710\nroot:hermes 660\nroot:hermes 3730" {
		t.Errorf("the modes are\n%s", modes)
	}
}

func TestRepairFollowsNoLinks(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root repairs slots")
	}
	dir, victim := t.TempDir(), t.TempDir()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	secret := filepath.Join(victim, "control")
	ok(unix.Mkfifo(secret, 0o600))
	ok(os.Mkdir(filepath.Join(victim, "supervise"), 0o700))
	ok(os.Symlink(victim, filepath.Join(dir, "slot-link")))
	for slot, link := range map[string]string{"supervise-link": "supervise", "event-link": "event", "control-link": "supervise/control"} {
		ok(os.MkdirAll(filepath.Join(dir, slot, filepath.Dir(link)), 0o755))
		target := victim
		if link == "supervise/control" {
			target = secret
		}
		ok(os.Symlink(target, filepath.Join(dir, slot, link)))
	}
	ok(os.MkdirAll(filepath.Join(dir, "a-file/supervise/control"), 0o755))
	ok(os.MkdirAll(filepath.Join(dir, "somebody-elses/supervise"), 0o700))
	ok(os.Chown(filepath.Join(dir, "somebody-elses"), stranger, stranger))
	ok(os.MkdirAll(filepath.Join(dir, "good/supervise"), 0o700))
	ok(unix.Mkfifo(filepath.Join(dir, "good/supervise/control"), 0o600))
	before := tree(t, victim)
	err := Repair(dir, supervise.User{UID: stranger, GID: stranger})
	for _, bad := range []string{"supervise-link", "event-link", "control-link", "a-file"} {
		if err == nil || !strings.Contains(err.Error(), bad) {
			t.Errorf("%s is not in the error %v", bad, err)
		}
	}
	if after := tree(t, victim); after != before {
		t.Errorf("what the links lead to was changed from\n%s\ninto\n%s", before, after)
	}
	group := func(path string) int {
		info, err := os.Stat(filepath.Join(dir, path))
		ok(err)
		return int(info.Sys().(*syscall.Stat_t).Gid)
	}
	if got := group("good/supervise/control"); got != stranger {
		t.Errorf("the good one's group is %d", got)
	}
	if got := group("somebody-elses/supervise"); got == stranger {
		t.Error("a slot was repaired that is not root's")
	}
	ok(Repair(filepath.Join(dir, "no-such-directory"), supervise.User{}))
}
