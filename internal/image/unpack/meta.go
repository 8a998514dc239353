//go:build linux

package unpack

import (
	"archive/tar"
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/rooted"
)

// meta is what an entry has besides its content, as it will be on the disk.
type meta struct {
	uid, gid int
	mode     uint32
	time     unix.Timespec
	xattrs   map[string]string
	hides    bool // a directory that does not show what lies below it
}

const (
	capability = "security.capability"
	paxXattr   = "SCHILY.xattr."
)

// meta judges owner, mode and attributes before anything is made.
func (u *unpacker) meta(hdr *tar.Header) (meta, error) {
	m := meta{uid: hdr.Uid, gid: hdr.Gid, mode: uint32(hdr.Mode) & 0o7777}
	if u.Owner != nil {
		m.uid, m.gid = u.Owner.UID, u.Owner.GID
	}
	// The largest number means "leave it" to the kernel.
	if min(m.uid, m.gid) < 0 || max(m.uid, m.gid) >= math.MaxUint32 {
		return m, refuse(hdr.Name, "it belongs to an impossible user or group")
	}
	t := hdr.ModTime
	if t.IsZero() {
		t = time.Unix(0, 0)
	}
	m.time = unix.Timespec{Sec: t.Unix(), Nsec: int64(t.Nanosecond())}
	m.xattrs = wantedXattrs(hdr.PAXRecords)
	// On a directory the bit only hands the group down, which gives nobody rights.
	_, capable := m.xattrs[capability]
	if setid := m.mode&(unix.S_ISUID|unix.S_ISGID) != 0 && hdr.Typeflag != tar.TypeDir; setid || capable {
		switch u.Setuid {
		case Refuse:
			return m, refuse(hdr.Name, "it would run with another user's rights")
		case Drop:
			delete(m.xattrs, capability)
			if setid {
				m.mode &^= unix.S_ISUID | unix.S_ISGID
			}
		}
	}
	return m, nil
}

// wantedXattrs takes what belongs to a file wherever it is. The rest is the machine's (labels), or would speak
// to overlayfs in our name.
func wantedXattrs(records map[string]string) map[string]string {
	var wanted map[string]string
	for key, value := range records {
		name, ok := strings.CutPrefix(key, paxXattr)
		if !ok || name != capability && !strings.HasPrefix(name, "user.") || strings.HasPrefix(name, string(User)) {
			continue
		}
		if wanted == nil {
			wanted = map[string]string{}
		}
		wanted[name] = value
	}
	return wanted
}

func (u *unpacker) chown(parent int, base string, m meta) error {
	if m.uid == u.uid && m.gid == u.gid {
		return nil
	}
	return unix.Fchownat(parent, base, m.uid, m.gid, unix.AT_SYMLINK_NOFOLLOW)
}

// finishFile gives an open file its owner, mode and attributes; a change of the owner takes the others away.
func (u *unpacker) finishFile(fd int, m meta) error {
	if m.uid != u.uid || m.gid != u.gid {
		if err := unix.Fchown(fd, m.uid, m.gid); err != nil {
			return err
		}
	}
	if m.mode != 0o600 {
		if err := unix.Fchmod(fd, m.mode); err != nil {
			return err
		}
	}
	return setXattrs(fd, m.xattrs)
}

// setXattrs leaves out what the file system cannot hold: a file is of use without its notes, but not without
// its rights.
func setXattrs(fd int, xattrs map[string]string) error {
	for name, value := range xattrs {
		err := unix.Fsetxattr(fd, name, []byte(value), 0)
		if err == unix.ENOTSUP && name != capability {
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func setTimes(parent int, base string, m meta) error {
	return unix.UtimesNanoAt(parent, base, []unix.Timespec{m.time, m.time}, unix.AT_SYMLINK_NOFOLLOW)
}

// noteDir keeps what a directory is to get; of two of one name the later counts.
func (u *unpacker) noteDir(path string, m meta) {
	m.hides = m.hides || u.dirs[path].hides
	u.dirs[path] = m
}

// finishDirs comes last, because a directory may be closed to us and its time changes with every entry. The
// deepest are first, for the same reason.
func (u *unpacker) finishDirs() error {
	u.root.Forget()
	if _, ok := u.dirs[""]; !ok {
		if err := u.implicitDir("", false); err != nil {
			return err
		}
	}
	paths := slices.SortedFunc(maps.Keys(u.dirs), func(a, b string) int {
		return cmp.Or(cmp.Compare(rooted.Depth(b), rooted.Depth(a)), strings.Compare(a, b))
	})
	for _, path := range paths {
		if err := u.finishDir(path, u.dirs[path]); err != nil {
			return fmt.Errorf("cannot finish %.200q: %w", path, err)
		}
	}
	return nil
}

func (u *unpacker) finishDir(path string, m meta) error {
	fd, err := u.root.OpenDir(path, unix.O_NOFOLLOW)
	if err == unix.ENOENT || err == unix.ENOTDIR || err == unix.ELOOP {
		return nil // a later entry took its place
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if m.hides {
		if err := u.hideBelow(fd); err != nil {
			return err
		}
	}
	if err := u.chown(fd, ".", m); err != nil {
		return err
	}
	if err := setXattrs(fd, m.xattrs); err != nil {
		return err
	}
	if err := setTimes(fd, ".", m); err != nil {
		return err
	}
	return unix.Fchmod(fd, m.mode)
}
