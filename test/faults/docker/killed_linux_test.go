package docker

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"

	"hermes.example/hermes/sandbox"
)

// phases are what a kill can hit, as the caller's last word and the daemon tell.
var phases = []string{"before the lock", "before the start", "before the use", "executing", "closing"}

// phase says what was hit by the kill of a caller.
func (a *arena) phase(c *caller, task string) string {
	a.Helper()
	switch c.reached() {
	case phaseBefore:
		return phases[0]
	case phaseHanded, phaseRunning: // a moment apart
		return phases[3]
	case phaseClosing:
		return phases[4]
	}
	if all := a.listed(task); len(all) == 0 || all[0].State == container.StateCreated {
		return phases[1]
	}
	return phases[2]
}

// In a run of full size every phase has to be hit so often; short ones take more kills
// for that.
const (
	fullSize   = 200
	enoughHits = 10
)

// lacking says whether a phase was hit too seldom.
func lacking(hit map[string]int) bool {
	return slices.ContainsFunc(phases, func(phase string) bool { return hit[phase] < enoughHits })
}

// takes is how long the whole errand takes now.
func (a *arena) takes() time.Duration {
	a.Helper()
	var all []time.Duration
	for range 3 {
		e := a.errand("measured", "echo started; sleep 0.2")
		e.Remove = true
		began := time.Now()
		if err := send(a, e, nil).Wait(); err != nil {
			a.Fatalf("the caller fails without being killed: %v", err)
		}
		all = append(all, time.Since(began))
	}
	slices.Sort(all)
	return all[1]
}

// A caller that is killed at any time leaves a sandbox that works, or one that the next
// sweep removes; no command runs twice, and nothing is left.
func TestD06CallerKilledAtAnyTime(t *testing.T) {
	t.Parallel()
	a := newArena(t)
	r := random(t)
	kills := size(30, fullSize)
	var took time.Duration
	hit := make(map[string]int)
	done := 0
	for i := 0; i < kills || kills >= fullSize && i < 5*kills && lacking(hit); i++ {
		done++
		if i%20 == 0 { // the machine has other work, too
			took = a.takes()
		}
		ephemeral := i%3 == 2
		task := "killed"
		if i%5 == 4 {
			task = fmt.Sprintf("left-%d", i) // never opened again
		}
		e := a.errand(task, fmt.Sprintf("echo id-%d >> ran; echo started; sleep 0.2", i))
		e.ID, e.Remove, e.Spec.Ephemeral = fmt.Sprintf("id-%d", i), true, ephemeral
		c := send(t, e, nil)
		at := time.Duration(r.Int64N(int64(took)))
		time.Sleep(at)
		c.kill()
		phase := a.phase(c, task)
		hit[phase]++
		if task != "killed" {
			continue
		}
		if err := a.afterKill(task, ephemeral); err != nil {
			t.Errorf("kill %d, %s after %s (ephemeral: %v): %v", i, phase, at, ephemeral, err)
		}
	}
	ran := strings.Fields(a.kept("killed", "ran"))
	if unique := slices.Compact(slices.Sorted(slices.Values(ran))); len(unique) != len(ran) {
		t.Errorf("something ran twice: %q", ran)
	}
	t.Logf("%d kills over %s:", done, took)
	for _, phase := range phases {
		t.Logf("  %-20s %3d %s", phase, hit[phase], strings.Repeat("#", hit[phase]))
		if kills >= fullSize && hit[phase] < enoughHits {
			t.Errorf("%s was hit %d times", phase, hit[phase])
		}
	}
	a.sweptClean()
}

// afterKill is what any other caller sees: the sandbox works, and there is one.
func (a *arena) afterKill(task string, ephemeral bool) error {
	m := sandbox.NewManager(a.engine, sandbox.Options{NoSweep: true})
	defer m.Close()
	spec := a.spec()
	spec.Ephemeral = ephemeral
	box, err := m.Ensure(a.context(), a.id(task), spec)
	if err != nil {
		return err
	}
	if res, err := box.Exec(a.context(), sandbox.Command{Line: "exit 3"}); err != nil || res.Code != 3 {
		return fmt.Errorf("%+v %v", res, err)
	}
	if n := len(a.containers(task)); n != 1 {
		return fmt.Errorf("%d containers", n)
	}
	return m.Remove(a.context(), a.id(task), false)
}

// sweptClean sweeps, and looks for containers that were never started. Those that run are
// of callers who had got so far, and end by themselves or are reaped like any other.
func (a *arena) sweptClean() {
	a.Helper()
	if _, err := a.engine.Sweep(context.Background(), a.home); err != nil {
		a.Error(err)
	}
	infos, err := a.engine.List(a.context(), a.home)
	if err != nil {
		a.Error(err)
	}
	for _, info := range infos {
		if got := a.inspect(a.one(info.Identity.Task)).State.Status; got == "created" || got == "dead" {
			a.Errorf("%s is still %s", info.Identity.Task, got)
		}
	}
}
