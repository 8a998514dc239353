//go:build linux

package unpack

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/rooted"
)

// entry makes one entry of the archive.
func (u *unpacker) entry(hdr *tar.Header, content io.Reader) error {
	name, err := rooted.Clean(hdr.Name, u.Limits.Depth)
	if err != nil {
		return err
	}
	if name == "" {
		return u.rootEntry(hdr)
	}
	if skip, err := marker(name); skip || err != nil {
		return err
	}
	m, err := u.meta(hdr)
	if err != nil {
		return err
	}
	dir, base := rooted.Split(name)
	parent, err := u.root.Parent(dir)
	if err != nil {
		return err
	}
	if strings.HasPrefix(base, hidden) {
		return u.whiteout(parent, dir, base, name)
	}
	switch hdr.Typeflag {
	case tar.TypeDir:
		return u.dir(parent, base, name, m)
	case tar.TypeReg, tar.TypeGNUSparse:
		return u.file(parent, base, name, hdr.Size, content, m)
	case tar.TypeLink:
		return u.hardLink(parent, base, name, hdr.Linkname)
	case tar.TypeSymlink:
		return u.symlink(parent, base, name, hdr.Linkname, m)
	case tar.TypeFifo:
		return u.node(parent, base, name, unix.S_IFIFO, 0, m)
	case tar.TypeChar, tar.TypeBlock:
		return u.device(parent, base, name, hdr, m)
	}
	return refuse(hdr.Name, fmt.Sprintf("its type %q is unknown", hdr.Typeflag))
}

func (u *unpacker) rootEntry(hdr *tar.Header) error {
	if hdr.Typeflag != tar.TypeDir {
		return refuse(hdr.Name, "it would replace the root")
	}
	m, err := u.meta(hdr)
	if err == nil {
		u.noteDir("", m)
	}
	return err
}

// create calls do, and once more without what stood in the way.
func (u *unpacker) create(parent int, base, name string, do func() error) error {
	err := do()
	if err == unix.EEXIST {
		if err := u.clear(parent, base, name); err != nil {
			return err
		}
		err = do()
	}
	return err
}

// whiteout makes the mark by which overlayfs knows that a file of the layers below is gone. What this layer
// itself has under that name stays, and a directory of it no longer shows what lies below.
func (u *unpacker) whiteout(parent int, dir, base, name string) error {
	if base == opaque {
		if dir == "" {
			u.result.HidesAll = true
			return nil
		}
		return u.hideBelow(parent)
	}
	gone := strings.TrimPrefix(base, hidden)
	if gone == "" || gone == "." || gone == ".." {
		return refuse(name, "it marks no file as removed")
	}
	err := unix.Mknodat(parent, gone, unix.S_IFCHR, 0)
	if err != unix.EEXIST {
		return err
	}
	fd, err := unix.Openat(parent, gone, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err == unix.ENOTDIR || err == unix.ELOOP {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return u.hideBelow(fd)
}

func (u *unpacker) hideBelow(dir int) error {
	if err := unix.Fsetxattr(dir, u.Overlay.Opaque(), []byte("y"), 0); err != nil {
		return fmt.Errorf("set the attribute %s: %w", u.Overlay.Opaque(), err)
	}
	return nil
}

// dir makes a directory that nobody else can enter; finishDirs gives it its owner, mode and times.
func (u *unpacker) dir(parent int, base, name string, m meta) error {
	err := unix.Mkdirat(parent, base, 0o700)
	if err == unix.EEXIST {
		var st unix.Stat_t
		if err := unix.Fstatat(parent, base, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return err
		}
		if st.Mode&unix.S_IFMT == unix.S_IFDIR {
			u.noteDir(name, m)
			return nil
		}
		m.hides = st.Mode&unix.S_IFMT == unix.S_IFCHR && st.Rdev == 0
		if err := u.clear(parent, base, name); err != nil {
			return err
		}
		err = unix.Mkdirat(parent, base, 0o700)
	}
	if err == nil {
		u.noteDir(name, m)
	}
	return err
}

// implicitDir notes a directory that the archive left out.
func (u *unpacker) implicitDir(dir string, hides bool) error {
	m, err := u.meta(&tar.Header{Name: dir, Typeflag: tar.TypeDir, Mode: 0o755})
	m.hides = hides
	u.noteDir(dir, m)
	return err
}

func (u *unpacker) file(parent int, base, name string, size int64, content io.Reader, m meta) error {
	fd := -1
	err := u.create(parent, base, name, func() (err error) {
		const flags = unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC
		fd, err = unix.Openat(parent, base, flags, 0o600)
		return err
	})
	if err != nil {
		return err
	}
	err = brokenTar(rooted.WriteSparse(fd, size, content, u.buf))
	if err == nil {
		err = u.finishFile(fd, m)
	}
	if closeErr := unix.Close(fd); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return setTimes(parent, base, m)
}

// hardLink gives a second name to a file of this layer; nothing outside of the root has a name here.
func (u *unpacker) hardLink(parent int, base, name, target string) error {
	old, err := rooted.Clean(target, u.Limits.Depth)
	if err != nil {
		return refuse(name, "it is a hard link to "+fmt.Sprintf("%.200q", target)+", which leads out of the archive")
	}
	if old == name {
		return nil
	}
	oldDir, oldBase := rooted.Split(old)
	from, err := u.root.OpenDir(oldDir, 0)
	if err == nil {
		defer unix.Close(from)
		err = u.create(parent, base, name, func() error { return unix.Linkat(from, oldBase, parent, base, 0) })
	}
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		return refuse(name, fmt.Sprintf("it is a hard link to %.200q, which is not in this layer", target))
	}
	if errors.Is(err, unix.EPERM) {
		return refuse(name, fmt.Sprintf("it is a hard link to %.200q, which cannot have two names", target))
	}
	return err
}

// symlink keeps the target as it is: where it leads is decided inside of the sandbox.
func (u *unpacker) symlink(parent int, base, name, target string, m meta) error {
	if target == "" || len(target) > rooted.LongestName {
		return refuse(name, "it is a link to nothing that could be")
	}
	err := u.create(parent, base, name, func() error { return unix.Symlinkat(target, parent, base) })
	if err == nil {
		err = u.chown(parent, base, m)
	}
	if err != nil {
		return err
	}
	return setTimes(parent, base, m)
}

func (u *unpacker) device(parent int, base, name string, hdr *tar.Header, m meta) error {
	switch u.Devices {
	case Drop:
		return nil
	case Refuse:
		return refuse(name, "it is a device")
	}
	kind := uint32(unix.S_IFCHR)
	if hdr.Typeflag == tar.TypeBlock {
		kind = unix.S_IFBLK
	}
	if hdr.Devmajor < 0 || hdr.Devmajor > 1<<12-1 || hdr.Devminor < 0 || hdr.Devminor > 1<<20-1 {
		return refuse(name, "it is a device with an impossible number")
	}
	return u.node(parent, base, name, kind, unix.Mkdev(uint32(hdr.Devmajor), uint32(hdr.Devminor)), m)
}

func (u *unpacker) node(parent int, base, name string, kind uint32, dev uint64, m meta) error {
	err := u.create(parent, base, name, func() error { return unix.Mknodat(parent, base, kind|0o600, int(dev)) })
	if err == nil {
		err = u.chown(parent, base, m)
	}
	if err == nil {
		err = unix.Fchmodat(parent, base, m.mode, 0)
	}
	if err != nil {
		return err
	}
	return setTimes(parent, base, m)
}
