package api

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"hermes.example/hermes/client"
	"hermes.example/hermes/sandbox"
)

// execLimit is how large the request for a command may be, with its input.
const execLimit = 8 << 20

// execEvents are those of a command that is followed.
var execEvents = []Event{
	{client.EventStarted, "the sandbox has the command", client.ExecStarted{}},
	{client.EventOutput, "output; its id is the position after it: the bytes of stdout and of stderr so far, as in 4096-0", client.ExecChunk{}},
	{client.EventGap, "in the place of output that is no longer kept", client.ExecGap{}},
	{client.EventExit, "how the command ended; the last event", sandbox.Result{}},
	{client.EventDraining, "the gateway ends", client.Draining{}},
	{client.EventProblem, "why it cannot be followed any longer; the last event", client.Problem{}},
}

func (a *API) execOperations() []Operation {
	const form = "With Accept: text/event-stream the output comes as it is written, otherwise the answer comes in one piece when the command has ended."
	return []Operation{
		{
			Method: "POST", Path: "/v1/sandboxes/{task}/exec", ID: "exec", Tag: "exec",
			Summary: "Run a command",
			Detail: form + " Whether the command succeeds is no matter of the status: see result. Under an Idempotency-Key it runs once, however often it is asked for, " +
				"and goes on when its caller goes away; without one it ends with its caller.",
			Parameters: []Parameter{{Name: client.IdempotencyKey, In: inHeader, Description: "the id of the command: up to 128 visible ASCII characters; remembered for a day"}},
			Request:    &Body{Type: client.Exec{}, Limit: execLimit},
			Answers: []Answer{
				{Status: 200, Description: "the command has ended, or is followed", Type: client.ExecOutput{}},
				{Status: 200, Events: execEvents},
			},
			Errors: []code{client.CodeKeyReused, client.CodeDrift, client.CodeGone, client.CodeUnprocessable},
			Handle: a.exec,
		},
		{
			Method: "GET", Path: "/v1/sandboxes/{task}/exec/{id}", ID: "followExec", Tag: "exec",
			Summary: "Follow a command by its id, from where the caller is",
			Detail:  form + " The command goes on when who follows goes away.",
			Parameters: []Parameter{
				{Name: "Last-Event-ID", In: inHeader, Description: "the id of the last event that came: the bytes of stdout and of stderr, as in 4096-0"},
				{Name: "wait", In: inQuery, Description: "how many seconds an answer in one piece waits for the end; until the end if it is left out", Type: 0.0},
			},
			Answers: []Answer{
				{Status: 200, Description: "the command has ended, or runs and has no result yet", Type: client.ExecOutput{}},
				{Status: 200, Events: execEvents},
			},
			Errors: []code{client.CodeNotFound, client.CodeGone, client.CodeUnprocessable},
			Handle: a.followExec,
		},
		{
			Method: "DELETE", Path: "/v1/sandboxes/{task}/exec/{id}", ID: "interruptExec", Tag: "exec",
			Summary: "Interrupt a command with its whole tree",
			Answers: []Answer{{Status: 202, Description: "it is being ended", Type: client.Interrupted{}}},
			Errors:  []code{client.CodeNotFound, client.CodeGone},
			Handle:  a.interruptExec,
		},
	}
}

// running is a command that was asked for: what it is, and in which session.
type running struct {
	sandbox.Command
	task, session string
	keyed         bool
	window        int64
}

// defaultWindow is how much of each stream an answer in one piece has, and mostWindow how much it may have.
const (
	defaultWindow = 1 << 20
	mostWindow    = 64 << 20
)

// command makes a command of a request, or says what is wrong with it.
func command(task, key string, e client.Exec) (*running, error) {
	c := &running{task: task, session: e.Session, window: e.Window}
	timeout, ok1 := seconds(e.Timeout)
	grace, ok2 := seconds(e.Grace)
	switch {
	case (e.Line == "") == (len(e.Argv) == 0):
		return nil, bad("cannot run a command: give either a line or a program with arguments (argv)")
	case len(e.Argv) > 0 && e.Argv[0] == "":
		return nil, bad("cannot run a command: the program's name is empty")
	case !ok1 || !ok2:
		return nil, bad("cannot run a command: timeout and grace are numbers of seconds, and not negative")
	case e.Stdin != "" && e.StdinBase64 != nil:
		return nil, bad("cannot run a command: give its input as stdin or as stdin_base64, and not as both")
	case e.Window < 0 || e.Window > mostWindow:
		return nil, bad("cannot run a command: a window has from 1 byte to 64 MiB")
	case e.Window == 0:
		c.window = defaultWindow
	}
	for _, text := range append([]string{e.Line, e.Cwd, e.Session}, e.Argv...) {
		if strings.ContainsRune(text, 0) {
			return nil, bad("cannot run a command: it contains a NUL byte")
		}
	}
	for name, value := range e.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0) {
			return nil, bad("cannot run a command: " + quote(name) + " is not a usable variable")
		}
	}
	c.Command = sandbox.Command{Line: e.Line, Argv: e.Argv, Env: e.Env, Cwd: e.Cwd, Timeout: timeout, Grace: grace}
	switch {
	case e.StdinBase64 != nil:
		c.Stdin = strings.NewReader(string(e.StdinBase64))
	case e.Stdin != "":
		c.Stdin = strings.NewReader(e.Stdin)
	}
	return c, c.name(key, e)
}

// name gives the command its id: the caller's, under which it goes on without that caller, or a new one.
func (c *running) name(key string, asked any) error {
	if key == "" {
		c.ID = rand.Text()
		return nil
	}
	if err := checkID(key); err != nil {
		return err
	}
	text, err := json.Marshal(asked)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	c.ID, c.Asked = key, hex.EncodeToString(sum[:16])
	c.keyed, c.Detached, c.Leave = true, true, true
	return nil
}

// checkID refuses an id that is none.
func checkID(id string) error {
	if len(id) > 128 || strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return bad("the id of a command has up to 128 visible ASCII characters")
	}
	return nil
}

// run runs the command in its task's sandbox.
func (a *API) run(ctx context.Context, c *running) (result sandbox.Result, err error) {
	forwarded, err := a.Sandboxes.Forwarded()
	if err != nil {
		return result, err
	}
	c.Env = forwarded.Under(c.Env)
	a.metrics.running.Inc()
	defer a.metrics.running.Dec()
	err = a.Sandboxes.Use(ctx, c.task, func(box *sandbox.Sandbox) error {
		switch {
		case c.Terminal != nil && c.Line == "" && len(c.Argv) == 0:
			result, err = box.Shell(ctx, c.Command)
		case c.session != "":
			result, err = box.Session(c.session).Exec(ctx, c.Command)
		default:
			result, err = box.Exec(ctx, c.Command)
		}
		return err
	})
	return result, err
}

// idempotencyKey is the caller's name for what it asks for, or "".
func idempotencyKey(r *http.Request) (string, error) {
	keys := r.Header.Values(client.IdempotencyKey)
	if len(keys) > 1 || len(keys) == 1 && keys[0] == "" {
		return "", bad("the header " + client.IdempotencyKey + " is there once, and not empty, or not at all")
	}
	return strings.Join(keys, ""), nil
}

func (a *API) exec(w http.ResponseWriter, r *http.Request) error {
	var e client.Exec
	if err := decode(w, r, &e); err != nil {
		return err
	}
	key, err := idempotencyKey(r)
	if err != nil {
		return err
	}
	c, err := command(r.PathValue("task"), key, e)
	if err != nil {
		return err
	}
	lasts(w)
	if wantsEvents(r) {
		return a.execEvents(w, r, c, e.Merge)
	}
	stdout, stderr := newWindow(c.window), newWindow(c.window)
	c.Stdout, c.Stderr = a.counted(stdout), a.counted(stderr)
	if e.Merge {
		c.Stderr = nil
	}
	c.Gap = gaps(stdout, stderr)
	ctx, stop := a.unlessDraining(r.Context(), c.keyed)
	defer stop()
	result, err := a.run(ctx, c)
	if err != nil {
		return a.orDraining(ctx, r, err)
	}
	return answer(w, http.StatusOK, client.ExecOutput{ID: c.ID, Result: &result, Stdout: stdout.output(), Stderr: stderr.output()})
}

// gaps notes in a window what is missing of its stream.
func gaps(stdout, stderr *window) func(bool, int64) {
	return func(isStderr bool, n int64) {
		if isStderr {
			stderr.gap(n)
		} else {
			stdout.gap(n)
		}
	}
}

// unlessDraining is a context that is also over when the gateway ends: at once for who can come back for the rest, and
// for others when nobody may go on.
func (a *API) unlessDraining(ctx context.Context, comesBack bool) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	unlink := context.AfterFunc(a.life, func() { cancel(errDraining) })
	if !comesBack {
		return ctx, func() { unlink(); cancel(nil) }
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-a.draining:
			cancel(errDraining)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { unlink(); cancel(nil); <-done }
}

// orDraining says that the gateway ends where that is why something failed.
func (a *API) orDraining(ctx context.Context, r *http.Request, err error) error {
	if r.Context().Err() == nil && errors.Is(context.Cause(ctx), errDraining) {
		return errDraining
	}
	return err
}

// counted passes output on, and counts it.
func (a *API) counted(w io.Writer) io.Writer { return counted{w, a.metrics} }

type counted struct {
	io.Writer
	metrics *Metrics
}

func (c counted) Write(p []byte) (int, error) {
	c.metrics.output.Add(float64(len(p)))
	return c.Writer.Write(p)
}

func (a *API) followExec(w http.ResponseWriter, r *http.Request) error {
	q := query{r: r}
	wait := q.Seconds("wait", -1)
	if q.err != nil {
		return q.err
	}
	id := r.PathValue("id")
	if err := checkID(id); err != nil {
		return err
	}
	lasts(w)
	if wantsEvents(r) {
		return a.followEvents(w, r, id)
	}
	ctx, stop := a.unlessDraining(r.Context(), true)
	defer stop()
	if wait >= 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, max(wait, leastWait))
		defer cancel()
	}
	stdout, stderr := newWindow(defaultWindow), newWindow(defaultWindow)
	var result sandbox.Result
	var known bool
	err := a.use(ctx, r.PathValue("task"), alive, func(box *sandbox.Sandbox) (err error) {
		result, err = box.Follow(ctx, id, sandbox.Following{
			Stdout: a.counted(stdout), Stderr: a.counted(stderr), Gap: gaps(stdout, stderr), Started: func(bool) { known = true },
		})
		return err
	})
	out := client.ExecOutput{ID: id, Stdout: stdout.output(), Stderr: stderr.output()}
	switch {
	case err == nil:
		out.Result = &result
	case known && errors.Is(err, context.DeadlineExceeded) && r.Context().Err() == nil: // it runs
	default:
		return a.orDraining(ctx, r, err)
	}
	return answer(w, http.StatusOK, out)
}

// leastWait is what it takes to hear of a command at all.
const leastWait = 100 * time.Millisecond

func (a *API) interruptExec(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	if err := checkID(id); err != nil {
		return err
	}
	err := a.use(r.Context(), r.PathValue("task"), alive, func(box *sandbox.Sandbox) error { return box.Interrupt(r.Context(), id) })
	if err != nil {
		return err
	}
	return answer(w, http.StatusAccepted, client.Interrupted{ID: id})
}
