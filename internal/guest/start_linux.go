package guest

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/guest/spawn"
	"hermes.example/hermes/internal/wire"
)

var errNoShell = errors.New("the sandbox has neither bash nor sh; give the program and its arguments instead of a line")

// directoryError is a working directory that the caller asked for in vain.
type directoryError struct{ path string }

func (e *directoryError) Error() string {
	return "cannot change to " + strconv.Quote(e.path) + ": no such directory"
}

// notFoundError is a program that does not exist.
type notFoundError struct{ name string }

func (e *notFoundError) Error() string {
	return "cannot run " + strconv.Quote(e.name) + ": not found"
}

// notStarted gives a start that failed the status that a shell would give.
func notStarted(req wire.Exec, sc *spawn.Command, err error) wire.Exit {
	exit := wire.Exit{Code: 126, Reason: wire.ReasonNotStarted, Message: err.Error()}
	var notFound *notFoundError
	var failed *spawn.Error
	switch {
	case errors.As(err, &notFound):
		exit.Code = 127
	case errors.Is(err, errNoShell):
		exit.Code = 127
	case errors.As(err, &failed) && failed.Step == "exec":
		program := sc.Path
		exit.Message = "cannot run " + strconv.Quote(program) + ": " + failed.Errno.Error()
		if failed.Errno == syscall.ENOENT {
			exit.Code = 127
			exit.Message = "cannot run " + strconv.Quote(program) + ": it, or the interpreter that it names, does not exist"
		}
	case errors.As(err, &failed) && failed.Step == "chdir":
		exit.Message = "cannot change to " + strconv.Quote(sc.Dir) + ": " + failed.Errno.Error()
	case errors.As(err, &failed) && failed.Step == "fork" && failed.Errno == syscall.EAGAIN:
		exit.Message = "cannot start a process: the sandbox has reached its limit of processes"
	}
	return exit
}

// lookPath finds a program as execvp would, in the command's own PATH.
func lookPath(name string, env []string, dir string) (string, error) {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		if _, err := os.Stat(name); err != nil {
			return "", &notFoundError{name}
		}
		return name, nil
	}
	for _, d := range filepath.SplitList(lookup(env, "PATH")) {
		if d == "" {
			d = "."
		}
		path := filepath.Join(d, name)
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && unix.Access(path, unix.X_OK) == nil {
			return path, nil
		}
	}
	return "", &notFoundError{name}
}

func lookup(env []string, name string) string {
	for _, e := range slices.Backward(env) {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			return v
		}
	}
	return ""
}

// mergeEnv lays extra over base; base is not changed.
func mergeEnv(base []string, extra map[string]string) []string {
	merged := make([]string, 0, len(base)+len(extra)+1)
	for _, e := range base {
		name, _, _ := strings.Cut(e, "=")
		if _, over := extra[name]; !over {
			merged = append(merged, e)
		}
	}
	for name, value := range extra {
		merged = append(merged, name+"="+value)
	}
	return merged
}

// withDefault adds name to env unless it is there; env is not changed.
func withDefault(env map[string]string, name, value string) map[string]string {
	if _, ok := env[name]; ok {
		return env
	}
	more := map[string]string{name: value}
	for k, v := range env {
		more[k] = v
	}
	return more
}
