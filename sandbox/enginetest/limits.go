package enginetest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"hermes.example/hermes/sandbox"
)

var limitTests = []test{
	{"limits/a command that needs too much memory is told so", outOfMemory},
	{"limits/the sandbox lives on after that", afterOutOfMemory},
	{"limits/a fork bomb ends at the limit", forkBomb},
	{"limits/a command cannot fork beyond the limit", noMoreForks},
	{"limits/commands say that there are no more processes", noMoreProcesses},
	{"limits/no limit was asked for", noLimits},
	{"limits/memory file systems are bounded", scratchIsBounded},
	{"limits/a command leaves no core file", noCore},
}

func memory(mib int64) func(*sandbox.Spec) {
	return func(spec *sandbox.Spec) { spec.Limits.Memory = mib << 20 }
}

func outOfMemory(t *testing.T, s *suite) {
	s.need(t, MemoryLimit)
	b := s.box(t, memory(64))
	for _, p := range []place{b.place, b.session("s")} {
		if o := p.run(sandbox.Command{Argv: []string{"tail", "/dev/zero"}}).ended(137, sandbox.OutOfMemory); !strings.Contains(o.Message, "memory limit") {
			t.Errorf("the message is %q", o.Message)
		}
		p.line("tail /dev/zero; exit $?").ended(137, sandbox.OutOfMemory)
	}
	// Only whom it concerns: the same status for another reason stays what it is.
	b.line("kill -9 $$").ended(137, sandbox.Signaled)
	b.line("exit 137").ended(137, sandbox.Exited)
	if fact := b.facts()[sandbox.FactMemory]; !strings.HasPrefix(fact.Value, "64 MiB") || !fact.Enforced {
		t.Errorf("the posture says %+v", fact)
	}
}

func afterOutOfMemory(t *testing.T, s *suite) {
	s.need(t, MemoryLimit)
	b := s.box(t, memory(64))
	p := b.session("s")
	p.output("export A=1")
	for range 3 {
		p.line("export A=2; tail /dev/zero & tail /dev/zero; wait; exit 3").ended(3, sandbox.Exited)
		p.says("echo $A; export A=1", "2")
	}
	b.empties()
}

func forkBomb(t *testing.T, s *suite) {
	s.need(t, PidsLimit)
	b := s.box(t, func(spec *sandbox.Spec) { spec.Limits.Pids = 40 })
	o := b.run(sandbox.Command{Line: "b(){ b | b & }; b; sleep 300", Timeout: 2 * time.Second, Grace: time.Millisecond})
	if o.Reason != sandbox.TimedOut && o.Reason != sandbox.Exited {
		t.Errorf("it ended by %s: %s", o.Reason, o.Message)
	}
	if len(o.Survivors) > 0 {
		t.Errorf("survivors: %v", o.Survivors)
	}
	b.empties()
	b.says("echo well", "well")
}

func noMoreForks(t *testing.T, s *suite) {
	s.need(t, PidsLimit)
	const limit = 30
	b := s.box(t, func(spec *sandbox.Spec) { spec.Limits.Pids = limit })
	me := b.output(whoami)
	o := b.line("exec sh -c 'for i in $(seq 60); do sleep 1000 & done'")
	if o.Code == 0 || !strings.Contains(strings.ToLower(o.Out), "fork") {
		t.Errorf("sixty forks ended with %d: %s", o.Code, o.Out)
	}
	// In a container the guest's threads, of which it keeps some in reserve, count among them.
	if st := b.status(); st.Processes > limit || st.Processes < limit/3 {
		t.Errorf("%d processes run where %d may: %+v; sixty forks said %q; the guest was %s and is %+v", st.Processes, limit, st, o.Out, me, b.line(whoami))
	}
}

func noMoreProcesses(t *testing.T, s *suite) {
	s.need(t, PidsLimit)
	const limit, n = 20, 30
	b := s.box(t, func(spec *sandbox.Spec) { spec.Limits.Pids = limit })
	if fact := b.facts()[sandbox.FactPids]; !strings.Contains(fact.Value, "cgroup") {
		t.Skipf("here the limit binds only forks of commands: %s", fact.Value)
	}
	ctx, cancel := context.WithCancel(bounded(t))
	defer cancel()
	results := make(chan outcome, n)
	var all sync.WaitGroup
	t.Cleanup(all.Wait)
	for range n {
		all.Go(func() { results <- b.runIn(ctx, sandbox.Command{Argv: []string{"sleep", "1000"}}) })
	}
	// Those above the limit come back at once, the others when they are told.
	for i := range n {
		if i == n-limit {
			if st := b.status(); st.Processes > limit || st.Processes < 2 {
				t.Errorf("%d processes run where %d may", st.Processes, limit)
			}
			cancel()
		}
		o := <-results
		switch {
		case o.Reason == sandbox.NotStarted:
			if o.Code != 126 || !strings.Contains(o.Message, "limit of processes") {
				t.Errorf("one is refused with %d: %s", o.Code, o.Message)
			}
		case i < n-limit || o.Reason != sandbox.Interrupted:
			t.Errorf("one ended with %d (%s)", o.Code, o.Reason)
		}
	}
	b.says("echo well", "well")
}

func noLimits(t *testing.T, s *suite) {
	b := s.box(t, func(spec *sandbox.Spec) { spec.Limits = sandbox.Limits{Memory: -1, CPUs: -1, Pids: -1} })
	for _, name := range []string{sandbox.FactMemory, sandbox.FactCPUs, sandbox.FactPids} {
		if fact := b.facts()[name]; fact.Value != "no limit" || fact.Enforced {
			t.Errorf("the posture says %+v", fact)
		}
	}
	b.says("echo well", "well")
}

func scratchIsBounded(t *testing.T, s *suite) {
	s.need(t, OwnRoot)
	b := s.box(t)
	for dir, mib := range map[string]int{"/tmp": 512, "/var/tmp": 256, "/run": 64} {
		b.says("stat -f -c '%T %b %S' "+dir+` | awk '{ print $1, $2 * $3 / 1048576 }'`, fmt.Sprintf("tmpfs %d", mib))
	}
	// Filled to the brim it is a full disk for its user and nothing else.
	b.line("head -c 80000000 /dev/zero >/run/fill").ended(1, sandbox.Exited)
	b.session("s").says("export A=1; cd /usr; rm /run/fill; echo well", "well")
	b.session("s").says("echo $A $PWD", "1 /usr")
}

func noCore(t *testing.T, s *suite) {
	b := s.box(t)
	b.line("cd /workspace; ulimit -c; exec 2>/dev/null; sh -c 'kill -SEGV $$'; ls").printed("0\n")
}
