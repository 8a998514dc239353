package toolbox

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// ask asks for something that must not be refused.
func ask(t *testing.T, box *Toolbox, in ProcessInput) ProcessOutput {
	t.Helper()
	out, err := box.Process(t.Context(), in)
	if err != nil {
		t.Fatalf("%+v: %v", in, err)
	}
	return out
}

// begin starts a process and returns its id.
func begin(t *testing.T, box *Toolbox, in ProcessInput) string {
	t.Helper()
	in.Action = "start"
	out := ask(t, box, in)
	if out.Process.State != "running" || !strings.HasPrefix(out.Process.ID, "proc_") {
		t.Fatalf("%+v", out)
	}
	return out.Process.ID
}

func TestProcessFromItsStartToItsEnd(t *testing.T) {
	box, _ := newToolbox(t)
	if out := ask(t, box, ProcessInput{Action: "list"}); len(out.Processes) != 0 || len(out.Notes) != 1 {
		t.Errorf("%+v", out)
	}
	run(t, box, "cd /tmp; export COLOUR=green")
	id := begin(t, box, ProcessInput{Command: "echo $COLOUR; pwd; read line; echo got $line; cat; exit 3", Name: "reader", Input: true})
	if out := ask(t, box, ProcessInput{Action: "list"}); len(out.Processes) != 1 || out.Processes[0].ID != id || out.Processes[0].Name != "reader" {
		t.Errorf("%+v", out)
	}
	if out := ask(t, box, ProcessInput{Action: "write", ProcessID: id, Data: "hello", Newline: true}); out.Written != 6 {
		t.Errorf("%+v", out)
	}
	if out := ask(t, box, ProcessInput{Action: "wait", ProcessID: id, Timeout: one()}); out.Process.State != "running" || !strings.Contains(strings.Join(out.Notes, ""), "still runs after 1 s") {
		t.Errorf("%+v", out)
	}
	if out := ask(t, box, ProcessInput{Action: "poll", ProcessID: "reader"}); out.Output != "green\n/tmp\ngot hello\n" || out.Process.ExitCode != nil {
		t.Errorf("%+v", out)
	}
	ask(t, box, ProcessInput{Action: "write", ProcessID: id, Data: "the rest", CloseStdin: true})
	out := ask(t, box, ProcessInput{Action: "wait", ProcessID: id})
	if out.Process.State != "exited" || *out.Process.ExitCode != 3 || out.Output != "green\n/tmp\ngot hello\nthe rest" || out.Process.Ended.IsZero() {
		t.Errorf("%+v", out)
	}
	_, err := box.Process(t.Context(), ProcessInput{Action: "write", ProcessID: id, Data: "x"})
	isRefused(t, err, "it has ended")
	if out := ask(t, box, ProcessInput{Action: "kill", ProcessID: id}); *out.Process.ExitCode != 3 || !strings.Contains(strings.Join(out.Notes, ""), "ended already") {
		t.Errorf("%+v", out)
	}
}

func one() *int {
	n := 1
	return &n
}

func TestKillEndsTheWholeTreeOfAProcess(t *testing.T) {
	box, _ := newToolbox(t)
	id := begin(t, box, ProcessInput{Command: "(setsid sleep 66.25 &) ; sleep 66.25 & echo up; trap '' TERM; wait"})
	for out := ask(t, box, ProcessInput{Action: "poll", ProcessID: id}); out.Output != "up\n"; out = ask(t, box, ProcessInput{Action: "poll", ProcessID: id}) {
		if out.Process.State != "running" {
			t.Fatalf("%+v", out)
		}
	}
	if out := ask(t, box, ProcessInput{Action: "kill", ProcessID: id}); out.Process.Reason != "killed" || out.Process.State != "exited" || len(out.Notes) != 0 {
		t.Errorf("%+v", out)
	}
	nothingLeft(t, box, "66.25")
}

func TestLogIsReadInPartsThatFitTogether(t *testing.T) {
	box, _ := newToolbox(t)
	id := begin(t, box, ProcessInput{Command: "seq -f 'zeile %06.0f für alle €' 1 30000"})
	ask(t, box, ProcessInput{Action: "wait", ProcessID: id})
	var whole strings.Builder
	next, calls := int64(0), 0
	for {
		out := ask(t, box, ProcessInput{Action: "log", ProcessID: id, Offset: &next})
		if n := utf8.RuneCountInString(out.Output); n > 200_000 {
			t.Fatalf("%d characters", n)
		}
		if out.Offset != next {
			t.Fatalf("offset %d, want %d", out.Offset, next)
		}
		if out.Output == "" {
			break
		}
		whole.WriteString(out.Output)
		next = out.Next
		calls++
	}
	lines := strings.Split(strings.TrimSuffix(whole.String(), "\n"), "\n")
	if len(lines) != 30_000 || calls < 4 {
		t.Errorf("%d lines in %d calls", len(lines), calls)
	}
	for i, line := range lines {
		if want := fmt.Sprintf("zeile %06d für alle €", i+1); line != want {
			t.Fatalf("%q, want %q", line, want)
		}
	}
	if out := ask(t, box, ProcessInput{Action: "log", ProcessID: id, Lines: 2}); out.Output != "zeile 029999 für alle €\nzeile 030000 für alle €\n" {
		t.Errorf("%q", out.Output)
	}
	if out := ask(t, box, ProcessInput{Action: "log", ProcessID: id}); strings.Count(out.Output, "\n") != 200 || !strings.HasSuffix(out.Output, "030000 für alle €\n") {
		t.Errorf("%d lines", strings.Count(out.Output, "\n"))
	}
	back := int64(-27)
	if out := ask(t, box, ProcessInput{Action: "log", ProcessID: id, Offset: &back}); !strings.HasSuffix(out.Output, "zeile 030000 für alle €\n") || strings.Count(out.Output, "\n") > 2 {
		t.Errorf("%q", out.Output)
	}
	many := ask(t, box, ProcessInput{Action: "log", ProcessID: id, Lines: 30_000})
	if utf8.RuneCountInString(many.Output) > 200_000 || !strings.HasPrefix(many.Output, "zeile ") || !strings.HasSuffix(many.Output, "030000 für alle €\n") || many.Offset == 0 {
		t.Errorf("%d characters from %d", utf8.RuneCountInString(many.Output), many.Offset)
	}
}

func TestOneProcessTooManyIsRefused(t *testing.T) {
	box, _ := newToolbox(t)
	var ids []string
	for range mostRunning {
		ids = append(ids, begin(t, box, ProcessInput{Command: "sleep 500"}))
	}
	_, err := box.Process(t.Context(), ProcessInput{Action: "start", Command: "sleep 500"})
	isRefused(t, err, "64 run already", "kill")
	_, err = box.Terminal(t.Context(), TerminalInput{Command: "sleep 500", Background: true}, nil)
	isRefused(t, err, "64 run already")
	ask(t, box, ProcessInput{Action: "kill", ProcessID: ids[0]})
	begin(t, box, ProcessInput{Command: "sleep 500"})
}

func TestWhatMakesNoSenseWithProcessesIsRefused(t *testing.T) {
	box, _ := newToolbox(t)
	id := begin(t, box, ProcessInput{Command: "sleep 77"})
	zero := 0
	for _, c := range []struct {
		in    ProcessInput
		words string
	}{
		{ProcessInput{}, "start, list, poll"},
		{ProcessInput{Action: "dance"}, "start, list, poll"},
		{ProcessInput{Action: "poll"}, "give its process_id"},
		{ProcessInput{Action: "poll", ProcessID: "proc_000000000000"}, "known are: " + id},
		{ProcessInput{Action: "kill", ProcessID: "1"}, "no such process"},
		{ProcessInput{Action: "start"}, "it is empty"},
		{ProcessInput{Action: "start", Command: "x", Timeout: &zero}, "not above 0"},
		{ProcessInput{Action: "start", Command: "x", Workdir: "/a;b"}, "workdir"},
		{ProcessInput{Action: "start", Command: "x", Name: "proc_x"}, "name"},
		{ProcessInput{Action: "start", Command: "x", WatchPatterns: []string{"["}}, "missing closing ]"},
		{ProcessInput{Action: "wait", ProcessID: id, Timeout: &zero}, "not above 0"},
		{ProcessInput{Action: "write", ProcessID: id, Data: "x"}, "input=true"},
	} {
		_, err := box.Process(t.Context(), c.in)
		isRefused(t, err, c.words)
	}
}

// await returns the next notice.
func await(t *testing.T, told <-chan Notice) Notice {
	t.Helper()
	select {
	case n := <-told:
		return n
	case <-time.After(30 * time.Second):
		t.Fatal("nothing is told")
		return Notice{}
	}
}

func TestEndOfAProcessIsToldWithTheNextAnswer(t *testing.T) {
	box, _ := newToolbox(t)
	told := make(chan Notice, 10)
	cancel := box.Subscribe(func(n Notice) { told <- n })
	defer cancel()
	out := run(t, box, "sleep 0.3; echo almost; echo the last line; exit 4", func(in *TerminalInput) {
		in.Background, in.NotifyOnComplete = true, true
	})
	quiet := begin(t, box, ProcessInput{Command: "true"})
	answered := ask(t, box, ProcessInput{Action: "wait", ProcessID: out.ProcessID}).Notices // it may be in this one already
	n := await(t, told)
	if n.Process != out.ProcessID || n.Text != "has ended with status 4; its last line: the last line" {
		t.Errorf("%+v", n)
	}
	if told := append(answered, run(t, box, "true").Notices...); len(told) != 1 || told[0] != n {
		t.Errorf("%+v", told)
	}
	if again := run(t, box, "true"); len(again.Notices) != 0 {
		t.Errorf("told twice, or of %s: %+v", quiet, again)
	}
}

func TestLinesThatAreWatchedForAreTold(t *testing.T) {
	box, _ := newToolbox(t)
	told := make(chan Notice, 10)
	defer box.Subscribe(func(n Notice) { told <- n })()
	out := run(t, box, "echo starting; echo Listening on 8080; echo other; read x </dev/zero", func(in *TerminalInput) {
		in.Background, in.WatchPatterns = true, []string{"(?i)listening on", "never"}
	})
	n := await(t, told)
	if n.Process != out.ProcessID || !strings.HasSuffix(n.Text, ": Listening on 8080") || !strings.Contains(n.Text, "(?i)listening on") {
		t.Errorf("%+v", n)
	}
	ask(t, box, ProcessInput{Action: "kill", ProcessID: out.ProcessID})
	both := begin(t, box, ProcessInput{Command: "echo x; sleep 0.1", NotifyOnComplete: true, WatchPatterns: []string{"x"}})
	if n := await(t, told); n.Process != both || !strings.HasPrefix(n.Text, "has ended with status 0") {
		t.Errorf("%+v", n)
	}
	shown := ask(t, box, ProcessInput{Action: "start", Command: "echo x", NotifyOnComplete: true, WatchPatterns: []string{"x"}})
	if !strings.Contains(strings.Join(shown.Notes, ""), "not watched") {
		t.Errorf("%+v", shown)
	}
}

// A match right before the end must not be lost between the two who look.
func TestLastLineBeforeTheEndIsToldToo(t *testing.T) {
	box, _ := newToolbox(t)
	told := make(chan Notice, 100)
	defer box.Subscribe(func(n Notice) { told <- n })()
	for i := range 10 {
		id := begin(t, box, ProcessInput{Command: fmt.Sprintf("sleep 0.05; echo ready %d", i), WatchPatterns: []string{"ready"}})
		if n := await(t, told); n.Process != id || !strings.HasSuffix(n.Text, fmt.Sprintf("ready %d", i)) {
			t.Errorf("%+v", n)
		}
	}
}

func TestNoticesAreBounded(t *testing.T) {
	box, _ := newToolbox(t)
	for i := range mostNotices + 10 {
		box.notices.add(Notice{Text: fmt.Sprint(i)})
	}
	got := box.Notices()
	if len(got) != mostNotices+1 || !strings.HasPrefix(got[0].Text, "10 earlier notices") || got[1].Text != "10" || got[mostNotices].Text != fmt.Sprint(mostNotices+9) {
		t.Errorf("%d: %+v", len(got), got[:2])
	}
}

func TestClosedToolboxWaitsForNothing(t *testing.T) {
	box, place := newToolbox(t)
	begin(t, box, ProcessInput{Command: "sleep 500", NotifyOnComplete: true})
	begin(t, box, ProcessInput{Command: "sleep 500", WatchPatterns: []string{"x"}})
	closed := make(chan struct{})
	go func() {
		box.Close()
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(30 * time.Second):
		t.Fatal("it does not close")
	}
	again := New(Options{Place: place, Session: "model", Home: place.identity.Home, Settings: usualSettings})
	defer again.Close()
	if out := ask(t, again, ProcessInput{Action: "list"}); len(out.Processes) != 2 || out.Processes[0].State != "running" {
		t.Errorf("%+v", out)
	}
}
