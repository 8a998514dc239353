package s6

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/supervise"
)

// Prefix is how slots begin that are ours.
const Prefix = "gateway-"

// A slot is staged beside its place under a name that no scanner looks at, and gone under another one when it is
// taken away. The names must fit into a directory with both.
const (
	staged = ".tmp"
	gone   = ".gone"

	longestName = 255 - len(".") - len(gone)
)

var validName = regexp.MustCompile(`^` + Prefix + `[a-z0-9][a-z0-9_-]*$`)

// check refuses what could be no slot, or would run as something else than it says.
func check(s supervise.Service) error {
	if err := checkName(s.Name); err != nil {
		return err
	}
	words := slices.Concat(s.Argv, s.Env, []string{s.Dir, s.Log})
	switch {
	case slices.ContainsFunc(words, func(w string) bool { return strings.ContainsRune(w, 0) }):
		return fmt.Errorf("cannot register %s: there is a zero byte in its command line, environment or directories", s.Name)
	case len(s.Argv) == 0 || !filepath.IsAbs(s.Argv[0]) || strings.Contains(s.Argv[0], "="):
		return fmt.Errorf("cannot register %s: its program must be an absolute path without \"=\"", s.Name)
	case !filepath.IsAbs(s.Dir) || s.Log != "" && !filepath.IsAbs(s.Log):
		return fmt.Errorf("cannot register %s: its directories must be absolute paths", s.Name)
	case slices.ContainsFunc(s.Env, func(v string) bool { return strings.IndexByte(v, '=') < 1 }):
		return fmt.Errorf("cannot register %s: its environment has something that is no NAME=value", s.Name)
	}
	return nil
}

func checkName(name string) error {
	if len(name) > longestName || !validName.MatchString(name) {
		return fmt.Errorf("cannot use %q as the name of a slot: it is %q and up to %d lower-case letters, digits, \"-\" and \"_\", beginning with none of the two",
			name, Prefix, longestName-len(Prefix))
	}
	return nil
}

// file is one of a slot.
type file struct {
	name, content string
	mode          os.FileMode
}

// files are those of a service's slot. What s6 has defaults for is left out where they are wanted.
func files(s supervise.Service, up bool) []file {
	grace := s.Stop.Grace
	if grace <= 0 {
		grace = supervise.DefaultGrace
	}
	vars := slices.Clone(s.Env)
	all := []file{
		{"type", "longrun\n", 0o644},
		{"run", runScript(s), 0o755},
		{"finish", finishScript(s), 0o755},
		{"timeout-kill", milliseconds(grace), 0o644},
	}
	if !up {
		all = append(all, file{"down", "", 0o644})
	}
	if s.Stop.Signal != 0 && s.Stop.Signal != int(unix.SIGTERM) {
		all = append(all, file{"down-signal", strconv.Itoa(s.Stop.Signal) + "\n", 0o644})
	}
	if s.Ready.Notify > 0 {
		all = append(all, file{"notification-fd", strconv.Itoa(s.Ready.Notify) + "\n", 0o644})
		vars = append(vars, "HERMES_NOTIFY_FD="+strconv.Itoa(s.Ready.Notify))
	}
	if s.Log != "" {
		all = append(all, file{"log/type", "longrun\n", 0o644}, file{"log/run", logScript(s), 0o755})
	}
	slices.Sort(vars)
	return append(all, file{"data/environment", environment(vars), 0o600})
}

// build makes a slot in a directory that does not exist yet. It is the caller's from the beginning.
func build(dir string, s supervise.Service, up bool) error {
	if err := makeDir(dir, 0o755); err != nil {
		return err
	}
	for _, f := range files(s, up) {
		path := filepath.Join(dir, f.name)
		if sub := filepath.Dir(path); sub != dir {
			if err := makeDir(sub, 0o755); err != nil {
				return err
			}
		}
		if err := os.WriteFile(path, []byte(f.content), f.mode); err != nil {
			return err
		}
		if err := os.Chmod(path, f.mode); err != nil {
			return err
		}
	}
	return Skeleton(dir)
}

// Skeleton makes what s6-supervise would make itself for its own user only, for a slot and for its logger if it has
// one. What is there already is left as it is: it may be in use.
func Skeleton(slot string) error {
	dirs := []string{slot}
	if info, err := os.Lstat(filepath.Join(slot, "log")); err == nil && info.IsDir() {
		dirs = append(dirs, filepath.Join(slot, "log"))
	}
	for _, dir := range dirs {
		for _, d := range []struct {
			name string
			mode os.FileMode
		}{{"event", eventMode}, {"supervise", 0o755}, {"supervise/event", eventMode}} {
			if err := makeDir(filepath.Join(dir, d.name), d.mode); err != nil {
				return err
			}
		}
		if err := makeFIFO(filepath.Join(dir, controlFIFO), 0o660); err != nil {
			return err
		}
	}
	return nil
}

// eventMode lets the group subscribe, and nobody take away what somebody else subscribed to.
const eventMode = 0o730 | os.ModeSetgid | os.ModeSticky

// makeDir makes a directory with its mode whatever the umask, unless it is there.
func makeDir(path string, mode os.FileMode) error {
	if err := os.Mkdir(path, 0o700); errors.Is(err, fs.ErrExist) {
		return nil
	} else if err != nil {
		return err
	}
	return os.Chmod(path, mode)
}

func makeFIFO(path string, mode os.FileMode) error {
	if err := unix.Mkfifo(path, 0o600); err == unix.EEXIST {
		return nil
	} else if err != nil {
		return &os.PathError{Op: "mkfifo", Path: path, Err: err}
	}
	return os.Chmod(path, mode)
}
