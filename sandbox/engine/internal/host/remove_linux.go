package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"hermes.example/hermes/internal/cgroup"
	"hermes.example/hermes/internal/wire"
	"hermes.example/hermes/sandbox"
)

// Remove ends the sandbox and clears what belonged to its run.
func (c *Core) Remove(ctx context.Context, id sandbox.Identity, files bool) error {
	id = id.Normal()
	st, err := c.load(id)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		if !files {
			return err
		}
		// A state that cannot be read goes with everything else.
		st = nil
		if err := c.body.EndUnknown(ctx, id); err != nil {
			return err
		}
	}
	if st != nil {
		if err := c.end(ctx, st); err != nil {
			return err
		}
	}
	if err := c.clear(ctx, id); err != nil {
		return err
	}
	dir := c.files.Of(id)
	if files {
		return c.body.RemoveFiles(ctx, id, st, dir)
	}
	return c.forgetRun(ctx, id, st)
}

// end ends the guest of a state, if it lives.
func (c *Core) end(ctx context.Context, st *State) error {
	guest, err := st.open()
	if err != nil || guest == nil {
		return err
	}
	defer guest.Close()
	return c.body.End(ctx, guest)
}

// forgetRun removes what only a run needed. Of an ephemeral sandbox nothing is
// left then, unless a persistent one of the same name kept files before it.
func (c *Core) forgetRun(ctx context.Context, id sandbox.Identity, st *State) error {
	dir := c.files.Of(id)
	if err := os.Remove(filepath.Join(dir, stateName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if st == nil || !st.Spec.Ephemeral {
		return nil
	}
	for _, kept := range KeptDirs {
		if exists(filepath.Join(dir, kept)) {
			return nil
		}
	}
	return c.body.RemoveFiles(ctx, id, st, dir)
}

// clear removes what a run leaves: processes, cgroups, socket, run directory. Its
// guest is dead, or was never handed over and dies with its creator.
func (c *Core) clear(ctx context.Context, id sandbox.Identity) error {
	group, err := cgroup.Open(c.RunName(id))
	if err == nil {
		if err := errors.Join(group.Kill(), group.Remove()); err != nil {
			return err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := c.body.ClearUp(ctx, id); err != nil {
		return err
	}
	return os.RemoveAll(c.RunDir(id))
}

// AskToEnd ends a guest of which nothing is known but its socket, by asking it.
func (c *Core) AskToEnd(ctx context.Context, id sandbox.Identity) error {
	ctx, cancel := context.WithTimeout(ctx, endBound)
	defer cancel()
	conn, err := c.Connect(ctx, id)
	if errors.Is(err, sandbox.ErrGone) {
		return nil
	}
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	mux, _, err := wire.Dial(conn, wire.Hello{Major: wire.Major, Minor: wire.Minor, Observer: true})
	if err != nil {
		return fmt.Errorf("cannot end it: %w", err)
	}
	defer mux.Close()
	if stream, err := mux.OpenStream(); err == nil {
		wire.NewWriter(stream).WriteMessage(wire.TypeRetire, wire.Retire{Now: true}) // it may be gone before this returns
	}
	select {
	case <-mux.CloseChan():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("it did not end: %w", ctx.Err())
	}
}

// endBound is how long a guest may take to end when it is asked to.
const endBound = 10 * time.Second

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
