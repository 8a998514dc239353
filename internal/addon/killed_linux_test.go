package addon

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"hermes.example/hermes/internal/addon/feature"
	"hermes.example/hermes/internal/addon/store"
)

// errandVariable makes a process of the test binary do one errand and say how far it is.
const errandVariable = "HERMES_TEST_ADDON_ERRAND"

// errand is what such a process does.
type errand struct {
	Do       string
	Feature  string
	Features []feature.Feature
}

// doErrand ends the process.
func doErrand(text string) {
	var e errand
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		fmt.Println(err)
		os.Exit(2)
	}
	m := New(Options{Lookup: os.LookupEnv, Environ: os.Environ(), Features: e.Features, Timeout: bound, Retry: true,
		Progress: func(p Progress) { fmt.Println("phase", p.Phase) }})
	if err := e.run(context.Background(), m); err != nil {
		fmt.Println("failed", err)
		os.Exit(1)
	}
	fmt.Println("phase done")
	os.Exit(0)
}

func (e errand) run(ctx context.Context, m *Manager) (err error) {
	switch e.Do {
	case "ensure":
		_, err = m.Ensure(ctx, e.Feature)
	case "remove":
		err = m.Remove(ctx, e.Feature)
	case "rebuild":
		_, err = m.Rebuild(ctx)
	case "rollback":
		_, err = m.Rollback(ctx)
	case "gc":
		_, err = m.Collect(ctx, store.Collect{Keep: 0})
	case "compile":
		err = m.Compile(ctx)
	}
	return err
}

// sent is a process that does an errand.
type sent struct {
	*exec.Cmd
	mu    sync.Mutex
	phase string
	said  strings.Builder
	read  chan struct{}
}

func (d *desk) send(e errand) *sent {
	d.Helper()
	e.Features = d.features
	text, err := json.Marshal(e)
	if err != nil {
		d.Fatal(err)
	}
	s := &sent{Cmd: exec.Command("/proc/self/exe"), phase: "starting", read: make(chan struct{})}
	s.Env = append(d.environ(), errandVariable+"="+string(text))
	out, err := s.StdoutPipe()
	if err == nil {
		s.Stderr = s.Stdout
		err = s.Start()
	}
	if err != nil {
		d.Fatal(err)
	}
	go s.listen(out)
	return s
}

func (s *sent) listen(out io.Reader) {
	defer close(s.read)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		s.mu.Lock()
		if phase, ok := strings.CutPrefix(lines.Text(), "phase "); ok {
			s.phase = phase
		} else {
			fmt.Fprintln(&s.said, lines.Text())
		}
		s.mu.Unlock()
	}
}

// end waits, and returns the last phase.
func (s *sent) end() (string, error) {
	<-s.read
	err := s.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.phase, err
}

// kill ends it at once, and returns the phase that it was in.
func (s *sent) kill() string {
	_ = s.Process.Kill() // it may have ended
	phase, _ := s.end()
	return phase
}

func soak(few, many int) int {
	if os.Getenv("HERMES_SOAK") != "" {
		return many
	}
	return few
}

// Killed at any time during an install, a removal, a rebuild, a rollback, a collection or a compilation, a process leaves a whole
// generation, and the next one succeeds.
func TestD35KilledAtAnyTime(t *testing.T) {
	d := newDesk(t)
	d.ensure("search.one")
	d.killed("tts.voice", soak(36, 300), "ensure", "remove", "rebuild", "rollback", "gc", "compile")
}

// The same for a feature of npm, whose packages another program unpacks.
func TestD35KilledWhileNPMInstalls(t *testing.T) {
	d := newDesk(t)
	d.withNode()
	d.ensure("search.one")
	d.killed("mcp.demo", soak(9, 120), "ensure", "rebuild", "gc")
}

// killed does errands about a feature and kills those who do them.
func (d *desk) killed(feature string, kills int, errands ...string) {
	t := d.T
	t.Helper()
	seed := time.Now().UnixNano()
	if given, err := strconv.ParseInt(os.Getenv("HERMES_SEED"), 10, 64); err == nil {
		seed = given
	}
	t.Logf("HERMES_SEED=%d", seed)
	r := rand.New(rand.NewPCG(uint64(seed), 0))
	took := make(map[string]time.Duration)
	hit := make(map[string]int)
	for i := range kills {
		e := errand{Do: errands[i%len(errands)], Feature: feature}
		if took[e.Do] == 0 || i%50 < len(errands) {
			d.prepare(e)
			began := time.Now()
			if phase, err := d.send(e).end(); err != nil {
				t.Fatalf("%s fails without being killed, in phase %s: %v", e.Do, phase, err)
			}
			took[e.Do] = time.Since(began)
		}
		d.prepare(e)
		s := d.send(e)
		time.Sleep(time.Duration(r.Int64N(int64(took[e.Do]))))
		phase := s.kill()
		hit[e.Do+" "+phase]++
		if err := d.whole(); err != nil {
			t.Fatalf("kill %d, of %s in phase %s: %v", i, e.Do, phase, err)
		}
		d.prepare(e)
		if err := e.run(d.ctx(), d.manager(func(o *Options) { o.Retry = true })); err != nil {
			t.Fatalf("kill %d: the next %s: %v", i, e.Do, err)
		}
		if err := d.whole(); err != nil {
			t.Fatalf("after the next %s: %v", e.Do, err)
		}
	}
	for phase, n := range hit {
		t.Logf("  %-24s %3d %s", phase, n, strings.Repeat("#", n))
	}
	left, _ := filepath.Glob(filepath.Join(d.store(), ".hermes", d.runtime.Tag, "staging", "*"))
	if len(left) > 0 {
		t.Errorf("%q is left", left)
	}
}

// prepare makes an errand one that has something to do.
func (d *desk) prepare(e errand) {
	d.Helper()
	m := d.manager(func(o *Options) { o.Retry = true })
	has := m.Has(d.ctx(), e.Feature)
	var err error
	switch {
	case e.Do == "ensure" && has:
		err = m.Remove(d.ctx(), e.Feature)
	case e.Do == "remove" && !has, e.Do == "rebuild" && !has:
		_, err = m.Ensure(d.ctx(), e.Feature)
	case e.Do == "rollback" && has, e.Do == "gc" && has:
		err = m.Remove(d.ctx(), e.Feature)
	case e.Do == "compile" && has:
		if err = m.Remove(d.ctx(), e.Feature); err == nil {
			_, err = m.Ensure(d.ctx(), e.Feature)
		}
	case e.Do == "rollback", e.Do == "gc", e.Do == "compile":
		_, err = m.Ensure(d.ctx(), e.Feature)
	}
	if err != nil {
		d.Fatalf("before %s: %v", e.Do, err)
	}
}

// whole says what is wrong with what another process sees now.
func (d *desk) whole() error {
	_, problems, err := d.manager().Verify(d.ctx())
	if errors.Is(err, ErrEmpty) {
		return errors.New("the generation is gone")
	}
	if err == nil && len(problems) > 0 {
		err = fmt.Errorf("%v", problems)
	}
	return err
}

// Thirty processes ensure the same and different features.
func TestD36ThirtyProcessesInstallOnce(t *testing.T) {
	d := newDesk(t)
	var all []*sent
	for i := range 30 {
		all = append(all, d.send(errand{Do: "ensure", Feature: []string{"search.one", "tts.voice", "memory.core"}[i%3]}))
	}
	for _, s := range all {
		if phase, err := s.end(); err != nil {
			t.Errorf("one failed in phase %s: %v\n%s", phase, err, s.said.String())
		}
	}
	for _, file := range []string{"search_sdk-1.0-py3-none-any.whl", "voice_sdk-3.0-py3-none-any.whl", "shared-1.0-py3-none-any.whl"} {
		if n := d.index.Hits(file); n != 1 {
			t.Errorf("%s was fetched %d times", file, n)
		}
	}
	if err := d.whole(); err != nil {
		t.Error(err)
	}
}
