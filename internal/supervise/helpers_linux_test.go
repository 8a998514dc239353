package supervise

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hermes.example/hermes/internal/supervise/reaper"
	"hermes.example/hermes/internal/supervise/tree"
	"hermes.example/hermes/test/machine"
)

// bound is how long anything may take before it is taken for hung.
const bound = 60 * time.Second

// stranger is who services run as where the tests are root's.
const stranger = 54321

// helper is the variable that makes this program a service of a test.
const helper = "SUPERVISE_TEST_HELPER"

func TestMain(m *testing.M) {
	if name := os.Getenv(helper); name != "" {
		helpers[name]()
		return
	}
	os.Exit(machine.Alone(m))
}

// The one reaper of this process: no test here may use os/exec.
var theReaper = sync.OnceValue(func() *reaper.Reaper {
	if err := reaper.Subreaper(); err != nil {
		panic(err)
	}
	return reaper.New()
})

// bench is a supervisor with real processes.
type bench struct {
	t testing.TB
	*Supervisor
	out *machine.Buffer
	dir string // the services' own
}

func newBench(t testing.TB, output io.Writer) *bench {
	t.Helper()
	b := &bench{t: t, out: new(machine.Buffer)}
	if output == nil {
		output = b.out
	}
	dir, err := os.MkdirTemp("", "supervise")
	if err != nil {
		t.Fatal(err)
	}
	b.dir = dir
	if os.Geteuid() == 0 {
		if err := os.Chown(dir, stranger, stranger); err != nil {
			t.Fatal(err)
		}
	}
	b.Supervisor = New(Options{Reaper: theReaper(), Output: output, Volume: dir, Log: slog.New(slog.NewTextHandler(testLog{t}, &slog.HandlerOptions{Level: slog.LevelError}))})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if left := b.Shutdown(ctx); left != nil {
			t.Errorf("survivors: %+v", left)
		}
		os.RemoveAll(dir)
	})
	return b
}

// testLog fails a test of which the supervisor complains.
type testLog struct{ t testing.TB }

func (l testLog) Write(p []byte) (int, error) {
	l.t.Errorf("the supervisor says: %s", p)
	return len(p), nil
}

// shell is a service that is a script.
func (b *bench) shell(name, script string, args ...string) Service {
	s := Service{Name: name, Argv: append([]string{"/bin/sh", "-c", script, name}, args...), Env: []string{"PATH=/usr/bin:/bin", "A=b c"}, Dir: b.dir,
		Limits: []Limit{{Resource: syscall.RLIMIT_CORE}}}
	if os.Geteuid() == 0 {
		s.User = &User{UID: stranger, GID: stranger, Groups: []int{stranger + 1}}
	}
	return s
}

// helper is a service that is this program.
func (b *bench) helper(name, which string) Service {
	s := b.shell(name, "")
	s.Argv = []string{"/proc/self/exe", name}
	s.Env = append(s.Env, helper+"="+which)
	return s
}

func (b *bench) run(s Service) {
	b.t.Helper()
	if err := b.Register(b.t.Context(), s, true); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) until(name string, is func(Status) bool) Status {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), bound)
	defer cancel()
	st, err := b.Wait(ctx, name, is)
	if err != nil {
		b.t.Fatalf("%v; it said %s", err, b.out)
	}
	return st
}

func in(states ...State) func(Status) bool {
	return func(st Status) bool {
		for _, s := range states {
			if st.State == s {
				return true
			}
		}
		return false
	}
}

func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(bound); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never came true: %s", what)
		}
	}
}

// says waits for a file of the services' directory.
func (b *bench) says(file string) string {
	b.t.Helper()
	var text []byte
	eventually(b.t, file+" is written", func() bool {
		text, _ = os.ReadFile(filepath.Join(b.dir, file))
		return bytes.HasSuffix(text, []byte("\n"))
	})
	return strings.TrimSuffix(string(text), "\n")
}

func (b *bench) pid(file string) int {
	b.t.Helper()
	n, err := strconv.Atoi(b.says(file))
	if err != nil {
		b.t.Fatal(err)
	}
	return n
}

// alive says whether a process runs; a zombie does not.
func alive(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}

// zombies are those of this process.
func zombies(t testing.TB) (n int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		if f := strings.Fields(rest); len(f) > 1 && f[0] == "Z" && f[1] == strconv.Itoa(os.Getpid()) {
			n++
		}
	}
	return n
}

// ways are how trees are found: most containers may make no cgroup.
var ways = []string{"cgroup", "lineage"}

func (b *bench) way(which string) {
	if which == "lineage" {
		b.forest.Close()
		b.forest = &tree.Forest{}
	} else if !b.forest.Cgroups() {
		b.t.Skip("no cgroup can be made here")
	}
}
