package native

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"hermes.example/hermes/internal/atomicfile"
	"hermes.example/hermes/internal/guest/jail"
	"hermes.example/hermes/sandbox"
)

// A sandbox that was forked, and each of its copies, stand on the same frozen files:
// what the original had written until then. Nobody writes to these any more; what
// either changes afterwards it keeps for itself, in layers above.
//
//	<sandboxes>/native/TASK/stack.json     the frozen files it stands on, the newest first
//	<sandboxes>/native/TASK/freezing       a fork under way: where the files go
//	<sandboxes>/native-frozen/ID/PART      one set of frozen files
const (
	stackName    = "stack.json"
	freezingName = "freezing"
	specName     = "spec.json"
	// deepest is how many layers one sandbox may stand on; the kernel takes 500,
	// and images have some of their own.
	deepest = 100
)

// part is one tree of a sandbox's files.
type part struct {
	name  string // in a set of frozen files
	at    string // where it is seen inside
	first string // where it lies in a sandbox that stands on nothing
	later string // where its changes lie in one that does
}

var parts = []part{
	{jail.RootPart, "/", "root/upper", "root/upper"},
	{"home", sandbox.Home, "home", "root/home"},
	{"workspace", sandbox.Workspace, "workspace", "root/workspace"},
}

// in is where the part's own files lie in a sandbox.
func (p part) in(dir string, s stack) string {
	if len(s.Sets) == 0 {
		return filepath.Join(dir, p.first)
	}
	return filepath.Join(dir, p.later)
}

// frozenDir is where the frozen files of a home's sandboxes lie: on the same file
// system as theirs, because they are moved there.
func (e *Engine) frozenDir(home string) string { return e.options.rootOf(home) + "-frozen" }

// stack is what a sandbox stands on.
type stack struct {
	// Sets of frozen files, the newest first.
	Sets []string
	// Original is whose fork the sandbox is, and Fork which one, if it is one.
	Original, Fork *sandbox.Identity `json:",omitempty"`
}

func readStack(dir string) (stack, error) {
	var s stack
	data, err := atomicfile.Read(filepath.Join(dir, stackName))
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err == nil && slices.ContainsFunc(s.Sets, func(id string) bool { return !filepath.IsLocal(id) }) {
		err = errors.New("it names a place outside")
	}
	if err != nil {
		return stack{}, fmt.Errorf("cannot read what the sandbox in %s stands on: %w", dir, err)
	}
	return s, nil
}

func (s stack) write(dir string, write func(string, []byte, os.FileMode) error) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return write(filepath.Join(dir, stackName), data, 0o600)
}

// freeze moves what a sandbox has written under the sandbox, so that others can stand
// on it too. The sandbox does not run. One that was killed is finished by whoever
// comes next.
func (e *Engine) freeze(ctx context.Context, home, dir string, ids idMap) (s stack, err error) {
	if s, err = e.finishFreezing(home, dir); err != nil {
		return s, err
	}
	if s, err = e.fold(ctx, home, dir, s, ids); len(s.Sets) >= deepest {
		return s, errors.Join(fmt.Errorf("it stands on the files of %d forks: discard some of them", len(s.Sets)), err)
	}
	var random [8]byte
	rand.Read(random[:])
	id := hex.EncodeToString(random[:])
	if err := errors.Join(os.MkdirAll(e.frozenDir(home), 0o700), ownDir(filepath.Join(e.frozenDir(home), id), ids)); err != nil {
		return s, err
	}
	// A link, because it is there whole or not at all without waiting for the disk.
	if err := os.Symlink(id, filepath.Join(dir, freezingName)); err != nil {
		return s, err
	}
	return e.finishFreezing(home, dir)
}

// finishFreezing carries a freeze to its end, if one has begun, and returns what the
// sandbox stands on.
func (e *Engine) finishFreezing(home, dir string) (stack, error) {
	s, err := readStack(dir)
	if err != nil {
		return s, err
	}
	id, err := os.Readlink(filepath.Join(dir, freezingName))
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	if !filepath.IsLocal(id) {
		return s, fmt.Errorf("cannot finish the fork of the sandbox in %s: it names a place outside", dir)
	}
	if !slices.Contains(s.Sets, id) {
		for _, p := range parts {
			to := filepath.Join(e.frozenDir(home), id, p.name)
			if exists(to) {
				continue // moved before
			}
			if err := os.Rename(p.in(dir, s), to); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return s, err
			}
		}
		s.Sets = append([]string{id}, s.Sets...)
		if err := s.write(dir, atomicfile.Write); err != nil {
			return s, err
		}
	}
	return s, os.Remove(filepath.Join(dir, freezingName))
}

// ownDir makes a directory for root of the sandboxes that have these ids. One that is
// there already is an error; but if whoever made it was killed before it was given away,
// that is done first: root of the host owns nothing of a sandbox.
func ownDir(path string, ids idMap) error {
	err := os.Mkdir(path, 0o700)
	if os.Geteuid() != 0 || err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err != nil {
		info, failed := os.Lstat(path)
		if failed != nil {
			return failed
		}
		if !info.IsDir() || info.Sys().(*syscall.Stat_t).Uid != 0 {
			return err
		}
	}
	return errors.Join(err, os.Lchown(path, ids.UID, ids.GID))
}

// describeStack tells the guest of the frozen files, and has it lay the home and the
// workspace over them.
func (c *creation) describeStack() error {
	frozen := c.engine.frozenDir(c.ID.Home)
	for _, id := range c.stack.Sets {
		b := jail.Bind{Source: filepath.Join(frozen, id)}
		if err := c.handOverTree(&b, false); err != nil {
			return fmt.Errorf("cannot use the files that it was forked from: %w", err)
		}
		c.Config.Image.Frozen = append(c.Config.Image.Frozen, b)
	}
	if len(c.stack.Sets) == 0 || c.Spec.Ephemeral {
		return nil
	}
	for _, p := range parts[1:] {
		if !c.mounts(p.at) {
			c.Config.Image.Parts = append(c.Config.Image.Parts, jail.Part{Name: p.name, Target: p.at})
		}
	}
	return nil
}

// stacked says whether the guest lays what is at target over frozen files.
func (c *creation) stacked(target string) bool {
	return c.Config.Image != nil && slices.ContainsFunc(c.Config.Image.Parts, func(p jail.Part) bool { return p.Target == target })
}

// rememberSpec writes down what a sandbox with an image is like, for when it comes
// back.
func rememberSpec(dir string, spec sandbox.Spec) error {
	data, err := json.Marshal(spec.Public())
	if err != nil {
		return err
	}
	file := filepath.Join(dir, specName)
	if old, err := atomicfile.Read(file); err == nil && string(old) == string(data) {
		return nil
	}
	return atomicfile.Replace(file, data, 0o600) // a default comes back in its place
}

// Remembered is the spec of a sandbox that has files of an image.
func (e *Engine) Remembered(_ context.Context, id sandbox.Identity) (sandbox.Spec, error) {
	var spec sandbox.Spec
	data, err := atomicfile.Read(filepath.Join(e.options.dir(id.Normal()), specName))
	if errors.Is(err, fs.ErrNotExist) {
		return spec, sandbox.ErrNotFound
	}
	if err == nil {
		err = json.Unmarshal(data, &spec)
	}
	return spec, err
}
