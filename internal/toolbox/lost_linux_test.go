package toolbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hermes.example/hermes/sandbox"
)

func TestGoneSandboxIsMadeAnewOnceAndTheAnswerSaysSo(t *testing.T) {
	box, place := newToolbox(t)
	run(t, box, "export LOST=1; cd /usr; echo kept > ~/kept")
	remove := func() {
		if err := place.manager.Remove(t.Context(), place.identity, false); err != nil {
			t.Fatal(err)
		}
	}
	remove()
	out := run(t, box, "echo ${LOST-gone}; cat ~/kept")
	if out.Output != "gone\nkept\n" || !out.Recreated || len(out.Notes) != 1 {
		t.Errorf("%+v", out)
	}
	if out := run(t, box, "echo again"); out.Recreated || len(out.Notes) != 0 {
		t.Errorf("it is told twice: %+v", out)
	}
	remove()
	place.forget() // as a place does that notices first
	if out := run(t, box, "echo third"); !out.Recreated || out.Output != "third\n" {
		t.Errorf("%+v", out)
	}
	place.forget()
	if out := run(t, box, "echo fourth"); out.Recreated {
		t.Errorf("another hold on the same sandbox: %+v", out)
	}
	remove()
	started, err := box.Process(t.Context(), ProcessInput{Action: "start", Command: "echo hi"})
	if err != nil || !started.Recreated {
		t.Errorf("%+v, %v", started, err)
	}
}

// Without a session there is nothing to be missed.
func TestHoldThatIsTakenAnewIsNoLoss(t *testing.T) {
	box, place := newToolbox(t)
	ask(t, box, ProcessInput{Action: "list"})
	place.forget()
	if out := run(t, box, "sleep 33", within(1)); out.Recreated || !out.TimedOut {
		t.Errorf("%+v", out)
	}
	place.forget()
	if out := run(t, box, "true"); out.Recreated {
		t.Errorf("%+v", out)
	}
}

// A hold on what somebody else made does not make it anew by itself.
func TestSandboxThatOthersMadeIsGotAnew(t *testing.T) {
	box, place := newToolbox(t)
	other, err := place.manager.Attach(t.Context(), place.identity)
	if err != nil {
		t.Fatal(err)
	}
	place.forget()
	place.box = other
	run(t, box, "true")
	if err := place.manager.Remove(t.Context(), place.identity, false); err != nil {
		t.Fatal(err)
	}
	if out := run(t, box, "echo anew"); out.Output != "anew\n" || !out.Recreated {
		t.Errorf("%+v", out)
	}
}

// severedPlace loses what became of its next call.
type severedPlace struct {
	*testPlace
	next error
}

func (p *severedPlace) Use(ctx context.Context, f func(*sandbox.Sandbox) error) error {
	err := p.testPlace.Use(ctx, f)
	lost := p.next
	p.next = nil
	return errors.Join(err, lost)
}

// Only the place can be made to break at the very moment at which a command was sent and not answered.
func TestD02CommandThatMayHaveRunIsNotRunAgain(t *testing.T) {
	place := &severedPlace{newPlace(t), nil}
	box := New(Options{Place: place, Session: "model", Home: place.identity.Home, Settings: usualSettings})
	t.Cleanup(func() { box.Close() })
	place.next = fmt.Errorf("cannot run the command: %w: %w", sandbox.ErrGone, sandbox.ErrMayHaveRun)
	if out := run(t, box, "echo run >>~/runs"); out.Reason != "lost" || out.ExitCode != -1 || !strings.Contains(strings.Join(out.Notes, ""), "before you run it again") {
		t.Errorf("%+v", out)
	}
	if out := run(t, box, "cat ~/runs"); out.Output != "run\n" {
		t.Errorf("it ran: %q", out.Output)
	}
}

// A command that ends its own sandbox has begun: it is not begun again.
func TestD03LostCommandIsNotRunAgain(t *testing.T) {
	box, place := newToolbox(t)
	if !place.isolated {
		t.Skip("needs the native engine")
	}
	box.beat = 10 * time.Millisecond
	removed := make(chan error, 1)
	var once sync.Once
	out, err := box.Terminal(t.Context(), TerminalInput{Command: "echo run >>~/runs; echo begun; sleep 44"}, func(p Progress) {
		if p.Line == "begun" {
			once.Do(func() { go func() { removed <- place.manager.Remove(context.Background(), place.identity, false) }() })
		}
	})
	if err := errors.Join(err, <-removed); err != nil {
		t.Fatal(err)
	}
	if out.ExitCode != -1 || out.Reason != "lost" || !strings.Contains(strings.Join(out.Notes, ""), "before you run it again") {
		t.Errorf("%+v", out)
	}
	if out := run(t, box, "cat ~/runs"); out.Output != "run\n" {
		t.Errorf("it ran: %q", out.Output)
	}
}

// brokenPlace has no sandbox until it is mended.
type brokenPlace struct {
	*testPlace
	broken error
}

func (p *brokenPlace) Use(ctx context.Context, f func(*sandbox.Sandbox) error) error {
	if p.broken != nil {
		return p.broken
	}
	return p.testPlace.Use(ctx, f)
}

func TestEngineThatIsDownIsToldAndTriedAgain(t *testing.T) {
	place := &brokenPlace{newPlace(t), errors.New("the daemon does not answer: connection refused; start it, and try again")}
	box := New(Options{Place: place, Session: "model", Home: place.identity.Home, Settings: usualSettings})
	t.Cleanup(func() { box.Close() })
	out := run(t, box, "echo up")
	if !out.Degraded || out.ExitCode != -1 || out.Reason != "unavailable" || !strings.Contains(out.Output, "connection refused") || !strings.Contains(out.Output, "nothing was run, so try again") {
		t.Errorf("%+v", out)
	}
	if out := run(t, box, "echo up", func(in *TerminalInput) { in.Background = true }); !out.Degraded || out.ProcessID != "" {
		t.Errorf("%+v", out)
	}
	settings := usualSettings
	settings.Degraded = false
	strict := New(Options{Place: place, Session: "model", Home: place.identity.Home, Settings: settings})
	t.Cleanup(func() { strict.Close() })
	_, err := strict.Terminal(t.Context(), TerminalInput{Command: "echo up"}, nil)
	var unavailable *Unavailable
	if !errors.As(err, &unavailable) || !errors.Is(err, place.broken) {
		t.Errorf("%v", err)
	}
	place.broken = nil
	for _, b := range []*Toolbox{box, strict} {
		if out := run(t, b, "echo up"); out.Output != "up\n" || out.Degraded {
			t.Errorf("%+v", out)
		}
	}
}

// A guest that is stopped neither ends its command nor says so.
func TestSandboxThatNoLongerAnswersIsNotWaitedFor(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	box, place := newToolbox(t)
	if !place.isolated {
		t.Skip("needs the native engine, whose guest can be found")
	}
	guest := guestOf(t, strings.TrimSpace(run(t, box, "readlink /proc/self/ns/pid").Output))
	t.Cleanup(func() { syscall.Kill(guest, syscall.SIGCONT) })
	box.beat, box.patience = 10*time.Millisecond, time.Second
	var once sync.Once
	began := time.Now()
	out, err := box.Terminal(t.Context(), TerminalInput{Command: "echo begun; sleep 44", Timeout: one()}, func(p Progress) {
		if p.Line == "begun" {
			once.Do(func() { syscall.Kill(guest, syscall.SIGSTOP) })
		}
	})
	if err != nil || out.ExitCode != 124 || !out.TimedOut || out.Output != "begun\n[Command timed out after 1s]" {
		t.Errorf("%+v, %v", out, err)
	}
	t.Logf("it took %s", time.Since(began).Round(time.Second))
}

// guestOf finds PID 1 of a namespace.
func guestOf(t *testing.T, namespace string) int {
	t.Helper()
	ours, err := os.Readlink("/proc/self/ns/pid")
	if err != nil || !strings.HasPrefix(namespace, "pid:[") || namespace == ours {
		t.Fatalf("%q is no namespace of a sandbox: %v", namespace, err)
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == 1 {
			continue
		}
		status, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "status"))
		if ns, _ := os.Readlink(filepath.Join("/proc", e.Name(), "ns", "pid")); ns == namespace && regexp.MustCompile(`(?m)^NSpid:.*\t1$`).Match(status) {
			return pid
		}
	}
	t.Fatalf("nobody is PID 1 of %s", namespace)
	return 0
}
