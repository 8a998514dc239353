package image

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

const (
	// bound is longer than anything here takes on a busy machine; what takes longer hangs.
	bound = 90 * time.Second
	// look is how often a state that is waited for is looked at.
	look = 50 * time.Millisecond
	// label marks what these tests make, and begins its name.
	label = "hermes-image-test"
)

// engine is a container engine and an image in it, as people use them: by the command line.
type engine struct {
	t       testing.TB
	command []string // docker, or podman with what it takes here
	image   string
	options []string // for every container
}

// dockerd is the Docker Engine with the image. Its test runs beside others.
func dockerd(t *testing.T) *engine {
	t.Helper()
	need(t)
	t.Parallel()
	e := &engine{t: t, command: []string{"docker"}, image: image}
	sweep.Do(func() { sweepDead(e) })
	return e
}

// with is the same engine with another image.
func (e *engine) with(image string) *engine { return &engine{e.t, e.command, image, e.options} }

// ended is what somebody sees of a command that came to its end.
type ended struct {
	stdout, stderr string
	code           int
}

func (r ended) String() string {
	return fmt.Sprintf("status %d\nstdout: %s\nstderr: %s", r.code, r.stdout, tail(r.stderr))
}

// tail leaves the boot's log out, unless something of it went wrong.
func tail(stderr string) string {
	var kept []string
	for line := range strings.Lines(stderr) {
		if !strings.Contains(line, "level=INFO msg=boot") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

// call runs the engine's command line.
func (e *engine) call(args ...string) ended {
	e.t.Helper()
	return e.pass("", args...)
}

// pass is call with a text as standard input.
func (e *engine) pass(stdin string, args ...string) ended {
	e.t.Helper()
	var stdout, stderr strings.Builder
	words := slices.Concat(e.command, args)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	if err := cmd.Start(); err != nil {
		e.t.Fatal(err)
	}
	hangs := time.AfterFunc(bound, func() { _ = cmd.Process.Kill() })
	err := cmd.Wait()
	if failed := (*exec.ExitError)(nil); err != nil && !errors.As(err, &failed) || !hangs.Stop() {
		e.t.Fatalf("%s: %v, or it took longer than %v\n%s%s", strings.Join(args, " "), err, bound, stdout.String(), stderr.String())
	}
	return ended{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// must is a call that has to succeed; it returns what it wrote, without the last newline.
func (e *engine) must(args ...string) string {
	e.t.Helper()
	r := e.call(args...)
	if r.code != 0 {
		e.t.Fatalf("%s: %s", strings.Join(args, " "), r)
	}
	return strings.TrimSuffix(r.stdout, "\n")
}

// opts are options of "docker run": words of a text, and such as have spaces.
func opts(text string, more ...string) []string { return append(strings.Fields(text), more...) }

// run runs a container to its end.
func (e *engine) run(options []string, words ...string) ended {
	e.t.Helper()
	c := e.create(options, words...)
	r := e.call("start", "--attach", c.name)
	e.remove(c.name)
	return r
}

// start starts a container that goes on.
func (e *engine) start(options []string, words ...string) *container {
	e.t.Helper()
	c := e.create(options, words...)
	e.must("start", c.name)
	return c
}

// idle starts a container whose main program only waits, and waits until it is ready.
func (e *engine) idle(options ...string) *container {
	e.t.Helper()
	c := e.start(options, "sleep", "infinity")
	c.ready()
	return c
}

// create makes a container, which goes with its test.
func (e *engine) create(options []string, words ...string) *container {
	e.t.Helper()
	name := unique()
	args := slices.Concat([]string{"create", "--name", name, "--label", label}, e.options, options, []string{e.image}, words)
	e.t.Cleanup(func() { e.remove(name) })
	e.must(args...)
	return &container{e, name}
}

func (e *engine) remove(name string) {
	if r := e.call("rm", "--force", "--volumes", name); r.code != 0 && !strings.Contains(strings.ToLower(r.stderr), "no such container") {
		e.t.Errorf("cannot remove %s: %s", name, r)
	}
}

// volume makes a volume, which goes with its test; a script as root puts files into it, where it is /opt/data.
func (e *engine) volume(script string) string {
	e.t.Helper()
	name := unique()
	e.must("volume", "create", "--label", label, name)
	e.t.Cleanup(func() { e.must("volume", "rm", name) })
	if script != "" {
		e.sh(name, script)
	}
	return name
}

// sh runs a script as root on a volume, with the image's tools but without its boot.
func (e *engine) sh(volume, script string) string {
	e.t.Helper()
	r := e.run(opts("--entrypoint sh -w / -v "+volume+":/opt/data"), "-euc", script)
	if r.code != 0 {
		e.t.Fatalf("%s: %s", script, r)
	}
	return strings.TrimSuffix(r.stdout, "\n")
}

var names atomic.Int64

// unique is a name that nothing else has.
func unique() string { return fmt.Sprintf("%s-%d-%d", label, os.Getpid(), names.Add(1)) }

var sweep sync.Once

// sweepDead removes what tests left behind that were killed. Every name has the process in it that made it.
func sweepDead(e *engine) {
	for kind, list := range map[string][]string{
		"container": opts("ps --all --format {{.Names}} --filter label=" + label),
		"volume":    opts("volume ls --format {{.Name}} --filter label=" + label),
		"image":     opts("images --format {{.Repository}}:{{.Tag}} --filter reference=" + label + ":*"),
	} {
		for line := range strings.Lines(e.must(list...)) {
			name := strings.TrimSpace(line)
			pid, _, _ := strings.Cut(name[len(label)+1:], "-")
			if maker, err := strconv.Atoi(pid); err == nil && errors.Is(syscall.Kill(maker, 0), syscall.ESRCH) {
				e.call(kind, "rm", "--force", name)
			}
		}
	}
}
