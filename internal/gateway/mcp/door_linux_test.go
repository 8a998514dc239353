package mcp

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestToolsSayWhatTheyAre(t *testing.T) {
	w := newWorld(t, nil)
	c := w.connect()
	if got := c.InitializeResult(); got.ServerInfo.Name != "hermes" || !strings.Contains(got.Instructions, "sandbox") || !got.Capabilities.Tools.ListChanged {
		t.Errorf("initialised as %+v", got)
	}
	list, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		reads := slices.Contains([]string{"read_file", "search_files", "list_files"}, tool.Name)
		if tool.Annotations.ReadOnlyHint != reads || !reads && !*tool.Annotations.DestructiveHint || tool.Title == "" || tool.Description == "" {
			t.Errorf("%s: %+v", tool.Name, tool.Annotations)
		}
		properties, _ := tool.InputSchema.(map[string]any)["properties"].(map[string]any)
		for name, property := range properties {
			if property.(map[string]any)["description"] == nil {
				t.Errorf("%s: %s has no description", tool.Name, name)
			}
		}
		if len(properties) == 0 || tool.OutputSchema == nil {
			t.Errorf("%s has no schema", tool.Name)
		}
	}
	slices.Sort(names)
	if want := []string{"list_files", "patch", "process", "read_file", "search_files", "terminal", "write_file"}; !slices.Equal(names, want) {
		t.Errorf("there are %v, want %v", names, want)
	}
}

func TestEveryClientHasASessionOfItsOwn(t *testing.T) {
	w := newWorld(t, nil)
	a, b := w.connect(), w.connect()
	a.run("cd /tmp; export COLOUR=green; touch /tmp/shared")
	if got := a.run(`echo "$PWD $COLOUR"`); got != "/tmp green" {
		t.Errorf("the next call is in %q", got)
	}
	if got := b.run(`echo "$PWD ${COLOUR-none}"; ls /tmp`); got != "/workspace none\nshared" {
		t.Errorf("another client is in %q", got)
	}
}

func TestTheSessionOfAClientThatHasGoneIsForgotten(t *testing.T) {
	w := newWorld(t, nil)
	a, b := w.connect(), w.connect()
	a.run("true")
	b.run("true")
	sessions := func() int {
		st, err := w.door.Sandboxes.Manager().StatusOf(t.Context(), w.door.Sandboxes.Identity(w.door.Task))
		if err != nil {
			t.Fatal(err)
		}
		return len(st.Sessions)
	}
	if got := sessions(); got != 2 {
		t.Fatalf("two clients have %d sessions", got)
	}
	a.vanish()
	for end := time.Now().Add(30 * time.Second); sessions() != 1; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the session of a client that has gone stays")
		}
	}
	if got := b.run("echo on"); got != "on" {
		t.Errorf("the other client: %q", got)
	}
}

func TestFailuresAreAnswers(t *testing.T) {
	w := newWorld(t, nil)
	c := w.connect()
	a, err := c.call(t.Context(), "terminal", map[string]any{"command": "exit 3"})
	if err != nil || a.failed || a.out["exit_code"] != float64(3) {
		t.Errorf("a command that fails: %v, %v", a, err)
	}
	for name, test := range map[string]struct {
		tool      string
		arguments map[string]any
		says      string
	}{
		"a file that there is not": {"read_file", map[string]any{"path": "/absent"}, "/absent"},
		"no such process":          {"process", map[string]any{"action": "poll", "process_id": "proc_none"}, "proc_none"},
		"a wrong argument":         {"terminal", map[string]any{"comand": "true"}, "comand"},
		"a wrong type":             {"terminal", map[string]any{"command": 1}, "string"},
		"nothing":                  {"terminal", map[string]any{}, "command"},
	} {
		a, err := c.call(t.Context(), test.tool, test.arguments)
		if err != nil || !a.failed || len(a.texts) != 1 || !strings.Contains(a.texts[0], test.says) || strings.Contains(a.texts[0], "\n") {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
	}
	if _, err := c.call(t.Context(), "no_such_tool", nil); err == nil {
		t.Error("a tool that there is not answers")
	}
	if got := c.run("echo on"); got != "on" {
		t.Errorf("the next call: %q", got)
	}
}

func TestCancellationEndsTheWholeTree(t *testing.T) {
	w := newWorld(t, nil)
	c := w.connect()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := c.call(ctx, "terminal", map[string]any{"command": "(sleep 4441 & sleep 4441 & wait) & sleep 4441; wait"})
		done <- err
	}()
	until(t, "all of them run", func() bool { return w.sleepers("4441") == "3" })
	cancel()
	if err := <-done; err == nil {
		t.Error("it was answered")
	}
	until(t, "none of them is left", func() bool { return w.sleepers("4441") == "0" })
	if got := c.run("echo on"); got != "on" {
		t.Errorf("the next call: %q", got)
	}
}

func TestAClientThatVanishesLeavesNoCommand(t *testing.T) {
	w := newWorld(t, nil)
	c := w.connect()
	go c.call(t.Context(), "terminal", map[string]any{"command": "sleep 4442 & sleep 4442; wait"})
	until(t, "they run", func() bool { return w.sleepers("4442") == "2" })
	c.vanish()
	<-c.served
	if got := w.sleepers("4442"); got != "0" {
		t.Errorf("%s are left when it is served no more", got)
	}
	w.door.mu.Lock()
	defer w.door.mu.Unlock()
	if w.door.calls != 0 {
		t.Errorf("%d calls are under way", w.door.calls)
	}
}

func TestProgressIsToldWhileACommandRuns(t *testing.T) {
	w := newWorld(t, nil)
	c := w.connect()
	c.run("echo a line of it; sleep 6")
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.progress) == 0 || c.progress[0] != "a line of it" {
		t.Errorf("told: %q", c.progress)
	}
}

func TestWhatHappensInTheBackgroundReachesTheModel(t *testing.T) {
	w := newWorld(t, nil)
	c := w.connect()
	//lint:ignore SA1019 that clients are told so is what is tested
	if err := c.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: "notice"}); err != nil {
		t.Fatal(err)
	}
	a, err := c.call(t.Context(), "process", map[string]any{"action": "start", "command": "sleep 0.2; echo ready; sleep 4443", "watch_patterns": []string{"rea.y"}})
	if err != nil || a.failed {
		t.Fatal(a, err)
	}
	id := a.out["process"].(map[string]any)["process_id"].(string)
	until(t, "the client is told", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return slices.ContainsFunc(c.logged, func(text string) bool { return strings.Contains(text, id) && strings.Contains(text, "ready") })
	})
	// A tool that has no place for it in its answer.
	a, err = c.call(t.Context(), "list_files", map[string]any{"path": "/"})
	if err != nil || a.failed || len(a.texts) != 2 || !strings.Contains(a.texts[1], id) || !strings.Contains(a.texts[1], "ready") {
		t.Errorf("the next answer: %+v, %v", a, err)
	}
	if a, err = c.call(t.Context(), "list_files", map[string]any{"path": "/"}); err != nil || len(a.texts) != 1 {
		t.Errorf("the one after: %+v, %v", a, err)
	}
}

func TestTooManyCallsAtOnceAreRefused(t *testing.T) {
	w := newWorld(t, nil)
	c := w.connect()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c.run("true")
	for range mostCalls {
		go c.call(ctx, "terminal", map[string]any{"command": "sleep 4445"})
	}
	until(t, "they run", func() bool { return w.sleepers("4445") == fmt.Sprint(mostCalls) })
	a, err := c.call(t.Context(), "terminal", map[string]any{"command": "true"})
	if err != nil || !a.failed || !strings.Contains(a.texts[0], "wait for one") {
		t.Errorf("one more: %+v, %v", a, err)
	}
	cancel()
	until(t, "they end", func() bool { return w.sleepers("4445") == "0" })
}

func TestShutdownLetsCallsFinishAndThenInterrupts(t *testing.T) {
	w := newWorld(t, nil)
	c := w.connect()
	c.run("true")
	short, long := make(chan answer, 1), make(chan answer, 1)
	go func() {
		a, _ := c.call(t.Context(), "terminal", map[string]any{"command": "until [ -e /tmp/go ]; do sleep 0.05; done; echo finished"})
		short <- a
	}()
	go func() {
		a, _ := c.call(t.Context(), "terminal", map[string]any{"command": "touch /tmp/there; sleep 4446"})
		long <- a
	}()
	until(t, "the long one runs", func() bool { return w.sleepers("4446") == "1" })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		w.door.Shutdown(ctx)
		close(ended)
	}()
	until(t, "nothing new is taken", func() bool {
		a, err := c.call(t.Context(), "terminal", map[string]any{"command": "true"})
		return err == nil && a.failed && strings.Contains(a.texts[0], "ending")
	})
	w.sleepers("4446") // the sandbox itself is not ended
	w.sandboxRun("touch /tmp/go")
	if a := <-short; a.out["output"] != "finished\n" {
		t.Errorf("the short one: %+v", a)
	}
	cancel()
	<-ended
	if got := w.sleepers("4446"); got != "0" {
		t.Errorf("%s are left", got)
	}
}

// A pipe of a few requests gets its answers, though it has said its last before the first of them.
func TestTheLastRequestsAreAnswered(t *testing.T) {
	w := newWorld(t, nil)
	var out strings.Builder
	in := io.NopCloser(strings.NewReader(initialize + "\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" + ping + "\n" +
		`{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"terminal","arguments":{"command":"echo $((6*7))"}}}`))
	if err := w.door.ServeLines(t.Context(), in, &out); err != nil {
		t.Error(err)
	}
	if got := out.String(); !strings.Contains(got, `"id":7,"result":{}`) || !strings.Contains(got, "42") || strings.Count(got, "\n") != 3 {
		t.Errorf("the answers are %s", got)
	}
}
