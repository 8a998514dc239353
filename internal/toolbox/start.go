package toolbox

import (
	"context"
	"errors"
	"time"

	"hermes.example/hermes/internal/toolbox/capture"
	"hermes.example/hermes/internal/toolbox/guard"
	"hermes.example/hermes/sandbox"
)

// mostRunning is how many background processes of a sandbox may run at a time.
const mostRunning = 64

// startRequest is a background process that is wanted.
type startRequest struct {
	command, workdir, name string
	timeout                time.Duration
	input, notify          bool
	watch                  []string
}

// started is one that runs.
type started struct {
	state     ProcessState
	notes     []string
	recreated bool
}

// start starts a background process with the session's environment, and has somebody look after what it is to tell.
func (t *Toolbox) start(ctx context.Context, r startRequest) (started, error) {
	if why := guard.Background(r.command); why != "" {
		return started{}, refuse("cannot start the process: %s", why)
	}
	env, secrets, err := t.environment()
	if err != nil {
		return started{}, err
	}
	t.starting.Lock()
	defer t.starting.Unlock()
	var s started
	s.recreated, err = t.use(ctx, func(box *sandbox.Sandbox) error {
		if err := hasRoom(ctx, box); err != nil {
			return err
		}
		p, err := box.Session(t.session).Start(ctx, sandbox.Background{Name: r.name, Input: r.input, Watch: r.watch, Notify: r.notify,
			Command: sandbox.Command{Line: r.command, Env: env, Cwd: r.workdir, Timeout: r.timeout}})
		if err != nil {
			return err
		}
		s.state = publicState(p.Started, secrets)
		if p.Started.Remark != "" {
			s.notes = append(s.notes, p.Started.Remark)
		}
		return nil
	})
	var not *sandbox.NotStartedError
	if errors.As(err, &not) {
		return started{}, refuse("cannot start the process: %s", not.Result.Message)
	}
	if err != nil {
		return started{}, refusal(err)
	}
	if s.recreated {
		s.notes = append(s.notes, recreatedNote)
	}
	if r.notify || len(r.watch) > 0 {
		t.lookAfter(s.state.ID, r.notify)
	}
	return s, nil
}

// hasRoom refuses one process too many.
func hasRoom(ctx context.Context, box *sandbox.Sandbox) error {
	all, err := box.Processes(ctx)
	if err != nil {
		return err
	}
	running := 0
	for _, p := range all {
		if p.State == sandbox.ProcessRunning {
			running++
		}
	}
	if running >= mostRunning {
		return refuse("cannot start the process: %d run already, which is the limit; end some with the action kill, the action list has them", running)
	}
	return nil
}

// publicState is what a model is told of a process.
func publicState(p sandbox.ProcessInfo, secrets []string) ProcessState {
	s := ProcessState{ID: p.ID, Name: p.Name, Command: shown(p.Line, secrets), Cwd: p.Cwd, State: string(p.State),
		Started: p.Started, Ended: p.Ended, Output: p.LogEnd}
	if r := p.Result; r != nil {
		s.ExitCode = &r.Code
		if r.Reason != sandbox.Exited {
			s.Reason = string(r.Reason)
		}
	}
	return s
}

// shown is a short text as it may be shown.
func shown(text string, secrets []string) string {
	c := capture.New(capture.Options{Limit: len(text) + 1, Secrets: secrets})
	c.Write([]byte(text))
	return c.Finish("").Text
}
