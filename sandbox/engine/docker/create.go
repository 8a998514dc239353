package docker

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/image"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"hermes.example/hermes/sandbox"
)

// startBound is how long making and starting a container may take, the image being
// there; discardBound how long taking it back may.
const (
	startBound   = 120 * time.Second
	discardBound = 10 * time.Second
)

// making is a sandbox in the making.
type making struct {
	engine *Engine
	id     sandbox.Identity
	spec   sandbox.Spec
	image  image.InspectResponse
	can    abilities // of the daemon
	ticket string    // marks the container as made by us and nobody else

	// Where the two of us meet, and where it keeps its files: directories of ours, or,
	// if the daemon is far from them, volumes, and no door.
	door string
	own  []mount.Mount
	far  bool
	anew bool // it keeps nothing from before in volumes
	// foreign are those of own that we may not give to the sandbox's user.
	foreign []mount.Mount
}

// Create makes the sandbox of an identity that has none.
func (e *Engine) Create(ctx context.Context, id sandbox.Identity, spec sandbox.Spec) (sandbox.Info, error) {
	m := &making{engine: e, id: id.Normal(), spec: spec.Normal(), ticket: rand.Text()}
	err := m.make(ctx)
	if errors.Is(err, sandbox.ErrExists) {
		return sandbox.Info{}, err
	}
	if err != nil {
		return sandbox.Info{}, fmt.Errorf("cannot start sandbox %q: %w", m.id.Task, err)
	}
	return e.Find(ctx, m.id)
}

func (m *making) make(ctx context.Context) (err error) {
	var asking sync.WaitGroup // daemons run programs to answer that
	asked := ctx
	asking.Go(func() { m.can = m.engine.abilities(asked) })
	defer asking.Wait()
	if m.image, err = m.engine.getImage(ctx, m.spec.Image); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(m.engine.options.StartBound, startBound))
	defer cancel()
	if err := m.engine.putGuest(ctx, m.image.ID); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			m.undo(ctx, errors.Is(err, sandbox.ErrExists))
		}
	}()
	asking.Wait()
	if err := m.engine.ownRunDir(m.id); err != nil {
		return err
	}
	container, err := m.createNear(ctx)
	if errors.Is(err, errUnseen) {
		container, err = m.createFar(ctx)
	}
	if err != nil {
		return err
	}
	err = m.finish(ctx, container)
	if err == nil {
		err = m.begin(ctx, container)
	}
	if err != nil {
		m.engine.discard(ctx, container)
		return err
	}
	return nil
}

// finish does to a container what it needs before it is started for the first time. To do
// it twice does no harm.
func (m *making) finish(ctx context.Context, container string) error {
	// Now that it holds the volume nobody can take that away any more; before, somebody
	// may have.
	if err := m.engine.putGuest(ctx, m.image.ID); err != nil {
		return err
	}
	return m.nameUser(ctx, container)
}

// create makes the container, and none of it stays if that fails.
func (m *making) create(ctx context.Context) (string, error) {
	asked, err := m.describe()
	if err != nil {
		return "", err
	}
	made, err := m.engine.api.ContainerCreate(ctx, asked)
	switch {
	case isTaken(err) && m.engine.isLeaving(ctx, m.id):
		return m.create(ctx)
	case isTaken(err):
		return "", sandbox.ErrExists
	case m.isUnseen(err):
		return "", errUnseen
	case m.refusesDisk(asked, err):
		m.discardHalfMade(ctx)
		return m.create(ctx)
	case err != nil:
		m.discardHalfMade(ctx)
		return "", explain(err)
	}
	for _, warning := range made.Warnings {
		m.engine.log.Warn("the daemon warns", "task", m.id.Task, "warning", warning)
	}
	return made.ID, nil
}

// discardHalfMade removes what the daemon made before it failed, if it did, or before we
// gave up waiting.
func (m *making) discardHalfMade(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), discardBound)
	defer cancel()
	found, err := m.engine.api.ContainerInspect(ctx, containerName(m.id), client.ContainerInspectOptions{})
	if err == nil && found.Container.Config.Labels[labelTicket] == m.ticket {
		m.engine.discard(ctx, found.Container.ID)
	}
}

// begin starts a container that is there, and waits until its guest answers.
func (m *making) begin(ctx context.Context, container string) error {
	e, id, dir := m.engine, m.id, m.engine.dir(m.id)
	if m.spec.Ephemeral {
		dir = e.runDir(id)
	}
	// Before the guest runs, so that none does whose key nobody knows.
	l, err := e.prepareLink(id, dir, m.door)
	if err != nil {
		return err
	}
	if _, err := e.api.ContainerStart(ctx, container, client.ContainerStartOptions{}); err != nil {
		return e.whyNotStarted(ctx, container, err)
	}
	found, err := e.api.ContainerInspect(ctx, container, client.ContainerInspectOptions{})
	if err != nil {
		return explain(err)
	}
	e.remember(id, found.Container)
	return e.meet(ctx, id, found.Container, dir, l)
}

// whyEnded is what the guest said before it ended.
func (e *Engine) whyEnded(ctx context.Context, c container.InspectResponse) error {
	said := ""
	if logs, err := e.api.ContainerLogs(ctx, c.ID, client.ContainerLogsOptions{ShowStdout: true, ShowStderr: true, Tail: "5"}); err == nil {
		var text strings.Builder
		stdcopy.StdCopy(&text, &text, io.LimitReader(logs, 4<<10))
		logs.Close()
		said = strings.TrimSpace(text.String())
	}
	if said == "" {
		said = c.State.Error
	}
	return fmt.Errorf("its guest ended at once with status %d: %s", c.State.ExitCode, said)
}

// Start brings a sandbox back that was stopped or paused.
func (e *Engine) Start(ctx context.Context, id sandbox.Identity, spec sandbox.Spec) (sandbox.Info, error) {
	id, spec = id.Normal(), spec.Normal()
	found, err := e.inspect(ctx, id)
	if err != nil {
		return sandbox.Info{}, err
	}
	labels := found.Config.Labels
	switch {
	case found.State.Paused:
		_, err = e.api.ContainerUnpause(ctx, found.ID, client.ContainerUnpauseOptions{})
	case labels[labelHash] != spec.Hash() || labels[labelBuild] != e.build || found.State.Dead:
		// Nothing of it runs, so nobody is disturbed by another one.
		if err := e.Remove(ctx, id, false); err != nil {
			return sandbox.Info{}, err
		}
		return e.Create(ctx, id, spec)
	default:
		m := &making{engine: e, id: id, spec: spec, image: image.InspectResponse{ID: found.Image}, door: doorOf(found)}
		if m.door != "" {
			err = errors.Join(e.ownRunDir(id), m.makeDirs()) // what is in memory has gone with the machine's last boot
		}
		if err == nil && found.State.Status == container.StateCreated {
			err = m.finish(ctx, found.ID) // its maker may have died before it had
		}
		if err == nil {
			err = m.begin(ctx, found.ID)
		}
	}
	if err != nil {
		return sandbox.Info{}, fmt.Errorf("cannot start sandbox %q again: %w", id.Task, err)
	}
	return e.Find(ctx, id)
}

// discard removes a container that nobody has used, for as long as that may take even
// if its maker gave up.
func (e *Engine) discard(ctx context.Context, container string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), discardBound)
	defer cancel()
	if _, err := e.api.ContainerRemove(ctx, container, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true}); err != nil && !isNotFound(err) {
		e.log.Warn("cannot remove a container that was given up", "container", container, "error", err)
	}
}
