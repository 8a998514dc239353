package docker

import (
	"context"
	"encoding/json"
	"net"
	"path/filepath"
	"sync"

	"github.com/moby/moby/api/types/container"

	"hermes.example/hermes/internal/atomicfile"
	"hermes.example/hermes/sandbox"
)

// sighting is a guest that was reached by its socket, and which process it is. As long as
// that process lives the sandbox can be found and reached without a question to the daemon.
type sighting struct {
	// Host is the address of the daemon whose container it is.
	Host string       `json:"host"`
	Door string       `json:"door"`
	Info sandbox.Info `json:"info"`
	// Boot, PID and Started name one process for ever on one machine.
	Boot    string `json:"boot"`
	PID     int    `json:"pid"`
	Started uint64 `json:"started"`
	// Freezer is a file that says whether somebody has paused the container.
	Freezer string `json:"freezer"`
}

// sightingName is a file in the directory of a sandbox's run. It is not synchronised to
// disk: what it says is about a process that no crash of the machine survives.
const sightingName = "guest.json"

// met is a running guest as the daemon describes it. It is written down once it was
// reached.
type met struct {
	pid  int
	info sandbox.Info
	note sync.Once
}

// remember keeps what the daemon said of a container's guest: by its process id it is
// known at the other end of its socket.
func (e *Engine) remember(id sandbox.Identity, c container.InspectResponse) {
	if c.State == nil || !c.State.Running {
		e.guests.Delete(id)
		return
	}
	info, err := e.info(c.Config.Labels, c.State.Status, c.Created, "")
	if err != nil {
		e.guests.Delete(id)
		return
	}
	if known, ok := e.guests.Load(id); ok && known.(*met).pid == c.State.Pid && known.(*met).info.Created.Equal(info.Created) {
		return
	}
	e.guests.Store(id, &met{pid: c.State.Pid, info: info})
}

// dialGuest dials a guest that the daemon described, and writes down that it could be
// reached. Who ends with its callers is found by nobody else.
func (e *Engine) dialGuest(ctx context.Context, id sandbox.Identity, door string, guest *met) (net.Conn, error) {
	conn, err := dialSocket(ctx, door, guest.pid)
	if err != nil {
		return nil, err
	}
	guest.note.Do(func() {
		if e.options.Host == "" || guest.info.Spec.Ephemeral || guest.info.State != sandbox.Running {
			return
		}
		if err := e.writeSighting(id, door, guest); err != nil {
			e.log.Debug("the next caller asks the daemon", "task", id.Task, "because", err)
		}
	})
	return conn, nil
}

func (e *Engine) writeSighting(id sandbox.Identity, door string, guest *met) error {
	s := sighting{Host: e.options.Host, Door: door, Info: guest.info, PID: guest.pid}
	if err := s.describe(); err != nil {
		return err
	}
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return atomicfile.Replace(filepath.Join(e.runDir(id), sightingName), data, 0o600)
}
