package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

type hostPath struct {
	Path     string
	Writable bool
}

// row is what programs rely on of ls and inspect.
type row struct {
	Identity struct{ Home, Profile, Task string }
	Engine   string
	State    string
	Spec     struct {
		Network string
		Mounts  []struct {
			Source, Target string
			ReadOnly       bool `json:"read_only"`
		}
		Limits struct{ Memory, Pids int64 }
	}
	Status *struct {
		Commands, Processes, Connections int
		Sessions                         []string
		Idle                             int64
		Shell                            string
	}
	Posture struct {
		Facts []struct {
			Name, Value, Deviation string
			Enforced               bool
		}
		Host   []hostPath
		Trials []struct{ Name, Answer string }
	}
	Sessions map[string]struct {
		Cwd       string
		Variables []string
	}
}

func decode[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return v
}

func TestLs(t *testing.T) {
	asEveryone(t, func(t *testing.T, w *world) {
		if got := w.must("sandbox", "ls", "--json"); got != "[]\n" {
			t.Errorf("at first: %q", got)
		}
		w.must("sandbox", "exec", "--task", "idle", "--", "true")
		w.must("sandbox", "exec", "--task", "busy", "--profile", "p", "-c", "sleep 60 >/dev/null 2>&1 &")
		odd := "a b\n\x1b[31m漢"
		w.must("sandbox", "exec", "--task", odd, "--", "true")
		rows := decode[[]row](t, w.must("sandbox", "ls", "--json"))
		var tasks []string
		for _, r := range rows {
			tasks = append(tasks, r.Identity.Task)
			if r.Engine != "native" || r.State != "running" || r.Status == nil || r.Identity.Home != w.home {
				t.Errorf("%+v", r)
			}
			if busy := r.Status.Processes > 0; busy != (r.Identity.Task == "busy") {
				t.Errorf("%+v", r.Status)
			}
		}
		if !slices.Equal(tasks, []string{odd, "idle", "busy"}) {
			t.Errorf("tasks %q", tasks)
		}
		lines := strings.Split(strings.TrimSpace(w.must("sandbox", "ls")), "\n")
		want := []string{"TASK PROFILE ENGINE STATE USE COMMANDS CREATED", `"a b\n\x1b[31m漢" default native running idle`, "idle default native running idle", "busy p native running in use 0"}
		for i, line := range lines {
			if i >= len(want) || !strings.HasPrefix(strings.Join(strings.Fields(line), " "), want[i]) {
				t.Errorf("line %d: %q", i, line)
			}
		}
	})
}

func TestInspect(t *testing.T) {
	asEveryone(t, func(t *testing.T, w *world) {
		w.must("sandbox", "exec", "--task", "x", "--mount", ".:/src:ro", "--network", "host", "--session", "s1", "-c", "cd /src; export FOO=bar")
		r := decode[row](t, w.must("sandbox", "inspect", "--task", "x", "--json"))
		if r.Identity.Task != "x" || r.Spec.Network != "host" || len(r.Spec.Mounts) != 1 || !r.Spec.Mounts[0].ReadOnly || r.Spec.Mounts[0].Source != w.work {
			t.Errorf("%+v", r)
		}
		if s := r.Sessions["s1"]; s.Cwd != "/src" || !slices.Contains(s.Variables, "FOO") {
			t.Errorf("session %+v", s)
		}
		deviations := make(map[string]string)
		for _, f := range r.Posture.Facts {
			deviations[f.Name] = f.Deviation
		}
		if d, ok := deviations["seccomp"]; !ok || d != "" || deviations["network"] == "" {
			t.Errorf("facts %+v", r.Posture.Facts)
		}
		if len(r.Posture.Trials) == 0 || !slices.Contains(r.Posture.Host, hostPath{"/src", false}) {
			t.Errorf("posture %+v", r.Posture)
		}
		sheet := w.must("sandbox", "inspect", "x")
		for _, part := range []string{"\n  task ", "\n  mount /src ", w.work + ", read-only", "\n  session s1 ", "in /src, ", "\n  seccomp ", "\n  calls ", "attempts refused\n"} {
			if !strings.Contains("\n"+sheet, part) {
				t.Errorf("the sheet lacks %q:\n%s", part, sheet)
			}
		}
		if _, weaker, ok := strings.Cut(sheet, "\nweaker than the default\n"); !ok || !strings.Contains(weaker, "the host's whole network is reachable") || strings.Contains(weaker, "\x1b") {
			t.Errorf("the sheet does not end with what is weaker:\n%s", sheet)
		}
		if strings.Contains(sheet, "bar") {
			t.Errorf("the sheet shows a value:\n%s", sheet)
		}
	})
}

func TestWhatIsNotThereIsSaid(t *testing.T) {
	w := newWorld(t, nil)
	for _, args := range [][]string{{"inspect", "nosuch"}, {"inspect"}, {"rm", "nosuch"}, {"rm", "--files", "nosuch"}} {
		r := w.hermes(append([]string{"sandbox"}, args...)...)
		if r.code != 1 || r.stdout != "" || !oneLine(r.stderr) || !strings.Contains(r.stderr, "no such sandbox") || !strings.Contains(r.stderr, "hermes sandbox ls") {
			t.Errorf("%q: %v", args, r)
		}
	}
}

func TestRm(t *testing.T) {
	asEveryone(t, func(t *testing.T, w *world) {
		dir := filepath.Join(w.home, "sandboxes", "native", "a")
		w.must("sandbox", "exec", "--task", "a", "-c", "mkdir -p d/e; touch d/e/f; chmod 0 d")
		w.must("sandbox", "exec", "--task", "b", "-c", "sleep 300 >/dev/null 2>&1 &")
		got := decode[struct {
			Removed []string
			Files   bool
		}](t, w.must("sandbox", "rm", "a", "b", "--json"))
		if !slices.Equal(got.Removed, []string{"a", "b"}) || got.Files {
			t.Errorf("%+v", got)
		}
		if _, err := os.Stat(filepath.Join(dir, "workspace", "d")); err != nil {
			t.Errorf("files were not kept: %v", err)
		}
		if r := w.hermes("sandbox", "rm", "a"); r.code != 1 || !oneLine(r.stderr) || !strings.Contains(r.stderr, "--files") {
			t.Errorf("%v", r)
		}
		if r := w.hermes("sandbox", "rm", "--task", "a", "nosuch", "--files"); r.code != 1 || r.stdout != "removed a\n" || !oneLine(r.stderr) {
			t.Errorf("%v", r)
		}
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("the files are still there: %v", err)
		}
	})
}

// The files of other users inside belong to ids of which the caller is not one.
func TestFilesOfOtherUsersInsideCanBeRemoved(t *testing.T) {
	asEveryone(t, func(t *testing.T, w *world) {
		if w.hermes("sandbox", "exec", "-c", "mkdir d; touch d/f; chown -R 5:5 d; chmod 700 d").code != 0 {
			t.Skip("the caller has a single id")
		}
		w.must("sandbox", "rm", "default")
		w.must("sandbox", "rm", "--files", "default")
		if left := w.tree(filepath.Join(w.home, "sandboxes", "native")); len(left) > 0 {
			t.Errorf("left: %q", left)
		}
		w.must("sandbox", "exec", "-c", "mkdir d; touch d/f; chown -R 5:5 d; chmod 700 d")
		w.must("sandbox", "rm", "default")
		// The end of the test prunes all, also what was kept.
	})
}

func TestPrune(t *testing.T) {
	asEveryone(t, func(t *testing.T, w *world) {
		type report struct {
			Removed, Kept []struct{ Task string }
			Leftovers     int
		}
		if got := w.must("sandbox", "prune", "--json"); !strings.Contains(got, `"removed": []`) {
			t.Errorf("got %q", got)
		}
		w.must("sandbox", "exec", "--task", "new", "--", "true")
		got := decode[report](t, w.must("sandbox", "prune", "--json"))
		if len(got.Removed) != 0 || len(got.Kept) != 1 || got.Kept[0].Task != "new" {
			t.Errorf("%+v", got)
		}
		w.must("sandbox", "exec", "--task", "busy", "-c", "sleep 300 >/dev/null 2>&1 &")
		w.must("sandbox", "exec", "--task", "files", "-c", "touch f")
		w.must("sandbox", "rm", "files")
		got = decode[report](t, w.must("sandbox", "prune", "--all", "--json"))
		if len(got.Removed) != 2 || len(got.Kept) != 0 || got.Leftovers != 1 {
			t.Errorf("%+v", got)
		}
		if left := append(w.tree(w.home), w.tree(w.run)...); len(left) > 0 {
			t.Errorf("left: %q", left)
		}
	})
}

func TestPruneLeavesOtherHomesAlone(t *testing.T) {
	w := newWorld(t, nil)
	w.must("sandbox", "exec", "--", "true")
	other := *w
	other.home = filepath.Join(w.dir, "other")
	other.env = append(slices.Clone(w.env), "HERMES_HOME="+other.home)
	other.must("sandbox", "exec", "--session", "s", "-c", "export A=1")
	w.must("sandbox", "prune", "--all")
	if got := other.must("sandbox", "exec", "--session", "s", "-c", "echo $A"); got != "1\n" {
		t.Errorf("got %q", got)
	}
	other.must("sandbox", "prune", "--all")
}

func TestAnswersForPrograms(t *testing.T) {
	w := newWorld(t, nil)
	type answer struct {
		Code, Signal                  int
		Reason, Message, Cwd, ID      string
		Stdout, Stderr                string
		StdoutBase64                  string `json:"stdout_base64"`
		StdoutTotal                   int    `json:"stdout_total_chars"`
		Duration                      int64
		CwdFallback                   string `json:"cwd_fallback"`
		StderrBase64, StderrTotalText string
	}
	ask := func(code int, args ...string) answer {
		t.Helper()
		r := w.hermes(append([]string{"sandbox", "exec", "--json"}, args...)...)
		if r.code != code || r.stderr != "" {
			t.Errorf("%q: %v", args, r)
		}
		return decode[answer](t, r.stdout)
	}
	if a := ask(7, "--session", "s", "-c", "cd /usr; echo '<out>'; echo err >&2; exit 7"); a.Code != 7 || a.Reason != "exit" || a.Cwd != "/usr" || a.Stdout != "<out>\n" || a.Stderr != "err\n" || a.Duration <= 0 || a.ID == "" {
		t.Errorf("%+v", a)
	}
	if a := ask(124, "--timeout", "200ms", "--", "sleep", "30"); a.Code != 124 || a.Reason != "timeout" || a.Stderr != "[Command timed out after 0.2s]\n" {
		t.Errorf("%+v", a)
	}
	if a := ask(127, "--", "nosuch"); a.Reason != "not started" || !strings.Contains(a.Message, "not found") {
		t.Errorf("%+v", a)
	}
	if a := ask(137, "-c", "kill -9 $$"); a.Reason != "signal" || a.Signal != 9 {
		t.Errorf("%+v", a)
	}
	if a := ask(0, "-c", `printf 'a\377b'`); a.Stdout != "a\uFFFDb" || a.StdoutBase64 != "Yf9i" {
		t.Errorf("%+v", a)
	}
	if a := ask(0, "-c", "seq 100000"); a.StdoutTotal != 588895 || len(a.Stdout) > 50000 || !strings.HasPrefix(a.Stdout, "1\n2\n") ||
		!strings.HasSuffix(a.Stdout, "\n100000\n") || !strings.Contains(a.Stdout, "omitted out of 588895 total") {
		t.Errorf("%d characters, total %d", len(a.Stdout), a.StdoutTotal)
	}
	if a := ask(0, "--max-output", "none", "-c", "seq 100000"); len(a.Stdout) != 588895 || a.StdoutTotal != 0 {
		t.Errorf("%d characters, total %d", len(a.Stdout), a.StdoutTotal)
	}
}
