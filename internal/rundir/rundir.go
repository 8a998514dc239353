// Package rundir owns the directory for what lives no longer than the machine is
// up: sockets, locks, the extracted guest. It is the caller's alone.
//
// The engines and the manager use it. Nothing that must survive a reboot goes
// here, and nothing here is ever trusted before its owner was checked.
package rundir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// Find returns the run directory, made if it is missing.
func Find() (string, error) { return first(own) }

// Look returns the directory that Find would return, and neither makes nor changes
// it.
func Look() (string, error) {
	return first(func(dir string) error {
		err := check(dir)
		if errors.Is(err, os.ErrNotExist) {
			return mayMakeIn(filepath.Dir(dir))
		}
		return err
	})
}

// Of returns the run directory of another user, for root who looks for what that one has there. It is never made.
func Of(uid int) (string, error) {
	id := strconv.Itoa(uid)
	for _, dir := range []string{"/run/user/" + id + "/hermes", "/run/hermes-" + id, filepath.Join(os.TempDir(), "hermes-"+id)} {
		info, err := os.Lstat(dir)
		if err == nil && info.IsDir() && belongs(info, uid) {
			return dir, nil
		}
	}
	return "", fmt.Errorf("cannot find the run directory of user %d: %w", uid, os.ErrNotExist)
}

// first returns the first place that is fit, or why none is.
func first(fit func(dir string) error) (string, error) {
	uid := strconv.Itoa(os.Getuid())
	var candidates []string
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		candidates = append(candidates, filepath.Join(dir, "hermes"))
	}
	candidates = append(candidates, "/run/hermes-"+uid, filepath.Join(os.TempDir(), "hermes-"+uid))
	var reasons []error
	for _, dir := range candidates {
		err := fit(dir)
		if err == nil {
			return dir, nil
		}
		reasons = append(reasons, err)
	}
	return "", fmt.Errorf("cannot find a directory for sockets and locks: %w; set XDG_RUNTIME_DIR to a directory of your own", errors.Join(reasons...))
}

// own makes dir, or checks that the one that exists is ours, and closes it to others.
func own(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	if err := check(dir); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	if err == nil && info.Mode().Perm() != 0o700 {
		err = os.Chmod(dir, 0o700)
	}
	return err
}

// check says whether dir is a directory, and ours.
func check(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a directory", dir)
	}
	return checkOwner(dir, info)
}

// Due says whether interval has passed since it last said so for path, to any
// process, and notes that it has. Two processes that ask at the same moment may
// both be told.
func Due(path string, interval time.Duration) bool {
	if info, err := os.Stat(path); err == nil {
		if age := time.Since(info.ModTime()); age >= 0 && age < interval {
			return false
		}
	}
	return os.WriteFile(path, nil, 0o600) == nil && os.Chtimes(path, time.Time{}, time.Now()) == nil
}
