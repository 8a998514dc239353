package native

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/atomicfile"
	"hermes.example/hermes/internal/guest/jail"
	"hermes.example/hermes/internal/rundir"
	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/engine/internal/host"
)

// Fork makes sandboxes that stand on the files of one that does not run.
func (e *Engine) Fork(ctx context.Context, id sandbox.Identity, copies []sandbox.Identity) error {
	dir := e.options.dir(id)
	spec, err := e.Remembered(ctx, id)
	if errors.Is(err, sandbox.ErrNotFound) {
		err = fmt.Errorf("only sandboxes that are made of an image, and keep their files, can be forked; give it one with --image")
	}
	if err == nil && exists(filepath.Join(dir, rootName, "tree")) {
		err = fmt.Errorf("its image was copied, because the file system of %s takes no overlays", dir)
	}
	if err != nil {
		return fmt.Errorf("cannot fork the sandbox %q: %w", id.Task, err)
	}
	lock, err := e.lockFrozen(ctx, id.Home)
	if err != nil {
		return err
	}
	defer lock.Release(true)
	ids, err := e.planIDs(id)
	if err != nil {
		return err
	}
	on, err := e.freeze(id.Home, dir, ids)
	on.Original = &id
	for i, c := range copies {
		if err == nil {
			on.Fork = &c
			err = e.standOn(ctx, dir, e.options.dir(c), on, ids, spec)
		}
		if err != nil {
			for _, made := range copies[:i+1] {
				e.discard(context.WithoutCancel(ctx), made, ids)
			}
			return fmt.Errorf("cannot fork the sandbox %q: %w", id.Task, err)
		}
	}
	return nil
}

// Original is whose fork a sandbox is.
func (e *Engine) Original(_ context.Context, id sandbox.Identity) (sandbox.Identity, error) {
	on, err := readStack(e.options.dir(id))
	if err == nil && on.Original == nil {
		err = fmt.Errorf("the sandbox %q is no fork: %w", id.Task, sandbox.ErrNotFound)
	}
	if err != nil {
		return sandbox.Identity{}, err
	}
	return *on.Original, nil
}

// List returns all sandboxes of a home, with the forks that did not run yet.
func (e *Engine) List(ctx context.Context, home string) ([]sandbox.Info, error) {
	infos, err := e.Core.List(ctx, home)
	if err != nil || !exists(e.frozenDir(home)) {
		return infos, err
	}
	known := make(map[sandbox.Identity]bool)
	for _, info := range infos {
		known[info.Identity] = true
	}
	dirs, err := os.ReadDir(e.options.rootOf(home))
	if err != nil {
		return infos, err
	}
	for _, d := range dirs {
		on, err := readStack(filepath.Join(e.options.rootOf(home), d.Name()))
		if err != nil || on.Fork == nil || known[*on.Fork] || on.Fork.Home != home {
			continue
		}
		if spec, err := e.Remembered(ctx, *on.Fork); err == nil {
			infos = append(infos, sandbox.Info{Identity: *on.Fork, Engine: e.Name(), State: sandbox.Stopped, Spec: spec, SpecHash: spec.Hash()})
		}
	}
	return infos, nil
}

// lockFrozen is held while somebody may come to stand on frozen files, or while it is
// decided which of them nobody stands on.
func (e *Engine) lockFrozen(ctx context.Context, home string) (*rundir.Lock, error) {
	run, err := rundir.Find()
	if err != nil {
		return nil, err
	}
	return rundir.Acquire(ctx, filepath.Join(run, "frozen-"+sandbox.Identity{Home: home}.Key()+".lock"))
}

// standOn makes the directory of a sandbox that has the files of another one. The ids
// are the same, because the files are.
func (e *Engine) standOn(ctx context.Context, from, dir string, on stack, ids idMap, spec sandbox.Spec) error {
	if exists(dir) {
		return fmt.Errorf("%s keeps files of an earlier sandbox: remove them, or choose another name", filepath.Base(dir))
	}
	store, err := imagesFor(on.Original.Home, ids)
	if err != nil {
		return err
	}
	img, err := store.Get(pin(from))
	if err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	for _, name := range append([]string{host.SpoolName}, host.KeptDirs...) {
		if err := ownDir(filepath.Join(dir, name), ids); err != nil {
			return err
		}
	}
	return errors.Join(store.Tag(ctx, pin(dir), img), rememberSpec(dir, spec), on.write(dir, atomicfile.Replace))
}

// discard takes a half-made copy back.
func (e *Engine) discard(ctx context.Context, id sandbox.Identity, ids idMap) {
	dir := e.options.dir(id)
	if !exists(filepath.Join(dir, stackName)) || !exists(filepath.Join(dir, rootName)) {
		removeAs(ctx, ids, dir)
		unpin(ctx, id.Home, dir)
	}
}

// collectFrozen removes frozen files that no sandbox of the home stands on.
func (e *Engine) collectFrozen(ctx context.Context, home string, ids idMap) error {
	frozen := e.frozenDir(home)
	sets, err := os.ReadDir(frozen)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	lock, err := e.lockFrozen(ctx, home)
	if err != nil {
		return err
	}
	defer lock.Release(true)
	used := make(map[string]bool)
	boxes, err := os.ReadDir(e.options.rootOf(home))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, box := range boxes {
		dir := filepath.Join(e.options.rootOf(home), box.Name())
		on, err := e.finishFreezing(home, dir)
		if err != nil {
			return err // what it stands on is not known
		}
		for _, id := range on.Sets {
			used[id] = true
		}
	}
	for _, set := range sets {
		if !used[set.Name()] {
			if err := removeAs(ctx, ids, filepath.Join(frozen, set.Name())); err != nil {
				return err
			}
		}
	}
	os.Remove(frozen) // only when it is empty
	return nil
}

// Changes lists what a sandbox has changed since it was forked, or made of its image.
func (e *Engine) Changes(ctx context.Context, id sandbox.Identity) ([]sandbox.Change, error) {
	dir := e.options.dir(id)
	spec, err := e.Remembered(ctx, id)
	if errors.Is(err, sandbox.ErrNotFound) {
		return nil, fmt.Errorf("cannot tell what the sandbox %q has changed: only one that is made of an image, and keeps its files, can say", id.Task)
	}
	if err != nil {
		return nil, err
	}
	if exists(filepath.Join(dir, rootName, "tree")) {
		return nil, fmt.Errorf("cannot tell what the sandbox %q has changed: its image was copied", id.Task)
	}
	ids, err := e.planIDs(id)
	if err != nil {
		return nil, err
	}
	on, err := readStack(dir)
	if err != nil {
		return nil, err
	}
	store, err := imagesFor(id.Home, ids)
	if err != nil {
		return nil, err
	}
	img, err := store.Get(pin(dir))
	if err != nil {
		return nil, err
	}
	layers, err := store.Dirs(img)
	if err != nil {
		return nil, err
	}
	list := []sandbox.Change{}
	for _, p := range parts {
		// The home and the workspace of a sandbox that was never forked have nothing to
		// be compared with.
		if p.name != jail.RootPart && (len(on.Sets) == 0 || mountedAt(spec, p.at)) {
			continue
		}
		var lower []string
		for _, set := range on.Sets {
			lower = append(lower, filepath.Join(e.frozenDir(id.Home), set, p.name))
		}
		if p.name == jail.RootPart {
			lower = append(lower, layers...)
		}
		found, err := changesIn(ctx, ids, p.in(dir, on), lower)
		if err != nil {
			return nil, fmt.Errorf("cannot tell what the sandbox %q has changed: %w", id.Task, err)
		}
		for _, c := range found {
			list = append(list, publicChange(p, c))
		}
	}
	slices.SortFunc(list, func(a, b sandbox.Change) int { return strings.Compare(a.Path, b.Path) })
	return list, nil
}

func mountedAt(spec sandbox.Spec, target string) bool {
	return slices.ContainsFunc(spec.Mounts, func(m sandbox.Mount) bool { return path.Clean(m.Target) == target })
}

func publicChange(p part, c jail.Change) sandbox.Change {
	kind := sandbox.Modified
	switch {
	case c.Deleted:
		kind = sandbox.Deleted
	case c.Added:
		kind = sandbox.Added
	}
	return sandbox.Change{Path: path.Join(p.at, c.Path), Kind: kind}
}

// changesIn looks as root of the sandbox, to whom no directory of it is closed.
func changesIn(ctx context.Context, ids idMap, upper string, lower []string) ([]jail.Change, error) {
	if ids.Mode == idsRange {
		return jail.Changes(upper, lower)
	}
	caps := []uintptr{unix.CAP_DAC_OVERRIDE, unix.CAP_SETUID, unix.CAP_SETGID}
	out, err := runInNamespace(ctx, ids, caps, nil, append([]string{"changes", upper}, lower...)...)
	if err != nil {
		return nil, err
	}
	var changes []jail.Change
	err = json.Unmarshal(out, &changes)
	return changes, err
}
