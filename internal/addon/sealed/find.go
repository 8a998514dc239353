package sealed

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"hermes.example/hermes/internal/atomicfile"
	"hermes.example/hermes/internal/config"
)

// Variable names the runtime; Default is where our image has it.
const (
	Variable = "HERMES_RUNTIME"
	Default  = "/opt/hermes/.venv"
)

// descriptionFile is what makes a virtual environment a sealed runtime.
const descriptionFile = "hermes-runtime.json"

// ErrNone says that there is no runtime.
var ErrNone = errors.New("cannot find a Python runtime: " + Variable + " is not set and there is no " + Default +
	"; build one with \"make runtime\" and set " + Variable + " to its directory")

// Runtime is a sealed runtime that was found, or a plain virtual environment.
type Runtime struct {
	Root string // without links
	Description

	// mark is what changes with the runtime, by the path that was given, and seen how it was.
	mark string
	seen os.FileInfo
}

// Find finds the runtime that $HERMES_RUNTIME names, else our image's. A virtual environment that is no sealed runtime
// is asked by starting its interpreter; the answer is kept in the cache directory, where one is given, as long as it
// holds. A runtime that somebody else than the caller and root could change is refused: its interpreter would run with
// the caller's rights.
func Find(ctx context.Context, lookup config.Lookup, cache string) (*Runtime, error) {
	return find(ctx, lookup, Default, cache)
}

func find(ctx context.Context, lookup config.Lookup, standard, cache string) (*Runtime, error) {
	given, _ := lookup(Variable)
	given = strings.TrimSpace(given)
	dir := given
	if given == "" {
		dir = standard
	}
	dir, err := config.ExpandHome(lookup, dir)
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	named := dir
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if given == "" && errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNone
	}
	var r *Runtime
	if err == nil {
		r, err = open(ctx, dir, cache)
	}
	if err != nil {
		if given != "" {
			return nil, fmt.Errorf("cannot use the Python runtime of %s=%s: %w", Variable, given, err)
		}
		return nil, fmt.Errorf("cannot use the Python runtime %s: %w", standard, err)
	}
	r.mark = filepath.Join(named, r.mark)
	return r, nil
}

func open(ctx context.Context, root, cache string) (*Runtime, error) {
	r := &Runtime{Root: root}
	if err := trusted(root, r.file("bin"), r.file(descriptionFile), r.file("pyvenv.cfg")); err != nil {
		return nil, err
	}
	if _, err := os.Stat(r.Python()); err != nil {
		return nil, fmt.Errorf("it has no interpreter: %w; build it anew with \"make runtime\"", err)
	}
	seen, err := os.Stat(r.file(descriptionFile)) // before it is read: what replaces it meanwhile is seen later
	var text []byte
	if err == nil {
		text, err = atomicfile.Read(r.file(descriptionFile))
	}
	switch {
	case err == nil:
		r.Description, err = parse(text)
	case errors.Is(err, fs.ErrNotExist):
		r.Description, err = askOnce(ctx, r, cache)
	}
	if err != nil {
		return nil, err
	}
	site, err := os.Stat(r.Site())
	if err != nil {
		return nil, fmt.Errorf("it does not have what its interpreter uses: %w", err)
	}
	r.mark, r.seen = descriptionFile, seen
	if seen == nil {
		r.mark, r.seen = r.SitePackages, site
	}
	return r, trusted(r.file(filepath.Dir(r.SitePackages)), r.Site())
}

// Unchanged says whether Find would still find the same: an update puts another runtime in its place, or has the given
// path lead to another, while there are processes that found this one.
func (r *Runtime) Unchanged() bool {
	now, err := os.Stat(r.mark)
	return err == nil && os.SameFile(now, r.seen) && now.ModTime().Equal(r.seen.ModTime())
}

// Python is the interpreter.
func (r *Runtime) Python() string { return r.file("bin", "python3") }

// UV is the installer that the runtime has, or "".
func (r *Runtime) UV() string {
	if _, err := os.Stat(r.file("bin", "uv")); err != nil {
		return ""
	}
	return r.file("bin", "uv")
}

// Site is the directory with the core's packages.
func (r *Runtime) Site() string { return r.file(r.SitePackages) }

// Locks is the directory of the locks that were made for this core, as TAG/FEATURE.txt; it need not be there.
func (r *Runtime) Locks() string { return r.file("locks") }

func (r *Runtime) file(names ...string) string {
	return filepath.Join(append([]string{r.Root}, names...)...)
}
