package backend

import (
	"cmp"
	"slices"
	"time"
)

// Phase is where in its life a process is.
type Phase string

// The phases.
const (
	Starting Phase = "starting"
	Ready    Phase = "ready"
	Draining Phase = "draining" // it takes no more calls, and ends with those that it has
	Waiting  Phase = "waiting"  // it failed, and is not started again yet
)

// State is what there is to say about a backend.
type State struct {
	Feature    string    `json:"feature"`
	Generation string    `json:"generation,omitempty"`
	Phase      Phase     `json:"phase"`
	Calls      int       `json:"calls"`          // under way
	Since      time.Time `json:"since,omitzero"` // it was started
	Reason     string    `json:"reason,omitempty"`
	Until      time.Time `json:"until,omitzero"` // it is started again
}

// Status tells of all processes, and of those that would be if they had not failed, by feature.
func (p *Pool) Status() []State {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []State
	for s := range p.running {
		state := State{Feature: s.key.feature, Generation: s.key.generation, Phase: Draining, Calls: s.calls, Since: s.began}
		if !s.retired {
			state.Phase = s.phase()
		}
		all = append(all, state)
	}
	for k, f := range p.failures {
		if f.until.After(p.o.Now()) {
			all = append(all, State{Feature: k.feature, Generation: k.generation, Phase: Waiting, Reason: f.reason, Until: f.until})
		}
	}
	slices.SortFunc(all, func(a, b State) int { return cmp.Or(cmp.Compare(a.Feature, b.Feature), a.Since.Compare(b.Since)) })
	return all
}

func (s *slot) phase() Phase {
	select {
	case <-s.ready:
		return Ready
	default:
		return Starting
	}
}
