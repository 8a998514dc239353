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
	"hermes.example/hermes/internal/image"
	"hermes.example/hermes/internal/rundir"
	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/engine/internal/host"
)

// Fork makes sandboxes that stand on the files of one that does not run.
func (e *Engine) Fork(ctx context.Context, id sandbox.Identity, copies []sandbox.Identity) error {
	if err := e.fork(ctx, id, copies); err != nil {
		return fmt.Errorf("cannot fork the sandbox %q: %w", id.Task, err)
	}
	return nil
}

func (e *Engine) fork(ctx context.Context, id sandbox.Identity, copies []sandbox.Identity) error {
	l, err := e.layout(ctx, id)
	if err != nil {
		return err
	}
	lock, err := e.lockFrozen(ctx, id.Home)
	if err != nil {
		return err
	}
	defer lock.Release(true)
	if l.on, err = e.freeze(ctx, id.Home, l.dir, l.ids); err != nil {
		return err
	}
	for i, c := range copies {
		err := e.standOn(ctx, l, stack{Sets: l.on.Sets, Original: &id, Fork: &c})
		if err != nil {
			for _, made := range copies[:i] {
				e.discard(context.WithoutCancel(ctx), made, l.ids)
			}
			return err
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
func (e *Engine) standOn(ctx context.Context, from layout, on stack) (err error) {
	dir := e.options.dir(*on.Fork)
	err = os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s keeps files of an earlier sandbox: remove them, or choose another name", filepath.Base(dir))
	}
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			e.discard(ctx, *on.Fork, from.ids)
		}
	}()
	for _, name := range append([]string{host.SpoolName}, host.KeptDirs...) {
		if err := ownDir(filepath.Join(dir, name), from.ids); err != nil {
			return err
		}
	}
	return errors.Join(from.store.Tag(ctx, pin(dir), from.image), rememberSpec(dir, from.spec), on.write(dir, atomicfile.Replace))
}

// discard takes a copy back that this fork has made, and that nobody has used yet. Its
// caller may have given up waiting.
func (e *Engine) discard(ctx context.Context, id sandbox.Identity, ids idMap) {
	ctx = context.WithoutCancel(ctx)
	dir := e.options.dir(id)
	removeAs(ctx, ids, dir)
	unpin(ctx, id.Home, dir)
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
	users, err := e.standing(home)
	if err != nil {
		return err
	}
	for _, set := range sets {
		if users[set.Name()] == 0 {
			if err := removeAs(ctx, ids, filepath.Join(frozen, set.Name())); err != nil {
				return err
			}
		}
	}
	os.Remove(frozen) // only when it is empty
	return nil
}

// standing counts the sandboxes of a home that stand on each set of frozen files.
func (e *Engine) standing(home string) (map[string]int, error) {
	users := make(map[string]int)
	boxes, err := os.ReadDir(e.options.rootOf(home))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, box := range boxes {
		on, err := e.finishFreezing(home, filepath.Join(e.options.rootOf(home), box.Name()))
		if err != nil {
			return nil, err // what it stands on is not known
		}
		for _, id := range on.Sets {
			users[id]++
		}
	}
	return users, nil
}

// layout is how the files of a sandbox on an image lie.
type layout struct {
	ids    idMap
	dir    string
	spec   sandbox.Spec
	on     stack
	store  *image.Store
	image  image.Image
	layers []string // of the image, the topmost first
}

func (e *Engine) layout(ctx context.Context, id sandbox.Identity) (l layout, err error) {
	l.dir = e.options.dir(id)
	l.spec, err = e.Remembered(ctx, id)
	switch {
	case errors.Is(err, sandbox.ErrNotFound):
		return l, errors.New("only sandboxes that are made of an image, and keep their files, can be forked and compared; give it one with --image")
	case err != nil:
		return l, err
	case exists(filepath.Join(l.dir, rootName, "tree")):
		return l, fmt.Errorf("its image was copied, because the file system of %s takes no overlays", l.dir)
	}
	if l.ids, err = e.planIDs(id); err != nil {
		return l, err
	}
	if l.on, err = readStack(l.dir); err != nil {
		return l, err
	}
	if l.store, err = imagesFor(id.Home, l.ids); err != nil {
		return l, err
	}
	if l.image, err = l.store.Get(pin(l.dir)); err != nil {
		return l, err
	}
	l.layers, err = l.store.Dirs(l.image)
	return l, err
}

// compared lists the parts whose changes can be told. The home and the workspace of a
// sandbox that was never forked have nothing to be compared with.
func (l layout) compared() []part {
	return slices.DeleteFunc(slices.Clone(parts), func(p part) bool {
		return p.name != jail.RootPart && (len(l.on.Sets) == 0 || mountedAt(l.spec, p.at))
	})
}

// lower lists what lies below the changes of a part, the topmost first.
func (e *Engine) lower(home string, l layout, p part) []string {
	var dirs []string
	for _, set := range l.on.Sets {
		dirs = append(dirs, filepath.Join(e.frozenDir(home), set, p.name))
	}
	if p.name == jail.RootPart {
		dirs = append(dirs, l.layers...)
	}
	return dirs
}

// Changes lists what a sandbox has changed since it was forked, or made of its image.
func (e *Engine) Changes(ctx context.Context, id sandbox.Identity) ([]sandbox.Change, error) {
	l, err := e.layout(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("cannot tell what the sandbox %q has changed: %w", id.Task, err)
	}
	list := []sandbox.Change{}
	for _, p := range l.compared() {
		found, err := changesIn(ctx, l.ids, p.in(l.dir, l.on), e.lower(id.Home, l, p))
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

// Commit makes changed paths of a fork the original's, which does not run.
func (e *Engine) Commit(ctx context.Context, fork, original sandbox.Identity, paths []string) error {
	from, err := e.layout(ctx, fork)
	if err != nil {
		return err
	}
	to, err := e.layout(ctx, original)
	if err != nil {
		return err
	}
	// Later forks may have moved what the original had written; then what the fork
	// stands on is still below.
	for _, p := range from.compared() {
		c := jail.Commit{From: p.in(from.dir, from.on), To: p.in(to.dir, to.on), Lower: e.lower(original.Home, to, p)}
		for _, changed := range paths {
			if rel, ok := p.below(changed); ok {
				c.Paths = append(c.Paths, rel)
			}
		}
		if len(c.Paths) == 0 {
			continue
		}
		if err := e.makeUpper(to, p); err != nil {
			return err
		}
		if err := runCommit(ctx, to.ids, c); err != nil {
			return err
		}
	}
	return nil
}

// below is a path of the sandbox as one of the part, if it is in it.
func (p part) below(changed string) (string, bool) {
	for _, other := range parts[1:] {
		if p.name == jail.RootPart && within(changed, other.at) {
			return "", false
		}
	}
	if !within(changed, p.at) {
		return "", false
	}
	return strings.TrimPrefix(strings.TrimPrefix(changed, p.at), "/"), true
}

func within(name, dir string) bool {
	return dir == "/" || name == dir || strings.HasPrefix(name, dir+"/")
}

// makeUpper makes the place of a part's changes, where the sandbox has not started
// since it was forked.
func (e *Engine) makeUpper(l layout, p part) error {
	for _, dir := range []string{filepath.Join(l.dir, rootName), p.in(l.dir, l.on)} {
		if err := ownDir(dir, l.ids); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

func runCommit(ctx context.Context, ids idMap, c jail.Commit) error {
	if ids.Mode == idsRange {
		return c.Apply()
	}
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	caps := []uintptr{unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_FSETID, unix.CAP_SETUID, unix.CAP_SETGID}
	_, err = runInNamespace(ctx, ids, caps, nil, "commit", string(text))
	return err
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
