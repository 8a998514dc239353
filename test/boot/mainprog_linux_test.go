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

// above is another init: Docker's, as "docker run --init" has it.
var above = []string{"/usr/bin/tini", "--"}

// needs skips a test that is about another init where there is none.
func needs(t *testing.T, under []string) {
	t.Helper()
	if len(under) == 0 {
		return
	}
	if _, err := os.Stat(under[0]); err != nil {
		t.Skipf("there is no other init: %v", err)
	}
}

func TestTheStatusOfTheContainer(t *testing.T) {
	for command, want := range map[string]int{
		"exit 0": 0, "exit 1": 1, "exit 255": 255, "kill -TERM $$": 143, "kill -KILL $$": 137, "kill -SEGV $$": 139,
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			if out, code := run(t, machine.Boot{Argv: []string{"/init", "bash", "-c", command}}); code != want {
				t.Errorf("it ended with %d, want %d: %s", code, want, out)
			}
		})
	}
}

// All that there are; a machine a status would take minutes, so they are booted one after the other in one.
func TestEveryStatusAndEverySignal(t *testing.T) {
	m := image(t)
	m.File("/opt/all", `#!/bin/bash
ulimit -c 0
for i in {0..255}; do
	/init bash -c "exit $i" 2>/dev/null; s=$?
	[ $s = $i ] || echo "exit $i became $s"
done
for i in {1..31} {34..64}; do
	case $i in 17|18|19|20|21|22|23|28) continue;; esac # these do not end a process
	/init sh -c "kill -$i \$\$; sleep 5" 2>/dev/null; s=$?
	[ $s = $((128 + i)) ] || echo "signal $i became $s"
done
echo all seen
`, 0o755)
	r := m.Start(machine.Boot{Argv: []string{"/opt/all"}})
	if r.Wait(4 * time.Minute); r.Output() != "all seen\n" {
		t.Error(r.Output())
	}
}

func TestUnderAnotherInit(t *testing.T) {
	needs(t, above)
	out, code := run(t, machine.Boot{Under: above, Argv: []string{"/init", "sh", "-c",
		"(sleep 1000 & echo $! >/tmp/orphan); sleep 0.2; echo its parent is ours and $(($(ps -o ppid= -p $(cat /tmp/orphan)) - $PPID)) more; exit 42"}})
	if code != 42 || strings.Contains(out, "can only run as pid 1") || !strings.Contains(out, "its parent is ours and 0 more\n") {
		t.Errorf("it ended with %d: %s", code, out)
	}
	if n := strings.Count(out, "not PID 1"); n != 1 {
		t.Errorf("it was said %d times: %s", n, out)
	}
	if out, code := run(t, machine.Boot{Under: above, Argv: []string{"/init", "--help"}}); code != 0 || !strings.Contains(out, "Usage") {
		t.Errorf("it ended with %d: %s", code, out)
	}
}

// Signals sent to the container are the main program's, and what it does then is its own affair.
func TestSignalsReachTheMainProgram(t *testing.T) {
	names := []string{"HUP", "INT", "QUIT", "USR1", "USR2", "ALRM", "CONT", "TSTP", "WINCH", "RTMIN+3"}
	numbers := []syscall.Signal{1, 2, 3, 10, 12, 14, 18, 20, 28, 37}
	for what, under := range map[string][]string{"PID 1": nil, "under another init": above} {
		t.Run(what, func(t *testing.T) {
			needs(t, under)
			script := ""
			for _, n := range names {
				script += fmt.Sprintf("trap 'echo got %s' %s; ", n, n)
			}
			r := image(t).Start(machine.Boot{Under: under, Argv: []string{"/init", "bash", "-c", script + "trap 'echo got TERM; exit 5' TERM; echo up; while :; do sleep 0.01; done"}})
			r.Eventually("it is up", func() bool { return strings.Contains(r.Output(), "up\n") })
			for i, n := range numbers {
				if under != nil && (n == syscall.SIGTSTP || n == 37) {
					continue // that init keeps them
				}
				r.Signal(n)
				r.Eventually("SIG"+names[i]+" arrives", func() bool { return strings.Contains(r.Output(), "got "+names[i]+"\n") })
			}
			r.Signal(syscall.SIGTERM)
			if code := r.Wait(bound); code != 5 {
				t.Errorf("it ended with %d: %s", code, r.Output())
			}
			if n := strings.Count(r.Output(), "got INT\n"); n != 1 {
				t.Errorf("one signal arrived %d times: %s", n, r.Output())
			}
		})
	}
}

// What the main program finds is what the service user would find as the container's only process: signals,
// descriptors, limits, rights.
func TestTheMainProgramStartsClean(t *testing.T) {
	const look = "grep -E '^(Sig(Ign|Blk)|Cap|Uid|Gid|Groups)' /proc/self/status; ulimit -a; umask; pwd; nice; cat /proc/self/oom_score_adj"
	m := image(t)
	alone := m.Start(machine.Boot{User: hermes + ":10000", Dir: "/tmp", Argv: []string{"/bin/bash", "-c", look}})
	if code := alone.Wait(bound); code != 0 {
		t.Fatal(alone.Output())
	}
	r := m.Start(machine.Boot{Dir: "/tmp", Env: []string{"KEPT=a b"}, Argv: []string{"/init", "bash", "-c", "echo begin; " + look +
		"; echo end; echo open $(ls /proc/self/fd); echo home $HOME $HERMES_HOME $KEPT; echo again >/proc/self/fd/1; echo session $(($(ps -o sid= -p $$)-$$))"}})
	if code := r.Wait(bound); code != 0 {
		t.Errorf("it ended with %d", code)
	}
	_, found, _ := strings.Cut(r.Output(), "begin\n")
	found, rest, _ := strings.Cut(found, "end\n")
	if found != alone.Output() {
		t.Errorf("below hermes-init it is %s\nalone %s", found, alone.Output())
	}
	for _, want := range []string{"open 0 1 2 3\n", "home /opt/data /opt/data a b\n", "again\n", "session 0\n"} {
		if !strings.Contains(rest, want) {
			t.Errorf("%q is missing: %s", want, rest)
		}
	}
}

// An orphan is reaped, whoever left it, and however many there are.
func TestOrphansAreReaped(t *testing.T) {
	m := image(t)
	r := booted(t, m, machine.Boot{})
	r.Must(hermes, "sh", "-c", "(sh -c 'sleep 0.1 & sleep 0.1 &' &)")
	r.Must(hermes, "bash", "-c", "for i in {1..100}; do (for j in {1..100}; do (:) & done) ; done")
	r.Eventually("no zombie is left", func() bool {
		out, _ := r.Exec("", "ps", "-eo", "stat=,comm=")
		return !strings.Contains(out, "Z") && !strings.Contains(out, "bash")
	})
}
