package machine

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

const bound = 20 * time.Second

func TestItsPID1IsOurs(t *testing.T) {
	m := New(t)
	r := m.Start(Boot{Argv: []string{"/bin/sh", "-c", "echo $$ $X; cat /proc/1/comm; ls /opt; exit 42"}, Env: []string{"X=y"}})
	if code := r.Wait(bound); code != 42 || r.Output() != "1 y\nsh\ndata\n" {
		t.Errorf("it ended with %d: %s", code, r.Output())
	}
}

func TestItCanBeEntered(t *testing.T) {
	m := New(t)
	r := m.Start(Boot{Argv: []string{"/bin/sh", "-c", "echo up; exec sleep 1000"}})
	r.Eventually("it is up", func() bool { return r.Output() == "up\n" })
	if out := r.Must("10000:10000", "sh", "-c", "id -u; ps -o comm= -p 1; hostname -I"); out != "10000\nsleep\n" {
		t.Errorf("inside is %q", out)
	}
	r.Signal(syscall.SIGKILL)
	if code := r.Wait(bound); code == 0 {
		t.Error("it ended well")
	}
}

// What enters it as soon as it can is in its root, and not in the host's.
func TestNobodyEntersTooEarly(t *testing.T) {
	for range 10 {
		m := New(t)
		m.File("/inside", "", 0o644)
		r := m.Start(Boot{Argv: []string{"/bin/sleep", "1000"}})
		if out, code := r.Exec("", "ls", "/inside"); code != 0 {
			t.Fatalf("it is elsewhere: %s", out)
		}
		r.Kill()
	}
}

func TestRightsAreTaken(t *testing.T) {
	m := New(t)
	r := m.Start(Boot{User: "10000:10000:44", Restricted: true, ReadOnly: true, Argv: []string{"/bin/sh", "-c",
		"id -u; id -G; grep -E 'CapEff|CapBnd|NoNewPrivs' /proc/self/status; touch /x /tmp/x /run/x"}})
	r.Wait(bound)
	for _, want := range []string{"10000\n10000 44\n", "CapEff:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1",
		"'/x': Read-only file system", "'/run/x': Read-only file system"} {
		if !strings.Contains(r.Output(), want) {
			t.Errorf("%q is not in %s", want, r.Output())
		}
	}
	if strings.Contains(r.Output(), "/tmp/x") {
		t.Errorf("/tmp cannot be written: %s", r.Output())
	}
}

func TestNothingOutlivesIt(t *testing.T) {
	m := New(t)
	r := m.Start(Boot{Argv: []string{"/bin/sh", "-c", "sleep 12345 & echo up; wait"}})
	r.Eventually("it is up", func() bool { return r.Output() == "up\n" })
	r.Kill()
	r.Wait(bound)
	if entries, err := os.ReadDir(m.Path("/proc")); err != nil || len(entries) > 0 {
		t.Errorf("its mounts are seen outside: %v %v", entries, err)
	}
}
