package survey

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"hermes.example/hermes/client"
	"hermes.example/hermes/sandbox"
)

// Box is one sandbox of the home.
type Box struct {
	Profile string        `json:"profile"`
	Task    string        `json:"task"`
	State   sandbox.State `json:"state"`
	Engine  string        `json:"engine"`
	Created time.Time     `json:"created,omitzero"`
	// Connections are those who hold it, Running the commands that they run, and Processes all that lives inside.
	Connections int `json:"connections"`
	Running     int `json:"running"`
	Processes   int `json:"processes"`
	// Idle is how long nobody has used it; absent while somebody does, or where it cannot be asked.
	Idle *int64 `json:"idle_seconds,omitempty"`
	// Problem is why it cannot be asked.
	Problem string `json:"problem,omitempty"`
	// Usage is what runs inside has used, of guests that tell.
	Usage *sandbox.Usage `json:"-"`
}

// Boxes asks all sandboxes that were found how they are, and returns them by profile and task.
func Boxes(ctx context.Context, all []Listed) []Box {
	type key struct {
		engine string
		id     sandbox.Identity
	}
	boxes, seen := []Box{}, map[key]bool{}
	for _, l := range all {
		for _, one := range Ask(ctx, l.manager, l.Infos) {
			k := key{one.Engine, one.Identity.Normal()}
			if !seen[k] { // two configurations may lead to the same daemon
				seen[k] = true
				boxes = append(boxes, boxOf(one))
			}
		}
	}
	slices.SortFunc(boxes, func(x, y Box) int {
		return cmp.Or(cmp.Compare(x.Profile, y.Profile), cmp.Compare(x.Task, y.Task), cmp.Compare(x.Engine, y.Engine))
	})
	return boxes
}

func boxOf(s client.Sandbox) Box {
	box := Box{Profile: s.Identity.Normal().Profile, Task: s.Identity.Task, State: s.State, Engine: s.Engine, Created: s.Created, Problem: s.Problem}
	if s.Foreign {
		box.Problem = "the Hermes agent made it, and has no guest of ours in it that could be asked"
	}
	if st := s.Status; st != nil {
		box.Connections, box.Running, box.Processes, box.Usage = st.Connections, st.Commands, st.Processes, st.Usage
		if st.Connections == 0 && st.Commands == 0 {
			seconds := int64(st.Idle / time.Second)
			box.Idle = &seconds
		}
	}
	return box
}

const (
	// askBound is how long a guest may take to answer, askWidth how many are asked at a time.
	askBound = 3 * time.Second
	askWidth = 16
)

// Ask asks the guests of running sandboxes for their status, without holding one.
func Ask(ctx context.Context, m *sandbox.Manager, infos []sandbox.Info) []client.Sandbox {
	rows := make([]client.Sandbox, len(infos))
	places := make(chan struct{}, askWidth)
	var asking sync.WaitGroup
	for i, info := range infos {
		asking.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			rows[i] = AskOne(ctx, m, info)
		})
	}
	asking.Wait()
	return rows
}

// AskOne asks the guest of a sandbox that runs.
func AskOne(ctx context.Context, m *sandbox.Manager, info sandbox.Info) client.Sandbox {
	row := client.Sandbox{Info: info}
	if info.State != sandbox.Running || info.Foreign {
		return row
	}
	ctx, cancel := context.WithTimeout(ctx, askBound)
	defer cancel()
	status, err := m.StatusOf(ctx, info.Identity)
	if err != nil {
		row.Problem = err.Error()
		return row
	}
	row.Status = &status
	return row
}
