package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net"
	"reflect"
	"strings"
	"testing"
)

func TestFramesArriveAsTheyWereSent(t *testing.T) {
	var buf bytes.Buffer
	w := NewWriter(&buf)
	sent := [][]byte{nil, []byte("x"), bytes.Repeat([]byte{0xff, 0}, 40000), make([]byte, MaxPayload)}
	for i, p := range sent {
		if err := w.Write(Type(i+1), p); err != nil {
			t.Fatal(err)
		}
	}
	r := NewReader(&buf)
	for i, p := range sent {
		f, err := r.Next()
		if err != nil || f.Type != Type(i+1) || !bytes.Equal(f.Payload, p) {
			t.Errorf("frame %d: type %d, %d bytes, %v", i, f.Type, len(f.Payload), err)
		}
	}
	if _, err := r.Next(); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}

func TestBadFramesAreRefused(t *testing.T) {
	if err := NewWriter(io.Discard).Write(TypeStdout, make([]byte, MaxPayload+1)); err != ErrTooLarge {
		t.Errorf("oversized write: %v", err)
	}
	huge := make([]byte, headerSize)
	binary.BigEndian.PutUint32(huge[1:], 1<<31)
	if _, err := NewReader(bytes.NewReader(huge)).Next(); err != ErrTooLarge {
		t.Errorf("oversized read: %v", err)
	}
	if _, err := NewReader(strings.NewReader("\x01\x00\x00\x00\x05ab")).Next(); err != io.ErrUnexpectedEOF {
		t.Errorf("truncated payload: %v", err)
	}
	if _, err := NewReader(strings.NewReader("\x01\x00")).Next(); err != io.ErrUnexpectedEOF {
		t.Errorf("truncated header: %v", err)
	}
}

func TestHostSpeaksTheCurrentAndThePreviousMajor(t *testing.T) {
	for _, c := range []struct {
		guest, host int
		ok          bool
	}{{1, 1, true}, {1, 2, true}, {1, 3, false}, {3, 2, false}, {0, 1, true}} {
		near, far := net.Pipe()
		go func() {
			if _, _, err := Greet(far); err == nil {
				Serve(far, Hello{Major: c.guest, Minor: 9, Build: "test", Capabilities: []string{"new thing"}})
			}
		}()
		session, hello, err := Dial(near, Hello{Major: c.host})
		var version *VersionError
		if c.ok && (err != nil || hello.Major != c.guest || !hello.Can("new thing") || hello.Can(CanReplay)) {
			t.Errorf("guest %d, host %d: %+v, %v", c.guest, c.host, hello, err)
		}
		if !c.ok && !errors.As(err, &version) {
			t.Errorf("guest %d, host %d: want a version error, got %v", c.guest, c.host, err)
		}
		if session != nil {
			session.Close()
		}
	}
}

func TestADirectRequestTravelsWithItsGreeting(t *testing.T) {
	near, far := net.Pipe()
	go func() {
		hello, r, err := Greet(far)
		frame, err2 := r.Next()
		w := NewWriter(far)
		if err != nil || err2 != nil || !hello.Direct || frame.Type != TypeStatus {
			t.Errorf("%+v %v %+v %v", hello, err, frame, err2)
		}
		w.QueueMessage(TypeHello, Hello{Major: Major})
		w.QueueMessage(TypeStarted, Started{PID: 7})
		w.Write(TypeOK, nil)
	}()
	r, _, err := Request(near, Hello{Major: Major}, TypeStatus, struct{}{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []Type{TypeHello, TypeStarted, TypeOK} {
		if frame, err := r.Next(); err != nil || frame.Type != want {
			t.Errorf("got %+v, %v, want %d", frame, err, want)
		}
	}
}

func TestAPeerThatDoesNotGreetIsRefused(t *testing.T) {
	near, far := net.Pipe()
	go func() {
		NewReader(far).Next()
		NewWriter(far).Write(TypeStdout, []byte("boo"))
	}()
	if _, _, err := Dial(near, Hello{Major: Major}); err == nil || !strings.Contains(err.Error(), "did not greet") {
		t.Errorf("got %v", err)
	}
}

func FuzzReader(f *testing.F) {
	var seed bytes.Buffer
	w := NewWriter(&seed)
	w.WriteMessage(TypeHello, Hello{Major: 1, Build: "x"})
	w.WriteMessage(TypeExec, Exec{ID: "a", Line: "true", Env: map[string]string{"A": "1"}})
	w.Write(TypeStdout, []byte("out"))
	f.Add(seed.Bytes())
	f.Add([]byte{0, 0, 0, 0, 0})
	f.Add([]byte{1, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, data []byte) {
		r := NewReader(bytes.NewReader(data))
		var again bytes.Buffer
		w := NewWriter(&again)
		for {
			frame, err := r.Next()
			if err != nil {
				break
			}
			for _, m := range []any{&Hello{}, &Exec{}, &Attach{}, &Exit{}, &Status{}, &Size{}} {
				frame.Decode(m)
			}
			if err := w.Write(frame.Type, frame.Payload); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.HasPrefix(data, again.Bytes()) {
			t.Fatal("frames read are not the frames sent")
		}
	})
}

func TestMessagesOfAnySizeArriveWhole(t *testing.T) {
	// What surrounds the line decides where it is cut: all places around the edges.
	for _, n := range []int{0, 1, MaxPayload - 40, MaxPayload - 20, MaxPayload - 19, MaxPayload - 10, MaxPayload, 2*MaxPayload - 18, 3 * MaxPayload, MaxMessage - 100} {
		var buf bytes.Buffer
		w := NewWriter(&buf)
		sent := Exec{ID: "x", Line: strings.Repeat("y", n)}
		if err := w.WriteMessage(TypeExec, sent); err != nil {
			t.Fatal(err)
		}
		if err := w.Write(TypeStdin, []byte("next")); err != nil {
			t.Fatal(err)
		}
		r := NewReader(&buf)
		f, err := r.NextMessage()
		var got Exec
		if err != nil || f.Type != TypeExec || f.Decode(&got) != nil || got.Line != sent.Line {
			t.Errorf("%d bytes: %d arrived, type %d, %v", n, len(got.Line), f.Type, err)
		}
		if f, err := r.Next(); err != nil || string(f.Payload) != "next" {
			t.Errorf("%d bytes: what follows is %q, %v", n, f.Payload, err)
		}
	}
	if err := NewWriter(io.Discard).WriteMessage(TypeExec, Exec{Line: strings.Repeat("y", MaxMessage)}); err != ErrMessageTooLarge {
		t.Errorf("oversized message: %v", err)
	}
	var endless bytes.Buffer
	for w := NewWriter(&endless); endless.Len() < MaxMessage+2*MaxPayload; {
		w.Write(TypeExec, make([]byte, MaxPayload))
	}
	if _, err := NewReader(&endless).NextMessage(); err != ErrMessageTooLarge {
		t.Errorf("a message without an end: %v", err)
	}
}

func TestCommandsMayHoldAnyBytes(t *testing.T) {
	for _, s := range []string{"", "text", "ünï\U0001f600", "\xff\xfe", "ü\xff", "\xc3", "\x01\x7f"} {
		sent := Exec{ID: "id", Argv: []string{"echo", s}, Line: s, Session: s, Cwd: s, Env: map[string]string{"A": s, s: "b"}, Window: 5, TTY: &Size{Rows: 1, Term: "t"}}
		data, err := json.Marshal(sent)
		if err != nil {
			t.Fatal(err)
		}
		var got Exec
		if err := json.Unmarshal(data, &got); err != nil || !reflect.DeepEqual(got, sent) {
			t.Errorf("%q: got %+v, %v", s, got, err)
		}
		// Also inside of another message.
		start := Start{Exec: sent, Name: "n", Watch: []string{"w"}, Notify: true}
		if data, err = json.Marshal(start); err != nil {
			t.Fatal(err)
		}
		var started Start
		if err := json.Unmarshal(data, &started); err != nil || !reflect.DeepEqual(started, start) {
			t.Errorf("%q: got %+v, %v", s, started, err)
		}
	}
}

func TestSessionsMayHoldAnyBytes(t *testing.T) {
	for _, s := range []string{"text", "ünï\U0001f600", "\xff\xfe", "ü\xff", "\xc3", "\x01\x7f"} {
		m := map[string]string{"A": s, s + "!": "b"}
		sent := Handed{Name: s, Cwd: "/" + s, Env: m, Attrs: m, Functions: m, Aliases: m, PlainEnv: m, PlainCwd: s, Lost: "why"}
		data, err := json.Marshal(sent)
		if err != nil {
			t.Fatal(err)
		}
		var got Handed
		if err := json.Unmarshal(data, &got); err != nil || !reflect.DeepEqual(got, sent) {
			t.Errorf("%q: got %+v, %v", s, got, err)
		}
	}
}
