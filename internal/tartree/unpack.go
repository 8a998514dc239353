//go:build linux

package tartree

import (
	"archive/tar"
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/rooted"
)

// Options of Unpack.
type Options struct {
	Limits Limits
	// Top, if not empty, is the one name that the stream may bring: anything beside it is refused.
	Top string
}

// Unpack makes the tree of a tar stream below the open directory dir. All of it belongs to whoever unpacks.
//
// A file appears under its name when it is whole, in place of a file or link of that name. Directories that are
// there stay as they are. What was whole before an error stays; the error names the entry that it stopped at.
func Unpack(dir int, r io.Reader, o Options) (Result, error) {
	prefix, err := rooted.Temporary()
	if err != nil {
		return Result{}, err
	}
	own, err := unix.Openat(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return Result{}, err
	}
	u := unpacker{Options: o, counter: newCounter(o.Limits), root: rooted.New(own, rooted.NoLinks), buf: make([]byte, chunk), prefix: prefix}
	defer u.root.Close()
	u.root.Make = u.missingDir
	stream := bufio.NewReaderSize(r, chunk/2)
	if err = u.entries(tar.NewReader(stream)); err == nil {
		err = skipPadding(stream)
	}
	return u.result, cmp.Or(err, u.leave(""))
}

// skipPadding reads what follows the end of an archive: whoever writes it waits for a reader, but not for ever.
func skipPadding(r io.Reader) error {
	const most = 16 << 20 // more than any tape's block
	if n, err := io.CopyN(io.Discard, r, most+1); n > most || err != io.EOF {
		return cmp.Or(err, refuse("", "it goes on after its end"))
	}
	return nil
}

type unpacker struct {
	Options
	counter
	root    *rooted.Root
	buf     []byte
	devices rooted.Devices
	inside  []madeDir // those that the last entry lay in, outermost first
	prefix  string    // of temporary names
	serial  int
}

func (u *unpacker) entries(tr *tar.Reader) error {
	for {
		h, err := tr.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("cannot read the archive after %d entries: %w", u.result.Entries, brokenTar(err))
		}
		if h.Typeflag == tar.TypeXGlobalHeader {
			continue
		}
		if err := u.entry(h, tr); err != nil {
			var refused *rooted.Refusal
			if errors.As(err, &refused) {
				return err
			}
			return fmt.Errorf("cannot unpack %.200q: %w", h.Name, brokenTar(err))
		}
	}
}

// brokenTar says what is wrong with an archive; other errors speak for themselves.
func brokenTar(err error) error {
	switch {
	case errors.Is(err, tar.ErrHeader), errors.Is(err, tar.ErrFieldTooLong):
		return fmt.Errorf("it is not a tar archive, or a damaged one (%w)", err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("it ends too early: %w", err)
	}
	return err
}

// entry makes one entry of the stream.
func (u *unpacker) entry(h *tar.Header, content io.Reader) error {
	name, err := rooted.Clean(h.Name, depth)
	if err != nil {
		return err
	}
	if !u.wanted(name) {
		return refuse(h.Name, "nobody asked for it")
	}
	size := int64(0)
	if h.Typeflag == tar.TypeReg || h.Typeflag == tar.TypeGNUSparse {
		size = h.Size
	}
	if err := u.add(size); err != nil {
		return err
	}
	if name == "" {
		if h.Typeflag != tar.TypeDir {
			return refuse(h.Name, "it would replace the directory itself")
		}
		return nil
	}
	if err := u.leave(name); err != nil {
		return err
	}
	dir, base := rooted.Split(name)
	parent, err := u.parent(dir)
	if err != nil {
		return err
	}
	switch h.Typeflag {
	case tar.TypeDir:
		return u.dir(parent, base, name, h)
	case tar.TypeReg, tar.TypeGNUSparse:
		return u.file(parent, base, h, content)
	case tar.TypeSymlink:
		return u.symlink(parent, base, h)
	case tar.TypeLink:
		return u.hardLink(parent, base, name, h.Linkname)
	case tar.TypeChar, tar.TypeBlock, tar.TypeFifo:
		u.result.Skipped++
		return nil
	}
	return refuse(h.Name, fmt.Sprintf("its type %q is unknown", h.Typeflag))
}

func (u *unpacker) wanted(name string) bool {
	return u.Top == "" || name == u.Top || strings.HasPrefix(name, u.Top+"/")
}

// parent opens the directory of an entry. The kernel's own file systems hold nothing of ours.
func (u *unpacker) parent(dir string) (int, error) {
	fd, err := u.root.Parent(dir)
	if err != nil {
		return -1, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return -1, err
	}
	if kernels, err := u.devices.Kernels(fd, &st); err != nil || kernels {
		return -1, errors.Join(err, errKernels)
	}
	return fd, nil
}

// temporary is a name in which an entry is made before it gets its own.
func (u *unpacker) temporary() string {
	u.serial++
	return u.prefix + "-" + strconv.Itoa(u.serial)
}

// place gives what was made under a temporary name its own, in place of what has it.
func (u *unpacker) place(parent int, temporary, base, name string) error {
	err := unix.Renameat(parent, temporary, parent, base)
	if err == unix.EISDIR || err == unix.ENOTEMPTY || err == unix.EEXIST {
		return refuse(name, "a directory is in its place")
	}
	return err
}

// file writes the content under a temporary name. The kernel takes the umask off its mode.
func (u *unpacker) file(parent int, base string, h *tar.Header, content io.Reader) (err error) {
	const flags = unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC
	temporary := u.temporary()
	fd, err := unix.Openat(parent, temporary, flags, uint32(h.Mode)&0o777)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = unix.Unlinkat(parent, temporary, 0)
		}
	}()
	err = rooted.WriteSparse(fd, h.Size, content, u.buf)
	if closeErr := unix.Close(fd); err == nil {
		err = closeErr
	}
	if err == nil {
		err = setTime(parent, temporary, modTime(h))
	}
	if err != nil {
		return err
	}
	return u.place(parent, temporary, base, h.Name)
}

// symlink keeps the target as it is: where it leads is decided by who follows it.
func (u *unpacker) symlink(parent int, base string, h *tar.Header) error {
	if h.Linkname == "" || len(h.Linkname) > rooted.LongestName {
		return refuse(h.Name, "it is a link to nothing that could be")
	}
	temporary := u.temporary()
	if err := unix.Symlinkat(h.Linkname, parent, temporary); err != nil {
		return err
	}
	err := u.place(parent, temporary, base, h.Name)
	if err != nil {
		_ = unix.Unlinkat(parent, temporary, 0)
	}
	return err
}

// hardLink gives a second name to a file of this tree.
func (u *unpacker) hardLink(parent int, base, name, target string) error {
	old, err := rooted.Clean(target, depth)
	if err != nil || !u.wanted(old) {
		return refuse(name, fmt.Sprintf("it is a hard link to %.200q, which leads out of the archive", target))
	}
	oldDir, oldBase := rooted.Split(old)
	from, err := u.root.OpenDir(oldDir, 0)
	if err != nil {
		return fmt.Errorf("it is a hard link to %.200q: %w", target, err)
	}
	defer unix.Close(from)
	temporary := u.temporary()
	if err := unix.Linkat(from, oldBase, parent, temporary, 0); err != nil {
		return fmt.Errorf("it is a hard link to %.200q: %w", target, err)
	}
	err = u.place(parent, temporary, base, name)
	// Between two names of one file a renaming does nothing, successfully.
	_ = unix.Unlinkat(parent, temporary, 0)
	return err
}

func modTime(h *tar.Header) unix.Timespec { return unix.NsecToTimespec(h.ModTime.UnixNano()) }

func setTime(parent int, name string, t unix.Timespec) error {
	return unix.UtimesNanoAt(parent, name, []unix.Timespec{t, t}, unix.AT_SYMLINK_NOFOLLOW)
}

// madeDir is a directory that this unpacking made, with what it gets in the end.
type madeDir struct {
	name string
	mode uint32
	time unix.Timespec
}

// missingDir makes a directory that the stream left out.
func (u *unpacker) missingDir(above int, dir string) error {
	_, base := rooted.Split(dir)
	err := unix.Mkdirat(above, base, 0o777)
	if err == unix.EEXIST {
		return refuse(dir, "it is a file or a link, and cannot hold entries")
	}
	return err
}

// dir makes a directory that its owner can fill; leave gives it its mode and time.
func (u *unpacker) dir(parent int, base, name string, h *tar.Header) error {
	err := unix.Mkdirat(parent, base, uint32(h.Mode)&0o777|0o700)
	if err == nil {
		u.inside = append(u.inside, madeDir{name, uint32(h.Mode) & 0o777, modTime(h)})
		return nil
	}
	if err != unix.EEXIST {
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstatat(parent, base, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return refuse(h.Name, "a file or a link is in its place")
	}
	return nil
}

// leave finishes the directories that the next entry does not lie in. Streams come directory by directory, and
// remembering all of them would cost what the stream's author likes; to a directory that comes back later,
// entries are added as to any that was there.
func (u *unpacker) leave(next string) error {
	for len(u.inside) > 0 {
		last := u.inside[len(u.inside)-1]
		if strings.HasPrefix(next, last.name+"/") {
			return nil
		}
		u.inside = u.inside[:len(u.inside)-1]
		if err := u.finishDir(last); err != nil {
			return fmt.Errorf("cannot finish %.200q: %w", last.name, err)
		}
	}
	return nil
}

func (u *unpacker) finishDir(d madeDir) error {
	fd, err := u.root.OpenDir(d.name, unix.O_NOFOLLOW)
	if err == unix.ENOENT || err == unix.ENOTDIR || err == unix.ELOOP {
		return nil // somebody took its place
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if d.mode&0o700 != 0o700 {
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return err
		}
		if err := unix.Fchmod(fd, st.Mode&d.mode); err != nil {
			return err
		}
	}
	return setTime(fd, ".", d.time)
}
