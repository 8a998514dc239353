package backend

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// ends expects a call to fail for a reason, and the backend to end by it.
func (s *stage) ends(b *Backend, tool string, args any, words ...string) {
	s.Helper()
	_, err := b.Call(s.ctx(), tool, marshal(args))
	s.fails(err, words...)
	s.gone(b)
}

func TestCrashDuringACall(t *testing.T) {
	s := newStage(t)
	s.ends(s.start(s.launch()), "crash", object{}, "its process ended with status 7; it said last: about to crash with ***")
	s.ends(s.start(s.launch()), "kill_itself", object{}, "signal 9")
}

func TestCrashAfterTheAnswer(t *testing.T) {
	s := newStage(t)
	b := s.start(s.launch())
	if answer := s.called(b, "answer_and_crash", object{}); answer["ok"] != true {
		t.Errorf("%v", answer)
	}
	s.gone(b)
	_, err := b.Call(s.ctx(), "echo", nil)
	s.fails(err, "its process ended with status 7")
}

func TestAllCallersLearnOfTheCrash(t *testing.T) {
	s := newStage(t)
	b := s.start(s.launch())
	failures := make(chan error)
	for range 5 {
		go func() {
			_, err := b.Call(s.ctx(), "hang", nil)
			failures <- err
		}()
	}
	s.begun(b, 5)
	b.Call(s.ctx(), "crash", nil)
	for range 5 {
		s.fails(<-failures, "status 7")
	}
}

func TestRubbishAmongTheMessages(t *testing.T) {
	s := newStage(t)
	b := s.start(s.launch())
	for range 3 {
		if answer := s.called(b, "rubbish", object{}); answer["ok"] != true {
			t.Errorf("%v", answer)
		}
	}
	if words := b.words.Text(); !strings.HasPrefix(words, "Downloading...\n?\n") || !strings.Contains(words, "{'a': 1}\n[1]\nnull\n42 {\n") {
		t.Errorf("%q", words)
	}
}

// What it says does not cost us more than what we repeat of it.
func TestAFloodOfWords(t *testing.T) {
	s := newStage(t)
	b := s.start(s.launch())
	before := allocated()
	s.called(b, "flood", object{"bytes": 200 << 20})
	if grown := allocated() - before; grown > 20<<20 {
		t.Errorf("%d MiB more in use", grown>>20)
	}
	if words := b.lastWords(); len(words) > 64<<10 || !strings.HasSuffix(words, "the last line") {
		t.Errorf("%d bytes: %.40q", len(words), words)
	}
}

func TestAFloodOfNotifications(t *testing.T) {
	s := newStage(t)
	b := s.start(s.launch())
	before := allocated()
	s.called(b, "notify", object{"times": 20_000})
	if grown := allocated() - before; grown > 20<<20 {
		t.Errorf("%d MiB more in use", grown>>20)
	}
}

func allocated() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Who is asked answers, also what it cannot do; who asks without an end, and reads nothing, is ended.
func TestABackendThatAsks(t *testing.T) {
	s := newStage(t)
	b := s.start(s.launch())
	if answer := s.called(b, "ask", object{"times": 3}); len(answer["answers"].([]any)) != 3 {
		t.Errorf("%v", answer)
	}
	b = s.start(s.launch())
	answer := s.called(b, "ask", object{"times": 1, "method": "sampling/createMessage"})
	if text := string(marshal(answer)); !strings.Contains(text, `"error"`) {
		t.Errorf("%s", text)
	}
	s.ends(s.start(s.launch("unread")), "ask_and_never_read", object{}, "it asks, and does not read the answers")
}

func TestMessagesThatAreNone(t *testing.T) {
	s := newStage(t)
	for tool, words := range map[string]string{
		"other_encoding": "it sent a message that is none: it is not UTF-8",
		"batch":          "it sent a message that is none",
		"deep":           "it sent a message that is none",
	} {
		s.ends(s.start(s.launch()), tool, object{"levels": 200_000}, words)
	}
	b := s.start(s.launch())
	_, err := b.Call(s.ctx(), "no_result", nil)
	s.fails(err, "its answer cannot be used")
	s.called(b, "echo", object{})
}

func TestAnAnswerThatIsTooLarge(t *testing.T) {
	s := newStage(t)
	before := allocated()
	s.ends(s.start(s.launch()), "large", object{"bytes": 100 << 20}, "it sent a message of more than 16777216 bytes")
	s.ends(s.start(s.launch()), "endless", object{}, "it sent a message of more than 16777216 bytes")
	if grown := allocated() - before; grown > 20<<20 {
		t.Errorf("%d MiB more in use", grown>>20)
	}
	b := s.start(s.launch())
	if answer := s.called(b, "large", object{"bytes": 15 << 20}); len(answer["data"].(string)) != 15<<20 {
		t.Error("a large answer is not whole")
	}
}

// Whose answer is another's, or does not come, is waited for as long as a call may last. The process lives: whoever has
// it decides what becomes of it.
func TestAnAnswerThatDoesNotCome(t *testing.T) {
	s := newStage(t)
	for tool, words := range map[string]string{"hang": "it said last: about to hang", "another_id": "", "close_output": ""} {
		l := s.launch()
		l.Bounds.Call = time.Second
		b := s.start(l)
		_, err := b.Call(s.ctx(), tool, nil)
		s.fails(err, "it did not answer within 1s", words)
		if !errors.Is(err, ErrHangs) {
			t.Errorf("%s: %v", tool, err)
		}
		if why, ended := b.Ended(); ended {
			t.Errorf("%s ended: %s", tool, why)
		}
		if n := len(b.line.answers.awaited); n > 0 {
			t.Errorf("%s: %d answers are still awaited", tool, n)
		}
	}
}

// A backend that reads nothing holds nobody longer than a call may last.
func TestABackendThatDoesNotRead(t *testing.T) {
	s := newStage(t)
	l := s.launch("unread")
	l.Bounds.Call = 500 * time.Millisecond
	b := s.start(l)
	args := marshal(object{"text": strings.Repeat("x", 8<<20)})
	for range 3 {
		_, err := b.Call(s.ctx(), "echo", args)
		s.fails(err, "it did not answer within 500ms")
	}
}

func TestACallerThatGivesUp(t *testing.T) {
	s := newStage(t)
	b := s.start(s.launch())
	ctx, cancel := context.WithCancel(s.ctx())
	left := make(chan error)
	go func() {
		_, err := b.Call(ctx, "slowly", marshal(object{"seconds": 600}))
		left <- err
	}()
	s.begun(b, 1)
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	for waiting := s.ctx(); waiting.Err() == nil; {
		if told := s.called(b, "cancelled", object{})["cancelled"].([]any); len(told) == 1 {
			return
		}
	}
	t.Error("the backend was not told")
}

// A failure that the tool itself tells of is an answer, and its text has no secret; one that is like a part of JSON does
// not spoil it.
func TestAToolThatFails(t *testing.T) {
	s := newStage(t)
	for _, key := range []string{secret, `":"`, `{"type": "text"}`, "several\nlines"} {
		l := s.launch()
		l.Env["API_KEY"] = key
		b := s.start(l)
		for tool, want := range map[string]string{"fail": "401: bad key ", "refuse": "bad arguments for "} {
			result, err := b.Call(s.ctx(), tool, nil)
			var content []struct{ Type, Text string }
			if err == nil {
				err = json.Unmarshal(result.Content, &content)
			}
			if err != nil || !result.Failed || len(content) != 1 || content[0].Type != "text" {
				t.Errorf("%s with %q: %s, %v", tool, key, result.Content, err)
			} else if text := content[0].Text; len(key) > 3 && text != want+"***" {
				t.Errorf("%s with %q: %q", tool, key, text)
			}
		}
	}
}

func TestALeakEndsAtItsBound(t *testing.T) {
	s := newStage(t)
	l := s.launch()
	l.Bounds.Memory = 256 << 20
	b := s.start(l)
	_, err := b.Call(s.ctx(), "leak", nil)
	s.fails(err, "status 9", "out of memory at ")
	_, after, _ := strings.Cut(err.Error(), "out of memory at ")
	held, _, _ := strings.Cut(after, " ")
	if mib, err := strconv.Atoi(held); err != nil || mib < 100 || mib > 256 {
		t.Errorf("it ended at %q MiB", held)
	}
}

// What it started ends with it, whatever that has done to be on its own.
func TestChildrenEndWithTheBackend(t *testing.T) {
	s := newStage(t)
	for end, how := range map[string]func(*Backend){
		"closed":  func(b *Backend) { b.Close() },
		"crashed": func(b *Backend) { b.Call(s.ctx(), "crash", nil) },
	} {
		b := s.start(s.launch())
		child := int(s.called(b, "bear", object{})["child"].(float64))
		if err := syscall.Kill(child, 0); err != nil {
			t.Fatalf("not shown: the child is not there: %v", err)
		}
		how(b)
		s.gone(b)
		if err := syscall.Kill(child, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("%s: the child %d lives: %v", end, child, err)
		}
	}
}
