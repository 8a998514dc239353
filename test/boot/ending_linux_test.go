package boot

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes.example/hermes/test/machine"
)

// stopTime is what "docker stop" gives a container.
const stopTime = 10 * time.Second

// service puts a service of an image into a machine.
func service(m *machine.Machine, name, script string) {
	m.File("/etc/s6-overlay/s6-rc.d/"+name+"/type", "longrun\n", 0o644)
	m.File("/etc/s6-overlay/s6-rc.d/"+name+"/run", "#!/bin/bash\n"+script, 0o755)
}

// stops signals a machine and returns its status, and how long it took.
func stops(r *machine.Running, sig syscall.Signal) (code int, took time.Duration) {
	began := time.Now()
	r.Signal(sig)
	return r.Wait(bound), time.Since(began)
}

func TestEverythingEndsInOrder(t *testing.T) {
	m := image(t)
	service(m, "well-behaved", "trap 'echo service ended >>/opt/data/order; exit 0' TERM; echo service up; while :; do sleep 0.02; done")
	r := m.Start(machine.Boot{Argv: []string{"/init", "bash", "-c",
		"trap 'sleep 0.3; echo main ended >>/opt/data/order; exit 5' TERM; (trap 'echo rest ended >>/opt/data/order; exit' TERM; while :; do sleep 0.02; done) & echo main up; while :; do sleep 0.02; done"}})
	r.Eventually("all is up", func() bool {
		return strings.Contains(r.Output(), "main up\n") && strings.Contains(r.Output(), "service up\n")
	})
	if code, _ := stops(r, syscall.SIGTERM); code != 5 {
		t.Errorf("it ended with %d: %s", code, r.Output())
	}
	order, err := os.ReadFile(m.Path("/opt/data/order"))
	if err != nil || string(order) != "service ended\nmain ended\nrest ended\n" {
		t.Errorf("ended were %q, %v", order, err)
	}
}

// Services and the main program that would not end do not make a stop take longer than it may.
func TestNobodyHoldsTheEndUp(t *testing.T) {
	const deaf = "trap '' TERM INT HUP; echo %s up; while :; do sleep 0.1; done"
	for what, c := range map[string]struct {
		main string
		code int
	}{
		"a service":                  {"trap 'exit 5' TERM; echo main up; while :; do sleep 0.02; done", 5},
		"a service and the main one": {fmt.Sprintf(deaf, "main"), 137},
		"a service and what is left": {"setsid bash -c \"" + fmt.Sprintf(deaf, "rest") + "\" & trap 'exit 5' TERM; echo main up; while :; do sleep 0.02; done", 5},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			m := image(t)
			service(m, "deaf", fmt.Sprintf("setsid bash -c \"%s\" & ", fmt.Sprintf(deaf, "escaped"))+fmt.Sprintf(deaf, "service"))
			r := m.Start(machine.Boot{Argv: []string{"/init", "bash", "-c", c.main}})
			r.Eventually("all is up", func() bool {
				return strings.Contains(r.Output(), "main up\n") && strings.Contains(r.Output(), "service up\n")
			})
			code, took := stops(r, syscall.SIGTERM)
			if code != c.code || took > stopTime {
				t.Errorf("it ended with %d, want %d, after %v: %s", code, c.code, took, r.Output())
			}
		})
	}
}

// A container may have the rights to become the service user, and not the one to signal its processes.
func TestWithoutTheRightToSignal(t *testing.T) {
	m := image(t)
	service(m, "polite", "trap 'echo service bye; exit 0' TERM; echo service up; while :; do sleep 0.02; done")
	r := m.Start(machine.Boot{Without: []string{"kill"}, Argv: []string{"/init", "bash", "-c",
		"(trap 'echo rest bye; exit' TERM; while :; do sleep 0.02; done) & trap 'echo main bye; exit 5' TERM; echo main up; while :; do sleep 0.02; done"}})
	r.Eventually("all is up", func() bool {
		return strings.Contains(r.Output(), "main up\n") && strings.Contains(r.Output(), "service up\n")
	})
	if code, took := stops(r, syscall.SIGTERM); code != 5 || took > stopTime {
		t.Errorf("it ended with %d after %v: %s", code, took, r.Output())
	}
	for _, who := range []string{"service", "main", "rest"} {
		if !strings.Contains(r.Output(), who+" bye\n") {
			t.Errorf("the %s was not asked to end: %s", who, r.Output())
		}
	}
}

func TestTheEndOfTheMainProgramEndsTheServices(t *testing.T) {
	m := image(t)
	service(m, "deaf", "trap '' TERM; echo service up; while :; do sleep 0.1; done")
	service(m, "polite", "trap 'echo bye; exit 0' TERM; while :; do sleep 0.02; done")
	began := time.Now()
	r := m.Start(machine.Boot{Argv: []string{"/init", "bash", "-c", "sleep 0.5; exit 6"}})
	if code := r.Wait(bound); code != 6 || time.Since(began) > stopTime+time.Second || !strings.Contains(r.Output(), "bye\n") {
		t.Errorf("it ended with %d after %v: %s", code, time.Since(began), r.Output())
	}
}

func TestASecondSIGTERMHurries(t *testing.T) {
	m := image(t)
	service(m, "deaf", "trap '' TERM; echo service up; while :; do sleep 0.1; done")
	r := m.Start(machine.Boot{Argv: []string{"/init", "bash", "-c", "trap 'echo asked' TERM; echo main up; while :; do sleep 0.02; done"}})
	r.Eventually("all is up", func() bool {
		return strings.Contains(r.Output(), "main up\n") && strings.Contains(r.Output(), "service up\n")
	})
	r.Signal(syscall.SIGTERM)
	r.Eventually("it is asked", func() bool { return strings.Contains(r.Output(), "asked\n") })
	if code, took := stops(r, syscall.SIGTERM); code != 137 || took > 3*time.Second {
		t.Errorf("it ended with %d after %v: %s", code, took, r.Output())
	}
}

// A machine that loses its power leaves nothing that the next boot trips over.
func TestTheBootAfterACrash(t *testing.T) {
	m := image(t)
	service(m, "some", "echo service up; exec sleep infinity")
	for range 3 {
		r := m.Start(machine.Boot{Argv: []string{"/init", "sh", "-c", "echo main up; exec sleep infinity"}})
		r.Eventually("all is up", func() bool {
			return strings.Contains(r.Output(), "main up\n") && strings.Contains(r.Output(), "service up\n")
		})
		if strings.Contains(r.Output(), "WARN") || strings.Contains(r.Output(), "ERROR") {
			t.Errorf("it tripped: %s", r.Output())
		}
		r.Signal(syscall.SIGKILL)
		r.Wait(bound)
	}
}

// Ten thousand orphans are reaped while services run and fail: none of them is taken for a service, and no service's
// end is lost among them.
func TestServicesAmongOrphans(t *testing.T) {
	m := image(t)
	service(m, "steady", "echo steady up; exec sleep infinity")
	service(m, "restless", "echo restless up; sleep 0.2; exit 75")
	r := m.Start(machine.Boot{Argv: []string{"/init", "bash", "-c",
		"for i in {1..100}; do (for j in {1..100}; do (:) & done); done; sleep 1; ps -eo stat=,comm= | grep -c ^Z; echo done; sleep infinity"}})
	r.Eventually("ten thousand came and went", func() bool { return strings.Contains(r.Output(), "0\ndone\n") })
	if n := strings.Count(r.Output(), "steady up\n"); n != 1 {
		t.Errorf("a service that did not end was started %d times", n)
	}
	if n := strings.Count(r.Output(), "restless up\n"); n < 3 {
		t.Errorf("a service that wants to be restarted was started %d times: %s", n, r.Output())
	}
	if code, _ := stops(r, syscall.SIGTERM); code != 143 {
		t.Errorf("it ended with %d", code)
	}
}

func TestASignalDuringBootEndsIt(t *testing.T) {
	m := image(t)
	m.File("/etc/cont-init.d/slow", "#!/bin/sh\necho slow begins\nsleep 1000\n", 0o755)
	r := m.Start(machine.Boot{Argv: []string{"/init", "sh", "-c", "echo main up"}})
	r.Eventually("the hook runs", func() bool { return strings.Contains(r.Output(), "slow begins\n") })
	if code, took := stops(r, syscall.SIGTERM); code != 143 || took > 5*time.Second || strings.Contains(r.Output(), "main up") {
		t.Errorf("it ended with %d after %v: %s", code, took, r.Output())
	}
}

// A reader of the container's output that goes away takes nothing with it but what was written for it.
func TestAnOutputThatNobodyReads(t *testing.T) {
	m := image(t)
	service(m, "noisy", "while :; do echo noise; sleep 0.01; done")
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	reader.Close()
	defer writer.Close()
	r := m.Start(machine.Boot{Stdout: writer, Stderr: writer, Argv: []string{"/init", "sh", "-c", "sleep 1; exit 4"}})
	if code := r.Wait(bound); code != 4 {
		t.Errorf("it ended with %d", code)
	}
}
