package roster

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hermes.example/hermes/internal/profile"
	"hermes.example/hermes/internal/supervise"
	"hermes.example/hermes/internal/supervise/reaper"
)

// bound is how long anything may take before it is taken for hung.
const bound = 60 * time.Second

// stranger is who gateways run as where the tests are root's.
const stranger = 54321

// theReaper is the one of this process: no test here may use os/exec.
var theReaper = sync.OnceValue(func() *reaper.Reaper {
	if err := reaper.Subreaper(); err != nil {
		panic(err)
	}
	return reaper.New()
})

// bench is a home, a driver and a roster between them.
type bench struct {
	*Roster
	t    *testing.T
	root string
	log  *lines
}

// lines are what a log said.
type lines struct {
	mu  sync.Mutex
	all strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

// gateway is a process that can be told from others and says who it is.
func gateway(root string) func(string) supervise.Service {
	return func(name string) supervise.Service {
		s := supervise.Service{
			Argv: []string{"/bin/sh", "-c", "echo I am $0; exec sleep 1000", name}, Env: []string{"PATH=/usr/bin:/bin"}, Dir: "/",
			Log: filepath.Join(root, "logs", "gateways", name),
		}
		if os.Geteuid() == 0 {
			s.User = &supervise.User{UID: stranger, GID: stranger}
		}
		return s
	}
}

// newBench is a roster on the real supervisor.
func newBench(t *testing.T) *bench {
	t.Helper()
	root := t.TempDir()
	s := supervise.New(supervise.Options{Reaper: theReaper(), Output: io.Discard, Volume: root})
	t.Cleanup(func() { s.Shutdown(t.Context()) })
	return benchOf(t, root, s)
}

func benchOf(t *testing.T, root string, d Driver) *bench {
	b := &bench{t: t, root: root, log: new(lines)}
	b.Roster = New(Options{Home: &profile.Home{Root: root}, Driver: d, Gateway: gateway(root), Log: slog.New(slog.NewTextHandler(b.log, nil)), Poll: 50 * time.Millisecond})
	return b
}

func (b *bench) put(path, content string) {
	b.t.Helper()
	path = filepath.Join(b.root, path)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
		b.t.Fatal(err)
	}
}

// profile makes one, as somebody on the host does, with the content of its state file if there is one.
func (b *bench) profile(name, state string) {
	b.t.Helper()
	if state != "" {
		b.put("profiles/"+name+"/gateway_state.json", state)
	}
	b.put("profiles/"+name+"/SOUL.md", "")
}

func (b *bench) state(name string) profile.State {
	b.t.Helper()
	state, warning := b.home.State(name)
	if warning != nil {
		b.t.Error(warning)
	}
	return state
}

// wants are the gateways with what is wanted of them, like "coder:up default:down".
func (b *bench) wants() string {
	b.t.Helper()
	all, err := b.Services(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	var words []string
	for _, s := range all {
		name, _ := ProfileOf(s.Name)
		words = append(words, name+":"+s.Want)
	}
	return strings.Join(words, " ")
}

func (b *bench) eventually(what string, is func() bool) {
	b.t.Helper()
	for end := time.Now().Add(bound); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			b.t.Fatalf("never came true: %s; the gateways are %s, the log is\n%s", what, b.wants(), b.log)
		}
	}
}

func (b *bench) audit() string {
	content, _ := os.ReadFile(filepath.Join(b.root, "logs", "container-boot.log"))
	return string(content)
}

// faulty is a driver that fails as it is told and otherwise only remembers. It has no processes.
type faulty struct {
	mu    sync.Mutex
	up    map[string]bool
	calls []string
	fail  map[string]error // by the call, like "start gateway-coder"
}

func newFaulty() *faulty { return &faulty{up: map[string]bool{}, fail: map[string]error{}} }

func (f *faulty) call(verb, name string, needed bool) (done func(), err error) {
	f.mu.Lock()
	f.calls = append(f.calls, verb+" "+name)
	if err := f.fail[verb+" "+name]; err != nil {
		return f.mu.Unlock, err
	}
	if _, known := f.up[name]; needed && !known {
		return f.mu.Unlock, supervise.ErrNotRegistered
	}
	return f.mu.Unlock, nil
}

func (f *faulty) set(verb, name string, needed, up bool) error {
	done, err := f.call(verb, name, needed)
	defer done()
	if err == nil {
		f.up[name] = up
	}
	return err
}

func (f *faulty) Register(_ context.Context, s supervise.Service, up bool) error {
	return f.set("register", s.Name, false, up)
}

func (f *faulty) Replace(_ context.Context, s supervise.Service, up bool) error {
	return f.set("replace", s.Name, false, up)
}

func (f *faulty) Start(_ context.Context, name string) error { return f.set("start", name, true, true) }
func (f *faulty) Stop(_ context.Context, name string) error  { return f.set("stop", name, true, false) }
func (f *faulty) Restart(_ context.Context, name string) error {
	return f.set("restart", name, true, true)
}

func (f *faulty) Unregister(_ context.Context, name string) error {
	done, err := f.call("unregister", name, false)
	defer done()
	if err == nil {
		delete(f.up, name)
	}
	return err
}

func (f *faulty) Status(_ context.Context, name string) (supervise.Status, error) {
	done, err := f.call("status", name, true)
	defer done()
	if err != nil {
		return supervise.Status{}, err
	}
	return f.status(name), nil
}

func (f *faulty) status(name string) supervise.Status {
	if f.up[name] {
		return supervise.Status{Name: name, Want: "up", State: supervise.Ready, PID: 4242}
	}
	return supervise.Status{Name: name, Want: "down", State: supervise.Down}
}

func (f *faulty) List(context.Context) ([]supervise.Status, error) {
	done, err := f.call("list", "", false)
	defer done()
	var all []supervise.Status
	for name := range f.up {
		all = append(all, f.status(name))
	}
	slices.SortFunc(all, func(a, b supervise.Status) int { return strings.Compare(a.Name, b.Name) })
	return all, err
}
