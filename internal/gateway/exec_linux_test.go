package gateway

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"hermes.example/hermes/client"
	"hermes.example/hermes/sandbox"
)

// event is one of a stream.
type event struct{ id, name, data string }

// readEvent reads the next event, or says why there is none.
func readEvent(r *bufio.Reader) (e event, err error) {
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return e, err
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "id":
			e.id = value
		case "event":
			e.name = value
		case "data":
			e.data = value
		case "":
			if e.name != "" {
				return e, nil
			}
		}
	}
}

// stream begins to follow something. The caller closes it.
func (s *site) stream(r *http.Request) (*bufio.Reader, io.Closer) {
	s.t.Helper()
	r.Header.Set("Accept", "text/event-stream")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	if response.StatusCode != 200 || response.Header.Get("Content-Type") != "text/event-stream" {
		body, _ := io.ReadAll(response.Body)
		s.t.Fatalf("%d %s", response.StatusCode, body)
	}
	return bufio.NewReaderSize(response.Body, 1<<20), response.Body
}

// until reads events until one has the name.
func (s *site) until(r *bufio.Reader, name string) (all []event) {
	s.t.Helper()
	for {
		e, err := readEvent(r)
		if err != nil {
			s.t.Fatalf("%v, before %q: %v", err, name, all)
		}
		if all = append(all, e); e.name == name {
			return all
		}
	}
}

func command(e client.Exec) string {
	text, _ := json.Marshal(e)
	return string(text)
}

func TestACommandInOnePiece(t *testing.T) {
	s := newSite(t, nil)
	const path = "/v1/sandboxes/work/exec"
	for name, test := range map[string]struct {
		exec        client.Exec
		code        int
		out, errors string
	}{
		"a line":        {client.Exec{Line: "echo out; echo err >&2; exit 3"}, 3, "out\n", "err\n"},
		"a program":     {client.Exec{Argv: []string{"printf", "%s-", "a b", "c"}}, 0, "a b-c-", ""},
		"merged":        {client.Exec{Line: "echo 1; echo 2 >&2; echo 3", Merge: true}, 0, "1\n2\n3\n", ""},
		"with input":    {client.Exec{Line: "cat", Stdin: "text\n"}, 0, "text\n", ""},
		"with bytes":    {client.Exec{Line: "cat", StdinBase64: []byte("\xff\x00\n")}, 0, "\xff\x00\n", ""},
		"variables":     {client.Exec{Line: "echo $A", Env: map[string]string{"A": "b"}}, 0, "b\n", ""},
		"a directory":   {client.Exec{Line: "pwd", Cwd: "/tmp"}, 0, "/tmp\n", ""},
		"too slow":      {client.Exec{Line: "sleep 100", Timeout: 0.2}, 124, "", ""},
		"no such":       {client.Exec{Argv: []string{"no-such-program"}}, 127, "", ""},
		"a small piece": {client.Exec{Line: "seq 100", Window: 10}, 0, "1\n2\n3\n100\n", ""},
	} {
		var out client.ExecOutput
		s.ask("POST", path, command(test.exec)).into(t, 200, &out)
		if name == "a small piece" {
			if got := out.Stdout; string(got.Data()) != "1\n2\n3\n100\n"[:5]+"100\n"[len("100\n")-4:] && got.Omitted != got.Bytes-10 {
				t.Errorf("%s: %+v", name, got)
			}
			continue
		}
		if out.Result == nil || out.Result.Code != test.code || string(out.Stdout.Data()) != test.out || string(out.Stderr.Data()) != test.errors && test.code < 100 {
			t.Errorf("%s: %+v %+v %+v", name, out.Result, out.Stdout, out.Stderr)
		}
	}
	for _, wrong := range []client.Exec{{}, {Line: "a", Argv: []string{"b"}}, {Argv: []string{""}}, {Line: "a", Timeout: -1}, {Line: "a\x00"}, {Line: "a", Env: map[string]string{"": "x"}},
		{Line: "a", Stdin: "x", StdinBase64: []byte("y")}, {Line: "a", Window: -1}, {Line: "a", Window: 1 << 40}} {
		s.ask("POST", path, command(wrong)).refused(t, client.CodeBadRequest)
	}
	for _, key := range []string{"a b", strings.Repeat("x", 129), "é"} {
		s.ask("POST", path, command(client.Exec{Line: "true"}), client.IdempotencyKey, key).refused(t, client.CodeBadRequest)
	}
}

func TestASessionIsKeptBetweenRequests(t *testing.T) {
	s := newSite(t, nil)
	for _, step := range []struct{ line, want string }{{"cd /tmp; export A=b; f() { echo f; }", ""}, {"pwd; echo $A; f", "/tmp\nb\nf\n"}} {
		var out client.ExecOutput
		s.ask("POST", "/v1/sandboxes/work/exec", command(client.Exec{Line: step.line, Session: "mine"})).into(t, 200, &out)
		if out.Stdout.Text != step.want {
			t.Errorf("%s: %q", step.line, out.Stdout.Text)
		}
	}
	var sheet client.SandboxSheet
	s.ask("GET", "/v1/sandboxes/work", "").into(t, 200, &sheet)
	if sheet.Sessions["mine"].Cwd != "/tmp" || len(sheet.Posture.Facts) == 0 {
		t.Errorf("%+v", sheet)
	}
}

// A retried command runs once, however many ask for it and in whichever form.
func TestAKeyRunsOnce(t *testing.T) {
	s := newSite(t, nil)
	const path = "/v1/sandboxes/work/exec"
	body := command(client.Exec{Line: "echo ran >>ran; sleep 0.2; echo out; exit 3"})
	var asking sync.WaitGroup
	for i := range 20 {
		asking.Go(func() {
			r := s.request("POST", path, body, client.IdempotencyKey, "once")
			if i%2 == 0 {
				events, c := s.stream(r)
				defer c.Close()
				all := s.until(events, client.EventExit)
				if last := all[len(all)-1]; !strings.Contains(last.data, `"code":3`) {
					t.Errorf("%+v", last)
				}
				return
			}
			var out client.ExecOutput
			if s.do(r).into(t, 200, &out); out.Result.Code != 3 || out.Stdout.Text != "out\n" || out.ID != "once" {
				t.Errorf("%+v", out)
			}
		})
	}
	asking.Wait()
	if out := s.exec("work", "cat ran"); out.Stdout.Text != "ran\n" {
		t.Errorf("it ran: %q", out.Stdout.Text)
	}
	s.ask("POST", path, command(client.Exec{Line: "echo ran >>ran"}), client.IdempotencyKey, "once").refused(t, client.CodeKeyReused)
	if out := s.exec("work", "cat ran"); out.Stdout.Text != "ran\n" {
		t.Errorf("another command ran under the key: %q", out.Stdout.Text)
	}
}

// A command that had ended before its sandbox was removed did not run then, and nobody says so. It is not run again.
func TestAKeyOutlivesItsSandbox(t *testing.T) {
	s := newSite(t, nil)
	const path = "/v1/sandboxes/work"
	body := command(client.Exec{Line: "echo ran >>ran; cat ran"})
	s.ask("POST", path+"/exec", body, client.IdempotencyKey, "once")
	if r := s.ask("DELETE", path, ""); r.StatusCode >= 300 {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	var out client.ExecOutput
	s.ask("POST", path+"/exec", body, client.IdempotencyKey, "once").into(t, 200, &out)
	if out.Result.Reason != sandbox.Lost || strings.Contains(out.Result.Message, "was running") || !strings.Contains(out.Result.Message, "not known") {
		t.Errorf("%+v", out.Result)
	}
	if out := s.exec("work", "cat ran"); out.Stdout.Text != "ran\n" {
		t.Errorf("it ran: %q", out.Stdout.Text)
	}
}

// A command without a key ends with its caller, and one with a key does not.
func TestWhoGoesAwayTakesACommandAlongUnlessItHasAKey(t *testing.T) {
	s := newSite(t, nil)
	for _, events := range []bool{true, false} {
		for _, key := range []string{"", fmt.Sprint("kept-", events)} {
			ctx, leave := context.WithCancel(t.Context())
			r := s.request("POST", "/v1/sandboxes/work/exec", command(client.Exec{Line: "rm -f left; echo begun >began; sleep 1.5; echo ended >left"})).WithContext(ctx)
			if key != "" {
				r.Header.Set(client.IdempotencyKey, key)
			}
			if events {
				r.Header.Set("Accept", "text/event-stream")
			}
			gone := make(chan error, 1)
			go func() {
				response, err := http.DefaultClient.Do(r)
				if err == nil {
					_, err = io.ReadAll(response.Body)
					response.Body.Close()
				}
				gone <- err
			}()
			s.eventually(func() bool { return s.exec("work", "grep -q begun began && rm began").Result.Code == 0 })
			leave()
			if err := <-gone; !errors.Is(err, context.Canceled) {
				t.Fatalf("%v", err)
			}
			if key == "" {
				s.eventually(func() bool { return s.commands("work") == 0 })
				if out := s.exec("work", "cat left"); out.Result.Code == 0 {
					t.Error("a command without a key went on")
				}
				continue
			}
			var out client.ExecOutput
			s.ask("GET", "/v1/sandboxes/work/exec/"+key, "").into(t, 200, &out)
			if got := s.exec("work", "cat left"); out.Result == nil || out.Result.Code != 0 || got.Stdout.Text != "ended\n" {
				t.Errorf("a command with a key: %+v, %q", out.Result, got.Stdout.Text)
			}
		}
	}
}

// commands are how many run in a sandbox now.
func (s *site) commands(task string) int {
	s.t.Helper()
	status, err := s.boxes.Manager().StatusOf(s.t.Context(), s.boxes.Identity(task))
	if err != nil {
		s.t.Fatal(err)
	}
	return status.Commands
}

// eventually waits until something is so.
func (s *site) eventually(so func() bool) {
	s.t.Helper()
	for end := time.Now().Add(30 * time.Second); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatal("it never came true")
		}
	}
}

func TestACommandIsLookedAtWhileItRuns(t *testing.T) {
	s := newSite(t, nil)
	const path = "/v1/sandboxes/work/exec"
	events, c := s.stream(s.request("POST", path, command(client.Exec{Line: "echo begun; until [ -e go ]; do sleep 0.02; done; echo end"}), client.IdempotencyKey, "long"))
	defer c.Close()
	s.until(events, client.EventOutput)
	var out client.ExecOutput
	s.ask("GET", path+"/long?wait=0.2", "").into(t, 200, &out)
	if out.Result != nil || out.Stdout.Text != "begun\n" {
		t.Errorf("while it runs: %+v", out)
	}
	s.exec("work", ": >go")
	s.ask("GET", path+"/long?wait=30", "").into(t, 200, &out)
	if out.Result == nil || out.Stdout.Text != "begun\nend\n" {
		t.Errorf("at its end: %+v", out)
	}
	s.ask("GET", path+"/nobody", "").refused(t, client.CodeNotFound)
	s.ask("DELETE", path+"/nobody", "").refused(t, client.CodeNotFound)
	s.ask("GET", "/v1/sandboxes/nowhere/exec/long", "").refused(t, client.CodeNotFound)
	s.ask("GET", path+"/long", "", "Accept", "text/event-stream", "Last-Event-ID", "5").refused(t, client.CodeBadRequest)
	if _, err := s.boxes.Manager().Find(t.Context(), s.boxes.Identity("nowhere")); !errors.Is(err, sandbox.ErrNotFound) {
		t.Errorf("to look made a sandbox: %v", err)
	}
}

func TestInterruptEndsTheWholeTree(t *testing.T) {
	s := newSite(t, nil)
	const path = "/v1/sandboxes/work/exec"
	events, c := s.stream(s.request("POST", path, command(client.Exec{Line: "sleep 1000 & sleep 1000 & echo begun; wait"}), client.IdempotencyKey, "tree"))
	defer c.Close()
	s.until(events, client.EventOutput)
	if got := s.ask("DELETE", path+"/tree", ""); got.StatusCode != 202 {
		t.Fatalf("%d %s", got.StatusCode, got.body)
	}
	all := s.until(events, client.EventExit)
	var result sandbox.Result
	if json.Unmarshal([]byte(all[len(all)-1].data), &result); result.Reason != sandbox.Interrupted {
		t.Errorf("%+v", result)
	}
	status, err := s.boxes.Manager().StatusOf(t.Context(), s.boxes.Identity("work"))
	if err != nil || status.Processes != 0 {
		t.Errorf("%+v, %v", status, err)
	}
}

// A stream that is cut wherever it hurts goes on where the last whole event was, byte by byte.
func TestADroppedStreamIsResumedByteExactly(t *testing.T) {
	s := newSite(t, nil)
	seed := uint64(time.Now().UnixNano())
	if given, err := strconv.ParseUint(os.Getenv("HERMES_TEST_SEED"), 10, 64); err == nil {
		seed = given
	}
	t.Logf("HERMES_TEST_SEED=%d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	noise := make([]byte, 3<<20)
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	for i, line := range []string{"tee /dev/stderr <data", "while read -r l; do echo $l; echo $l >&2; done <text"} {
		want := noise
		if i == 1 {
			want = []byte(strings.Repeat("a line of text, and ünicode\n", 2000))
		}
		name := []string{"data", "text"}[i]
		err := s.boxes.Use(t.Context(), "work", func(box *sandbox.Sandbox) error {
			_, err := box.Exec(t.Context(), sandbox.Command{Line: "cat >" + name, Stdin: bytes.NewReader(want)})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		streams := map[client.Stream][]byte{}
		last, cuts, done := "", 0, false
		r := s.request("POST", "/v1/sandboxes/work/exec", command(client.Exec{Line: line}), client.IdempotencyKey, name)
		for !done {
			events, c := s.stream(r)
			for budget := 1 + random.IntN(400<<10); budget > 0 && !done; {
				e, err := readEvent(events)
				if err != nil {
					t.Fatal(err)
				}
				budget -= len(e.data)
				var chunk client.ExecChunk
				switch e.name {
				case client.EventOutput:
					if err := json.Unmarshal([]byte(e.data), &chunk); err != nil {
						t.Fatal(err)
					}
					if have := int64(len(streams[chunk.Stream])); chunk.Offset != have {
						t.Fatalf("%s goes on at %d, and not at %d", chunk.Stream, chunk.Offset, have)
					}
					streams[chunk.Stream] = append(streams[chunk.Stream], chunk.Data()...)
				case client.EventExit:
					done = true
				case client.EventStarted:
				default:
					t.Fatalf("%+v", e)
				}
				last = e.id
			}
			c.Close()
			if cuts++; cuts > 1000 {
				t.Fatal("it never comes to its end")
			}
			r = s.request("GET", "/v1/sandboxes/work/exec/"+name, "", "Last-Event-ID", last)
		}
		if !bytes.Equal(streams[client.Stdout], want) || !bytes.Equal(streams[client.Stderr], want) {
			t.Errorf("%s: %d and %d bytes came, of %d", name, len(streams[client.Stdout]), len(streams[client.Stderr]), len(want))
		}
		if cuts < 3 && i == 0 {
			t.Errorf("it was cut %d times", cuts)
		}
	}
}

// What nobody kept is told, and where.
func TestAGapIsTold(t *testing.T) {
	s := newSite(t, nil)
	const path, window, all = "/v1/sandboxes/work/exec", 64 << 20, 80 << 20
	events, c := s.stream(s.request("POST", path, command(client.Exec{Line: "until [ -e go ]; do sleep 0.02; done; head -c " + fmt.Sprint(all) + " /dev/zero | tr '\\0' x; : >done"}), client.IdempotencyKey, "much"))
	s.until(events, client.EventStarted)
	c.Close()
	s.exec("work", ": >go")
	s.eventually(func() bool { return s.exec("work", "[ -e done ]").Result.Code == 0 })
	events, c = s.stream(s.request("GET", path+"/much", ""))
	defer c.Close()
	var gap client.ExecGap
	var came int64
	for {
		e, err := readEvent(events)
		if err != nil {
			t.Fatal(err)
		}
		var chunk client.ExecChunk
		switch e.name {
		case client.EventGap:
			json.Unmarshal([]byte(e.data), &gap)
		case client.EventOutput:
			json.Unmarshal([]byte(e.data), &chunk)
			if came == 0 && chunk.Offset != gap.Bytes {
				t.Errorf("the output goes on at %d after a gap of %d", chunk.Offset, gap.Bytes)
			}
			came += int64(len(chunk.Data()))
		}
		if e.name == client.EventExit {
			break
		}
	}
	if gap.Bytes != all-window || came != window || gap.Stream != client.Stdout {
		t.Errorf("gap %+v, and %d bytes", gap, came)
	}
	var out client.ExecOutput
	s.ask("GET", path+"/much", "").into(t, 200, &out)
	if out.Stdout.Bytes != all || out.Stdout.Omitted != all-int64(len(out.Stdout.Data())) || len(out.Stdout.Data()) > 1<<20 {
		t.Errorf("%d bytes, %d omitted, %d came", out.Stdout.Bytes, out.Stdout.Omitted, len(out.Stdout.Data()))
	}
}

// Nobody has more of a command than it has written: who says so is told, and does not wait for bytes that are his already.
func TestAPositionBeyondTheEndIsRefused(t *testing.T) {
	s := newSite(t, nil)
	const path = "/v1/sandboxes/work/exec"
	s.ask("POST", path, command(client.Exec{Line: "printf 12345; printf 123 >&2"}), client.IdempotencyKey, "short")
	for at, refused := range map[string]bool{"5-3": false, "0-0": false, "6-3": true, "5-4": true, "9223372036854775807-0": true} {
		r := s.ask("GET", path+"/short", "", "Accept", "text/event-stream", "Last-Event-ID", at)
		if text := string(r.body); !refused && !strings.Contains(text, "event: exit") || refused && !(strings.Contains(text, "unprocessable") && strings.Contains(text, "beyond")) {
			t.Errorf("from %s: %d %s", at, r.StatusCode, text)
		}
	}
	k := s.attach("work", client.AttachRequest{Type: client.AttachFollow, ID: "short", From: &client.Position{Stdout: 6}})
	if last := k.until(client.AttachProblem); last.Problem.Code != client.CodeUnprocessable {
		t.Errorf("by WebSocket: %+v", last)
	}
}

// curl is a client that we did not write.
func TestCurlRunsFollowsAndResumes(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("there is no curl")
	}
	s := newSite(t, nil)
	curl := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("curl", append([]string{"-sS", "--fail-with-body", "-H", "Authorization: Bearer " + key}, args...)...)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %s %s", err, out, stderr.String())
		}
		return string(out)
	}
	path := s.url + "/v1/sandboxes/work/exec"
	if out := curl("--json", `{"line":"echo hello"}`, path); !strings.Contains(out, `"text":"hello\n"`) {
		t.Error(out)
	}
	events := curl("-N", "-H", "Accept: text/event-stream", "-H", "Idempotency-Key: mine", "--json", `{"line":"echo one; sleep 0.1; echo two >&2"}`, path)
	if !strings.Contains(events, "event: output\ndata: {\"stream\":\"stdout\",\"offset\":0,\"text\":\"one\\n\"}\n\n") || !strings.HasSuffix(events, "\n\n") {
		t.Error(events)
	}
	resumed := curl("-N", "-H", "Accept: text/event-stream", "-H", "Last-Event-ID: 4-0", path+"/mine")
	if strings.Contains(resumed, "one") || !strings.Contains(resumed, `"text":"two\n"`) || !strings.Contains(resumed, "event: exit") {
		t.Error(resumed)
	}
}

// The server stops to watch a caller who has sent more than his request.
func TestWhoGoesAwayAfterAByteTooManyTakesHisCommandAlong(t *testing.T) {
	s := newSite(t, nil)
	s.exec("work", "true")
	r := s.request("POST", "/v1/sandboxes/work/exec", command(client.Exec{Line: "sleep 1000"}))
	conn, err := net.Dial("tcp", r.URL.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := r.Write(conn); err != nil {
		t.Fatal(err)
	}
	s.eventually(func() bool { return s.commands("work") == 1 })
	if _, err := conn.Write([]byte("\r\n")); err != nil {
		t.Fatal(err)
	}
	conn.Close()
	s.eventually(func() bool { return s.commands("work") == 0 })
}
