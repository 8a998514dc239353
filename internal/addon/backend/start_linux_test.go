package backend

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestABackendAnswers(t *testing.T) {
	s := newStage(t)
	b := s.start(s.launch())
	if tools := b.Tools(); len(tools) < 20 || tools[0].Name != "echo" || string(tools[0].Input) != `{"type":"object"}` {
		t.Errorf("%v", tools)
	}
	answer := s.called(b, "echo", object{"text": "line\nbreak é", "n": 1})
	if answer["text"] != "line\nbreak é" || answer["n"] != 1.0 {
		t.Errorf("%v", answer)
	}
	result, err := b.Call(s.ctx(), "echo", []byte(`{"number":9007199254740993,"amount":1.10}`))
	if err != nil || string(result.Content) != `[{"type": "text", "text": "done"}]` || result.Failed {
		t.Errorf("%s, %v", result.Content, err)
	}
	if string(result.Structured) != `{"number": 9007199254740993, "amount": 1.1}` {
		t.Errorf("a result is not as it came: %s", result.Structured)
	}
	if n := len(b.line.answers.awaited); n > 0 {
		t.Errorf("%d answers are still awaited", n)
	}
	if _, err := b.Call(s.ctx(), "echo", []byte("{\n \"a\":\n 1}")); err != nil {
		t.Errorf("arguments of several lines: %v", err)
	}
	b.Close()
	s.gone(b)
	if _, err := b.Call(s.ctx(), "echo", nil); err == nil {
		t.Error("it answers after its end")
	} else {
		s.fails(err, "it was stopped")
	}
}

func TestWhatCannotBeCalledIsToldBeforeTheBackendSeesIt(t *testing.T) {
	s := newStage(t)
	b := s.start(s.launch())
	for tool, args := range map[string]string{"nothing": "{}", "echo": "[1]", "slowly": "null", "fail": "{", "hang": "{\"a\":\"\xff\"}"} {
		_, err := b.Call(s.ctx(), tool, []byte(args))
		if err == nil || !strings.HasPrefix(err.Error(), "cannot call ") {
			t.Errorf("%s %s: %v", tool, args, err)
		}
	}
}

func TestCrashAtTheStart(t *testing.T) {
	s := newStage(t)
	_, err := Start(s.ctx(), s.manager, s.home, s.launch("die"))
	s.fails(err, "ended with status 3", "ImportError: no module named sdk, key ***")
	l := s.launch()
	l.Argv = []string{"/no/such/program"}
	_, err = Start(s.ctx(), s.manager, s.home, l)
	s.fails(err, "ended with status 127", "/no/such/program")
}

func TestSilenceAtTheStart(t *testing.T) {
	s := newStage(t)
	l := s.launch("silent")
	l.Bounds.Start = 3 * time.Second
	_, err := Start(s.ctx(), s.manager, s.home, l)
	s.fails(err, "it did not say which tools it has within 3s; it said last: thinking")
	if strings.HasSuffix(err.Error(), "interrupted]") {
		t.Errorf("what is said about its end is not what it said: %v", err)
	}
}

func TestAnotherProtocolAtTheStart(t *testing.T) {
	s := newStage(t)
	_, err := Start(s.ctx(), s.manager, s.home, s.launch("deaf"))
	s.fails(err, "unsupported protocol version")
}

// What is said of tools is kept, and repeated.
func TestToolsThatTakeTooMuch(t *testing.T) {
	s := newStage(t)
	_, err := Start(s.ctx(), s.manager, s.home, s.launch("named at length"))
	s.fails(err, `its tool "xxxxxxxxxxxxxxxxxxxx"… has a name of more than 128 bytes`)
	_, err = Start(s.ctx(), s.manager, s.home, s.launch("verbose"))
	s.fails(err, "what it says of its tools has more than 4194304 bytes")
	_, err = s.start(s.launch("many")).Call(s.ctx(), "none of them", nil)
	if err == nil || !strings.HasSuffix(err.Error(), " more") || len(err.Error()) > 1000 {
		t.Error(err)
	}
}

func TestACallerThatLeavesDuringTheStartLeavesNothing(t *testing.T) {
	s := newStage(t)
	ctx, cancel := context.WithTimeout(s.ctx(), 300*time.Millisecond)
	defer cancel()
	if _, err := Start(ctx, s.manager, s.home, s.launch("silent")); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

func TestWordsBeforeTheProtocol(t *testing.T) {
	s := newStage(t)
	b := s.start(s.launch("noisy"))
	if words := b.words.Text(); words != "Welcome to the server!" {
		t.Errorf("%q", words)
	}
}
