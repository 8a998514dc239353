package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// speak writes lines to a connection and returns what it reads as messages, and what it answers itself.
func speak(t testing.TB, input io.Reader) (messages []jsonrpc.Message, answers []string) {
	t.Helper()
	var out bytes.Buffer
	l := &lines{in: io.NopCloser(input), out: &out}
	connection, err := l.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	for {
		m, err := connection.Read(context.Background())
		if err != nil {
			break
		}
		messages = append(messages, m)
	}
	for line := range strings.SplitSeq(strings.TrimSpace(out.String()), "\n") {
		if line != "" {
			answers = append(answers, line)
		}
	}
	return messages, answers
}

const ping = `{"jsonrpc":"2.0","id":7,"method":"ping"}`

func TestAMistakeDoesNotCostTheSession(t *testing.T) {
	for name, wrong := range map[string]string{
		"no JSON":            "rubbish",
		"half of a message":  `{"jsonrpc":"2.0","id":1,`,
		"another version":    `{"jsonrpc":"1.0","id":1,"method":"ping"}`,
		"a batch":            `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`,
		"an empty batch":     `[]`,
		"a number":           `42`,
		"nothing of a call":  `{}`,
		"bytes":              "\x00\xff\xfe",
		"an id that is none": `{"jsonrpc":"2.0","id":{},"method":"ping"}`,
	} {
		messages, answers := speak(t, strings.NewReader(wrong+"\n\n  \n"+ping))
		var answer struct {
			ID    any
			Error struct {
				Code    int
				Message string
			}
		}
		if len(messages) != 1 || len(answers) != 1 {
			t.Errorf("%s: %d messages, %q", name, len(messages), answers)
			continue
		}
		if err := json.Unmarshal([]byte(answers[0]), &answer); err != nil || answer.ID != nil || answer.Error.Code != -32700 || answer.Error.Message == "" {
			t.Errorf("%s is answered with %s", name, answers[0])
		}
	}
}

// endless is a line without an end, of so many bytes.
type endless struct{ left int }

func (e *endless) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n := min(len(p), e.left)
	for i := range p[:n] {
		p[i] = 'x'
	}
	e.left -= n
	return n, nil
}

func TestAHugeMessageIsPassedOver(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	messages, answers := speak(t, io.MultiReader(&endless{left: 512 << 20}, strings.NewReader("\n"+ping+"\n")))
	runtime.ReadMemStats(&after)
	if len(messages) != 1 || len(answers) != 1 || !strings.Contains(answers[0], "more than") {
		t.Errorf("%d messages, %q", len(messages), answers)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 8*MostMessage {
		t.Errorf("%d bytes were allocated for it", grown)
	}
	long := `{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":"` + strings.Repeat("y", MostMessage-1000) + `"}}`
	if messages, answers := speak(t, strings.NewReader(long+"\n")); len(messages) != 1 || len(answers) != 0 {
		t.Errorf("one that is just not too long: %d messages, %q", len(messages), answers)
	}
}

// Whatever comes before it, a message that stands on a line of its own is read.
func FuzzLines(f *testing.F) {
	for _, seed := range []string{"", "rubbish\n", `{"jsonrpc":"2.0"`, "[]\n{}\n", ping + "\n" + ping, "\r\n\x00", strings.Repeat("[", 10_000)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, before []byte) {
		messages, answers := speak(t, io.MultiReader(bytes.NewReader(before), strings.NewReader("\n"+ping+"\n")))
		if len(messages) == 0 {
			t.Fatalf("after %q the message is not read", before)
		}
		if last, ok := messages[len(messages)-1].(*jsonrpc.Request); !ok || last.Method != "ping" {
			t.Fatalf("after %q another message is read: %v", before, messages[len(messages)-1])
		}
		for _, answer := range answers {
			if !json.Valid([]byte(answer)) {
				t.Fatalf("%q is answered with %q", before, answer)
			}
		}
		scanner := bufio.NewScanner(bytes.NewReader(before))
		scanner.Buffer(nil, len(before)+64)
		lines := 0
		for scanner.Scan() {
			lines++
		}
		if len(messages)+len(answers) > lines+1 {
			t.Fatalf("%q: %d lines are %d messages and %d answers", before, lines+1, len(messages), len(answers))
		}
	})
}

// TestAClientThatDoesNotReadKeepsNothing shows that a server ends when it is told to, and when its client has said its last,
// though an answer cannot be written.
func TestAClientThatDoesNotReadKeepsNothing(t *testing.T) {
	for name, finish := range map[string]func(stop func(), in io.Closer){
		"told to end":      func(stop func(), _ io.Closer) { stop() },
		"the input's end":  func(_ func(), in io.Closer) { in.Close() },
		"one after other ": func(stop func(), in io.Closer) { in.Close(); stop() },
	} {
		d := &Door{server: mcp.NewServer(&mcp.Implementation{Name: "test"}, nil), stop: func() {}}
		in, toServer := io.Pipe()
		fromServer, out := io.Pipe()
		t.Cleanup(func() { fromServer.Close() }) // which nobody reads
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		served := make(chan struct{})
		go func() {
			defer close(served)
			d.ServeLines(ctx, in, out)
		}()
		for range 3 {
			if _, err := io.WriteString(toServer, ping+"\n"); err != nil {
				t.Fatal(err)
			}
		}
		finish(cancel, toServer)
		select {
		case <-served:
		case <-time.After(30 * time.Second):
			t.Errorf("%s: it is still served", name)
		}
	}
}

// The protocol wants no answer to a request that was cancelled. The official client for Python loses its session by one
// that comes while it gives up waiting.
func TestACancelledRequestIsNotAnswered(t *testing.T) {
	const input = `{"jsonrpc":"2.0","id":1,"method":"tools/call"}
{"jsonrpc":"2.0","id":2,"method":"tools/call"}
{"jsonrpc":"2.0","id":"three","method":"tools/call"}
{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"three","reason":"changed my mind"}}
{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4}}
{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":["x"]}}
{"jsonrpc":"2.0","method":"notifications/cancelled","params":"x"}
{"jsonrpc":"2.0","id":4,"method":"tools/call"}
`
	var out bytes.Buffer
	l := &lines{in: io.NopCloser(strings.NewReader(input)), out: &out}
	connection, err := l.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	var calls []jsonrpc.ID
	for range strings.Count(input, "\n") {
		m, err := connection.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() {
			calls = append(calls, r.ID)
		}
	}
	for _, id := range calls {
		if err := connection.Write(t.Context(), &jsonrpc.Response{ID: id, Result: json.RawMessage(`{}`)}); err != nil {
			t.Errorf("%v: %v", id, err)
		}
	}
	if want := `{"jsonrpc":"2.0","id":2,"result":{}}` + "\n" + `{"jsonrpc":"2.0","id":4,"result":{}}` + "\n"; out.String() != want {
		t.Errorf("it says\n%s", out.String())
	}
	if l.owes() {
		t.Error("requests are still without an answer")
	}
}
