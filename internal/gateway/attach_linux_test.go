package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"hermes.example/hermes/client"
	"hermes.example/hermes/sandbox"
)

// socket is a caller's end of a WebSocket.
type socket struct {
	t    *testing.T
	ctx  context.Context
	conn *websocket.Conn
	out  map[client.Stream][]byte
}

func (s *site) dial(task string) (*websocket.Conn, *http.Response, error) {
	ctx, cancel := context.WithTimeout(s.t.Context(), 30*time.Second)
	defer cancel()
	return websocket.Dial(ctx, s.url+"/v1/sandboxes/"+task+"/attach", &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + key}}})
}

// attach opens a WebSocket with a first message.
func (s *site) attach(task string, first client.AttachRequest) *socket {
	s.t.Helper()
	conn, _, err := s.dial(task)
	if err != nil {
		s.t.Fatal(err)
	}
	conn.SetReadLimit(1 << 20)
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	s.t.Cleanup(func() { conn.CloseNow(); cancel() })
	k := &socket{s.t, ctx, conn, map[client.Stream][]byte{}}
	k.say(first)
	return k
}

func (k *socket) say(r client.AttachRequest) {
	k.t.Helper()
	text, _ := json.Marshal(r)
	if err := k.conn.Write(k.ctx, websocket.MessageText, text); err != nil {
		k.t.Fatal(err)
	}
}

func (k *socket) input(text string) {
	k.t.Helper()
	if err := k.conn.Write(k.ctx, websocket.MessageBinary, []byte(text)); err != nil {
		k.t.Fatal(err)
	}
}

// next reads one message: output, which it collects, or an answer.
func (k *socket) next() (answer client.AttachAnswer, err error) {
	kind, message, err := k.conn.Read(k.ctx)
	if err != nil {
		return answer, err
	}
	if kind == websocket.MessageText {
		return answer, json.Unmarshal(message, &answer)
	}
	chunk, err := client.ParseChunk(message)
	if err != nil {
		return answer, err
	}
	if have := int64(len(k.out[chunk.Stream])); chunk.Offset != have {
		return answer, fmt.Errorf("%s goes on at %d, and not at %d", chunk.Stream, chunk.Offset, have)
	}
	k.out[chunk.Stream] = append(k.out[chunk.Stream], chunk.Bytes...)
	return answer, nil
}

// until reads until an answer of the type.
func (k *socket) until(kind string) client.AttachAnswer {
	k.t.Helper()
	for {
		answer, err := k.next()
		if err != nil || answer.Type != "" && answer.Type != kind && answer.Type != client.AttachStarted {
			k.t.Fatalf("instead of %q: %+v %+v, %v; %q", kind, answer, answer.Problem, err, k.out)
		}
		if answer.Type == kind {
			return answer
		}
	}
}

// hears reads until the output has a text.
func (k *socket) hears(text string) {
	k.t.Helper()
	for !bytes.Contains(k.out[client.Stdout], []byte(text)) {
		if answer, err := k.next(); err != nil || answer.Type != "" && answer.Type != client.AttachStarted {
			k.t.Fatalf("instead of %q: %+v %+v, %v; %q", text, answer, answer.Problem, err, k.out)
		}
	}
}

func TestACommandWithLiveInput(t *testing.T) {
	s := newSite(t, nil)
	k := s.attach("work", client.AttachRequest{Type: client.AttachStart, Exec: &client.Exec{Line: "while read -r l; do echo got $l; echo err $l >&2; done; exit 7"}})
	for i := range 3 {
		k.input(fmt.Sprintf("line %d\n", i))
		k.hears(fmt.Sprintf("got line %d\n", i))
	}
	k.say(client.AttachRequest{Type: client.AttachEnd})
	if answer := k.until(client.AttachExit); answer.Result.Code != 7 || string(k.out[client.Stderr]) != "err line 0\nerr line 1\nerr line 2\n" {
		t.Errorf("%+v %q", answer.Result, k.out)
	}
	if _, err := k.next(); websocket.CloseStatus(err) != websocket.StatusNormalClosure {
		t.Errorf("it ends with %v", err)
	}
}

func TestMuchInputWaitsForTheCommand(t *testing.T) {
	s := newSite(t, nil)
	k := s.attach("work", client.AttachRequest{Type: client.AttachStart, Exec: &client.Exec{Line: "until [ -e go ]; do sleep 0.02; done; wc -c"}})
	sent := make(chan error, 1)
	go func() {
		piece := bytes.Repeat([]byte("x"), 64<<10)
		for range 256 {
			if err := k.conn.Write(k.ctx, websocket.MessageBinary, piece); err != nil {
				sent <- err
				return
			}
		}
		text, _ := json.Marshal(client.AttachRequest{Type: client.AttachEnd})
		sent <- k.conn.Write(k.ctx, websocket.MessageText, text)
	}()
	s.exec("work", ": >go")
	answer := k.until(client.AttachExit)
	if err := <-sent; err != nil || answer.Result.Code != 0 || string(k.out[client.Stdout]) != fmt.Sprintln(256*64<<10) {
		t.Errorf("%+v, %v, %q", answer.Result, err, k.out)
	}
}

func TestATerminal(t *testing.T) {
	s := newSite(t, nil)
	k := s.attach("work", client.AttachRequest{Type: client.AttachStart, Term: &client.Terminal{Rows: 24, Cols: 80, Term: "xterm"}})
	k.input("stty size; echo term=$TERM; tty | cut -c1-9\n")
	k.hears("24 80\r\nterm=xterm\r\n/dev/pts/")
	k.say(client.AttachRequest{Type: client.AttachResize, Term: &client.Terminal{Rows: 50, Cols: 132}})
	s.eventually(func() bool {
		k.out[client.Stdout] = append([]byte(nil), k.out[client.Stdout]...)
		k.input("stty size; echo mark$((1+1))\n")
		before := len(k.out[client.Stdout])
		for !bytes.Contains(k.out[client.Stdout][before:], []byte("mark2\r\n")) {
			if _, err := k.next(); err != nil {
				t.Fatal(err)
			}
		}
		return bytes.Contains(k.out[client.Stdout][before:], []byte("50 132\r\n"))
	})
	k.input("exit 5\n")
	if answer := k.until(client.AttachExit); answer.Result.Code != 5 {
		t.Errorf("%+v", answer.Result)
	}
}

// A caller that is cut off comes back to a command that has an id, with input for it, and misses nothing.
func TestATerminalIsTakenUpAgain(t *testing.T) {
	s := newSite(t, nil)
	start := client.AttachRequest{Type: client.AttachStart, ID: "mine", Exec: &client.Exec{Line: "stty -echo; while read -r l; do echo got $l; done"}, Term: &client.Terminal{Rows: 24, Cols: 80}}
	k := s.attach("work", start)
	var have []byte
	for i := range 5 {
		k.input(fmt.Sprintf("line %d\n", i))
		k.hears(fmt.Sprintf("got line %d\r\n", i))
		have = k.out[client.Stdout]
		k.conn.CloseNow()
		k = s.attach("work", client.AttachRequest{Type: client.AttachFollow, ID: "mine", From: &client.Position{Stdout: int64(len(have))}})
		k.out[client.Stdout] = have
	}
	k.say(client.AttachRequest{Type: client.AttachInterrupt})
	if answer := k.until(client.AttachExit); answer.Result.Reason != sandbox.Interrupted {
		t.Errorf("%+v", answer.Result)
	}
	if got := strings.ReplaceAll(string(k.out[client.Stdout]), "\r", ""); !strings.Contains(got, "got line 0\ngot line 1\ngot line 2\ngot line 3\ngot line 4\n") {
		t.Errorf("%q", got)
	}
	again := s.attach("work", start)
	if answer := again.until(client.AttachExit); answer.Result.Reason != sandbox.Interrupted {
		t.Errorf("asked for again: %+v", answer.Result)
	}
	start.Exec.Line = "echo other"
	if answer := s.attach("work", start).until(client.AttachProblem); answer.Problem.Code != client.CodeKeyReused {
		t.Errorf("%+v", answer.Problem)
	}
}

func TestASocketWithoutAnIDTakesItsCommandAlong(t *testing.T) {
	s := newSite(t, nil)
	k := s.attach("work", client.AttachRequest{Type: client.AttachStart, Exec: &client.Exec{Line: "echo ready; sleep 1000"}})
	k.hears("ready\n")
	k.conn.CloseNow()
	s.eventually(func() bool { return s.commands("work") == 0 })
}

func TestASocketThatBreaksTheRulesIsClosed(t *testing.T) {
	s := newSite(t, nil)
	s.ask("GET", "/v1/sandboxes/work/attach", "").refused(t, client.CodeUpgrade)
	for name, first := range map[string]client.AttachRequest{
		"no type":             {},
		"another type":        {Type: client.AttachResize},
		"no command":          {Type: client.AttachStart},
		"nobody":              {Type: client.AttachFollow},
		"input in the start":  {Type: client.AttachStart, Exec: &client.Exec{Line: "cat", Stdin: "x"}},
		"a position":          {Type: client.AttachStart, Exec: &client.Exec{Line: "cat"}, From: &client.Position{}},
		"a negative position": {Type: client.AttachFollow, ID: "a", From: &client.Position{Stdout: -1}},
		"an id that is none":  {Type: client.AttachFollow, ID: "a b"},
	} {
		if answer := s.attach("work", first).until(client.AttachProblem); answer.Problem.Code != client.CodeBadRequest {
			t.Errorf("%s: %+v", name, answer.Problem)
		}
	}
	if answer := s.attach("nowhere", client.AttachRequest{Type: client.AttachFollow, ID: "a"}).until(client.AttachProblem); answer.Problem.Code != client.CodeNotFound {
		t.Errorf("%+v", answer.Problem)
	}
	k := s.attach("work", client.AttachRequest{Type: client.AttachStart, Exec: &client.Exec{Line: "cat"}})
	k.until(client.AttachStarted)
	k.conn.Write(k.ctx, websocket.MessageText, []byte(`{"type":"end","unheard":"of"}`))
	if answer := k.until(client.AttachProblem); answer.Problem.Code != client.CodeBadRequest {
		t.Errorf("%+v", answer.Problem)
	}
	k = s.attach("work", client.AttachRequest{Type: client.AttachStart, Exec: &client.Exec{Line: "cat"}})
	k.until(client.AttachStarted)
	k.conn.Write(k.ctx, websocket.MessageBinary, make([]byte, 1<<20))
	for {
		if _, err := k.next(); err != nil {
			if websocket.CloseStatus(err) != websocket.StatusMessageTooBig {
				t.Errorf("a message that is too large: %v", err)
			}
			break
		}
	}
	s.eventually(func() bool { return s.commands("work") == 0 })
}

// Who opens thousands of WebSockets, and who sends thousands of messages, gets so much and no more, and others are
// served all the while and afterwards.
func TestAFloodOfSocketsIsBounded(t *testing.T) {
	const places = 64
	s := newSite(t, func(o *Options) { o.Settings.Concurrency, o.Settings.Rate = places, 1_000_000 })
	s.exec("work", "true")
	var open, refused, other atomic.Int64
	var conns sync.Map
	var opening sync.WaitGroup
	for range 20 {
		opening.Go(func() {
			for range 100 {
				conn, response, err := s.dial("work")
				switch {
				case err == nil:
					open.Add(1)
					conns.Store(conn, true)
				case response != nil && response.StatusCode == http.StatusServiceUnavailable && response.Header.Get("Retry-After") != "":
					refused.Add(1)
				default:
					other.Add(1) // more connections than there may be
				}
			}
		})
	}
	opening.Wait()
	if open.Load() > places || refused.Load() == 0 || open.Load()+refused.Load()+other.Load() != 2000 {
		t.Errorf("%d are open, %d refused, %d neither", open.Load(), refused.Load(), other.Load())
	}
	if got := s.askUnchecked("/health"); got != 200 {
		t.Errorf("meanwhile the gateway is not well: %d", got)
	}
	conns.Range(func(conn, _ any) bool { conn.(*websocket.Conn).CloseNow(); return true })
	s.eventually(func() bool { return s.askUnchecked("/v1/status") == 200 })
	k := s.attach("work", client.AttachRequest{Type: client.AttachStart, Term: &client.Terminal{Rows: 1, Cols: 1}, Exec: &client.Exec{Line: "stty -echo raw; cat >/dev/null"}})
	k.until(client.AttachStarted)
	for i := range 20_000 {
		text, _ := json.Marshal(client.AttachRequest{Type: client.AttachResize, Term: &client.Terminal{Rows: uint16(i), Cols: 80}})
		if err := k.conn.Write(k.ctx, websocket.MessageText, text); err != nil {
			t.Fatal(err)
		}
	}
	k.say(client.AttachRequest{Type: client.AttachInterrupt})
	k.until(client.AttachExit)
}

// askUnchecked is the status of an answer, or 0.
func (s *site) askUnchecked(path string) int {
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(s.request("GET", path, ""))
	if err != nil {
		return 0
	}
	response.Body.Close()
	return response.StatusCode
}
