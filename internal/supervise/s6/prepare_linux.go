package s6

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/rmtree"
	"hermes.example/hermes/internal/rooted"
	"hermes.example/hermes/internal/supervise"
)

// Tree is two scan directories: root's, in which one slot is a scanner of the user's on the other one. So the user
// can have any slots, and none of them is ever run by root.
type Tree struct {
	// Root is where root's s6-svscan runs, or will. It and all above it are root's alone.
	Root string
	// Scan is the user's scan directory: DefaultScanDir if empty. What is above it is root's.
	Scan string
	User supervise.User
}

// scannerSlot is the slot of the user's scanner.
const scannerSlot = "user-services"

// Prepare makes the directories and the slot. Where no scanner of the user's runs yet, what an earlier one left is
// removed: /run outlives the restart of a container, and some of it may be what the user cannot remove.
func Prepare(t Tree) error {
	if t.Scan == "" {
		t.Scan = DefaultScanDir
	}
	if t.User.UID == 0 {
		return errors.New("cannot prepare s6: its services' user is root; give them another one")
	}
	if err := rootsAlone(t.Root); err != nil {
		return fmt.Errorf("cannot prepare s6: %w", err)
	}
	if err := users(t.Scan, t.User); err != nil {
		return fmt.Errorf("cannot prepare s6: %w", err)
	}
	if err := publishScanner(t); err != nil {
		return fmt.Errorf("cannot prepare s6: %w", err)
	}
	return nil
}

// rootsAlone makes a directory, and refuses one that others can write: root runs what is in it.
func rootsAlone(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Lstat(dir, &st); err != nil {
		return &os.PathError{Op: "stat", Path: dir, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR || st.Uid != 0 || st.Mode&0o022 != 0 {
		return fmt.Errorf("%s is not a directory that only root can write; choose another one for root's scanner", dir)
	}
	return nil
}

// users makes the user's scan directory and sweeps it.
func users(dir string, u supervise.User) error {
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: dir, Err: err}
	}
	defer unix.Close(fd)
	if err := unix.Fchown(fd, u.UID, u.GID); err != nil {
		return &os.PathError{Op: "chown", Path: dir, Err: err}
	}
	if order(filepath.Join(dir, scannerFIFO), noCommand) == nil {
		return nil
	}
	end := time.Now().Add(controlBound)
	return rooted.Each(fd, "", func(_ int, name string, _ *unix.Stat_t) error {
		if !ours(name) {
			return nil
		}
		if err := rmtree.RemoveAt(fd, name, func() bool { return time.Now().After(end) }); err != nil && err != unix.ENOENT {
			return fmt.Errorf("cannot remove the leftover %s: %w", filepath.Join(dir, name), err)
		}
		return nil
	})
}

// ours says whether an entry of a scan directory is a slot, something on the way to one, or the scanner's own.
func ours(name string) bool {
	return strings.HasPrefix(name, Prefix) || strings.HasPrefix(name, "."+Prefix) || name == filepath.Dir(scannerFIFO)
}

// publishScanner puts the user's scanner into root's directory, unless it is there.
func publishScanner(t Tree) error {
	slot := filepath.Join(t.Root, scannerSlot)
	tmp := filepath.Join(t.Root, "."+scannerSlot+staged)
	script := scannerScript(t.Scan, t.User)
	if now, err := os.ReadFile(filepath.Join(slot, "run")); err == nil && string(now) == script {
		return nil
	}
	for _, old := range []string{tmp, slot} {
		if err := rmtree.Remove(old); err != nil {
			return err
		}
	}
	if err := makeDir(tmp, 0o755); err != nil {
		return err
	}
	for _, f := range []file{{"type", "longrun\n", 0o644}, {"run", script, 0o755}} {
		path := filepath.Join(tmp, f.name)
		if err := os.WriteFile(path, []byte(f.content), f.mode); err != nil {
			return err
		}
		if err := os.Chmod(path, f.mode); err != nil {
			return err
		}
	}
	return os.Rename(tmp, slot)
}
