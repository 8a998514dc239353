package toolbox

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/internal/toolbox/capture"
)

// run runs a command that must not be refused.
func run(t *testing.T, box *Toolbox, command string, change ...func(*TerminalInput)) TerminalOutput {
	t.Helper()
	in := TerminalInput{Command: command}
	for _, c := range change {
		c(&in)
	}
	out, err := box.Terminal(t.Context(), in, nil)
	if err != nil {
		t.Fatalf("%q: %v", command, err)
	}
	return out
}

func within(seconds int) func(*TerminalInput) {
	return func(in *TerminalInput) { in.Timeout = &seconds }
}

// isRefused checks that an error is for the model, with these words.
func isRefused(t *testing.T, err error, words ...string) {
	t.Helper()
	var refusal *Refusal
	if !errors.As(err, &refusal) {
		t.Errorf("%v is no refusal", err)
		return
	}
	for _, w := range words {
		if !strings.Contains(refusal.Text, w) {
			t.Errorf("%q says nothing of %q", refusal.Text, w)
		}
	}
	if strings.Contains(refusal.Text, "\n") {
		t.Errorf("%q is more than a line", refusal.Text)
	}
}

func TestSessionLastsFromOneCommandToTheNext(t *testing.T) {
	box, _ := newToolbox(t)
	if out := run(t, box, "cd /usr; export COLOUR=green; greet() { echo $COLOUR $1; }; exit 7"); out.ExitCode != 7 || out.Cwd != "/usr" || out.Reason != "" {
		t.Errorf("%+v", out)
	}
	if out := run(t, box, "greet leaf; pwd; echo err >&2"); out.Output != "green leaf\n/usr\nerr\n" || out.ExitCode != 0 || out.Cwd != "/usr" {
		t.Errorf("%+v", out)
	}
	if out := run(t, box, "pwd", func(in *TerminalInput) { in.Workdir = "/tmp" }); out.Output != "/tmp\n" {
		t.Errorf("%+v", out)
	}
	if out := run(t, box, "cat", func(in *TerminalInput) { in.Stdin = "from outside" }); out.Output != "from outside" {
		t.Errorf("%+v", out)
	}
	if out := run(t, box, "cat", within(20)); out.Output != "" || out.ExitCode != 0 {
		t.Errorf("without input: %+v", out)
	}
}

func TestTimeoutIs124WithTheOutputSoFarAndItsLine(t *testing.T) {
	box, _ := newToolbox(t)
	for command, want := range map[string]string{
		"echo a; sleep 33.25":                      "a\n[Command timed out after 1s]",
		"sleep 33.25":                              "[Command timed out after 1s]",
		"printf half; sleep 33.25":                 "half\n[Command timed out after 1s]",
		"printf '\\033]never closed'; sleep 33.25": "[Command timed out after 1s]",
		"(setsid -w sleep 33.25) ; echo never":     "[Command timed out after 1s]",
	} {
		out := run(t, box, command, within(1))
		if strings.TrimLeft(out.Output, "\n") != want || out.ExitCode != 124 || !out.TimedOut || out.Reason != "timeout" || len(out.Notes) != 1 {
			t.Errorf("%q: %+v", command, out)
		}
	}
	nothingLeft(t, box, "33.25")
}

// nothingLeft checks that no process has such a word among its arguments.
func nothingLeft(t *testing.T, box *Toolbox, word string) {
	t.Helper()
	if out := run(t, box, "grep -lz '^["+word[:1]+"]"+word[1:]+"$' /proc/[0-9]*/cmdline 2>/dev/null"); out.Output != "" {
		t.Errorf("something is left: %q", out.Output)
	}
}

func TestCancelledCommandEndsWithItsTree(t *testing.T) {
	box, _ := newToolbox(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	box.beat = 20 * time.Millisecond
	out, err := box.Terminal(ctx, TerminalInput{Command: "echo begun; (sleep 44.25; true) | cat"}, func(p Progress) {
		if p.Line == "begun" {
			cancel()
		}
	})
	if err != nil || out.ExitCode != 130 || out.Output != "begun\n[Command interrupted]" || out.Reason != "interrupted" {
		t.Fatalf("%+v, %v", out, err)
	}
	nothingLeft(t, box, "44.25")
	if out := run(t, box, "exit 130"); out.ExitCode != 130 || out.Output != "" || out.Reason != "" {
		t.Errorf("a natural 130: %+v", out)
	}
}

func TestProgressIsToldWhileACommandRuns(t *testing.T) {
	box, _ := newToolbox(t)
	box.beat = 10 * time.Millisecond
	var mu sync.Mutex
	var told []Progress
	_, err := box.Terminal(t.Context(), TerminalInput{Command: "for i in 1 2 3; do echo step $i; sleep 0.3; done"}, func(p Progress) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, p)
	})
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]bool{}
	for i, p := range told {
		lines[p.Line] = true
		if i > 0 && (p.Elapsed < told[i-1].Elapsed || p.Bytes < told[i-1].Bytes) {
			t.Errorf("%+v after %+v", p, told[i-1])
		}
	}
	if !lines["step 1"] || !lines["step 3"] {
		t.Errorf("%v", lines)
	}
}

// Case 61 of the contract.
func TestS61LongOutputIsCutAndKeptWholeInAFile(t *testing.T) {
	box, place := newToolbox(t)
	out := run(t, box, "cd /tmp; seq -f 'line %08.0f of many' 1 10000")
	if n := utf8.RuneCountInString(out.Output); n > 50_000 || n < 49_000 {
		t.Errorf("%d characters", n)
	}
	if !strings.HasPrefix(out.Output, "line 00000001 of many\n") || !strings.HasSuffix(out.Output, "line 00010000 of many\n") {
		t.Error("the beginning or the end is missing")
	}
	if out.Total != 220_000 || !strings.Contains(out.Output, "of 220000 characters left out here") || out.Cwd != "/tmp" || out.ExitCode != 0 {
		t.Errorf("total %d, cwd %s, status %d", out.Total, out.Cwd, out.ExitCode)
	}
	whole, err := os.ReadFile(out.FullOutput)
	if err != nil || len(whole) != 220_000 || strings.Count(string(whole), "\n") != 10_000 {
		t.Errorf("%d bytes, %v", len(whole), err)
	}
	if filepath.Dir(out.FullOutput) != filepath.Join(place.identity.Home, "cache", "terminal-output") || !strings.Contains(out.Output, out.FullOutput) {
		t.Error(out.FullOutput)
	}
	if out := run(t, box, "echo short"); out.Total != 0 || out.FullOutput != "" {
		t.Errorf("%+v", out)
	}
	ended := run(t, box, "seq 1 30000; sleep 33", within(3))
	if !strings.HasSuffix(ended.Output, "30000\n[Command timed out after 3s]") || ended.FullOutput == "" || utf8.RuneCountInString(ended.Output) > 50_000 {
		t.Errorf("the end of a long output that was ended is %q", ended.Output[max(0, len(ended.Output)-60):])
	}
}

// However much a command prints, what is held of it is a window.
func TestMuchOutputDoesNotGrowMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	box, _ := newToolbox(t, func(o *Options) { o.Settings.MaxOutput = 200_000 }) // more than comes at a time
	size := 64_000_000
	if os.Getenv("HERMES_SOAK") != "" {
		size = 1_000_000_000
	}
	run(t, box, "yes 'a line of a gigabyte' | head -c 20000000")
	box.beat = 100 * time.Millisecond
	before, most := heap(), int64(0)
	out, err := box.Terminal(t.Context(), TerminalInput{Command: fmt.Sprintf("yes 'a line of a gigabyte' | head -c %d; echo the end", size), Timeout: func() *int { n := 300; return &n }()},
		func(Progress) { most = max(most, heap()-before) })
	if err != nil || out.Total != int64(size)+8 || !strings.HasSuffix(out.Output, "the end\n") || out.ExitCode != 0 {
		t.Errorf("%d characters, status %d, %v", out.Total, out.ExitCode, err)
	}
	if most > 16<<20 {
		t.Errorf("the heap had grown by %d MiB", most>>20)
	}
	info, err := os.Stat(out.FullOutput)
	if err != nil || info.Size() > 5_000_100 || len(out.Notes) != 1 || !strings.Contains(out.Notes[0], "the first 5,000,000 characters only") {
		t.Errorf("%v, %q", err, out.Notes)
	}
	t.Logf("the heap had grown by %d KiB at most", most>>10)
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestOutputIsPlainText(t *testing.T) {
	box, _ := newToolbox(t)
	out := run(t, box, `printf '\033[31mred\033[0m caf\351 \000\n'`)
	if out.Output != "red caf\ufffd \n" {
		t.Errorf("%q", out.Output)
	}
}

func TestSecretsAreInNoAnswer(t *testing.T) {
	const held, forwarded, plain = "held by hermes itself", "f0rwarded t0ken", "production"
	box, place := newToolbox(t, func(o *Options) {
		o.Settings.MaxOutput = 2000
		o.Secrets = func() []config.Secret { return []config.Secret{config.NewSecret(held)} }
	})
	place.variables = map[string]string{"MY_TOKEN": forwarded, "NODE_ENV": plain, "OPAQUE": "a1b2c3d4e5f6a7b8c9d0e1"}
	out := run(t, box, "echo $MY_TOKEN; echo $NODE_ENV; echo $OPAQUE; printf 'held by '; sleep 0.2; printf 'hermes '; sleep 0.2; echo itself")
	if out.Output != "[redacted]\nproduction\n[redacted]\n[redacted]\n" {
		t.Errorf("%q", out.Output)
	}
	long := run(t, box, "for i in $(seq 300); do echo $i $MY_TOKEN; done")
	whole, err := os.ReadFile(long.FullOutput)
	if err != nil || strings.Contains(string(whole), forwarded) || strings.Contains(long.Output, forwarded) || strings.Count(string(whole), capture.Redacted) != 300 {
		t.Errorf("%v: %q", err, long.Output)
	}
	process, err := box.Process(t.Context(), ProcessInput{Action: "start", Command: "echo $MY_TOKEN; echo '" + held + "'"})
	if err != nil {
		t.Fatal(err)
	}
	ended, err := box.Process(t.Context(), ProcessInput{Action: "wait", ProcessID: process.Process.ID})
	if err != nil || ended.Output != "[redacted]\n[redacted]\n" || strings.Contains(ended.Process.Command, held) {
		t.Errorf("%+v, %v", ended, err)
	}
}

// Case 63 of the contract.
func TestS63TimeoutsOutOfRangeAreRefusedOrPromoted(t *testing.T) {
	box, place := newToolbox(t)
	for _, timeout := range []int{0, -1} {
		_, err := box.Terminal(t.Context(), TerminalInput{Command: "echo ran >>~/ran", Timeout: &timeout}, nil)
		isRefused(t, err, "not above 0")
	}
	// So many seconds are no time that a clock can count, and must become none by chance.
	for _, huge := range []int{10_000_000_000, 18_446_744_074, math.MaxInt} {
		out := run(t, box, "true", within(huge))
		if !out.Promoted {
			t.Errorf("%d s: %+v", huge, out)
		}
		began, err := box.Process(t.Context(), ProcessInput{Action: "start", Command: "true", Timeout: &huge})
		if err != nil {
			t.Errorf("%d s: %v", huge, err)
			continue
		}
		ended, err := box.Process(t.Context(), ProcessInput{Action: "wait", ProcessID: began.Process.ID, Timeout: &huge})
		if err != nil || ended.Process.Reason != "" || *ended.Process.ExitCode != 0 {
			t.Errorf("%d s: %+v, %v", huge, ended, err)
		}
	}
	out := run(t, box, "echo ran >>~/ran; echo promoted", within(700))
	if !out.Promoted || !strings.HasPrefix(out.ProcessID, "proc_") || !strings.Contains(out.Output, "started in the background as "+out.ProcessID) || out.ExitCode != 0 {
		t.Fatalf("%+v", out)
	}
	ended, err := box.Process(t.Context(), ProcessInput{Action: "wait", ProcessID: out.ProcessID})
	if err != nil || ended.Output != "promoted\n" || *ended.Process.ExitCode != 0 {
		t.Errorf("%+v, %v", ended, err)
	}
	strict := New(Options{Place: place, Session: "model", Home: place.identity.Home, Settings: func() config.Tools {
		s := usualSettings
		s.Promote = false
		return s
	}()})
	t.Cleanup(func() { strict.Close() })
	_, err = strict.Terminal(t.Context(), TerminalInput{Command: "echo ran >>~/ran", Timeout: func() *int { n := 700; return &n }()}, nil)
	isRefused(t, err, "the limit is 600 s", "background=true")
	if out := run(t, box, "cat ~/ran"); out.Output != "ran\n" {
		t.Errorf("a refused command ran: %q", out.Output)
	}
}

func TestPromotedCommandKeepsItsTimeout(t *testing.T) {
	box, _ := newToolbox(t, func(o *Options) { o.Settings.MaxForeground = time.Second })
	out := run(t, box, "sleep 55", within(2))
	if !out.Promoted {
		t.Fatalf("%+v", out)
	}
	ended, err := waitFor(t, box, out.ProcessID)
	if err != nil || *ended.ExitCode != 124 || ended.Reason != "timeout" {
		t.Errorf("%+v, %v", ended, err)
	}
}

// waitFor waits for a process, however short one wait may be.
func waitFor(t *testing.T, box *Toolbox, id string) (ProcessState, error) {
	t.Helper()
	for {
		out, err := box.Process(t.Context(), ProcessInput{Action: "wait", ProcessID: id})
		if err != nil || out.Process.State != "running" {
			return *out.Process, err
		}
	}
}

func TestWhatMakesNoSenseIsRefusedWithWords(t *testing.T) {
	box, _ := newToolbox(t)
	for _, c := range []struct {
		in    TerminalInput
		words string
	}{
		{TerminalInput{}, "it is empty"},
		{TerminalInput{Command: " \n"}, "it is empty"},
		{TerminalInput{Command: "a\x00b"}, "NUL"},
		{TerminalInput{Command: "a\xffb"}, "UTF-8"},
		{TerminalInput{Command: strings.Repeat("x", longestCommand+1)}, "write_file"},
		{TerminalInput{Command: "ls", Workdir: "/tmp; rm -rf /"}, `';'`},
		{TerminalInput{Command: "ls", Workdir: "/tmp/$HOME"}, `'$'`},
		{TerminalInput{Command: "ls", Workdir: "/tmp\n"}, `'\n'`},
		{TerminalInput{Command: "ls", NotifyOnComplete: true}, "background=true"},
		{TerminalInput{Command: "ls", WatchPatterns: []string{"x"}}, "background=true"},
		{TerminalInput{Command: "sleep 9 &"}, "background=true"},
		{TerminalInput{Command: "nohup sleep 9"}, "background=true"},
		{TerminalInput{Command: "npm run dev"}, "background=true"},
		{TerminalInput{Command: "sleep 9 &", Background: true}, `leave the "&" out`},
		{TerminalInput{Command: "cat", Background: true, Stdin: "x"}, "input=true"},
		{TerminalInput{Command: "cat", Background: true, WatchPatterns: []string{"("}}, "missing closing )"},
		{TerminalInput{Command: "cat", Background: true, Workdir: "/nowhere"}, "/nowhere"},
	} {
		_, err := box.Terminal(t.Context(), c.in, nil)
		isRefused(t, err, c.words)
	}
	if out := run(t, box, "pwd", func(in *TerminalInput) { in.Workdir = "/nowhere at all" }); out.ExitCode != 126 || !strings.Contains(out.Output, "no such directory") || out.Reason != "not started" {
		t.Errorf("%+v", out)
	}
	if out := run(t, box, "pwd", func(in *TerminalInput) { in.Workdir = "~" }); out.ExitCode != 0 {
		t.Errorf("%+v", out)
	}
}

func TestStatusThatIsEasilyMisreadIsExplained(t *testing.T) {
	box, _ := newToolbox(t)
	for command, want := range map[string]string{
		"grep x /dev/null":                   "no line matches",
		"echo a | grep -q b":                 "no line matches",
		"grep x /nowhere 2>/dev/null":        "",
		"diff /etc/passwd /etc/group":        "there are differences",
		"[ a = b ]":                          "condition is false",
		"test -e /nowhere":                   "condition is false",
		"find /nowhere 2>/dev/null":          "could not be looked at",
		"false":                              "",
		"true":                               "",
		"if true; then grep x /dev/null; fi": "no line matches",
		"grep x /dev/null; true":             "",
		"kill -9 $$":                         "signal 9",
	} {
		out := run(t, box, command)
		if notes := strings.Join(out.Notes, "; "); want == "" && notes != "" || !strings.Contains(notes, want) {
			t.Errorf("%q: %q", command, out.Notes)
		}
	}
	for line, want := range map[string]string{"curl -f http://x": "HTTP status", "git diff --exit-code": "differences", "git merge x": "conflicts", "git grep x": "no line", "git push": ""} {
		code := 1
		if strings.HasPrefix(line, "curl") {
			code = 22
		}
		if got := exitNote(line, code); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%q: %q", line, got)
		}
	}
}
