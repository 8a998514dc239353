package faults

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hermes.example/hermes/sandbox"
)

var phaseNames = map[byte]string{
	phaseBefore: "before the lock", phaseCreating: "creating", phaseHanded: "handed over", phaseRunning: "executing", phaseClosing: "closing",
}

var phaseOrder = []byte{phaseBefore, phaseCreating, phaseHanded, phaseRunning, phaseClosing}

// killing is what a caller does over and over while it is killed.
type killing struct {
	*arena
	log    string // where each command writes its id, once
	kills  int
	others []int // guests of identities that are not opened again
}

// ours returns the guests of the identity that is opened again and again.
func (k *killing) ours() []int {
	return slices.DeleteFunc(k.guests(), func(pid int) bool { return slices.Contains(k.others, pid) })
}

func (k *killing) settings(task, id string, ephemeral bool) map[string]string {
	s := map[string]string{"home": k.home, "task": task, "id": id, "remove": "1",
		"mount": k.log, "target": "/log", "writable": "1",
		// Long enough to be hit as often as the shortest of the other phases.
		"line": "echo " + id + " >> /log/ran; echo started; sleep 0.012"}
	if ephemeral {
		s["ephemeral"] = "1"
	}
	return s
}

func (k *killing) spec(ephemeral bool) sandbox.Spec {
	return sandbox.Spec{Ephemeral: ephemeral, Mounts: []sandbox.Mount{{Source: k.log, Target: "/log"}}}
}

// measure returns how long the whole operation takes now.
func (k *killing) measure(run int) time.Duration {
	k.Helper()
	var all []time.Duration
	for i := range 5 {
		began := time.Now()
		p := startRole(k, "caller", k.settings("measured", fmt.Sprintf("measured-%d-%d", run, i), i%2 == 1))
		<-p.waited
		if !p.ProcessState.Success() {
			k.Fatalf("the caller fails without being killed: %v", p.ProcessState)
		}
		all = append(all, time.Since(began))
	}
	k.id("measured")
	slices.Sort(all)
	return all[len(all)/2]
}

// once starts a caller, kills it after d, and returns the phase it was in.
func (k *killing) once(settings map[string]string, d time.Duration) byte {
	k.Helper()
	began := time.Now()
	p := startRole(k, "caller", settings)
	time.Sleep(time.Until(began.Add(d)))
	p.kill()
	said, _ := io.ReadAll(p.progress)
	if len(said) == 0 {
		return phaseBefore
	}
	return said[len(said)-1]
}

// after is what any other caller sees: the sandbox works, and there is one.
func (k *killing) after(task string, ephemeral bool) error {
	ctx, cancel := context.WithTimeout(k.Context(), bound)
	defer cancel()
	m := sandbox.NewManager(k.engine, sandbox.Options{NoSweep: true})
	defer m.Close()
	box, err := m.Ensure(ctx, k.id(task), k.spec(ephemeral))
	if err != nil {
		return err
	}
	if res, err := box.Exec(ctx, sandbox.Command{Line: "exit 3"}); err != nil || res.Code != 3 {
		return fmt.Errorf("%+v %v", res, err)
	}
	if !eventually(func() bool { return len(k.ours()) == 1 }) {
		return fmt.Errorf("not one sandbox: %v", k.ours())
	}
	if st, err := box.Status(ctx); err != nil || st.Commands > 0 && !eventually(func() bool {
		st, err := box.Status(ctx)
		return err == nil && st.Commands == 0
	}) {
		return fmt.Errorf("the killed caller's command goes on: %+v %v", st, err)
	}
	return m.Remove(ctx, k.id(task), false)
}

// ran returns how often each command was run.
func (k *killing) ran() map[string]int {
	text, _ := os.ReadFile(filepath.Join(k.log, "ran"))
	count := make(map[string]int)
	for _, id := range strings.Fields(string(text)) {
		count[id]++
	}
	return count
}

// In a run of full size every phase has to be hit so often; short ones take more
// kills for that.
const (
	fullSize   = 200
	enoughHits = 10
)

// lacking names the phases that were hit too seldom.
func lacking(hit map[byte]int) []string {
	var names []string
	for _, phase := range phaseOrder {
		if hit[phase] < enoughHits {
			names = append(names, phaseNames[phase])
		}
	}
	return names
}

func TestCallerKilledAtAnyTime(t *testing.T) {
	eachAlone(t, func(t *testing.T) {
		r := random(t)
		k := &killing{arena: newArena(t), log: filepath.Join(scratch(t), "log"), kills: size(t, "HERMES_KILLS", fullSize, 5*fullSize)}
		if err := os.Mkdir(k.log, 0o777); err != nil {
			t.Fatal(err)
		}
		os.Chmod(k.log, 0o777)
		var took time.Duration
		hit := make(map[byte]int)
		done := 0
		for i := 0; i < k.kills || k.kills >= fullSize && i < 5*k.kills && len(lacking(hit)) > 0; i++ {
			done++
			if i%20 == 0 { // the machine has other work, too
				took = k.measure(i)
			}
			ephemeral := i%2 == 1
			task := "killed"
			if i%4 == 3 {
				task = fmt.Sprintf("killed-%d", i) // never opened again: what is left must be swept
			}
			k.id(task)
			at := time.Duration(r.Int64N(int64(took)))
			phase := k.once(k.settings(task, fmt.Sprintf("id-%d", i), ephemeral), at)
			hit[phase]++
			if task != "killed" {
				k.others = k.guests()
				continue
			}
			if err := k.after(task, ephemeral); err != nil {
				t.Errorf("kill %d, %s after %s (ephemeral: %v): %v", i, phaseNames[phase], at, ephemeral, err)
			}
		}
		for id, n := range k.ran() {
			if n > 1 {
				t.Errorf("the command %s ran %d times", id, n)
			}
		}
		t.Logf("%d kills over %s:", done, took)
		for _, phase := range phaseOrder {
			t.Logf("  %-16s %3d %s", phaseNames[phase], hit[phase], strings.Repeat("#", hit[phase]))
		}
		if missing := lacking(hit); k.kills >= fullSize && len(missing) > 0 {
			t.Errorf("hit fewer than %d times: %q", enoughHits, missing)
		}
	})
}
