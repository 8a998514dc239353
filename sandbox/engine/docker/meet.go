package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"hermes.example/hermes/internal/atomicfile"
	"hermes.example/hermes/internal/contained"
	"hermes.example/hermes/internal/wire"
	"hermes.example/hermes/sandbox"
)

// A caller reaches the guest in one of two ways. Where the daemon is on this machine
// and shares its files, the guest's socket is in a directory of ours, and each end sees
// who the other is: the guest that its caller is no process of the container, the caller
// that the guest is its PID 1. Elsewhere a process that the daemon starts in the
// container carries the stream, and both ends prove that they have the sandbox's key.

// link is how a sandbox's guest is reached.
type link struct {
	Key []byte `json:"key"`
	// Door is the directory of the guest's socket, if the daemon sees our files.
	Door string `json:"door,omitempty"`
	// Bridge says why connections pass through the container; empty means that they
	// need not.
	Bridge string `json:"bridge,omitempty"`
}

// linkName is a file that only the sandbox's owner can read: in its directory, or, if it
// ends with its callers, in that of its run.
const linkName = "link.json"

// meetBound is how long a guest may take until its socket can be reached. One that
// cannot by then is behind a border: ids that are mapped, labels of SELinux, a virtual
// machine.
const meetBound = time.Second

// meet waits for the guest of a container that was just started, finds out how it can
// be reached, and gives it its key.
func (e *Engine) meet(ctx context.Context, id sandbox.Identity, c container.InspectResponse, dir string, l link) error {
	switch {
	case e.options.Bridge:
		l.Bridge = "asked for"
	case l.Door == "":
		l.Bridge = errUnseen.Error()
	default:
		if err := e.meetDirectly(ctx, c, l); err != nil {
			if e.hasEnded(ctx, c.ID) {
				return e.endedAtOnce(ctx, c.ID)
			}
			l.Bridge = err.Error()
		}
	}
	if l.Bridge == "" {
		return nil
	}
	if err := e.writeLink(id, dir, l); err != nil {
		return err
	}
	return e.claim(ctx, id, c, l)
}

// prepareLink sees to it that a sandbox has a key, and that it is written down. How its
// guest is reached turns out when it runs.
func (e *Engine) prepareLink(id sandbox.Identity, dir, door string) (link, error) {
	l, err := e.readLink(id)
	if err != nil {
		key := contained.NewKey()
		l = link{Key: key[:]}
	}
	l.Door, l.Bridge = door, ""
	return l, e.writeLink(id, dir, l)
}

// meetDirectly waits until the socket can be reached, and hands the key over by it.
func (e *Engine) meetDirectly(ctx context.Context, c container.InspectResponse, l link) error {
	ctx, cancel := context.WithTimeout(ctx, meetBound)
	defer cancel()
	for pause := time.Millisecond; ; pause = min(pause*2, 20*time.Millisecond) {
		conn, err := dialSocket(ctx, l.Door, c.State.Pid)
		if err == nil {
			return handOver(conn, l.Key)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("its socket cannot be reached: %w", err)
		case <-time.After(pause):
		}
	}
}

func handOver(conn net.Conn, key []byte) error {
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(meetBound))
	r, _, err := wire.Request(conn, wire.Hello{Major: wire.Major, Minor: wire.Minor, Observer: true}, wire.TypeKey, wire.Key{Key: key})
	if err != nil {
		return err
	}
	for {
		frame, err := r.Next()
		if err != nil {
			return fmt.Errorf("its guest does not answer: %w", err)
		}
		switch frame.Type {
		case wire.TypeHello:
		case wire.TypeOK:
			return nil
		default:
			return errors.New("its guest does not take its key")
		}
	}
}

func (e *Engine) hasEnded(ctx context.Context, id string) bool {
	found, err := e.api.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
	return isNotFound(err) || err == nil && !found.Container.State.Running
}

func (e *Engine) endedAtOnce(ctx context.Context, id string) error {
	found, err := e.api.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
	if err != nil {
		return errors.New("its guest ended at once")
	}
	return e.whyEnded(ctx, found.Container)
}

// readLink reads how a sandbox's guest is reached.
func (e *Engine) readLink(id sandbox.Identity) (l link, err error) {
	data, err := atomicfile.Read(filepath.Join(e.runDir(id), linkName))
	if errors.Is(err, os.ErrNotExist) {
		data, err = atomicfile.Read(filepath.Join(e.dir(id), linkName))
	}
	if err == nil {
		err = json.Unmarshal(data, &l)
	}
	if err == nil && len(l.Key) != len(contained.Key{}) {
		err = errors.New("it has no key")
	}
	return l, err
}

func (e *Engine) writeLink(id sandbox.Identity, dir string, l link) error {
	data, err := json.Marshal(l)
	if err == nil {
		err = atomicfile.Write(filepath.Join(dir, linkName), data, 0o600)
	}
	if err == nil {
		e.links.Store(id, l)
	}
	return err
}

// Connect opens a stream to the guest.
func (e *Engine) Connect(ctx context.Context, id sandbox.Identity) (io.ReadWriteCloser, error) {
	id = e.normal(id)
	if known, ok := e.links.Load(id); ok {
		if conn, ok := e.connectDirectly(ctx, id, known.(link)); ok {
			return conn, nil
		}
	}
	// Another process may have made the sandbox anew meanwhile.
	l, err := e.readLink(id)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("cannot reach the sandbox %q: %w", id.Task, err)
	}
	if err == nil {
		e.links.Store(id, l)
		if conn, ok := e.connectDirectly(ctx, id, l); ok {
			return conn, nil
		}
	}
	c, err := e.inspect(ctx, id)
	if errors.Is(err, sandbox.ErrNotFound) || err == nil && !c.State.Running {
		return nil, fmt.Errorf("the sandbox %q is not running: %w", id.Task, sandbox.ErrGone)
	}
	if err != nil {
		return nil, err
	}
	if l.Key == nil {
		return nil, fmt.Errorf("cannot reach the sandbox %q: it was made from another machine, or its directory %s is gone; remove it", id.Task, e.dir(id))
	}
	return e.bridge(ctx, id, c, l)
}

// connectDirectly dials the guest's socket, if it can be reached. Its owner must be the
// container's PID 1.
func (e *Engine) connectDirectly(ctx context.Context, id sandbox.Identity, l link) (net.Conn, bool) {
	if l.Bridge != "" {
		return nil, false
	}
	if known, ok := e.guests.Load(id); ok {
		if conn, err := e.dialGuest(ctx, id, l.Door, known.(*met)); !errors.Is(err, errNotGuest) {
			return conn, err == nil
		}
	}
	// It may have been started again meanwhile.
	if _, err := e.inspect(ctx, id); err != nil {
		return nil, false
	}
	known, ok := e.guests.Load(id)
	if !ok {
		return nil, false
	}
	conn, err := e.dialGuest(ctx, id, l.Door, known.(*met))
	return conn, err == nil
}

// errNotGuest means that another process than the guest has the socket.
var errNotGuest = errors.New("another process than its guest answers")

func dialSocket(ctx context.Context, door string, pid int) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(door, contained.Socket))
	if err != nil {
		return nil, err
	}
	if !listensAt(conn, pid) {
		conn.Close()
		return nil, errNotGuest
	}
	return conn, nil
}

// normal is id.Normal, remembered: resolving a home's links costs more than connecting.
func (e *Engine) normal(id sandbox.Identity) sandbox.Identity {
	if known, ok := e.normals.Load(id); ok {
		return known.(sandbox.Identity)
	}
	known := id.Normal()
	if known == id {
		e.normals.Store(id, known)
	}
	return known
}
