package jail

import (
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// RunFold folds trees as root of a user namespace.
func RunFold(upper string, lower []string) error {
	if err := awaitIDs(); err != nil {
		return err
	}
	return Fold(upper, lower)
}

// Fold lifts what the directories lower of an overlay show through the one directly
// above them into that one, the topmost first. Nobody uses them meanwhile. Each step
// leaves the stack of them looking as before, so it may be killed after any; at the end
// the lower ones show nothing any more.
func Fold(upper string, lower []string) error {
	for _, dir := range lower {
		if err := lift(upper, dir); err != nil {
			return err
		}
	}
	return nil
}

// lift folds one directory into the one above it, which lets it shine through.
func lift(upper, lower string) error {
	var st unix.Stat_t
	if err := unix.Lstat(upper, &st); err != nil {
		return &os.PathError{Op: "stat", Path: upper, Err: err}
	}
	entries, err := os.ReadDir(lower)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := liftEntry(path.Join(upper, e.Name()), path.Join(lower, e.Name())); err != nil {
			return err
		}
	}
	if isOpaque(lower) {
		if err := makeOpaque(upper); err != nil {
			return err
		}
	}
	times := []unix.Timespec{st.Atim, st.Mtim} // what was lifted has changed them
	return os.NewSyscallError("set times", unix.UtimesNanoAt(unix.AT_FDCWD, upper, times, unix.AT_SYMLINK_NOFOLLOW))
}

func liftEntry(upper, lower string) error {
	above, err := kindAt(upper)
	if err == unix.ENOENT {
		return os.Rename(lower, upper) // a mark, too: it hides what lies deeper
	}
	if err != nil {
		return err
	}
	if above != unix.S_IFDIR || isOpaque(upper) {
		return nil // the lower one is hidden
	}
	below, err := kindAt(lower)
	switch {
	case err != nil:
		return err
	case below != unix.S_IFDIR:
		return makeOpaque(upper) // it kept what lies deeper from showing, be it a file or a mark
	}
	return lift(upper, lower)
}

// kindAt is what kind of file a path is; whiteouts are devices.
func kindAt(at string) (uint32, error) {
	var st unix.Stat_t
	err := unix.Lstat(at, &st)
	return st.Mode & unix.S_IFMT, err
}
