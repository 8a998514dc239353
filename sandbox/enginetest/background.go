package enginetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hermes.example/hermes/sandbox"
)

var backgroundTests = []test{
	{"background/it outlives the process that started it", outlivesCaller},
	{"background/an id is started once", startedOnce},
	{"background/D24 it has the environment of a foreground command", sameEnvironment},
	{"background/D24 a restart of the sandbox loses it and keeps its log", restartLoses},
	{"background/it keeps the sandbox in use", keepsInUse},
	{"background/one that cannot start says why", cannotStart},
	{"background/of those that run one has a name", oneName},
	{"background/a session is used and not changed", sessionUnchanged},
	{"background/sixty-four are listed", manyListed},
	{"background/all of it also goes over one connection", overOneConnection},
	{"background/a hold that is closed ends the wait and not the process", closedHold},
}

// running is a background process of a test.
type running struct {
	*sandbox.Process
	t *testing.T
}

func (b *box) start(bg sandbox.Background) running {
	b.t.Helper()
	p, err := b.Start(bounded(b.t), b.paths.told(bg))
	if err != nil {
		b.t.Fatal(err)
	}
	return running{p, b.t}
}

func (b *box) startLine(line string) running {
	b.t.Helper()
	return b.start(sandbox.Background{Command: sandbox.Command{Line: line}})
}

// wait waits for the end and compares it.
func (r running) wait(code int, reason sandbox.Reason) sandbox.Result {
	r.t.Helper()
	result, err := r.Wait(bounded(r.t))
	if err != nil {
		r.t.Fatal(err)
	}
	if result.Code != code || result.Reason != reason {
		r.t.Errorf("ended with %d (%s), not %d (%s): %s", result.Code, result.Reason, code, reason, result.Message)
	}
	return result
}

// log is all that is kept of the log.
func (r running) log() string {
	r.t.Helper()
	var out strings.Builder
	part, err := r.Logs(bounded(r.t), sandbox.LogOptions{}, &out)
	if err != nil {
		r.t.Fatal(err)
	}
	if int64(out.Len())+part.Missed != part.Next || part.Offset != 0 {
		r.t.Errorf("%d bytes came of the log's part %+v", out.Len(), part)
	}
	return out.String()
}

// says waits until the log has a text.
func (r running) says(text string) {
	r.t.Helper()
	eventually(r.t, fmt.Sprintf("the log has %q", text), func() bool { return strings.Contains(r.log(), text) })
}

func (r running) poll() sandbox.ProcessInfo {
	r.t.Helper()
	info, err := r.Poll(bounded(r.t))
	if err != nil {
		r.t.Fatal(err)
	}
	return info
}

func (r running) kill(grace time.Duration) sandbox.Result {
	r.t.Helper()
	result, err := r.Kill(bounded(r.t), grace)
	if err != nil {
		r.t.Fatal(err)
	}
	if len(result.Survivors) > 0 {
		r.t.Errorf("survivors: %v", result.Survivors)
	}
	return result
}

func (b *box) listed() []sandbox.ProcessInfo {
	b.t.Helper()
	all, err := b.Processes(bounded(b.t))
	if err != nil {
		b.t.Fatal(err)
	}
	return all
}

func outlivesCaller(t *testing.T, s *suite) {
	b := s.box(t)
	const id = "proc_00000000000a"
	other := s.elsewhere(t, errand{Identity: b.Identity(), Spec: s.spec(), Background: true, ID: id,
		Line: "echo ran >>/tmp/ran; echo one; until [ -e /tmp/go ]; do sleep 0.02; done; echo two; exit 7"})
	other.reads(id + "\n")
	other.kill()
	p := running{b.Process(id), t}
	p.says("one\n")
	if info := p.poll(); info.State != sandbox.ProcessRunning || info.Result != nil || info.Line == "" || b.paths.out(info.Cwd) != "/workspace" {
		t.Errorf("it is %+v", info)
	}
	b.output(": >/tmp/go")
	p.wait(7, sandbox.Exited)
	if log := p.log(); log != "one\ntwo\n" {
		t.Errorf("the log is %q", log)
	}
	b.says("cat /tmp/ran", "ran")
	if info := p.poll(); info.State != sandbox.ProcessExited || info.Result == nil || info.Result.Code != 7 || info.Ended.Before(info.Started) {
		t.Errorf("it is %+v", info)
	}
}

func startedOnce(t *testing.T, s *suite) {
	b := s.box(t)
	const id = "proc_00000000000b"
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			p, err := b.Start(bounded(t), b.paths.told(sandbox.Background{Command: sandbox.Command{Line: "echo ran >>ran; exit 3", ID: id}}))
			if err != nil || p.ID != id {
				t.Errorf("it was not started: %v", err)
			}
		})
	}
	all.Wait()
	running{b.Process(id), t}.wait(3, sandbox.Exited)
	if p := b.start(sandbox.Background{Command: sandbox.Command{Line: "echo again >>ran", ID: id}}); p.Started.State != sandbox.ProcessExited {
		t.Errorf("an id that has ended is %s", p.Started.State)
	}
	b.says("cat ran", "ran")
	if n := len(b.listed()); n != 1 {
		t.Errorf("%d processes are listed", n)
	}
	b.run(sandbox.Command{Line: "true", ID: "exec"}).ended(0, sandbox.Exited)
	for _, bad := range []string{"exec", "proc_", "proc_00000000000G", "../../../../x", "proc_00000000000/"} {
		if _, err := b.Start(bounded(t), b.paths.told(sandbox.Background{Command: sandbox.Command{Line: "true", ID: bad}})); err == nil {
			t.Errorf("the id %q is taken", bad)
		}
	}
}

// D24: a login shell has another PATH.
func sameEnvironment(t *testing.T, s *suite) {
	b := s.box(t, func(spec *sandbox.Spec) {
		spec.Env = map[string]string{"PATH": "/from/spec:/usr/bin:/bin", "FROM_SPEC": "x"}
	})
	b.session("s").output("export FROM_SESSION=y; cd /tmp; alias hi='echo alias'; f() { echo function; }")
	const line = `env | grep -v -e ^HERMES_EXEC_ID= -e ^_= | sort; pwd; shopt login_shell; umask; ulimit -n; echo $-; trap; hi; f`
	command := sandbox.Command{Line: line, Env: map[string]string{"OF_COMMAND": "z"}}
	for name, start := range map[string]func() (outcome, running){
		"alone": func() (outcome, running) {
			return b.run(command), b.start(sandbox.Background{Command: command})
		},
		"in a session": func() (outcome, running) {
			p, err := b.Session("s").Start(bounded(t), b.paths.told(sandbox.Background{Command: command}))
			if err != nil {
				t.Fatal(err)
			}
			return b.session("s").run(command), running{p, t}
		},
	} {
		foreground, p := start()
		p.wait(foreground.Code, sandbox.Exited)
		if log := b.paths.out(p.log()); log != foreground.Out || !strings.Contains(log, "/from/spec:") || !strings.Contains(log, "OF_COMMAND=z") {
			t.Errorf("%s: in the background\n%s\nin the foreground\n%s", name, log, foreground.Out)
		}
	}
}

// endedWithSandbox says whether a process ended because its sandbox did. Where the guest
// ends it before itself, that is no end of the process's own either.
func endedWithSandbox(r *sandbox.Result) bool {
	return r != nil && r.Reason == sandbox.Lost && r.Code == -1 && r.Message != ""
}

// D24: whether it lives was asked of a process id that somebody else may have by
// then.
func restartLoses(t *testing.T, s *suite) {
	b := s.box(t)
	command := sandbox.Command{Line: "echo ran >>/workspace/ran; echo out; echo err >&2; sleep 300", ID: "proc_00000000000c"}
	p := b.start(sandbox.Background{Command: command, Name: "server", Notify: true})
	p.says("err\n")
	done := b.startLine("echo done; exit 4")
	done.wait(4, sandbox.Exited)
	waiting := beside(t, func() sandbox.Result {
		result, err := p.Wait(bounded(t))
		if err != nil {
			t.Error(err)
		}
		return result
	})
	s.removed(b)
	if result := <-waiting; !endedWithSandbox(&result) {
		t.Errorf("who waited is told %d (%s)", result.Code, result.Reason)
	}
	// One that is likely to have its process id.
	successor := b.startLine("echo next; sleep 300")
	successor.says("next")
	if info := p.poll(); info.State != sandbox.ProcessLost || info.Name != "server" || !endedWithSandbox(info.Result) {
		t.Errorf("it is %+v", info)
	}
	p.kill(0)
	if err := p.Signal(bounded(t), 9); err == nil {
		t.Error("one that is lost is signalled")
	}
	if info := successor.poll(); info.State != sandbox.ProcessRunning {
		t.Errorf("its successor, %d after %d, is %s", info.PID, p.Started.PID, info.State)
	}
	if log := p.log(); log != "out\nerr\n" {
		t.Errorf("the log is %q", log)
	}
	if log := done.log(); log != "done\n" {
		t.Errorf("the other log is %q", log)
	}
	done.wait(4, sandbox.Exited)
	b.start(sandbox.Background{Command: command})
	b.says("cat /workspace/ran", "ran")
	// Its name is free, and its end was told.
	b.start(sandbox.Background{Command: sandbox.Command{Line: "true"}, Name: "server"}).wait(0, sandbox.Exited)
	events, err := b.PastEvents(bounded(t), 0)
	if err != nil || len(events) != 1 || events[0].Kind != sandbox.EventExit || events[0].Process != p.ID || !endedWithSandbox(events[0].Result) {
		t.Errorf("events: %+v %v", events, err)
	}
	var ids []string
	for _, info := range b.listed() {
		ids = append(ids, info.ID)
	}
	if len(ids) != 4 || !slices.Equal(ids[:3], []string{p.ID, done.ID, successor.ID}) {
		t.Errorf("listed are %q", ids)
	}
}

func keepsInUse(t *testing.T, s *suite) {
	b := s.box(t)
	p := b.startLine("until [ -e /tmp/go ]; do sleep 0.02; done")
	s.release(b)
	if s.retires(t, b.Identity(), 0) {
		t.Fatal("the sandbox ended although a background process runs in it")
	}
	again := s.ensure(t, s.manager, b.Identity(), s.spec())
	again.output(": >/tmp/go")
	running{again.Process(p.ID), t}.wait(0, sandbox.Exited)
	again.empties()
	s.release(again)
	if !s.retires(t, b.Identity(), 0) {
		t.Error("the sandbox stays although nothing runs in it")
	}
}

func cannotStart(t *testing.T, s *suite) {
	b := s.box(t)
	for code, command := range map[int]sandbox.Command{
		127: {Argv: []string{"no-such-program"}},
		126: {Line: "true", Cwd: "/nowhere"},
	} {
		_, err := b.Start(bounded(t), b.paths.told(sandbox.Background{Command: command}))
		var failed *sandbox.NotStartedError
		if !errors.As(err, &failed) || failed.Result.Code != code || failed.Result.Message == "" {
			t.Errorf("%s: %v", describe(command), err)
		}
	}
	for _, bad := range []sandbox.Background{
		{},
		{Command: sandbox.Command{Line: "true", Argv: []string{"true"}}},
		{Command: sandbox.Command{Line: "true", Stdout: &strings.Builder{}}},
		{Command: sandbox.Command{Line: "true"}, Watch: []string{"("}},
		{Command: sandbox.Command{Line: "true"}, Name: "proc_x"},
		{Command: sandbox.Command{Line: "true"}, Name: strings.Repeat("x", 100)},
	} {
		if _, err := b.Start(bounded(t), b.paths.told(bad)); err == nil {
			t.Errorf("%+v was started", bad)
		}
	}
	if err := b.Process("proc_ffffffffffff").Signal(bounded(t), 9); err == nil {
		t.Error("what there is not can be signalled")
	}
	if st := b.status(); st.Commands != 0 {
		t.Errorf("%d commands run", st.Commands)
	}
}

func oneName(t *testing.T, s *suite) {
	b := s.box(t)
	server := sandbox.Background{Command: sandbox.Command{Line: "sleep 300"}, Name: "server"}
	p := b.start(server)
	if _, err := b.Start(bounded(t), b.paths.told(server)); err == nil || !strings.Contains(err.Error(), p.ID) {
		t.Errorf("a name that is taken: %v", err)
	}
	p.kill(0)
	b.start(server).kill(0)
}

// Whenever it ends, the session is where the last command left it.
func sessionUnchanged(t *testing.T, s *suite) {
	b := s.box(t)
	session := b.session("s")
	session.output("cd /tmp; export A=1")
	p, err := b.Session("s").Start(bounded(t), b.paths.told(sandbox.Background{Command: sandbox.Command{Line: "echo $PWD $A; export A=2; cd /; until [ -e /tmp/go ]; do sleep 0.02; done"}}))
	if err != nil {
		t.Fatal(err)
	}
	r := running{p, t}
	r.says("/tmp 1\n")
	session.output(": >/tmp/go; export A=3")
	r.wait(0, sandbox.Exited)
	session.says("echo $PWD $A", "/tmp 3")
}

func manyListed(t *testing.T, s *suite) {
	b := s.box(t)
	const many = 64
	var all sync.WaitGroup
	for i := range many {
		all.Go(func() {
			if _, err := b.Start(bounded(t), b.paths.told(sandbox.Background{Command: sandbox.Command{Argv: []string{"sleep", "300"}}, Name: fmt.Sprint("p", i)})); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	names := make(map[string]bool)
	for _, p := range b.listed() {
		if p.State != sandbox.ProcessRunning || !slices.Equal(p.Argv, []string{"sleep", "300"}) || p.PID == 0 {
			t.Errorf("listed is %+v", p)
		}
		names[p.Name] = true
	}
	if len(names) != many || b.status().Commands != many {
		t.Errorf("%d are listed and %d commands run, not %d", len(names), b.status().Commands, many)
	}
	for _, p := range b.listed() {
		all.Go(func() {
			if r, err := b.Process(p.ID).Kill(bounded(t), time.Second); err != nil || r.Code != 143 {
				t.Errorf("killed: %+v %v", r, err)
			}
		})
	}
	all.Wait()
	b.empties()
}

// bridged is an engine to which connecting is dear.
type bridged struct{ sandbox.Engine }

func (e bridged) Capabilities() sandbox.Capabilities {
	c := e.Engine.Capabilities()
	c.Direct = false
	return c
}

func overOneConnection(t *testing.T, s *suite) {
	b := s.ensure(t, s.another(t, bridged{s.engine}), s.identity(t), s.spec())
	p := b.start(sandbox.Background{Command: sandbox.Command{Line: "while read -r line; do echo got $line; done; exit 3"}, Input: true, Notify: true})
	followed := beside(t, func() string {
		var out strings.Builder
		if _, err := p.Logs(bounded(t), sandbox.LogOptions{Follow: true}, &out); err != nil {
			t.Error(err)
		}
		return out.String()
	})
	if _, err := p.Write(bounded(t), []byte("x\n")); err != nil {
		t.Fatal(err)
	}
	p.says("got x\n")
	if n := len(b.listed()); n != 1 {
		t.Errorf("%d are listed", n)
	}
	if err := p.CloseInput(bounded(t)); err != nil {
		t.Fatal(err)
	}
	p.wait(3, sandbox.Exited)
	if log := <-followed; log != "got x\n" {
		t.Errorf("the follower has %q", log)
	}
	for e, err := range b.Events(bounded(t), 0) {
		if err != nil || e.Process != p.ID {
			t.Errorf("the event is %+v, %v", e, err)
		}
		break
	}
	if r := b.startLine("sleep 300").kill(hang / 2); r.Code != 143 {
		t.Errorf("killed it ended with %d", r.Code)
	}
	if st := b.status(); st.Connections != 0 {
		t.Errorf("%d connections beside this one", st.Connections)
	}
}

func closedHold(t *testing.T, s *suite) {
	id := s.identity(t)
	b := s.ensure(t, s.manager, id, s.spec())
	p := b.startLine("sleep 300")
	waiting := beside(t, func() error {
		_, err := p.Wait(bounded(t))
		return err
	})
	following := beside(t, func() error {
		_, err := p.Logs(bounded(t), sandbox.LogOptions{Follow: true}, &strings.Builder{})
		return err
	})
	if s.can(DirectLines) { // otherwise they share ours
		eventually(t, "both hold the sandbox", func() bool { return b.status().Connections >= 2 })
	}
	b.Close()
	for _, ended := range []<-chan error{waiting, following} {
		if err := <-ended; !errors.Is(err, sandbox.ErrClosed) {
			t.Errorf("who waits gets %v", err)
		}
	}
	again := s.ensure(t, s.manager, id, s.spec())
	if info := (running{again.Process(p.ID), t}).poll(); info.State != sandbox.ProcessRunning {
		t.Errorf("it is %s", info.State)
	}
}
