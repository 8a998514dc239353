package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hermes.example/hermes/test/sealed"
	"hermes.example/hermes/test/wheels"
)

// backends are the features that a test calls.
type backends struct {
	*world
	index *wheels.Index
}

// withBackends gives a world a sealed runtime, an index, and an end of what is kept warm in it.
func withBackends(t *testing.T, w *world) backends {
	t.Helper()
	_, index := withAddons(t, w)
	index.Add(
		wheels.Server("mcp-server-time", "2026.10.10"),
		wheels.Wheel{Name: "ddgs", Version: "9.16.1", Files: searchEngine},
	)
	b := backends{w, index}
	t.Cleanup(func() {
		b.endKeeper()
		for _, dir := range []string{"addons", "logs"} {
			sealed.Remove(filepath.Join(w.home, dir))
		}
	})
	return b
}

// answered is what --json prints of a call.
type answered struct {
	Feature    string
	Kind       string
	Reason     string
	Failed     bool
	Structured struct {
		PID         int
		Environment []string
		Arguments   map[string]any
		Backend     string
	}
}

func (b backends) call(args ...string) (a answered, r result) {
	b.t.Helper()
	r = b.hermes(append([]string{"addon", "call", "--json"}, args...)...)
	if err := json.Unmarshal([]byte(r.stdout), &a); err != nil && r.code == 0 {
		b.t.Fatalf("%v: %v", err, r)
	}
	return a, r
}

func (b backends) tell() answered {
	b.t.Helper()
	a, r := b.call("mcp.time", "tell")
	if r.code != 0 {
		b.t.Fatalf("%v", r)
	}
	return a
}

// keeper is the process of the keeper, or 0.
func (b backends) keeper() int {
	b.t.Helper()
	var status struct{ Keeper struct{ PID int } }
	if err := json.Unmarshal([]byte(b.must("addon", "status", "--json")), &status); err != nil {
		b.t.Fatal(err)
	}
	return status.Keeper.PID
}

func (b backends) endKeeper() {
	if pid := b.keeper(); pid > 0 {
		syscall.Kill(pid, syscall.SIGTERM)
		b.gone(pid)
	}
}

// gone waits for the end of a process that is nobody's child here.
func (b backends) gone(pid int) {
	b.t.Helper()
	for until := time.Now().Add(bound); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		if syscall.Kill(pid, 0) == syscall.ESRCH {
			return
		}
		if state, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat"); strings.Contains(string(state), ") Z ") {
			return
		}
	}
	b.t.Errorf("process %d does not end", pid)
}

func TestAToolIsCalledAndStaysWarm(t *testing.T) {
	asEveryone(t, func(t *testing.T, w *world) {
		b := withBackends(t, w)
		w.env = append(w.env, "EXA_API_KEY=not-for-this-one", "UNRELATED_SECRET=x")
		first, r := b.call("mcp.time", "tell", `{"a":[1,"ä"]}`)
		if r.code != 0 || !strings.Contains(r.stderr, "mcp.time is installed") || first.Feature != "mcp.time" || first.Structured.Arguments["a"].([]any)[1] != "ä" {
			t.Fatalf("%v", r)
		}
		for _, name := range first.Structured.Environment {
			if strings.Contains(name, "KEY") || strings.Contains(name, "SECRET") {
				t.Errorf("it has %s", name)
			}
		}
		asked := b.index.Requests()
		if second := b.tell(); second.Structured.PID != first.Structured.PID || b.index.Requests() != asked {
			t.Errorf("the second call is answered by process %d, the first by %d", second.Structured.PID, first.Structured.PID)
		}
		cmd := w.command("addon", "call", "mcp.time", "tell", "-")
		cmd.Stdin = strings.NewReader(`{"from":"here"}`)
		if r := w.finish(cmd); r.code != 0 || r.stdout != "the answer\x1b[31m\n" || r.stderr != "" {
			t.Errorf("as text: %v", r)
		}
		if out := w.must("addon", "status"); !strings.Contains(out, "mcp.time  ready") || !strings.Contains(out, "keeper") {
			t.Errorf("status says\n%s", out)
		}
		if out := w.must("__complete", "addon", "call", "mcp.time", ""); !strings.Contains(out, "tell\tIt can tell.") {
			t.Errorf("completed is\n%s", out)
		}
		if text, err := filepath.Glob(filepath.Join(w.home, "logs", "addons", "current")); err != nil || len(text) != 1 {
			t.Errorf("the log is %v, %v", text, err)
		}
	})
}

// The keeper is in another directory than who calls.
func TestACallWithARelativeHome(t *testing.T) {
	b := withBackends(t, newWorld(t, nil))
	first := b.tell()
	cmd := b.command("addon", "call", "--json", "mcp.time", "tell")
	cmd.Dir = filepath.Dir(b.home)
	cmd.Env = append(cmd.Environ(), "HERMES_HOME="+filepath.Base(b.home))
	var a answered
	if r := b.finish(cmd); r.code != 0 || json.Unmarshal([]byte(r.stdout), &a) != nil || a.Structured.PID != first.Structured.PID {
		t.Errorf("%v", r)
	}
}

func TestHowACallEnds(t *testing.T) {
	b := withBackends(t, newWorld(t, nil))
	b.tell()
	for name, test := range map[string]struct {
		args []string
		code int
		says string
	}{
		"a tool that fails":        {[]string{"mcp.time", "refuse"}, 1, "it says: the key is refused"},
		"a tool that is not there": {[]string{"mcp.time", "nothing"}, 1, "it has tell, refuse"},
		"a crash":                  {[]string{"mcp.time", "crash"}, 1, "what it said last"},
		"no time left":             {[]string{"--timeout", "100ms", "mcp.time", "sleep", `{"seconds":1}`}, 1, "it took longer than 100ms"},
		"no profile":               {[]string{"-p", "nobody", "mcp.time", "tell"}, 1, `cannot use the profile "nobody": there is no such profile`},
		"not UTF-8":                {[]string{"mcp.time", "tell", "{\"a\":\"\xff\"}"}, 2, "expected one JSON object"},
		"no object":                {[]string{"mcp.time", "tell", "[1]"}, 2, "expected one JSON object"},
		"no JSON":                  {[]string{"mcp.time", "tell", "a=1"}, 2, "expected one JSON object"},
		"null":                     {[]string{"mcp.time", "tell", "null"}, 2, "expected one JSON object"},
		"no tool":                  {[]string{"mcp.time"}, 2, "give a feature and a tool"},
		"too much":                 {[]string{"mcp.time", "tell", "{}", "x"}, 2, "in quotes"},
		"no feature":               {[]string{"mcp.tim", "tell"}, 1, `perhaps "mcp.time"`},
		"a namespace":              {[]string{"mcp", "tell"}, 1, `"mcp.time"`},
		"a library":                {[]string{"provider.anthropic", "tell"}, 1, "has no tools"},
	} {
		r := b.hermes(append([]string{"addon", "call"}, test.args...)...)
		if r.code != test.code || r.stdout != "" || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, test.says) {
			t.Errorf("%s: %v", name, r)
		}
	}
	if r := b.hermes("addon", "serve"); r.code != 1 || !oneLine(r.stderr) {
		t.Errorf("a keeper that somebody types: %v", r)
	}
	if a, r := b.call("mcp.time", "refuse"); r.code != 1 || a.Feature != "mcp.time" || !a.Failed {
		t.Errorf("a refusal as JSON: %v", r)
	}
	if a, r := b.call("mcp.time", "crash"); r.code != 1 || a.Feature != "mcp.time" || a.Kind != "backend" || !strings.Contains(a.Reason, "what it said last") {
		t.Errorf("a crash as JSON: %v", r)
	}
	if a, r := b.call("--timeout", "100ms", "mcp.time", "sleep", `{"seconds":1}`); r.code != 1 || a.Feature != "mcp.time" || a.Kind != "backend" {
		t.Errorf("no time left, as JSON: %v", r)
	}
}

func TestWhatIsKilledComesBack(t *testing.T) {
	asEveryone(t, func(t *testing.T, w *world) {
		b := withBackends(t, w)
		first := b.tell().Structured.PID
		syscall.Kill(first, syscall.SIGKILL)
		b.gone(first)
		second := b.tell().Structured.PID
		keeper := b.keeper()
		syscall.Kill(keeper, syscall.SIGKILL)
		b.gone(keeper)
		b.gone(second) // nothing of a keeper outlives it
		pids := make([]int, 20)
		var wg sync.WaitGroup
		for i := range pids {
			wg.Go(func() {
				if a, r := b.call("mcp.time", "tell"); r.code == 0 {
					pids[i] = a.Structured.PID
				} else {
					t.Errorf("%v", r)
				}
			})
		}
		wg.Wait()
		for _, pid := range pids {
			if pid != pids[0] || pid == second {
				t.Fatalf("20 callers at once are answered by %v", pids)
			}
		}
	})
}

func TestAKeeperLeavesWhenNobodyCalls(t *testing.T) {
	b := withBackends(t, newWorld(t, nil))
	b.must("config", "set", "addons.idle", "1s")
	first := b.tell().Structured.PID
	b.gone(first)
	for b.keeper() != 0 {
		time.Sleep(10 * time.Millisecond)
	}
	if b.tell().Structured.PID == first {
		t.Error("it answers after its end")
	}
}

func TestAnIdleTimeThatIsNoneIsSaid(t *testing.T) {
	b := withBackends(t, newWorld(t, nil))
	b.tell()
	b.write(filepath.Join(b.home, "config.yaml"), "addons:\n  idle: soon\n")
	if _, r := b.call("mcp.time", "tell"); r.code != 0 || !oneLine(r.stderr) || !strings.Contains(r.stderr, `addons.idle="soon"`) {
		t.Errorf("%v", r)
	}
}

func TestACallThatIsInterruptedLeavesTheBackend(t *testing.T) {
	b := withBackends(t, newWorld(t, nil))
	first := b.tell().Structured.PID
	cmd := b.command("addon", "call", "mcp.time", "sleep", `{"seconds":1}`)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for b.calls() == 0 {
		time.Sleep(10 * time.Millisecond)
	}
	cmd.Process.Signal(os.Interrupt)
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("it ended with %d", code)
	}
	for b.calls() > 0 {
		time.Sleep(10 * time.Millisecond)
	}
	if b.tell().Structured.PID != first {
		t.Error("the backend was ended, too")
	}
}

// calls are those that the keeper has under way.
func (b backends) calls() int {
	b.t.Helper()
	var status struct{ Keeper struct{ Calls int } }
	if err := json.Unmarshal([]byte(b.must("addon", "status", "--json")), &status); err != nil {
		b.t.Fatal(err)
	}
	return status.Keeper.Calls
}

func TestWithoutAKeeperACallIsColdAndSaysSo(t *testing.T) {
	b := withBackends(t, newWorld(t, nil))
	b.tell()
	sockets, err := filepath.Glob(filepath.Join(b.run, "hermes", "addons-*.sock"))
	if err != nil || len(sockets) != 1 {
		t.Fatal(sockets, err)
	}
	b.endKeeper()
	if err := os.MkdirAll(filepath.Join(sockets[0], "in-the-way"), 0o700); err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(sockets[0])
	a, r := b.call("mcp.time", "tell")
	if r.code != 0 || !oneLine(r.stderr) || !strings.Contains(r.stderr, "cannot keep backends warm") {
		t.Fatalf("%v", r)
	}
	b.gone(a.Structured.PID)
}

// searchEngine is what the adapter uses of ddgs.
var searchEngine = map[string]string{
	"ddgs/__init__.py":   "",
	"ddgs/ddgs.py":       "class DDGS:\n    def __init__(self, **_):\n        pass\n    def text(self, query, **_):\n        return [{'title': query, 'href': 'https://example.org/', 'body': 'found'}]\n",
	"ddgs/base.py":       "class BaseSearchEngine:\n    pass\n",
	"ddgs/exceptions.py": "class DDGSException(Exception):\n    pass\n",
}

func TestASearchGoesToWhomTheConfigurationNames(t *testing.T) {
	b := withBackends(t, newWorld(t, nil))
	search := func() (answered, result) { return b.call("search", "web_search", `{"query":"x"}`) }
	if a, r := search(); r.code != 0 || a.Feature != "search.ddgs" || a.Structured.Backend != "search.ddgs" || !strings.Contains(r.stderr, "search.ddgs answers") {
		t.Errorf("by default: %v", r)
	}
	b.must("config", "set", "web.backend", "firecrawl") // which cannot be installed here
	if a, r := search(); r.code != 1 || a.Feature != "search.firecrawl" || a.Kind != "failed" {
		t.Errorf("without another one: %v", r)
	}
	b.must("config", "set", "web.fallback", "[ddgs]")
	if a, r := search(); r.code != 0 || a.Feature != "search.ddgs" {
		t.Errorf("with another one: %v", r)
	}
	b.write(filepath.Join(b.home, "config.yaml"), "web:\n  backend: tavily\n")
	if _, r := search(); r.code != 78 || !strings.Contains(r.stderr, `cannot search with "tavily": this hermes has ddgs`) {
		t.Errorf("with one that there is not: %v", r)
	}
}

func TestToolsAndDoctor(t *testing.T) {
	asEveryone(t, func(t *testing.T, w *world) {
		b := withBackends(t, w)
		if out := w.must("addon", "tools"); !strings.Contains(out, "mcp.time") || strings.Contains(out, "tell") || b.keeper() != 0 {
			t.Errorf("before it is installed:\n%s", out)
		}
		if r := w.hermes("addon", "doctor", "mcp.time"); r.code != 1 || !strings.Contains(r.stdout, "FIX: hermes addon ensure mcp.time\n") || b.keeper() != 0 {
			t.Errorf("before it is installed: %v", r)
		}
		if out := w.must("addon", "tools", "mcp.time"); !strings.Contains(out, "mcp.time  installed  tell    It can tell.") {
			t.Errorf("its tools:\n%s", out)
		}
		if out := w.must("addon", "tools"); !strings.Contains(out, "refuse") || !strings.Contains(out, "search.exa") {
			t.Errorf("all tools:\n%s", out)
		}
		r := w.hermes("addon", "doctor", "mcp.time")
		if r.code != 0 || strings.Contains(r.stdout, "FIX") || !strings.Contains(r.stdout, "tell, refuse, crash, sleep") {
			t.Errorf("a healthy feature: %v", r)
		}
		w.write(filepath.Join(w.home, ".env"), "EXA_API_KEY=hidden-value\n")
		w.must("addon", "ensure", "search.exa")
		if r := w.hermes("addon", "doctor", "search.exa"); !strings.Contains(r.stdout, "set: EXA_API_KEY") || strings.Contains(r.stdout, "hidden-value") {
			t.Errorf("a feature with variables: %v", r)
		}
		if r := w.hermes("addon", "doctor", "search.exo"); r.code != 1 || !strings.Contains(r.stdout, "not in the allowlist") {
			t.Errorf("no feature: %v", r)
		}
		spoil(t, filepath.Join(w.home, "lazy-packages", ".hermes"))
		if r := w.hermes("addon", "doctor", "search.exa"); r.code != 1 || !strings.Contains(r.stdout, "FIX: hermes addon rebuild") {
			t.Errorf("a changed file: %v", r)
		}
	})
}
