package store

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"
)

// killed is an operation that is killed over and over, from the same state each time.
type killed struct {
	role string
	args []string
	// phases are all in which it can be hit, in order.
	phases []string
	// before brings about the state that it starts from, and that state's current generation.
	before func(t *testing.T, s *Store) Generation
	// phase says from what was left how far it came.
	phase func(s *Store, before Generation) string
	// old and new are the features of the current generation before and after.
	old, new []string
}

const (
	nothingDone = "nothing done"
	staging     = "staging"
	intended    = "written down" // the generation is in place, or in the history, or wanted
	swapped     = "current"
	done        = "done"
	departed    = "moved away"
)

var killing = map[string]killed{
	"publish": {
		role: "publish", args: []string{"a.one", "b.two"}, old: []string{"a.one"}, new: []string{"a.one", "b.two"},
		phases: []string{nothingDone, staging, intended, swapped, done},
		before: func(t *testing.T, s *Store) Generation {
			g := publish(t, s, "a.one")
			collect(t, s, Collect{})
			return g
		},
		phase: func(s *Store, before Generation) string {
			all, _ := s.all()
			history, _, _ := s.readPast()
			wanted, _ := s.Desired()
			abi, _ := s.ActiveABI()
			switch left, _ := os.ReadDir(s.staging()); {
			case abi == abi311:
				return done
			case !s.isCurrent(before):
				return swapped
			case len(all) > 1 || history[len(history)-1].Digest != before.Digest || slices.Contains(wanted, "b.two"):
				return intended
			case len(left) > 0:
				return staging
			}
			return nothingDone
		},
	},
	"rollback": {
		role: "rollback", old: []string{"a.one"}, new: []string{"a.one", "b.two"},
		phases: []string{nothingDone, intended, swapped, done},
		before: func(t *testing.T, s *Store) Generation {
			publish(t, s, "a.one", "b.two")
			return publish(t, s, "a.one")
		},
		phase: func(s *Store, before Generation) string {
			wanted, _ := s.Desired()
			abi, _ := s.ActiveABI()
			switch {
			case abi == abi311:
				return done
			case !s.isCurrent(before):
				return swapped
			case slices.Contains(wanted, "b.two"):
				return intended
			}
			return nothingDone
		},
	},
	"gc": {
		role: "gc", old: []string{"a.one"}, new: []string{"a.one"},
		phases: []string{nothingDone, departed, done},
		before: func(t *testing.T, s *Store) Generation {
			publish(t, s, many...)
			return publish(t, s, "a.one")
		},
		phase: func(s *Store, _ Generation) string {
			all, _ := s.all()
			left, _ := os.ReadDir(s.staging())
			switch {
			case len(all) > 1:
				return nothingDone
			case len(left) > 0:
				return departed
			}
			return done
		},
	},
}

// many are features enough for the removal of their files to be hit.
var many = func() []string {
	var all []string
	for i := range 4 {
		all = append(all, fmt.Sprintf("c.n%02d", i))
	}
	return all
}()

// TestD35AKilledWriterLeavesTheOldOrTheNew kills a process at any moment of a publication, a rollback and a collection.
func TestD35AKilledWriterLeavesTheOldOrTheNew(t *testing.T) {
	random := seeded(t)
	kills, least := 20, 0
	if os.Getenv("HERMES_SOAK") != "" {
		kills, least = 300, 10
	}
	for _, name := range slices.Sorted(maps.Keys(killing)) {
		t.Run(name, func(t *testing.T) { killing[name].run(t, random, kills, least) })
	}
}

func (k killed) run(t *testing.T, random *rand.Rand, kills, least int) {
	s := open(t, t.TempDir(), abi311, tag311)
	whole := k.measure(t, s)
	hit := make(map[string]int)
	enough := func() bool {
		return !slices.ContainsFunc(k.phases, func(phase string) bool { return hit[phase] < least })
	}
	// A phase that is short takes more kills; uniform they stay.
	for i := 0; i < kills || !enough() && i < 10*kills; i++ {
		before := k.prepare(t, s)
		p := launch(t, k.role, s.target, k.args...)
		p.begin()
		time.Sleep(time.Duration(random.Float64() * 1.1 * float64(whole)))
		p.Process.Kill()
		p.Wait() // it was killed, or is through
		phase := k.phase(s, before)
		hit[phase]++
		if err := k.after(t, s); err != nil {
			t.Fatalf("killed when the last step was %q: %v", phase, err)
		}
	}
	for _, phase := range k.phases {
		t.Logf("%-20s %d", phase, hit[phase])
		if hit[phase] < least {
			t.Errorf("%s was hit %d times only", phase, hit[phase])
		}
	}
}

// seeded is chance that can be had again.
func seeded(t *testing.T) *rand.Rand {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("HERMES_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("HERMES_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// prepare brings about the state before, with the mark of another ABI, so that the last step is to be seen.
func (k killed) prepare(t *testing.T, s *Store) Generation {
	t.Helper()
	g := k.before(t, s)
	if err := os.WriteFile(s.stamp(), []byte(abi312+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return g
}

// measure is how long a process takes for the operation, from its start on, if it is left alone.
func (k killed) measure(t *testing.T, s *Store) time.Duration {
	t.Helper()
	var all []time.Duration
	for range 5 {
		before := k.prepare(t, s)
		began := time.Now()
		p := launch(t, k.role, s.target, k.args...)
		p.begin()
		if err := p.Wait(); err != nil {
			t.Fatalf("%v: %s", err, p.err)
		}
		all = append(all, time.Since(began))
		if phase := k.phase(s, before); phase != done {
			t.Fatalf("left alone, its last step was %q", phase)
		}
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// after is what others see: the old state or the new one, whole; and the next one does it.
func (k killed) after(t *testing.T, s *Store) error {
	abi, err := s.ActiveABI()
	if err != nil {
		return err
	}
	if err := whole(s, k.new...); err != nil {
		if abi == abi311 && k.role != "gc" {
			return fmt.Errorf("it is marked done: %w", err)
		}
		if err := whole(s, k.old...); err != nil {
			return fmt.Errorf("neither the old nor the new: %w", err)
		}
	}
	if err := allWhole(s); err != nil {
		return err
	}
	if k.role == "publish" {
		publish(t, s, k.args...)
		if err := whole(s, k.new...); err != nil {
			return fmt.Errorf("the next one: %w", err)
		}
	}
	collect(t, s, Collect{})
	if all, err := s.all(); err != nil || len(all) != 1 {
		return fmt.Errorf("after a collection there are %d generations: %w", len(all), err)
	}
	if top, err := os.ReadDir(s.target); err != nil || len(top) != 2 {
		return fmt.Errorf("in the target is %v: %w", top, err)
	}
	return nothingLeft(s)
}
