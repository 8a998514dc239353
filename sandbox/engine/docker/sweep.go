package docker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"hermes.example/hermes/internal/atomicfile"
	"hermes.example/hermes/internal/rundir"
	"hermes.example/hermes/sandbox"
)

// Sweep removes what is left of sandboxes of a home whose maker died before it could
// hand them over: containers that were never started, and run directories that have no
// container. What cannot be removed does not keep the rest.
func (e *Engine) Sweep(ctx context.Context, home string) (int, error) {
	all, err := e.list(ctx, homeLabels(home))
	if err != nil {
		return 0, err
	}
	removed := 0
	var failures []error
	count := func(done bool, err error) {
		if done {
			removed++
		}
		failures = append(failures, err)
	}
	for _, c := range all {
		if id, ok := identityOf(c.Labels); ok && id.Home == home && isHalfMade(c.State) && e.seesMaker(c) {
			count(e.sweepContainer(ctx, lockName(id.Key()), c.ID))
		}
	}
	chores, err := e.list(ctx, map[string]string{labelChore: "", labelRun: e.runLabel()})
	failures = append(failures, err)
	for _, c := range chores {
		count(e.sweepChore(ctx, c))
	}
	entries, err := os.ReadDir(e.run)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		failures = append(failures, err)
	}
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), lockSuffix) {
			count(e.unattended(ctx, entry.Name(), func() (bool, error) { return false, nil })) // the lock itself goes
			continue
		}
		if key, ours := e.keyOf(entry.Name()); ours && e.mayBeLeft(entry.Name(), home) {
			count(e.sweepRunDir(ctx, key, entry.Name()))
		}
	}
	return removed, errors.Join(failures...)
}

// isHalfMade says whether a container has never run and will not by itself. The daemon
// calls dead what it could not remove.
func isHalfMade(s container.ContainerState) bool {
	return s == container.StateCreated || s == container.StateDead
}

// seesMaker says whether a container's maker would be seen by its lock. One on another
// machine has at least given up after its time.
func (e *Engine) seesMaker(c container.Summary) bool {
	return c.Labels[labelRun] == e.runLabel() || time.Since(time.Unix(c.Created, 0)) > 2*startBound
}

// runLabel stands for all processes that see the same locks.
func (e *Engine) runLabel() string {
	host, _ := os.Hostname()
	sum := sha256.Sum256([]byte(host + "\x00" + e.run))
	return hex.EncodeToString(sum[:6])
}

// sweepContainer removes a container that its maker left, if it is still what it was.
func (e *Engine) sweepContainer(ctx context.Context, lock, id string) (bool, error) {
	return e.unattended(ctx, lock, func() (bool, error) {
		found, err := e.api.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
		if isNotFound(err) || err == nil && !isHalfMade(found.Container.State.Status) {
			return false, nil
		}
		if err != nil {
			return false, explain(err)
		}
		err = e.end(ctx, id, false)
		return err == nil, err
	})
}

func (e *Engine) sweepRunDir(ctx context.Context, key, name string) (bool, error) {
	return e.unattended(ctx, lockName(key), func() (bool, error) {
		id, err := e.ownerOf(name)
		if err == nil {
			_, err = e.inspect(ctx, id)
		} else if errors.Is(err, fs.ErrNotExist) {
			// Its maker died before it had written down whose it is, and so before it
			// had made anything else.
			err = sandbox.ErrNotFound
		}
		if !errors.Is(err, sandbox.ErrNotFound) {
			return false, nil // it has a container, or nobody knows
		}
		err = os.RemoveAll(filepath.Join(e.run, name))
		return err == nil, err
	})
}

// unattended does something about what nobody is at work on.
func (e *Engine) unattended(ctx context.Context, name string, do func() (bool, error)) (bool, error) {
	waiting, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	lock, err := rundir.Acquire(waiting, filepath.Join(e.run, name))
	if err != nil {
		return false, nil // somebody is
	}
	defer lock.Release(true)
	return do()
}

// lockName is the manager's lock of an identity.
func lockName(key string) string { return key + lockSuffix }

const lockSuffix = ".lock"

// ownerName is a file of a run directory that says whose it is. It is there before
// anything else is made.
const ownerName = "owner.json"

func (e *Engine) ownRunDir(id sandbox.Identity) error {
	dir := e.runDir(id)
	data, err := json.Marshal(id)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		err = atomicfile.Replace(filepath.Join(dir, ownerName), data, 0o600)
	}
	if err != nil {
		return fmt.Errorf("cannot make its run directory: %w", err)
	}
	return nil
}

func (e *Engine) ownerOf(name string) (id sandbox.Identity, err error) {
	data, err := atomicfile.Read(filepath.Join(e.run, name, ownerName))
	if err == nil {
		err = json.Unmarshal(data, &id)
	}
	if err == nil && filepath.Base(e.runDir(id)) != name {
		err = fmt.Errorf("the run directory %s is not what it says", name)
	}
	return id, err
}

// mayBeLeft says whether a run directory is of the home, or never got so far as to say
// whose it is.
func (e *Engine) mayBeLeft(name, home string) bool {
	id, err := e.ownerOf(name)
	return err == nil && id.Home == home || errors.Is(err, fs.ErrNotExist)
}

// keyOf is the identity's key in the name of a run directory of this engine.
func (e *Engine) keyOf(name string) (key string, ours bool) {
	key, ours = strings.CutSuffix(name, "-"+e.options.Name)
	return key, ours && len(key) == 12 && strings.Trim(key, "0123456789abcdef") == ""
}
