package native

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"hermes.example/hermes/internal/atomicfile"
	"hermes.example/hermes/internal/cgroup"
	"hermes.example/hermes/internal/guestbin"
	"hermes.example/hermes/internal/rmtree"
	"hermes.example/hermes/internal/rundir"
	"hermes.example/hermes/sandbox"
)

// Engine makes native sandboxes.
type Engine struct {
	options Options
	run     string // the run directory
	build   string
	known   sync.Map // identity → its run directory
}

// New returns the engine, or says why this machine cannot have one.
func New(o Options) (sandbox.Engine, error) {
	run, err := rundir.Find()
	if err != nil {
		return nil, err
	}
	build, err := guestbin.Digest(runtime.GOARCH)
	if err != nil {
		return nil, err
	}
	return &Engine{options: o, run: run, build: build}, nil
}

// Name is "native".
func (e *Engine) Name() string { return "native" }

// Capabilities tells what native sandboxes can have.
func (e *Engine) Capabilities() sandbox.Capabilities {
	return sandbox.Capabilities{Direct: true, Isolated: true, Mounts: true, GuestBuild: e.build, Networks: []sandbox.Network{sandbox.NetworkNone, sandbox.NetworkHost}}
}

// Create makes the sandbox of an identity that has none.
func (e *Engine) Create(ctx context.Context, id sandbox.Identity, spec sandbox.Spec) (sandbox.Info, error) {
	id = id.Normal()
	old, err := e.load(id)
	if err == nil && old.alive() {
		return sandbox.Info{}, sandbox.ErrExists
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return sandbox.Info{}, err
	}
	if err := e.clear(id); err != nil {
		return sandbox.Info{}, errorf(id, "%w", err)
	}
	return e.create(ctx, id, spec.Normal())
}

// Start makes a new guest around the files that a sandbox kept.
func (e *Engine) Start(ctx context.Context, id sandbox.Identity, spec sandbox.Spec) (sandbox.Info, error) {
	return e.Create(ctx, id, spec)
}

// Find looks for an identity's sandbox.
func (e *Engine) Find(_ context.Context, id sandbox.Identity) (sandbox.Info, error) {
	id = id.Normal()
	st, err := e.load(id)
	if errors.Is(err, fs.ErrNotExist) {
		return sandbox.Info{}, sandbox.ErrNotFound
	}
	if err != nil {
		return sandbox.Info{}, err
	}
	return st.info(), nil
}

// List returns all sandboxes of a home that have a state.
func (e *Engine) List(_ context.Context, home string) ([]sandbox.Info, error) {
	entries, err := os.ReadDir(e.options.rootOf(home))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot list sandboxes: %w", err)
	}
	var infos []sandbox.Info
	for _, entry := range entries {
		st, err := readState(filepath.Join(e.options.rootOf(home), entry.Name(), stateName))
		if err == nil && st.Identity.Home == home {
			infos = append(infos, st.info())
		}
	}
	return infos, nil
}

// Inspect returns what the guest read back about itself at its start, together
// with what the kernel says of its limits. All of it is fixed for its life.
func (e *Engine) Inspect(_ context.Context, id sandbox.Identity) (sandbox.Posture, error) {
	st, err := e.load(id.Normal())
	if errors.Is(err, fs.ErrNotExist) {
		return sandbox.Posture{}, sandbox.ErrNotFound
	}
	return st.Posture, err
}

// Connect opens a stream to the guest through the socket that its creator made.
func (e *Engine) Connect(ctx context.Context, id sandbox.Identity) (io.ReadWriteCloser, error) {
	conn, err := dialIn(ctx, e.connectDir(id))
	if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the sandbox %q is not running: %w", id.Task, sandbox.ErrGone)
	}
	return conn, err
}

// connectDir is runDir, remembered: every command asks for it, and resolving a
// home's links costs more than connecting.
func (e *Engine) connectDir(id sandbox.Identity) string {
	if dir, ok := e.known.Load(id); ok {
		return dir.(string)
	}
	dir := e.runDir(id.Normal())
	if id == id.Normal() {
		e.known.Store(id, dir)
	}
	return dir
}

const socketName = "guest.sock"

// dialIn connects to the socket in a run directory.
func dialIn(ctx context.Context, run string) (net.Conn, error) {
	path := filepath.Join(run, socketName)
	if len(path) > longestSocket {
		dir, err := os.Open(run)
		if err != nil {
			return nil, err
		}
		defer dir.Close()
		path = socketIn(dir)
	}
	return (&net.Dialer{}).DialContext(ctx, "unix", path)
}

// longestSocket is how long the path of a socket may be.
const longestSocket = 107

// socketIn names the socket by way of an open directory, for paths that are too
// long.
func socketIn(dir *os.File) string {
	return fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), socketName)
}

func (e *Engine) runDir(id sandbox.Identity) string { return filepath.Join(e.run, id.Key()) }

// Remove ends the sandbox and clears what belonged to its run.
func (e *Engine) Remove(ctx context.Context, id sandbox.Identity, files bool) error {
	id = id.Normal()
	st, err := e.load(id)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		if !files {
			return err
		}
		// A state that cannot be read goes with everything else.
		st = nil
		if err := e.endUnknown(ctx, id); err != nil {
			return err
		}
	}
	if st != nil {
		if err := st.kill(ctx); err != nil {
			return err
		}
	}
	if err := e.clear(id); err != nil {
		return err
	}
	dir := e.options.dir(id)
	if files && st == nil {
		// Removed earlier: its files still have the ids that it would have now.
		ids, err := e.planIDs(id)
		if err != nil {
			return err
		}
		st = &state{IDs: ids}
	}
	if files {
		return e.removeTree(ctx, st, dir)
	}
	return forgetRun(dir, st)
}

// forgetRun removes what only a run needed. Of an ephemeral sandbox nothing is
// left then, unless a persistent one of the same name kept files before it.
func forgetRun(dir string, st *state) error {
	if err := os.Remove(filepath.Join(dir, stateName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if st == nil || !st.Spec.Ephemeral {
		return nil
	}
	for _, kept := range keptDirs {
		if exists(filepath.Join(dir, kept)) {
			return nil
		}
	}
	return rmtree.Remove(dir)
}

// clear removes what a run leaves: cgroups, socket, run directory. Its guest is
// dead, or was never handed over and dies with its creator.
func (e *Engine) clear(id sandbox.Identity) error {
	group, err := cgroup.Open(id.Key())
	if err == nil {
		if err := errors.Join(group.Kill(), group.Remove()); err != nil {
			return err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.RemoveAll(e.runDir(id))
}

// Sweep removes the traces of sandboxes whose creator died before it could hand
// them over. Only those of the given home are looked at.
func (e *Engine) Sweep(ctx context.Context, home string) (int, error) {
	entries, err := os.ReadDir(e.run)
	if err != nil {
		return 0, err
	}
	removed := 0
	for _, entry := range entries {
		if key, ok := strings.CutSuffix(entry.Name(), ".lock"); ok && !exists(filepath.Join(e.run, key)) {
			removeLock(ctx, filepath.Join(e.run, entry.Name()))
			continue
		}
		id, err := e.ownerOf(entry.Name())
		nameless := entry.IsDir() && errors.Is(err, fs.ErrNotExist)
		if !nameless && (err != nil || id.Home != home) {
			continue
		}
		done, err := e.sweepOne(ctx, entry.Name())
		if err != nil {
			return removed, err
		}
		if done {
			removed++
		}
	}
	return removed, nil
}

func (e *Engine) sweepOne(ctx context.Context, key string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	lock, err := rundir.Acquire(ctx, filepath.Join(e.run, key+".lock"))
	if err != nil {
		return false, nil // somebody is at it
	}
	defer lock.Release(true)
	id, err := e.ownerOf(key)
	if errors.Is(err, fs.ErrNotExist) {
		// Its creator died before it had written down whose it is, and so before
		// it had made anything else.
		return true, os.RemoveAll(filepath.Join(e.run, key))
	}
	if err != nil {
		return false, nil
	}
	st, dead := e.dead(id)
	if !dead {
		return false, nil
	}
	if err := e.clear(id); err != nil {
		return false, err
	}
	if st != nil && st.Spec.Ephemeral {
		return true, forgetRun(e.options.dir(id), st)
	}
	return true, nil
}

// dead says whether a run of the sandbox is over for certain, with its state if it
// has one. The caller knows that nobody is making it.
func (e *Engine) dead(id sandbox.Identity) (*state, bool) {
	st, err := e.load(id)
	if err == nil {
		return st, !st.alive()
	}
	// With a state that cannot be read there may be a guest; that is for its
	// owner to decide.
	return nil, errors.Is(err, fs.ErrNotExist)
}

// ownerName is a file in a run directory that says whose it is.
const ownerName = "identity.json"

// ownerOf says whose the run directory of that name is.
func (e *Engine) ownerOf(name string) (sandbox.Identity, error) {
	var id sandbox.Identity
	data, err := atomicfile.Read(filepath.Join(e.run, name, ownerName))
	if err == nil {
		err = json.Unmarshal(data, &id)
	}
	if err == nil && id.Key() != name {
		err = fmt.Errorf("the run directory %s is not what it says", name)
	}
	return id, err
}

// removeTree removes a sandbox's files. Those of other ids of the sandbox belong
// to subordinate ids of the caller, which only a process that has them may touch.
func (e *Engine) removeTree(ctx context.Context, st *state, dir string) error {
	err := rmtree.Remove(dir)
	if err == nil || st == nil || !errors.Is(err, fs.ErrPermission) || st.IDs.Mode == idsRange {
		return err
	}
	if err := removeInNamespace(ctx, st.IDs, dir); err != nil {
		return err
	}
	return rmtree.Remove(dir)
}

// spoolName is the guest's own directory: output and journal.
const spoolName = "spool"

// names of what a sandbox keeps.
var keptDirs = []string{"home", "workspace"}

func (e *Engine) load(id sandbox.Identity) (*state, error) {
	st, err := readState(filepath.Join(e.options.dir(id), stateName))
	if err != nil {
		if _, running := os.Stat(e.runDir(id)); errors.Is(running, fs.ErrNotExist) {
			// Whatever the file held was about a run that is over: the run
			// directory is made before a guest and removed after it.
			return nil, fs.ErrNotExist
		}
		return nil, err
	}
	if st.Identity != id {
		return nil, fmt.Errorf("the state in %s belongs to another sandbox; %s", e.options.dir(id), startAnew)
	}
	return st, nil
}

// GuestPID is the process id of a running sandbox's guest, for measuring it.
func (e *Engine) GuestPID(id sandbox.Identity) (int, error) {
	st, err := e.load(id.Normal())
	if err != nil {
		return 0, err
	}
	if !st.alive() {
		return 0, sandbox.ErrGone
	}
	return st.PID, nil
}
