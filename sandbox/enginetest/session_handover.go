package enginetest

import (
	"strings"
	"testing"

	"hermes.example/hermes/internal/wire"
	"hermes.example/hermes/sandbox"
)

var sessionHandoverTests = []test{
	{"sessions/they go on in the sandbox that replaces theirs", sessionsAreInherited},
	{"sessions/a guest that awaits sessions begins none before", sessionsAreAwaited},
	{"sessions/what is handed over is looked at like a report", handedIsChecked},
	{"sessions/only a guest that ends gives them away", sessionsStayWithTheBusy},
}

func sessionsAreInherited(t *testing.T, s *suite) {
	variables := func(values map[string]string) func(*sandbox.Spec) {
		return func(spec *sandbox.Spec) { spec.Env = values }
	}
	b := s.box(t, variables(map[string]string{"KEPT": "1", "CHANGED": "old", "MINE": "old", "GONE": "1", "UNSET": "1"}))
	p := b.session("s")
	p.output(`cd /usr; export MINE=mine RAW=$'\xff\xfe \x01'; unset UNSET; f() { echo "f $1"; }; alias a='echo alias'`)
	q := b.session("fresh")
	q.output("true")
	b.Close()
	again := s.ensure(t, s.manager, b.Identity(), s.spec(variables(map[string]string{"KEPT": "1", "CHANGED": "new", "MINE": "new", "ADDED": "1", "UNSET": "2"})))
	look := `echo $KEPT $CHANGED $MINE $ADDED ${GONE-gone} ${UNSET-unset}`
	again.session("s").says(look+`; printf '%s\n' "$RAW"; pwd; f x; a`, "1 new mine 1 gone unset\n\xff\xfe \x01\n/usr\nf x\nalias")
	again.session("fresh").says(look, "1 new new 1 gone 2")
	again.session("another").says(look, "1 new new 1 gone 2")
}

// inherit gives sessions to a guest, as whoever replaced another one does.
func (s *suite) inherit(t *testing.T, id sandbox.Identity, sessions ...wire.Handed) (wire.Inherited, wire.Frame) {
	t.Helper()
	stream := s.observe(t, id)
	defer stream.Close()
	if !stream.hello.Can(wire.CanHandOver) {
		t.Fatal("the guest does not say that it can")
	}
	w := wire.NewWriter(stream)
	w.WriteMessage(wire.TypeInherit, struct{}{})
	for _, h := range sessions {
		w.WriteMessage(wire.TypeHanded, h)
	}
	w.Write(wire.TypeOK, nil) // the guest may have had enough before
	frame, err := wire.NewReader(stream).NextMessage()
	if err != nil {
		t.Fatal(err)
	}
	var answer wire.Inherited
	if frame.Type == wire.TypeInherited {
		err = frame.Decode(&answer)
	}
	if err != nil {
		t.Fatal(err)
	}
	return answer, frame
}

func sessionsAreAwaited(t *testing.T, s *suite) {
	s.need(t, Announcements)
	id := s.identity(t)
	spec := s.spec()
	spec.Successor, spec.Network = true, s.engine.Capabilities().Networks[0]
	if _, err := s.engine.Create(bounded(t), id, spec); err != nil {
		t.Fatal(err)
	}
	b := s.ensure(t, s.manager, id, s.spec())
	early := make(chan string, 1)
	go func() { early <- b.session("s").line("echo $A").Out }()
	eventually(t, "the command waits", func() bool { return b.status().Commands == 1 })
	b.says("echo well", "well") // who needs no session does not wait
	answer, _ := s.inherit(t, id, wire.Handed{Name: "s", Cwd: "/usr", Env: map[string]string{"A": "inherited", "PATH": "/usr/bin:/bin"}})
	if len(answer.Sessions) != 1 || answer.Lost != "" {
		t.Errorf("it took %+v", answer)
	}
	if got := <-early; got != "inherited\n" {
		t.Errorf("the command that was early saw %q", got)
	}
	// What has begun is not changed by a second one.
	if answer, _ = s.inherit(t, id, wire.Handed{Name: "s", Env: map[string]string{"A": "forged"}}); len(answer.Sessions) != 0 || !strings.Contains(answer.Lost, "begun already") {
		t.Errorf("it took %+v", answer)
	}
	b.session("s").says("echo $A; pwd", "inherited\n/usr")
}

func handedIsChecked(t *testing.T, s *suite) {
	b := s.box(t)
	text := func(name, value string) map[string]string { return map[string]string{name: value} }
	for name, h := range map[string]wire.Handed{
		"no directory":                {Cwd: "relative"},
		"NUL in a directory":          {Cwd: "/a\x00b"},
		"NUL in a value":              {Env: text("A", "a\x00b")},
		"no variable's name":          {Env: text("A=B", "c")},
		"an empty name":               {Env: text("", "c")},
		"a name of ours":              {Env: text("__hermes_exit", "touch /tmp/ran")},
		"an attribute that runs":      {Attrs: text("A", "declare -x A; touch /tmp/ran")},
		"an attribute that expands":   {Attrs: text("A", `declare -ax A=([0]="$(touch /tmp/ran)")`)},
		"an attribute of another":     {Attrs: text("A", "declare -ix B")},
		"two attributes":              {Attrs: text("A", "declare -ix A\ndeclare -ix B")},
		"no attribute":                {Attrs: text("A", "touch /tmp/ran")},
		"a function that is none":     {Functions: text("f", "touch /tmp/ran")},
		"a function of another":       {Functions: text("f", "g () \n{ \n    echo\n}\n")},
		"a function that is builtin":  {Functions: text("builtin", "builtin () \n{ \n    echo\n}\n")},
		"a function that knows us":    {Functions: text("f", "f () \n{ \n    __hermes_trap\n}\n")},
		"an alias with a newline":     {Aliases: text("a\ntouch", "x")},
		"an alias that is quoted":     {Aliases: text("a'b", "x")},
		"an alias with an equal sign": {Aliases: text("a=b", "")},
		"an alias that knows us":      {Aliases: text("a", "__hermes_trap")},
	} {
		h.Name = name
		if answer, _ := s.inherit(t, b.Identity(), h); len(answer.Sessions) > 0 || !strings.Contains(answer.Lost, "cannot read") {
			t.Errorf("%s: it took %+v", name, answer)
		}
	}
	if answer, _ := s.inherit(t, b.Identity(), wire.Handed{}); len(answer.Sessions) > 0 || !strings.Contains(answer.Lost, "no name") {
		t.Errorf("without a name: %+v", answer)
	}
	if _, frame := s.inherit(t, b.Identity(), make([]wire.Handed, wire.MaxHanded+1)...); frame.Type != wire.TypeError {
		t.Errorf("too many are answered by %d", frame.Type)
	}
	b.says("ls /tmp/ran 2>/dev/null; echo well", "well")
	b.session("s").says("echo well; ls /tmp/ran 2>/dev/null | cat", "well")
}

// A guest that is asked to end and does not keeps its sessions to itself.
func sessionsStayWithTheBusy(t *testing.T, s *suite) {
	b := s.box(t)
	b.session("s").output("export SECRET=" + secret)
	stream := s.observe(t, b.Identity())
	defer stream.Close()
	wire.NewWriter(stream).WriteMessage(wire.TypeRetire, wire.Retire{HandOver: true})
	if frame, err := wire.NewReader(stream).NextMessage(); err != nil || frame.Type != wire.TypeBusy || strings.Contains(string(frame.Payload), secret) {
		t.Errorf("the answer is %d, %v", frame.Type, err)
	}
	b.session("s").says("echo $SECRET", secret)
}
