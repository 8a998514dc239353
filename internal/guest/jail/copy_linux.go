package jail

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/image/unpack"
	"hermes.example/hermes/internal/rmtree"
)

// copyImage makes one tree of an image's layers among the changes, where the kernel
// cannot overlay them there. It is made once; a half of one is never used.
func copyImage(layers []string) error {
	const whole, part = changesDir + "/tree", changesDir + "/tree.part"
	if _, err := os.Lstat(whole); err == nil {
		return bindWritable(whole, rootDir)
	}
	if err := errors.Join(rmtree.Remove(part), os.Mkdir(part, 0o755)); err != nil {
		return err
	}
	for i := len(layers) - 1; i >= 0; i-- {
		c := copier{links: make(map[inode]string)}
		if err := c.dir(layers[i], part); err != nil {
			return fmt.Errorf("cannot copy the image: %w", err)
		}
	}
	if err := os.Rename(part, whole); err != nil {
		return err
	}
	return bindWritable(whole, rootDir)
}

func bindWritable(from, at string) error {
	return os.NewSyscallError("mount "+at, unix.Mount(from, at, "", unix.MS_BIND, ""))
}

type inode struct{ dev, ino uint64 }

// copier lays one layer over what the layers below it have left. Nobody else writes to
// either tree, and no path of them leads through a link: each is a name in a directory
// that was found to be one.
type copier struct {
	links map[inode]string // files of this layer that have several names, by where the first one is
	marks bool             // copy the marks themselves, instead of what they stand for
}

func (c *copier) dir(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := c.entry(path.Join(from, e.Name()), path.Join(to, e.Name())); err != nil {
			return err
		}
	}
	var st unix.Stat_t
	if err := unix.Lstat(from, &st); err != nil {
		return err
	}
	return copyMeta(from, to, &st) // last, because the entries changed its times
}

func (c *copier) entry(from, to string) error {
	var st unix.Stat_t
	if err := unix.Lstat(from, &st); err != nil {
		return &os.PathError{Op: "stat", Path: from, Err: err}
	}
	kind := st.Mode & unix.S_IFMT
	if kind == unix.S_IFDIR {
		return c.directory(from, to)
	}
	if err := rmtree.Remove(to); err != nil || unpack.IsWhiteout(&st) && !c.marks {
		return err
	}
	key := inode{st.Dev, st.Ino}
	if first, ok := c.links[key]; ok {
		return os.Link(first, to)
	}
	if st.Nlink > 1 {
		c.links[key] = to
	}
	var err error
	switch kind {
	case unix.S_IFREG:
		err = copyFile(from, to)
	case unix.S_IFLNK:
		var target string
		if target, err = os.Readlink(from); err == nil {
			err = os.Symlink(target, to)
		}
	default:
		err = unix.Mknod(to, st.Mode, int(st.Rdev))
	}
	if err != nil {
		return err
	}
	return copyMeta(from, to, &st)
}

func (c *copier) directory(from, to string) error {
	var st unix.Stat_t
	err := unix.Lstat(to, &st)
	if err == nil && (st.Mode&unix.S_IFMT != unix.S_IFDIR || isOpaque(from)) {
		if err := rmtree.Remove(to); err != nil {
			return err
		}
		err = unix.ENOENT
	}
	if err == unix.ENOENT {
		err = os.Mkdir(to, 0o700)
	}
	if err != nil {
		return err
	}
	if c.marks && isOpaque(from) {
		if err := makeOpaque(to); err != nil {
			return err
		}
	}
	return c.dir(from, to)
}

func isOpaque(dir string) bool {
	var value [1]byte
	n, err := unix.Lgetxattr(dir, unpack.User.Opaque(), value[:])
	return err == nil && n == 1 && value[0] == 'y'
}

func makeOpaque(dir string) error {
	if err := unix.Lsetxattr(dir, unpack.User.Opaque(), []byte("y"), 0); err != nil {
		return &os.PathError{Op: "mark", Path: dir, Err: err}
	}
	return nil
}

// copyFile shares the content where the file system can, and copies it otherwise.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if unix.IoctlFileClone(int(out.Fd()), int(in.Fd())) != nil {
		_, err = io.Copy(out, in)
	}
	return errors.Join(err, out.Close())
}

// copyMeta copies owner, rights, attributes and times, in the order in which one does
// not undo the other.
func copyMeta(from, to string, st *unix.Stat_t) error {
	if err := unix.Lchown(to, int(st.Uid), int(st.Gid)); err != nil {
		return &os.PathError{Op: "chown", Path: to, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFLNK {
		if err := unix.Chmod(to, st.Mode&0o7777); err != nil {
			return &os.PathError{Op: "chmod", Path: to, Err: err}
		}
		copyAttributes(from, to)
	}
	times := []unix.Timespec{st.Atim, st.Mtim}
	if err := unix.UtimesNanoAt(unix.AT_FDCWD, to, times, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return &os.PathError{Op: "set times of", Path: to, Err: err}
	}
	return nil
}

// copyAttributes copies what of the attributes the file system takes: where it takes
// none, the files are still the image's.
func copyAttributes(from, to string) {
	names := make([]byte, 64<<10)
	n, err := unix.Llistxattr(from, names)
	if err != nil {
		return
	}
	for name := range strings.SplitSeq(string(names[:n]), "\x00") {
		if name == "" || strings.HasPrefix(name, string(unpack.User)) {
			continue
		}
		value := make([]byte, 64<<10)
		if n, err := unix.Lgetxattr(from, name, value); err == nil {
			unix.Lsetxattr(to, name, value[:n], 0)
		}
	}
}
