package enginetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hermes.example/hermes/sandbox"
)

// hang is how long anything may take before it counts as stuck. It measures
// nothing.
const hang = 90 * time.Second

// suite is one run of the tests on one engine, which they share.
type suite struct {
	config  Config
	engine  sandbox.Engine
	home    string
	manager *sandbox.Manager

	mu   sync.Mutex
	used []sandbox.Identity
}

func newSuite(t *testing.T, config Config) *suite {
	s := &suite{config: config}
	s.engine, s.home = config.New(t)
	s.manager = sandbox.NewManager(s.engine, sandbox.Options{NoSweep: true})
	before := s.traces(t)
	// A parent's cleanup comes after its parallel subtests.
	t.Cleanup(func() {
		if err := s.manager.Close(); err != nil {
			t.Error(err)
		}
		for _, trace := range s.traces(t) {
			if !slices.Contains(before, trace) {
				t.Errorf("left behind: %s", trace)
			}
		}
	})
	return s
}

func (s *suite) traces(t testing.TB) []string {
	if s.config.Traces == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.config.Traces(t, s.home, s.used)
}

// need skips the test where the engine cannot do what it is about.
func (s *suite) need(t *testing.T, ability Ability) {
	t.Helper()
	if why, lacks := s.config.Without[ability]; lacks {
		t.Skipf("no %s here: %s", ability, why)
	}
}

// can says whether the engine has an ability, for tests of which a part needs it.
func (s *suite) can(ability Ability) bool {
	_, lacks := s.config.Without[ability]
	return !lacks
}

// identity returns one that no other test has. Its sandbox goes with the test.
func (s *suite) identity(t *testing.T) sandbox.Identity {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, name, _ := strings.Cut(t.Name(), "/")
	id := sandbox.Identity{Home: s.home, Task: fmt.Sprintf("%.40s %d", name, len(s.used))}.Normal()
	s.own(t, id)
	return id
}

// adopt makes the suite clean up after an identity that a test chose itself.
func (s *suite) adopt(t *testing.T, id sandbox.Identity) sandbox.Identity {
	s.mu.Lock()
	defer s.mu.Unlock()
	id = id.Normal()
	s.own(t, id)
	return id
}

func (s *suite) own(t *testing.T, id sandbox.Identity) {
	s.used = append(s.used, id)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), hang)
		defer cancel()
		if err := s.manager.Remove(ctx, id, true); err != nil {
			t.Error(err)
		}
	})
}

// isolated says whether a sandbox is a place of its own.
func (s *suite) isolated() bool { return s.engine.Capabilities().Isolated }

// spec is the suite's spec with changes.
func (s *suite) spec(changes ...func(*sandbox.Spec)) sandbox.Spec {
	spec := s.config.Spec
	spec.Env = maps.Clone(spec.Env)
	spec.Mounts = slices.Clone(spec.Mounts)
	for _, change := range changes {
		change(&spec)
	}
	return spec
}

// box makes a sandbox of the test's own.
func (s *suite) box(t *testing.T, changes ...func(*sandbox.Spec)) *box {
	t.Helper()
	return s.ensure(t, s.manager, s.identity(t), s.spec(changes...))
}

func (s *suite) ensure(t *testing.T, m *sandbox.Manager, id sandbox.Identity, spec sandbox.Spec) *box {
	t.Helper()
	held, err := m.Ensure(bounded(t), id, spec)
	if err != nil {
		t.Fatal(err)
	}
	return s.hold(t, held, spec)
}

// another returns a further manager, as another part of the program would have.
func (s *suite) another(t *testing.T, e sandbox.Engine) *sandbox.Manager {
	m := sandbox.NewManager(e, sandbox.Options{NoSweep: true})
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// bounded is the test's context with an end.
func bounded(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	t.Cleanup(cancel)
	return ctx
}

// beside calls f while the test goes on, and sends what it returns. However the test
// ends, f has returned before: it waits for nothing but what ends with the test's context.
func beside[T any](t *testing.T, f func() T) <-chan T {
	result := make(chan T, 1)
	var running sync.WaitGroup
	running.Go(func() { result <- f() })
	t.Cleanup(running.Wait)
	return result
}

// place is where a test runs commands: a sandbox or a session of it.
type place struct {
	t     *testing.T
	exec  execute
	paths paths
}

// box is a test's hold on a sandbox.
type box struct {
	*sandbox.Sandbox
	place
}

func (s *suite) hold(t *testing.T, held *sandbox.Sandbox, spec sandbox.Spec) *box {
	t.Cleanup(func() { held.Close() })
	paths := s.paths(t, held.Identity(), spec)
	return &box{held, place{t, paths.around(held.Exec), paths}}
}

func (b *box) session(name string) place {
	return place{b.t, b.paths.around(b.Session(name).Exec), b.paths}
}

func (b *box) status() sandbox.Status {
	b.t.Helper()
	st, err := b.Status(bounded(b.t))
	if err != nil {
		b.t.Fatal(err)
	}
	return st
}

// outcome is a result with what the command printed.
type outcome struct {
	sandbox.Result
	t        *testing.T
	Out, Err string
}

// run runs c to its end. Where c does not say where its output goes, both
// streams are in Out.
func (p place) run(c sandbox.Command) outcome {
	p.t.Helper()
	return p.runIn(bounded(p.t), c)
}

func (p place) runIn(ctx context.Context, c sandbox.Command) outcome {
	p.t.Helper()
	var out bytes.Buffer
	if c.Stdout == nil {
		c.Stdout = &out
	}
	result, err := p.exec(ctx, c)
	if err != nil {
		// Not Fatal: commands also run in goroutines of a test.
		p.t.Errorf("%s: %v", describe(c), err)
		result.Code = -1
	}
	return outcome{Result: result, t: p.t, Out: p.paths.out(out.String())}
}

// beside runs c while the test goes on.
func (p place) beside(c sandbox.Command) <-chan outcome {
	return beside(p.t, func() outcome { return p.run(c) })
}

// split runs c with its two streams apart.
func (p place) split(c sandbox.Command) outcome {
	p.t.Helper()
	var stderr bytes.Buffer
	c.Stderr = &stderr
	o := p.run(c)
	o.Err = p.paths.out(stderr.String())
	return o
}

func (p place) line(line string) outcome {
	p.t.Helper()
	return p.run(sandbox.Command{Line: line})
}

// output runs a line that must succeed and returns what it printed, without the
// last newline.
func (p place) output(line string) string {
	p.t.Helper()
	o := p.line(line)
	if o.Code != 0 {
		p.t.Fatalf("%.200q ended with %d (%s): %s %s", line, o.Code, o.Reason, o.Message, o.Out)
	}
	return strings.TrimSuffix(o.Out, "\n")
}

// says runs a line and compares what it prints.
func (p place) says(line, want string) {
	p.t.Helper()
	if got := p.output(line); got != want {
		p.t.Errorf("%q prints %q, not %q", line, got, want)
	}
}

// until runs a line over and over until it succeeds.
func (p place) until(line string) {
	p.t.Helper()
	if o := p.line("until " + line + "; do sleep 0.02; done"); o.Code != 0 {
		p.t.Fatalf("%q never came true: %s %s", line, o.Reason, o.Out)
	}
}

// ended compares status and reason.
func (o outcome) ended(code int, reason sandbox.Reason) outcome {
	o.t.Helper()
	if o.Code != code || o.Reason != reason {
		o.t.Errorf("ended with %d (%s), not %d (%s): %s %.300q", o.Code, o.Reason, code, reason, o.Message, o.Out+o.Err)
	}
	return o
}

// printed compares the whole output.
func (o outcome) printed(want string) outcome {
	o.t.Helper()
	if o.Out != want {
		o.t.Errorf("printed %.300q, not %.300q", o.Out, want)
	}
	return o
}

func describe(c sandbox.Command) string {
	if c.Line != "" {
		return fmt.Sprintf("%.100q", c.Line)
	}
	return fmt.Sprintf("%.100q", c.Argv)
}

// eventually waits for what other processes bring about.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	stuck := time.After(hang)
	for !is() {
		select {
		case <-tick.C:
		case <-stuck:
			t.Fatalf("never came true: %s", what)
		}
	}
}

// gone says whether an engine has no sandbox of the identity.
func (s *suite) gone(t *testing.T, id sandbox.Identity) bool {
	t.Helper()
	_, err := s.engine.Find(bounded(t), id)
	if err != nil && !errors.Is(err, sandbox.ErrNotFound) {
		t.Fatal(err)
	}
	return err != nil
}
