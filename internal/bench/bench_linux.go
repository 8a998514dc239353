package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/engine/native"
)

// runner holds what the measurements share.
type runner struct {
	Options
	ctx     context.Context
	engine  sandbox.Engine
	manager *sandbox.Manager
	home    string
	report  Report

	mu    sync.Mutex
	steps map[string][]float64
	order []string
}

// Run measures everything and returns the report.
func Run(ctx context.Context, o Options) (Report, error) {
	home, err := os.MkdirTemp("", "hermes-bench-")
	if err != nil {
		return Report{}, err
	}
	defer os.RemoveAll(home)
	r := &runner{Options: o, ctx: ctx, home: home, report: newReport(), steps: make(map[string][]float64)}
	if r.engine, err = native.New(native.Options{Trace: r.trace}); err != nil {
		return Report{}, err
	}
	r.manager = sandbox.NewManager(r.engine, sandbox.Options{NoSweep: true})
	defer r.manager.Close()
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer cancel()
		r.manager.Prune(ctx, home, true)
		native.RemoveImages(ctx, home)
	}()
	settled := r.beginMemory()
	for _, part := range []struct {
		name string
		do   func() error
	}{
		{"a command in a running sandbox", r.commands},
		{"a command from a new process", r.attach},
		{"a command of an MCP client", r.models},
		{"cold starts", r.cold},
		{"images and forks", r.images},
		{"throughput", r.throughput},
		{"copies of files", r.files},
		{"many at once", r.many},
		{"sandboxes of Docker", r.docker},
		{"services", r.services},
		{"the entrypoint of the image", r.boot},
		{"add-ons", r.addons},
		{"backends of add-ons", r.backends},
		{"doors", r.doors},
		{"the dashboard", r.dashboard},
		{"memory", settled},
	} {
		if !strings.Contains(part.name, r.Only) {
			continue
		}
		r.progress(part.name)
		if err := part.do(); err != nil {
			return r.report, fmt.Errorf("cannot measure %s: %w", part.name, err)
		}
	}
	return r.report, nil
}

func (r *runner) progress(what string) {
	if r.Progress != nil {
		r.Progress(what)
	}
}

func (r *runner) trace(step string, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.steps[step]; !known {
		r.order = append(r.order, step)
	}
	r.steps[step] = append(r.steps[step], float64(took.Nanoseconds())/1e3)
}

func (r *runner) box(task string) (*sandbox.Sandbox, error) {
	return r.manager.Ensure(r.ctx, sandbox.Identity{Home: r.home, Task: task}, sandbox.Spec{})
}

// timed runs f and returns its milliseconds.
func timed(f func() error) (float64, error) {
	began := time.Now()
	err := f()
	return float64(time.Since(began).Nanoseconds()) / 1e6, err
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// interleave measures several things in turn, so that whatever else the machine
// does meets all of them alike, and returns their medians.
func (r *runner) interleave(rounds int, things ...func() error) ([]float64, error) {
	samples := make([][]float64, len(things))
	for round := range rounds + 2 {
		for i, thing := range things {
			if err := r.ctx.Err(); err != nil {
				return nil, err
			}
			took, err := timed(thing)
			if err != nil {
				return nil, err
			}
			if round >= 2 { // the first ones warm up
				samples[i] = append(samples[i], took)
			}
		}
	}
	medians := make([]float64, len(things))
	for i := range samples {
		medians[i] = median(samples[i])
	}
	return medians, nil
}

var bashTrue = []string{"bash", "-c", "true"}

const hostFork = "host fork+exec"

func hostBash() error { return exec.Command(bashTrue[0], bashTrue[1:]...).Run() }

func succeeded(res sandbox.Result, err error) error {
	if err == nil && res.Code != 0 {
		err = fmt.Errorf("exit %d: %s", res.Code, res.Message)
	}
	return err
}

func (r *runner) commands() error {
	box, err := r.box("commands")
	if err != nil {
		return err
	}
	session := box.Session("bench")
	m, err := r.interleave(r.Rounds, hostBash,
		func() error { return succeeded(box.Exec(r.ctx, sandbox.Command{Argv: bashTrue})) },
		func() error { return succeeded(session.Exec(r.ctx, sandbox.Command{Line: "true"})) })
	if err != nil {
		return err
	}
	r.report.compare("command in a running sandbox, `bash -c true`", hostFork, m[1], m[0], 1.3, "")
	r.report.compare("the same as a line of a session", hostFork, m[2], m[0], 0, "")
	return nil
}

func (r *runner) attach() error {
	if r.Hermes == "" {
		return nil
	}
	box, err := r.box("attach")
	if err != nil {
		return err
	}
	env := append(os.Environ(), "HERMES_HOME="+r.home)
	hermes := func(args ...string) func() error {
		return func() error {
			cmd := exec.CommandContext(r.ctx, r.Hermes, args...)
			cmd.Env = env
			return cmd.Run()
		}
	}
	m, err := r.interleave(max(r.Rounds/3, 5), hostBash, hermes("version"),
		hermes("sandbox", "exec", "--task", box.Identity().Task, "--", bashTrue[0], bashTrue[1], bashTrue[2]))
	if err != nil {
		return err
	}
	r.report.compare("start of `hermes` (`hermes version`)", hostFork, m[1], m[0], 0, "")
	r.report.compare("attach from a new process + one command, without the start of `hermes`", hostFork, m[2]-m[1], m[0], 3, "")
	return nil
}

// many runs 200 commands in one sandbox, and 100 sandboxes, at once.
func (r *runner) many() error {
	box, err := r.box("many")
	if err != nil {
		return err
	}
	failed, took := together(200, func(int) error { return succeeded(box.Exec(r.ctx, sandbox.Command{Argv: bashTrue})) })
	r.report.figure("errors among 200 commands at once in one sandbox", "", float64(failed), 0, false, fmt.Sprintf("%.0f ms in all", took))
	r.report.Rows[len(r.report.Rows)-1].Met = failed == 0
	id := func(i int) sandbox.Identity { return sandbox.Identity{Home: r.home, Task: "many" + strconv.Itoa(i)} }
	failed, took = together(100, func(i int) error {
		box, err := r.manager.Ensure(r.ctx, id(i), sandbox.Spec{})
		if err != nil {
			return err
		}
		return succeeded(box.Exec(r.ctx, sandbox.Command{Argv: bashTrue}))
	})
	r.report.figure("errors among 100 sandboxes made at once, each with a command", "", float64(failed), 0, false, fmt.Sprintf("%.0f ms in all", took))
	r.report.Rows[len(r.report.Rows)-1].Met = failed == 0
	for i := range 100 {
		if err := r.manager.Remove(r.ctx, id(i), true); err != nil {
			return err
		}
	}
	return nil
}

// together runs f n times at once and counts failures.
func together(n int, f func(i int) error) (failed int, took float64) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	took, _ = timed(func() error {
		for i := range n {
			wg.Add(1)
			go func() {
				defer wg.Done()
				if f(i) != nil {
					mu.Lock()
					failed++
					mu.Unlock()
				}
			}()
		}
		wg.Wait()
		return nil
	})
	return failed, took
}

func user() string {
	var uts unix.Utsname
	release := ""
	if unix.Uname(&uts) == nil {
		release = "Linux " + unix.ByteSliceToString(uts.Release[:])
	}
	if os.Geteuid() == 0 {
		return release + ", as root"
	}
	return release + ", as an ordinary user"
}
