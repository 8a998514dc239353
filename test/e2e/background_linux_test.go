package e2e

import (
	"bytes"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

var processID = regexp.MustCompile(`^proc_[0-9a-f]{12}\n$`)

// begin starts a background process and returns its id.
func (w *world) begin(args ...string) string {
	w.t.Helper()
	out := w.must(append([]string{"sandbox", "start"}, args...)...)
	if !processID.MatchString(out) {
		w.t.Fatalf("start prints %q", out)
	}
	return strings.TrimSpace(out)
}

// logged waits until a process has written a text.
func (w *world) logged(process, text string) {
	w.t.Helper()
	eventually(w.t, "the log of "+process+" has "+text, func() bool { return strings.Contains(w.must("sandbox", "logs", process), text) })
}

func TestABackgroundProcessFromItsStartToItsEnd(t *testing.T) {
	asEveryone(t, func(t *testing.T, w *world) {
		marker := "31536010." + w.unique()
		id := w.begin("--name", "server", "-c", "echo out; echo err >&2; setsid sleep "+marker+"& sleep "+marker+"& sleep "+marker)
		eventually(t, "the tree runs", func() bool { return len(running(t, "sleep", marker)) == 3 })
		for _, name := range []string{id, "server", id[:9], id[5:11]} {
			if r := w.hermes("sandbox", "logs", name); r != (result{"out\nerr\n", "", 0}) {
				t.Errorf("logs %s: %v", name, r)
			}
		}
		rows := strings.Split(w.must("sandbox", "ps"), "\n")
		if len(rows) != 3 || !regexp.MustCompile(`^ID +NAME +STATE +FOR +LOG +COMMAND$`).MatchString(rows[0]) ||
			!regexp.MustCompile(`^`+id+` +server +running +\d+s +8 +echo out; echo err`).MatchString(rows[1]) {
			t.Errorf("ps prints %q", rows)
		}
		if r := w.hermes("sandbox", "start", "--name", "server", "--", "true"); r.code != 1 || !oneLine(r.stderr) || !strings.Contains(r.stderr, id) {
			t.Errorf("a name that is taken: %v", r)
		}
		if r := w.hermes("sandbox", "kill", "server"); r != (result{"ended " + id + "\n", "", 0}) {
			t.Errorf("kill: %v", r)
		}
		if left := running(t, "sleep", marker); len(left) > 0 {
			t.Errorf("%v are still there", left)
		}
		if r := w.hermes("sandbox", "wait", "server"); r != (result{"", "", 143}) {
			t.Errorf("wait: %v", r)
		}
		type process struct {
			ID, Name, State string
			Result          struct {
				Code   int
				Reason string
			}
		}
		all := decode[[]process](t, w.must("sandbox", "ps", "--json"))
		if len(all) != 1 || all[0].ID != id || all[0].State != "exited" || all[0].Result.Code != 143 || all[0].Result.Reason != "killed" {
			t.Errorf("ps --json: %+v", all)
		}
	})
}

func TestTheExitStatusOfWaitAndStart(t *testing.T) {
	w := newWorld(t, nil)
	w.begin("--name", "seven", "-c", "exit 7")
	w.begin("--name", "nine", "-c", "exit 9")
	w.begin("--name", "slow", "--timeout", "0.2", "--", "sleep", "30")
	for _, c := range []struct {
		args []string
		want result
	}{
		{[]string{"wait", "seven"}, result{"", "", 7}},
		{[]string{"wait", "nine", "seven"}, result{"", "", 7}},
		{[]string{"wait", "slow"}, result{"", "", 124}},
		{[]string{"logs", "slow"}, result{"[Command timed out after 0.2s]\n", "", 0}},
		{[]string{"start", "--", "no-such-program"}, result{"", "hermes: cannot run \"no-such-program\": not found\n", 127}},
		{[]string{"start", "--cwd", "/nowhere", "--", "true"}, result{"", "hermes: cannot change to \"/nowhere\": no such directory\n", 126}},
		{[]string{"wait", "nobody"}, result{"", "hermes: cannot find the process \"nobody\": there is none; \"hermes sandbox ps --task default\" lists them\n", 125}},
		{[]string{"kill", "nobody"}, result{"", "hermes: cannot find the process \"nobody\": there is none; \"hermes sandbox ps --task default\" lists them\n", 1}},
		{[]string{"ps", "--task", "none"}, result{"", "hermes: cannot look into the sandbox \"none\": no such sandbox; \"hermes sandbox ls\" lists those that there are\n", 1}},
	} {
		if r := w.hermes(append([]string{"sandbox"}, c.args...)...); r != c.want {
			t.Errorf("%q: %v\nwant %v", c.args, r, c.want)
		}
	}
	for _, args := range [][]string{{"start"}, {"start", "-c", "x", "--", "y"}, {"logs"}, {"logs", "a", "b"}, {"logs", "--tail", "0", "a"}, {"logs", "--tail", "1", "--since-offset", "1", "a"},
		{"wait"}, {"kill"}, {"kill", "--signal", "NOPE", "a"}, {"kill", "--signal", "HUP", "--grace", "1", "a"}, {"kill", "--grace", "-1", "a"}, {"ps", "x"}, {"events", "x"}} {
		if r := w.hermes(append([]string{"sandbox"}, args...)...); r.code != 2 || !oneLine(r.stderr) {
			t.Errorf("%q: %v", args, r)
		}
	}
}

func TestLogsInPartsAndWhileTheyGrow(t *testing.T) {
	asEveryone(t, func(t *testing.T, w *world) {
		id := w.begin("--name", "count", "-c", "seq 1 10; until [ -e /tmp/go ]; do sleep 0.02; done; seq 11 12")
		w.logged("count", "10\n")
		follow := w.command("sandbox", "logs", "-f", "--tail", "2", "count")
		var out bytes.Buffer
		follow.Stdout = &out
		if err := follow.Start(); err != nil {
			t.Fatal(err)
		}
		type part struct {
			Offset, Next int64
			Output       string
			Process      struct{ ID, State string }
		}
		first := decode[part](t, w.must("sandbox", "logs", "--json", "--since-offset", "-3", "count"))
		if first.Output != "10\n" || first.Offset != 18 || first.Next != 21 || first.Process.State != "running" || first.Process.ID != id {
			t.Errorf("the last bytes: %+v", first)
		}
		w.must("sandbox", "exec", "-c", ": >/tmp/go")
		w.must("sandbox", "wait", "count")
		if err := follow.Wait(); err != nil || out.String() != "9\n10\n11\n12\n" {
			t.Errorf("the follower has %q, %v", out.String(), err)
		}
		if r := decode[part](t, w.must("sandbox", "logs", "--json", "--since-offset", itoa(int(first.Next)), "count")); r.Output != "11\n12\n" || r.Process.State != "exited" {
			t.Errorf("what came since: %+v", r)
		}
	})
}

func TestInputAndSignals(t *testing.T) {
	asEveryone(t, func(t *testing.T, w *world) {
		w.begin("--name", "cat", "--input", "-c", "cat; echo end")
		for i, text := range []string{"one\n", "two\n"} {
			write := w.command("sandbox", "write", "cat")
			if i == 1 {
				write = w.command("sandbox", "write", "--close", "cat")
			}
			write.Stdin = strings.NewReader(text)
			if r := w.finish(write); r != (result{}) {
				t.Errorf("write: %v", r)
			}
		}
		w.must("sandbox", "wait", "cat")
		if got := w.must("sandbox", "logs", "cat"); got != "one\ntwo\nend\n" {
			t.Errorf("the log is %q", got)
		}
		write := w.command("sandbox", "write", "cat")
		write.Stdin = strings.NewReader("x")
		if r := w.finish(write); r.code != 1 || !oneLine(r.stderr) {
			t.Errorf("write to one that has ended: %v", r)
		}
		w.begin("--name", "hup", "-c", "trap 'echo hup; exit 4' HUP; echo ready; while :; do sleep 0.05; done")
		w.logged("hup", "ready\n")
		if r := w.hermes("sandbox", "kill", "--signal", "HUP", "hup"); r != (result{}) {
			t.Errorf("kill --signal: %v", r)
		}
		if r := w.hermes("sandbox", "wait", "hup"); r.code != 4 {
			t.Errorf("wait: %v", r)
		}
	})
}

func TestALostProcessIsShownWithItsLog(t *testing.T) {
	asEveryone(t, func(t *testing.T, w *world) {
		w.begin("--name", "server", "-c", "echo up; sleep 1000")
		w.logged("server", "up\n")
		w.killGuest("default")
		if out := w.must("sandbox", "ps"); !regexp.MustCompile(`(?m)^proc_[0-9a-f]{12}  server  lost `).MatchString(out) {
			t.Errorf("ps prints\n%s", out)
		}
		if r := w.hermes("sandbox", "logs", "-f", "server"); r != (result{"up\n", "", 0}) {
			t.Errorf("logs: %v", r)
		}
		if r := w.hermes("sandbox", "wait", "server"); r.code != 125 || !strings.HasPrefix(r.stderr, "hermes: cannot tell how the command ended: ") {
			t.Errorf("wait: %v", r)
		}
	})
}

func TestAnInterruptEndsTheWaitAndNotTheProcess(t *testing.T) {
	w := newWorld(t, nil)
	marker := "31536011." + w.unique()
	w.begin("--name", "sleeper", "--", "sleep", marker)
	for _, args := range [][]string{{"wait", "sleeper"}, {"logs", "-f", "sleeper"}, {"events", "-f"}} {
		cmd := w.command(append([]string{"sandbox"}, args...)...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "it waits", func() bool {
			return strings.Contains(w.must("sandbox", "inspect", "--json", "default"), `"connections": 2`)
		})
		cmd.Process.Signal(syscall.SIGINT)
		cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != 130 {
			t.Errorf("%q ends with %d", args, code)
		}
	}
	if len(running(t, "sleep", marker)) != 1 {
		t.Error("the process is gone")
	}
}

func TestEventsOfWatchedProcesses(t *testing.T) {
	w := newWorld(t, nil)
	w.begin("--name", "server", "--watch", "^listening", "-c", "echo starting; echo listening on 80; sleep 1000")
	w.logged("server", "listening")
	r := w.hermes("sandbox", "start", "--name", "job", "--notify", "--watch", "x", "-c", "exit 3")
	if !processID.MatchString(r.stdout) || r.code != 0 || !strings.Contains(r.stderr, "not watched") {
		t.Errorf("start with both: %v", r)
	}
	w.hermes("sandbox", "wait", "job")
	out := w.must("sandbox", "events")
	if !regexp.MustCompile(`^1 [\d:]{8} server match listening on 80\n2 [\d:]{8} job exit exit 3\n$`).MatchString(out) {
		t.Errorf("events prints %q", out)
	}
	type event struct {
		Number        int
		Kind, Process string
	}
	if e := decode[event](t, w.must("sandbox", "events", "--since", "1", "--json")); e.Number != 2 || e.Kind != "exit" || e.Process != strings.TrimSpace(r.stdout) {
		t.Errorf("the event is %+v", e)
	}
}

func TestProcessesComplete(t *testing.T) {
	w := newWorld(t, nil)
	id := w.begin("--task", "web", "--name", "server", "--", "sleep", "1000")
	for _, command := range []string{"logs", "wait", "kill"} {
		out := w.must("__complete", "sandbox", command, "--task", "web", "")
		if !strings.Contains(out, "server\trunning: sleep 1000\n") || !strings.Contains(out, id+"\t") {
			t.Errorf("%s completes %q", command, out)
		}
	}
}
