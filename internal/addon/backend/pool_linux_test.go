package backend

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hermes.example/hermes/internal/addon/store"
	"hermes.example/hermes/internal/addon/unavailable"
)

func TestFirstUseInstallsAndTheNextCallIsWarm(t *testing.T) {
	d := newDesk(t)
	p := d.pool()
	if got := p.Status(); len(got) != 0 {
		t.Errorf("%v", got)
	}
	answer := d.asks(p, "sdk.one", "imports", object{"module": "sdk_one"}, nil)
	if answer["version"] != "1.0" || !strings.HasPrefix(answer["file"].(string), filepath.Join(d.home, "lazy-packages")) {
		t.Errorf("%v", answer)
	}
	if first, second := d.process(p, "sdk.one", nil), d.process(p, "sdk.one", nil); first != second {
		t.Errorf("the second call has another process")
	}
	if tools, err := p.Tools(d.ctx(), "sdk.one", nil); err != nil || len(tools) < 20 {
		t.Errorf("%v, %v", tools, err)
	}
	d.becomes(p, Ready)
	p.Close()
	if _, err := p.Tools(d.ctx(), "sdk.one", nil); !errors.Is(err, unavailable.Backend) {
		t.Errorf("after the end: %v", err)
	}
}

func TestManyFirstCallersStartOneProcess(t *testing.T) {
	d := newDesk(t)
	p := d.pool()
	var calls sync.WaitGroup
	for range 20 {
		calls.Go(func() {
			if _, err := p.Call(d.ctx(), "core.server", "echo", nil, nil); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	d.becomes(p, Ready)
}

// A first caller that leaves does not take away the process of those who wait with it.
func TestAFirstCallerThatLeaves(t *testing.T) {
	d := newDesk(t)
	p := d.pool()
	ctx, cancel := context.WithCancel(d.ctx())
	left := make(chan error)
	go func() {
		_, err := p.Tools(ctx, "core.server", nil)
		left <- err
	}()
	d.becomes(p, Starting)
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	d.process(p, "core.server", nil)
	if n := len(p.Status()); n != 1 {
		t.Errorf("%d processes", n)
	}
}

func TestWhatHasNoProcess(t *testing.T) {
	d := newDesk(t)
	p := d.pool()
	for name, want := range map[string]string{
		"sdk.three":    "it has no tools",
		"core.strange": `nobody knows how to start "ruby:x"`,
		"core.wrong":   "No module named no_such_module",
		"no.such":      "allowlist",
	} {
		_, err := p.Call(d.ctx(), name, "echo", nil, nil)
		var known *unavailable.Error
		if !errors.As(err, &known) || !strings.Contains(err.Error(), want) || known.Feature != name {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A backend has what every one has, what its feature declares, and nothing else of ours.
func TestTheEnvironmentOfABackend(t *testing.T) {
	d := newDesk(t)
	p := d.pool()
	got := d.asks(p, "core.server", "environment", nil, map[string]string{"API_KEY": secret, "PLACE": "here", "OTHER_KEY": "another's", "PATH": "/evil"})
	data := filepath.Join(d.home, "addons", "core.server")
	for name, want := range map[string]any{"API_KEY": secret, "PLACE": "here", "HOME": data, "cwd": data, "STATE": data + "/state", "TZ": "UTC",
		"PATH": d.env["PATH"], "LANG": "C.UTF-8", "HERMES_LAZY_INSTALL_TARGET": os.DevNull} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
	for _, name := range []string{"OTHER_KEY", "UNRELATED_TOKEN", "HERMES_HOME", "HERMES_RUNTIME", "UV_DEFAULT_INDEX", "XDG_RUNTIME_DIR"} {
		if value, there := got[name]; there {
			t.Errorf("%s is %v", name, value)
		}
	}
	if args := string(marshal(got["arguments"])); args != `["--in","`+data+`","`+d.home+`/workspace"]` {
		t.Errorf("%s", args)
	}
	if info, err := os.Stat(data); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
}

// Callers with other credentials have other processes, and neither sees the other's.
func TestOtherCredentialsAreAnotherProcess(t *testing.T) {
	d := newDesk(t)
	p := d.pool()
	one, two := map[string]string{"API_KEY": secret}, map[string]string{"API_KEY": "sk-of-another"}
	first, second := d.process(p, "core.server", one), d.process(p, "core.server", two)
	if first == second || d.process(p, "core.server", one) != first || d.process(p, "core.server", two) != second {
		t.Error("they share a process")
	}
	if third := d.process(p, "core.server", map[string]string{"API_KEY": secret, "UNDECLARED": "x"}); third != first {
		t.Error("what is not declared makes a difference")
	}
	d.becomes(p, Ready, Ready)
}

func TestACrashIsFollowedByANewProcess(t *testing.T) {
	d := newDesk(t)
	p := d.pool()
	first := d.process(p, "core.server", nil)
	if _, err := p.Call(d.ctx(), "core.server", "crash", nil, nil); !errors.Is(err, unavailable.Backend) || !strings.Contains(err.Error(), "status 7") {
		t.Error(err)
	}
	second := d.process(p, "core.server", nil)
	if first == second {
		t.Error("the process that crashed answers")
	}
	d.asks(p, "core.server", "answer_and_crash", nil, nil)
	d.becomes(p)
	if third := d.process(p, "core.server", nil); third == second {
		t.Error("the process that crashed answers")
	}
}

// One call that hangs ends the process when the others that it has are answered, and the next call has a new one.
func TestAHangIsFollowedByANewProcess(t *testing.T) {
	d := newDesk(t)
	p := d.pool(func(o *Options) { o.Bounds.Call = 3 * time.Second })
	first := d.process(p, "core.server", nil)
	other := make(chan error, 1)
	// It begins in the middle of the other's time, and is answered after that and within its own.
	time.AfterFunc(1500*time.Millisecond, func() {
		_, err := p.Call(d.ctx(), "core.server", "slowly", marshal(object{"seconds": 2}), nil)
		other <- err
	})
	if _, err := p.Call(d.ctx(), "core.server", "hang", nil, nil); !errors.Is(err, ErrHangs) {
		t.Error(err)
	}
	if second := d.process(p, "core.server", nil); second == first {
		t.Error("the process that hangs is called again")
	}
	if err := <-other; err != nil {
		t.Errorf("a call that was answered in time: %v", err)
	}
	d.becomes(p, Ready)
}

func TestAProcessThatFailsAgainAndAgainIsLeftAlone(t *testing.T) {
	d := newDesk(t)
	var mu sync.Mutex
	now := time.Now()
	p := d.pool(func(o *Options) {
		o.Now = func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	})
	started := func() string {
		_, err := p.Tools(d.ctx(), "core.wrong", nil)
		if !errors.Is(err, unavailable.Backend) {
			t.Fatal(err)
		}
		return err.Error()
	}
	started()
	if text := started(); strings.Contains(text, "tried again") {
		t.Errorf("a first failure counts: %s", text)
	}
	d.becomes(p, Waiting)
	if text := started(); !strings.Contains(text, "No module named no_such_module") || !strings.Contains(text, "(it is tried again in 1s)") {
		t.Errorf("%s", text)
	}
	mu.Lock()
	now = now.Add(time.Second)
	mu.Unlock()
	if text := started(); strings.Contains(text, "tried again") {
		t.Errorf("it is not tried again: %s", text)
	}
	d.becomes(p, Waiting)
	if text := started(); !strings.Contains(text, "(it is tried again in 2s)") {
		t.Errorf("%s", text)
	}
	d.process(p, "core.server", nil) // another feature has nothing to do with it
}

// So is one that ends with every call; one that answers in between is not.
func TestAProcessThatCrashesAgainAndAgainIsLeftAlone(t *testing.T) {
	d := newDesk(t)
	now := time.Now()
	p := d.pool(func(o *Options) { o.Now = func() time.Time { return now } })
	crash := func() string {
		_, err := p.Call(d.ctx(), "core.server", "crash", nil, nil)
		if !errors.Is(err, unavailable.Backend) {
			t.Fatal(err)
		}
		return err.Error()
	}
	for range 3 {
		if text := crash(); strings.Contains(text, "tried again") {
			t.Fatalf("%s", text)
		}
		d.process(p, "core.server", nil)
	}
	crash()
	crash()
	if text := crash(); !strings.Contains(text, "status 7") || !strings.Contains(text, "(it is tried again in 1s)") {
		t.Errorf("%s", text)
	}
}

func TestTheWaitGrowsToItsBound(t *testing.T) {
	for times, want := range map[int]time.Duration{0: 0, 1: 0, 2: time.Second, 3: 2 * time.Second, 7: 32 * time.Second, 8: time.Minute, 1000: time.Minute} {
		if got := wait(times); got != want {
			t.Errorf("after %d: %s", times, got)
		}
	}
}

func TestAnIdleProcessIsStopped(t *testing.T) {
	d := newDesk(t)
	p := d.pool(func(o *Options) { o.Idle = time.Second })
	first := d.process(p, "core.server", nil)
	slow := make(chan error)
	go func() {
		_, err := p.Call(d.ctx(), "core.server", "slowly", marshal(object{"seconds": 1.5}), nil)
		slow <- err
	}()
	d.busy(p, 1)
	d.process(p, "core.server", nil) // that this one ends does not make it idle
	if err := <-slow; err != nil {
		t.Error(err)
	}
	if again := d.process(p, "core.server", nil); again != first {
		t.Error("it was stopped at work")
	}
	d.becomes(p)
	if again := d.process(p, "core.server", nil); again == first {
		t.Error("it was not stopped")
	}
}

// Nobody waits for a process that another has; the one that nobody has used for longest makes room.
func TestTheNumberOfProcessesIsBounded(t *testing.T) {
	d := newDesk(t)
	p := d.pool(func(o *Options) { o.Most = 2 })
	vars := func(key string) map[string]string { return map[string]string{"API_KEY": key} }
	first, second := d.process(p, "core.server", vars("key-1")), d.process(p, "core.server", vars("key-2"))
	d.process(p, "core.server", vars("key-3"))
	if second != d.process(p, "core.server", vars("key-2")) || first == d.process(p, "core.server", vars("key-1")) {
		t.Error("another one made room")
	}
	var busy sync.WaitGroup
	for _, key := range []string{"key-1", "key-2"} {
		busy.Go(func() { p.Call(d.ctx(), "core.server", "slowly", marshal(object{"seconds": 1}), vars(key)) })
	}
	d.busy(p, 2)
	_, err := p.Tools(d.ctx(), "core.other", nil)
	if !errors.Is(err, unavailable.Backend) || !strings.Contains(err.Error(), "2 backends are at work already") {
		t.Error(err)
	}
	busy.Wait()
}

// A process goes on with what it was started with while another feature is installed; the next call has a new one.
func TestAGenerationIsReplacedWhileABackendRuns(t *testing.T) {
	d := newDesk(t)
	p := d.pool()
	before := d.asks(p, "sdk.one", "environment", nil, nil)
	slow := make(chan error, 1)
	go func() {
		_, err := p.Call(d.ctx(), "sdk.one", "slowly", marshal(object{"seconds": 3}), nil)
		slow <- err
	}()
	d.busy(p, 1)
	m := d.addons()
	if _, err := m.Ensure(d.ctx(), "sdk.three"); err != nil {
		t.Fatal(err)
	}
	after := d.asks(p, "sdk.one", "environment", nil, nil)
	if before["pid"] == after["pid"] || before[generationVariable] == after[generationVariable] || after[generationVariable] == "" {
		t.Errorf("%v and %v", before, after)
	}
	d.becomes(p, Draining, Ready)
	kept, err := m.Collect(d.ctx(), store.Collect{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(generations(d), before[generationVariable].(string))); err != nil {
		t.Errorf("the generation of a process that runs was collected: %v, %+v", err, kept)
	}
	if err := <-slow; err != nil {
		t.Errorf("the call that was under way: %v", err)
	}
	d.becomes(p, Ready)
	if _, err := m.Collect(d.ctx(), store.Collect{}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(generations(d), before[generationVariable].(string))); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the generation is held after the end: %v", err)
	}
}

func generations(d *desk) string {
	found, err := filepath.Glob(filepath.Join(d.home, "lazy-packages", ".hermes", "*", "generations"))
	if err != nil || len(found) != 1 {
		d.Fatalf("%v, %v", found, err)
	}
	return found[0]
}
