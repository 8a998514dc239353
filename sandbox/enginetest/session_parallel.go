package enginetest

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"hermes.example/hermes/sandbox"
)

var sessionParallelTests = []test{
	{"sessions/parallel commands never leave a broken state", parallelCommandsMerge},
	{"sessions/D18 an earlier command that ends later does not undo", laterEndDoesNotUndo},
	{"sessions/for one variable the later end wins", laterEndWins},
	{"sessions/D18 internal calls change nothing", internalCallsChangeNothing},
	{"sessions/the first commands of a session share one beginning", firstCommandsTogether},
}

func parallelCommandsMerge(t *testing.T, s *suite) {
	b := s.box(t)
	p := b.session("s")
	p.output("export COMMON=1; cd /usr")
	const n = 24
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			p.says(fmt.Sprintf("export V%d=%d; f%d(){ echo f%d; }; alias a%d='echo a%d'; echo $COMMON $PWD", i, i, i, i, i, i), "1 /usr")
		})
	}
	all.Wait()
	var line, want strings.Builder
	for i := range n {
		fmt.Fprintf(&line, "echo $V%d; f%d; a%d\n", i, i, i)
		fmt.Fprintf(&want, "%d\nf%d\na%d\n", i, i, i)
	}
	o := p.split(sandbox.Command{Line: line.String()}).ended(0, sandbox.Exited).printed(want.String())
	if o.Err != "" {
		t.Errorf("the state does not read cleanly: %q", o.Err)
	}
}

// held starts a command in p that begins now and ends when release is called.
func held(b *box, p place, line string) (release func() outcome) {
	b.t.Helper()
	name := fmt.Sprintf("/tmp/held-%x", noise(4)) + fmt.Sprint(len(line))
	done := p.beside(sandbox.Command{Line: ": >" + name + "; until [ -e " + name + "-go ]; do sleep 0.02; done; " + line})
	b.until("[ -e " + name + " ]")
	return func() outcome {
		b.output(": >" + name + "-go")
		return <-done
	}
}

func laterEndDoesNotUndo(t *testing.T, s *suite) {
	b := s.box(t)
	p := b.session("s")
	p.output("export GONE=1; g(){ echo g; }; alias x='echo x'")
	// The early one knows nothing of what the others do meanwhile.
	release := held(b, p, "true")
	p.output("export A=1; cd /usr; unset GONE; f(){ echo f; }; unset -f g; unalias x")
	release().ended(0, sandbox.Exited)
	p.line("echo $A ${GONE-unset} $PWD; f; g 2>/dev/null; x 2>/dev/null").printed("1 unset /usr\nf\n")
}

func laterEndWins(t *testing.T, s *suite) {
	b := s.box(t)
	p := b.session("s")
	release := held(b, p, "export A=slow; cd /tmp")
	p.output("export A=quick B=quick; cd /usr")
	release().ended(0, sandbox.Exited)
	p.says("echo $A $B $PWD", "slow quick /tmp")
}

func internalCallsChangeNothing(t *testing.T, s *suite) {
	b := s.box(t)
	p := b.session("s")
	release := held(b, p, "export A=1; cd /usr")
	for range 5 {
		// A poller looks while the command runs, and its calls end after it.
		b.status()
		if _, err := b.Session("s").State(bounded(t)); err != nil {
			t.Error(err)
		}
		p.run(sandbox.Command{Argv: []string{"sh", "-c", "export A=poll; cd /"}, Cwd: "/tmp"}).ended(0, sandbox.Exited)
	}
	poll := held(b, b.place, "export A=poll; cd / # outside")
	release().ended(0, sandbox.Exited)
	poll().ended(0, sandbox.Exited)
	p.says("echo $A $PWD", "1 /usr")
}

func firstCommandsTogether(t *testing.T, s *suite) {
	b := s.box(t)
	b.output(`echo 'echo once >>/tmp/profiles; export P=1' >~/.profile`)
	p := b.session("s")
	var all sync.WaitGroup
	for range 12 {
		all.Go(func() { p.says("echo $P", "1") })
	}
	all.Wait()
	b.says("cat /tmp/profiles", "once")
}
