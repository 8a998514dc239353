package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"hermes.example/hermes/internal/atomicfile"
	"hermes.example/hermes/internal/rundir"
	"hermes.example/hermes/sandbox"
)

const lockSuffix = ".lock"

// Sweep removes the traces of sandboxes whose creator died before it could hand
// them over, and of ephemeral ones that a dead process had. Only those of the
// given home are looked at.
func (c *Core) Sweep(ctx context.Context, home string) (int, error) {
	entries, err := c.running()
	if err != nil {
		return 0, err
	}
	removed := 0
	for _, entry := range entries {
		if key, ok := strings.CutSuffix(entry.Name(), lockSuffix); ok && !exists(filepath.Join(c.run, key)) {
			removeLock(ctx, filepath.Join(c.run, entry.Name()))
			continue
		}
		if !c.mayBeLeft(entry, home) {
			continue
		}
		done, err := c.sweepOne(ctx, entry.Name())
		if err != nil {
			return removed, err
		}
		if done {
			removed++
		}
	}
	forgotten, err := c.sweepForgotten(ctx, home)
	return removed + forgotten, err
}

// sweepForgotten removes what ephemeral sandboxes left whose run directory went
// with a restart of the machine.
func (c *Core) sweepForgotten(ctx context.Context, home string) (removed int, err error) {
	infos, err := c.List(ctx, home)
	if err != nil {
		return 0, err
	}
	for _, info := range infos {
		name := c.RunName(info.Identity)
		if info.State != sandbox.Stopped || !info.Spec.Ephemeral || exists(filepath.Join(c.run, name)) {
			continue
		}
		done, err := c.alone(ctx, name, func() (bool, error) { return c.sweepDead(ctx, info.Identity) })
		if err != nil {
			return removed, err
		}
		if done {
			removed++
		}
	}
	return removed, nil
}

// running lists the run directory, which goes with its last sandbox.
func (c *Core) running() ([]fs.DirEntry, error) {
	entries, err := os.ReadDir(c.run)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return entries, err
}

// mayBeLeft says whether an entry of the run directory is a sandbox of the home,
// or one that never got so far as to say whose it is.
func (c *Core) mayBeLeft(entry fs.DirEntry, home string) bool {
	if _, ours := c.keyOf(entry.Name()); !ours {
		return false
	}
	id, err := c.ownerOf(entry.Name())
	return err == nil && id.Home == home || entry.IsDir() && errors.Is(err, fs.ErrNotExist)
}

func (c *Core) sweepOne(ctx context.Context, name string) (bool, error) {
	return c.alone(ctx, name, func() (bool, error) {
		id, err := c.ownerOf(name)
		if errors.Is(err, fs.ErrNotExist) {
			// Its creator died before it had written down whose it is, and so before
			// it had made anything else.
			return true, os.RemoveAll(filepath.Join(c.run, name))
		}
		if err != nil {
			return false, nil
		}
		return c.sweepDead(ctx, id)
	})
}

// alone does something to a sandbox with its lock, unless somebody is at it.
func (c *Core) alone(ctx context.Context, name string, do func() (bool, error)) (bool, error) {
	waiting, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	lock, err := rundir.Acquire(waiting, c.lockOf(name))
	if err != nil {
		return false, nil
	}
	defer lock.Release(true)
	return do()
}

func (c *Core) sweepDead(ctx context.Context, id sandbox.Identity) (bool, error) {
	st, dead := c.dead(id)
	if !dead {
		return false, nil
	}
	if err := c.clear(ctx, id); err != nil {
		return false, err
	}
	if st != nil && st.Spec.Ephemeral {
		return true, c.forgetRun(ctx, id, st)
	}
	return true, nil
}

// lockOf is the lock of the sandbox whose run directory has that name. An
// identity's sandboxes in several engines share it.
func (c *Core) lockOf(name string) string {
	key, _ := c.keyOf(name)
	return filepath.Join(c.run, key+lockSuffix)
}

// dead says whether a run of the sandbox is over for certain, with its state if it
// has one. The caller knows that nobody is making it.
func (c *Core) dead(id sandbox.Identity) (*State, bool) {
	st, err := c.load(id)
	if err == nil {
		return st, !st.alive()
	}
	// With a state that cannot be read there may be a guest; that is for its
	// owner to decide.
	return nil, errors.Is(err, fs.ErrNotExist)
}

// keyOf is the identity's key in the name of a run directory of this engine.
func (c *Core) keyOf(name string) (key string, ours bool) {
	key, ours = strings.CutSuffix(name, c.mark)
	const digits = "0123456789abcdef"
	return key, ours && len(key) == 12 && strings.Trim(key, digits) == ""
}

// ownerOf says whose the run directory of that name is.
func (c *Core) ownerOf(name string) (sandbox.Identity, error) {
	var id sandbox.Identity
	data, err := atomicfile.Read(filepath.Join(c.run, name, ownerName))
	if err == nil {
		err = json.Unmarshal(data, &id)
	}
	if err == nil && c.RunName(id) != name {
		err = fmt.Errorf("the run directory %s is not what it says", name)
	}
	return id, err
}

// removeLock removes a lock's file, unless somebody holds it.
func removeLock(ctx context.Context, path string) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	if lock, err := rundir.Acquire(ctx, path); err == nil {
		lock.Release(true)
	}
}

// Leftovers counts what Sweep would remove of a home, and removes nothing. It also
// works where there is no run directory yet.
func Leftovers(f Files, mark, home string) (int, error) {
	run, err := rundir.Look()
	if err != nil {
		return 0, err
	}
	entries, err := os.ReadDir(run)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("cannot look for leftovers: %w", err)
	}
	c := &Core{files: f, mark: mark, run: run}
	home = sandbox.Identity{Home: home}.Normal().Home
	n := 0
	for _, entry := range entries {
		if !entry.IsDir() || !c.mayBeLeft(entry, home) {
			continue
		}
		if atWork, _ := held(c.lockOf(entry.Name())); atWork {
			continue
		}
		id, err := c.ownerOf(entry.Name())
		if err != nil {
			n++
		} else if _, dead := c.dead(id); dead {
			n++
		}
	}
	return n, nil
}
