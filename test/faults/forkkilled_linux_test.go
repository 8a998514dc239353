package faults

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hermes.example/hermes/internal/image/hostimage"
	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/engine/native"
)

// The phases of a caller that forks, in their order.
const (
	forkBefore   = 'b'
	forkEnded    = 'e' // the original's guest is ended
	forkFreezing = 'f'
	forkStarting = 's' // the original and the fork are started with the sessions
	forkDone     = 'q'
)

var forkPhases = []struct {
	mark byte
	name string
	must bool // kills before and after the fork show nothing of it
}{
	{forkBefore, "before", false}, {forkEnded, "ended", true}, {forkFreezing, "freezing", true}, {forkStarting, "starting again", true}, {forkDone, "done", false},
}

// forkingEngine tells how far a fork has come.
type forkingEngine struct {
	*native.Engine
	progress io.Writer
}

func (e *forkingEngine) Remove(ctx context.Context, id sandbox.Identity, files bool) error {
	e.progress.Write([]byte{forkEnded})
	return e.Engine.Remove(ctx, id, files)
}

func (e *forkingEngine) Fork(ctx context.Context, id sandbox.Identity, copies []sandbox.Identity) error {
	e.progress.Write([]byte{forkFreezing})
	return e.Engine.Fork(ctx, id, copies)
}

func (e *forkingEngine) Create(ctx context.Context, id sandbox.Identity, spec sandbox.Spec) (sandbox.Info, error) {
	e.progress.Write([]byte{forkStarting})
	return e.Engine.Create(ctx, id, spec)
}

// forkerRole is a caller that forks a sandbox.
func forkerRole() error {
	progress := os.NewFile(3, "progress")
	engine, err := native.New(native.Options{})
	if err != nil {
		return err
	}
	m := sandbox.NewManager(&forkingEngine{engine.(*native.Engine), progress}, sandbox.Options{NoSweep: true})
	id := func(task string) sandbox.Identity { return sandbox.Identity{Home: setting("home"), Task: task} }
	if _, err := m.Fork(context.Background(), id(setting("task")), []sandbox.Identity{id(setting("fork"))}); err != nil {
		return err
	}
	progress.Write([]byte{forkDone})
	return m.Close()
}

// forking is a sandbox that is forked by callers that are killed.
type forking struct {
	*arena
	spec sandbox.Spec
}

const (
	forkFiles   = "cat /r ~/h /workspace/w"
	forkSeen    = "r\nh\nw"
	forkSession = `cd /usr; export A=a; f() { echo f; }`
	forkState   = `echo "$PWD ${A-} $(type -t f)"`
	forkWhole   = "/usr a function"
	forkAnew    = "/"
)

// begin makes an original with files and a session.
func (f *forking) begin() {
	f.Helper()
	box := f.ensure("p", f.spec)
	defer box.Close()
	f.must(box, "echo r >/r; echo h >~/h; echo w >/workspace/w")
	f.inSession(box, forkSession)
}

func (f *forking) inSession(box *sandbox.Sandbox, line string) string {
	f.Helper()
	var out strings.Builder
	ctx, cancel := context.WithTimeout(f.Context(), bound)
	defer cancel()
	if res, err := box.Session("s").Exec(ctx, sandbox.Command{Line: line, Stdout: &out}); err != nil || res.Code != 0 {
		f.Errorf("%q: %+v %v", line, res, err)
	}
	return strings.TrimSpace(out.String())
}

// check looks at a sandbox after a kill: all files are there, and the session is as
// it was or begins anew.
func (f *forking) check(task string) {
	f.Helper()
	box := f.ensure(task, f.spec)
	defer box.Close()
	if got := f.must(box, forkFiles); got != forkSeen {
		f.Errorf("%s has the files %q", task, got)
	}
	if got := f.inSession(box, forkState); got != forkWhole && got != forkAnew {
		f.Errorf("%s has half a session: %q", task, got)
	}
	f.inSession(box, forkSession)
}

// run forks once, killed after d if that is not over then, and returns how far it came.
func (f *forking) run(fork string, d time.Duration) byte {
	f.Helper()
	began := time.Now()
	p := startRole(f, "forker", map[string]string{"home": f.home, "task": "p", "fork": fork})
	select {
	case <-time.After(time.Until(began.Add(d))):
		p.kill()
	case <-p.waited:
		if !p.ProcessState.Success() {
			f.Errorf("the fork fails without being killed: %v", p.ProcessState)
		}
	}
	said, _ := io.ReadAll(p.progress)
	if len(said) == 0 {
		return forkBefore
	}
	return said[len(said)-1]
}

// fullForks is how many kills a run of full size has.
const fullForks = 50

func TestForkingCallerKilledAtAnyTime(t *testing.T) {
	everyone(t, func(t *testing.T) {
		r := random(t)
		programs, err := hostimage.FromHost("bash", "cat")
		if err != nil {
			t.Fatal(err)
		}
		image, err := hostimage.Write(filepath.Join(scratch(t), "image"), hostimage.Config{}, programs, hostimage.Base())
		if err != nil {
			t.Fatal(err)
		}
		f := &forking{newArena(t), sandbox.Spec{Image: image, Cwd: "/"}}
		// Layers have owners that only the engine may remove.
		t.Cleanup(func() {
			if err := native.RemoveImages(context.Background(), f.home); err != nil {
				t.Error(err)
			}
		})
		f.begin()
		var took time.Duration
		hit := make(map[byte]int)
		kills := size(t, "HERMES_KILLS", fullForks, 10*fullForks)
		seldom := func() (names []string) {
			for _, p := range forkPhases {
				if p.must && hit[p.mark] < enoughHits {
					names = append(names, p.name)
				}
			}
			return names
		}
		for i := 0; i < kills || kills >= fullForks && i < 5*kills && len(seldom()) > 0; i++ {
			if i%20 == 0 { // the machine has other work, too
				began := time.Now()
				f.run(fmt.Sprintf("measured-%d", i), bound)
				took = time.Since(began)
				f.discard(fmt.Sprintf("measured-%d", i))
			}
			fork := fmt.Sprintf("fork-%d", i)
			phase := f.run(fork, time.Duration(r.Int64N(int64(took))))
			hit[phase]++
			f.check("p")
			kept, err := f.manager.Keeps(t.Context(), f.id(fork))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.manager.Original(t.Context(), f.id(fork)); kept && err == nil {
				f.check(fork)
			}
			f.discard(fork)
			if t.Failed() {
				t.Fatalf("kill %d, in phase %c", i, phase)
			}
		}
		for _, p := range forkPhases {
			t.Logf("  %-16s %3d %s", p.name, hit[p.mark], strings.Repeat("#", hit[p.mark]))
		}
		if names := seldom(); kills >= fullForks && len(names) > 0 {
			t.Errorf("hit fewer than %d times: %q", enoughHits, names)
		}
	})
}

func (f *forking) discard(task string) {
	f.Helper()
	if err := f.manager.Remove(f.Context(), f.id(task), true); err != nil {
		f.Error(err)
	}
}
