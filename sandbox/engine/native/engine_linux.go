package native

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/rmtree"
	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/engine/internal/host"
)

// Engine makes native sandboxes.
type Engine struct {
	*host.Core
	options Options
}

// New returns the engine, or says why this machine cannot have one.
func New(o Options) (sandbox.Engine, error) {
	e := &Engine{options: o}
	core, err := host.New(o.files(), runMark, body{e})
	if err != nil {
		return nil, err
	}
	e.Core = core
	return e, nil
}

// runMark is empty: what bears no mark in the run directory is this engine's.
const runMark = ""

// Capabilities tells what native sandboxes can have.
func (e *Engine) Capabilities() sandbox.Capabilities {
	return sandbox.Capabilities{Direct: true, Isolated: true, Mounts: true, GuestBuild: e.Build(), Images: true, Networks: []sandbox.Network{sandbox.NetworkNone, sandbox.NetworkHost}}
}

// body is what the core asks of this engine.
type body struct{ engine *Engine }

func (b body) Make(ctx context.Context, id sandbox.Identity, spec sandbox.Spec) (*host.State, error) {
	return b.engine.create(ctx, id, spec)
}

// End ends the guest, and with it all processes of its pid namespace.
func (b body) End(ctx context.Context, g *host.Guest) error { return g.End(ctx, unix.SIGKILL) }

// EndUnknown asks whoever listens: no command can.
func (b body) EndUnknown(ctx context.Context, id sandbox.Identity) error {
	return b.engine.AskToEnd(ctx, id)
}

// ClearUp has nothing to do: no process outlives PID 1 of its namespace.
func (b body) ClearUp(context.Context, sandbox.Identity) error { return nil }

// RemoveFiles removes a sandbox's files, and lets go of its image.
func (b body) RemoveFiles(ctx context.Context, id sandbox.Identity, st *host.State, dir string) error {
	ids, err := b.engine.idsOf(id, st)
	if err != nil {
		return err
	}
	if err := removeAs(ctx, ids, dir); err != nil {
		return err
	}
	return errors.Join(unpin(ctx, id.Home, dir), b.engine.collectFrozen(ctx, id.Home, ids))
}

// removeAs removes a tree. Files of other ids of a sandbox belong to subordinate ids
// of the caller, which only a process that has them may touch.
func removeAs(ctx context.Context, ids idMap, dir string) error {
	err := rmtree.Remove(dir)
	if !errors.Is(err, fs.ErrPermission) || ids.Mode == idsRange {
		return err
	}
	if err := removeInNamespace(ctx, ids, dir); err != nil {
		return err
	}
	return rmtree.Remove(dir)
}

// idsOf are the ids of a sandbox's files. Of one that was removed earlier nothing
// says them any more; they are those that it would have now.
func (e *Engine) idsOf(id sandbox.Identity, st *host.State) (idMap, error) {
	if st == nil || st.Own == nil {
		return e.planIDs(id)
	}
	var ids idMap
	err := json.Unmarshal(st.Own, &ids)
	return ids, err
}

// Leftovers counts what Sweep would remove of a home, and removes nothing.
func Leftovers(o Options, home string) (int, error) {
	return host.Leftovers(o.files(), runMark, home)
}
