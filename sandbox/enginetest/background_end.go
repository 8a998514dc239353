package enginetest

import (
	"testing"
	"time"

	"hermes.example/hermes/sandbox"
)

var backgroundEndTests = []test{
	{"background/D24 a kill ends the whole tree and nothing else", killTree},
	{"background/a kill gives the grace and tells how it ended", killGrace},
	{"background/a signal reaches it", signalReaches},
	{"background/its time can be limited", backgroundTimeout},
}

// D24: of the whole tree only the first process was signalled.
func killTree(t *testing.T, s *suite) {
	b := s.box(t)
	bystander := b.startLine("setsid sleep 300 & echo $!; wait")
	bystander.says("\n")
	p := b.startLine(tree + "trap '' TERM; echo made; while :; do sleep 0.1; done")
	p.says("made\n")
	result := p.kill(200 * time.Millisecond)
	if result.Reason != sandbox.Killed || result.Code != 137 {
		t.Errorf("ended with %d (%s)", result.Code, result.Reason)
	}
	eventually(t, "only the bystander is left", func() bool { return b.status().Processes == 2 })
	b.output("kill -0 " + bystander.log())
	if info := bystander.poll(); info.State != sandbox.ProcessRunning {
		t.Errorf("the bystander is %s", info.State)
	}
	// Once more, and of what is not there.
	if again := p.kill(0); again.Code != result.Code {
		t.Errorf("killed again it ended with %d", again.Code)
	}
	if _, err := b.Process("proc_ffffffffffff").Kill(bounded(t), 0); err == nil {
		t.Error("a process that there is not can be killed")
	}
	bystander.kill(0)
	b.empties()
}

func killGrace(t *testing.T, s *suite) {
	b := s.box(t)
	p := b.startLine("trap 'echo saved; exit 5' TERM; echo ready; sleep 300 & wait")
	p.says("ready")
	if result := p.kill(hang / 2); result.Code != 5 || result.Reason != sandbox.Killed {
		t.Errorf("ended with %d (%s)", result.Code, result.Reason)
	}
	if log := p.log(); log != "ready\nsaved\n" {
		t.Errorf("the log is %q", log)
	}
	if result := b.startLine("exec sleep 300").kill(hang / 2); result.Code != 143 || result.Signal != 15 {
		t.Errorf("ended with %d, signal %d", result.Code, result.Signal)
	}
}

func signalReaches(t *testing.T, s *suite) {
	b := s.box(t)
	p := b.startLine("trap 'echo hup' HUP; trap 'echo usr1; exit 6' USR1; echo ready; while :; do sleep 0.05; done 2>/dev/null")
	p.says("ready")
	if err := p.Signal(bounded(t), 1); err != nil {
		t.Fatal(err)
	}
	p.says("hup")
	if err := p.Signal(bounded(t), 10); err != nil {
		t.Fatal(err)
	}
	p.wait(6, sandbox.Exited)
	if err := p.Signal(bounded(t), 10); err == nil {
		t.Error("one that has ended is signalled")
	}
}

func backgroundTimeout(t *testing.T, s *suite) {
	b := s.box(t)
	b.start(sandbox.Background{Command: sandbox.Command{Line: tree + "wait", Timeout: time.Second, Grace: 100 * time.Millisecond}}).wait(124, sandbox.TimedOut)
	b.empties()
}
