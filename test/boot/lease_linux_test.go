package boot

import (
	"strings"
	"syscall"
	"testing"

	"hermes.example/hermes/test/machine"
)

// Two containers on one volume: one supervises, the other says whose it is, and runs what does not need it.
func TestTwoContainersOnOneVolume(t *testing.T) {
	first := image(t)
	holder := first.Start(machine.Boot{Argv: []string{"/init", "gateway", "run"}})
	ready(first, holder)
	holder.Eventually("the gateway is ready", func() bool { return of(t, holder, "gateway-default").State == "ready" || holder.Ended() })

	second := image(t)
	second.Binds = append(second.Binds, [2]string{first.Path("/opt/data"), "/opt/data"})
	for _, command := range []string{"gateway run", "gateway run --no-supervise", "-p coder gateway run", "hermes gateway run", "dashboard"} {
		r := second.Start(machine.Boot{Argv: append([]string{"/init"}, strings.Fields(command)...)})
		if code := r.Wait(bound); code != 78 || !strings.Contains(r.Output(), "hermes-init: cannot run ") {
			t.Errorf("%s: it ended with %d: %s", command, code, r.Output())
		}
	}
	r := second.Start(machine.Boot{Env: []string{"HERMES_DASHBOARD=1"}, Argv: []string{"/init", "sh", "-c", "echo main up; hermes config set k 1; hermes service ls"}})
	if code := r.Wait(bound); code != 1 || !strings.Contains(r.Output(), "main up\n") || strings.Count(r.Output(), "hermes-init: ")+strings.Count(r.Output(), "level=WARN") != 1 || !strings.Contains(r.Output(), "supervises this home; ask it there") {
		t.Errorf("it ended with %d: %s", code, r.Output())
	}
	if got := of(t, holder, "gateway-default"); got.State != "ready" {
		t.Errorf("the holder's gateway is %+v", got)
	}

	holder.Signal(syscall.SIGKILL)
	holder.Wait(bound)
	heir := second.Start(machine.Boot{Argv: []string{"/init", "gateway", "run"}})
	heir.Eventually("the other one takes over", func() bool { return of(t, heir, "gateway-default").State == "ready" || heir.Ended() })
	if heir.Ended() {
		t.Errorf("it did not: %s", heir.Output())
	}
}
