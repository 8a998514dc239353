//go:build linux

package tartree

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/rooted"
)

// Pack writes the tree that the O_PATH descriptor top stands for, under the name as. With an empty name top must
// be a directory, and what is in it is written without it.
func Pack(w io.Writer, top int, as string, l Limits) (Result, error) {
	p := packer{counter: newCounter(l), w: w, buf: make([]byte, chunk), seen: make(map[inode]string), room: linkRoom}
	err := p.top(top, as)
	if err == nil {
		_, err = p.w.Write(make([]byte, 2*block)) // the end of an archive
	}
	return p.result, err
}

// block is what everything in a tar stream is a multiple of.
const block = 512

// FileSender is a writer that can be given part of an open file: n bytes of it from where it stands, or zeros
// where it has become shorter. It returns how many the file had; errors.ErrUnsupported means that it sent nothing.
type FileSender interface {
	SendFile(fd int, n int64) (int64, error)
}

type packer struct {
	counter
	w       io.Writer
	buf     []byte
	devices rooted.Devices
	seen    map[inode]string // files of several names, by the first of them
	room    int              // bytes that those names may still take
}

// linkRoom bounds what is remembered of files of several names: whoever made the tree could make us remember
// any number of them. Beyond it a second name is a second file.
const linkRoom = 16 << 20

type inode struct{ dev, number uint64 }

func (p *packer) top(fd int, as string) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if kernels, err := p.devices.Kernels(fd, &st); err != nil || kernels {
		return errors.Join(err, errKernels)
	}
	if as == "" {
		return p.children(fd, "", 0)
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG, unix.S_IFDIR, unix.S_IFLNK:
		return p.entry(fd, as, &st, 0)
	}
	return errKind
}

var (
	errKernels = errors.New("it belongs to a file system that the kernel makes up")
	errKind    = errors.New("it is neither a file nor a directory")
)

// entry writes what an O_PATH descriptor stands for.
func (p *packer) entry(fd int, name string, st *unix.Stat_t, level int) error {
	h := &tar.Header{Name: name, Mode: int64(st.Mode & 0o777), Uid: int(st.Uid), Gid: int(st.Gid), ModTime: time.Unix(st.Mtim.Sec, 0)}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		h.Typeflag, h.Name = tar.TypeDir, name+"/"
		if err := p.header(h); err != nil {
			return err
		}
		return p.children(fd, name+"/", level)
	case unix.S_IFLNK:
		target, err := readLink(fd)
		if err != nil {
			return fmt.Errorf("%.200q: %w", name, err)
		}
		h.Typeflag, h.Linkname = tar.TypeSymlink, target
		return p.header(h)
	case unix.S_IFREG:
		if st.Nlink > 1 {
			key := inode{uint64(st.Dev), st.Ino}
			if first, again := p.seen[key]; again {
				h.Typeflag, h.Linkname = tar.TypeLink, first
				return p.header(h)
			}
			if p.room -= len(name); p.room >= 0 {
				p.seen[key] = name
			}
		}
		h.Typeflag, h.Size = tar.TypeReg, st.Size
		return p.file(fd, h)
	}
	p.result.Skipped++
	return nil
}

func (p *packer) header(h *tar.Header) error {
	if err := p.add(h.Size); err != nil {
		return err
	}
	// A writer for each header: contents go past it, as large and as fast as they can.
	if err := tar.NewWriter(p.w).WriteHeader(h); err != nil {
		return fmt.Errorf("%.200q: %w", h.Name, err)
	}
	return nil
}

// children writes the entries of a directory.
func (p *packer) children(fd int, prefix string, level int) error {
	if level == depth {
		return refuse(prefix, fmt.Sprintf("it lies deeper than %d directories", depth))
	}
	return rooted.Each(fd, prefix, func(fd int, name string, st *unix.Stat_t) error { return p.child(fd, name, st, level+1) })
}

func (p *packer) child(fd int, name string, st *unix.Stat_t, level int) error {
	kernels, err := p.devices.Kernels(fd, st)
	if err != nil {
		return fmt.Errorf("%.200q: %w", name, err)
	}
	if kernels {
		p.result.Skipped++
		return nil
	}
	return p.entry(fd, name, st, level)
}

// file writes as many bytes as the header promises, whatever happens to the file meanwhile.
func (p *packer) file(fd int, h *tar.Header) error {
	if h.Size == 0 {
		return p.header(h)
	}
	open, err := rooted.Reopen(fd, unix.O_RDONLY)
	if err != nil {
		return fmt.Errorf("%.200q: %w", h.Name, err)
	}
	defer unix.Close(open)
	if err := p.header(h); err != nil {
		return err
	}
	had, err := p.content(open, h.Size)
	if err != nil {
		return fmt.Errorf("%.200q: %w", h.Name, err)
	}
	if had < h.Size {
		p.result.Changed++
	}
	_, err = p.w.Write(p.zeros(-h.Size & (block - 1)))
	return err
}

// sendFrom is the size from which on a file is worth a FileSender's trouble.
const sendFrom = 64 << 10

// content writes size bytes of an open file, and returns how many it had.
func (p *packer) content(fd int, size int64) (int64, error) {
	if sender, ok := p.w.(FileSender); ok && size >= sendFrom {
		if had, err := sender.SendFile(fd, size); !errors.Is(err, errors.ErrUnsupported) {
			return had, err
		}
	}
	had := int64(0)
	for at := int64(0); at < size; {
		buf := p.buf[:min(size-at, int64(len(p.buf)))]
		n, err := unix.Read(fd, buf)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return had, err
		case n == 0:
			buf = p.zeros(int64(len(buf)))
		default:
			buf = buf[:n]
			had += int64(n)
		}
		if _, err := p.w.Write(buf); err != nil {
			return had, err
		}
		at += int64(len(buf))
	}
	return had, nil
}

// zeros are n of them, at most a chunk.
func (p *packer) zeros(n int64) []byte {
	clear(p.buf[:n])
	return p.buf[:n]
}

func readLink(fd int) (string, error) {
	buf := make([]byte, rooted.LongestName+1)
	n, err := unix.Readlinkat(fd, "", buf)
	return string(buf[:max(n, 0)]), err
}
