package files

import (
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/rooted"
	"hermes.example/hermes/internal/wire"
)

// read sends a file from an offset on, up to a limit.
func (s *service) read() error {
	fd, err := s.openFile(s.path(), unix.O_RDONLY)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	out := wire.NewDataWriter(s.w)
	buf := make([]byte, wire.DataChunk)
	sent := int64(0)
	for s.req.Limit <= 0 || sent < s.req.Limit {
		want := buf
		if left := s.req.Limit - sent; s.req.Limit > 0 && left < int64(len(buf)) {
			want = buf[:left]
		}
		n, err := unix.Pread(fd, want, s.req.Offset+sent)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
		if _, err := out.Write(want[:n]); err != nil {
			return err
		}
		sent += int64(n)
	}
	return out.End(wire.FileResult{Bytes: sent})
}

// write takes a file. Until it is whole it has another name, and an error leaves what was there before.
func (s *service) write() error {
	if s.req.Append {
		return s.appendTo()
	}
	dir, base, err := s.target()
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	mode, err := s.modeFor(dir, base)
	if err != nil {
		return err
	}
	name, err := rooted.Temporary()
	if err != nil {
		return err
	}
	fd, err := create(dir, name, 0o600)
	if err != nil {
		return err
	}
	n, err := s.receive(fd)
	if err == nil {
		err = unix.Fchmod(fd, mode)
	}
	if closeErr := unix.Close(fd); err == nil {
		err = closeErr
	}
	if err == nil {
		err = unix.Renameat(dir, name, dir, base)
	}
	if err != nil {
		return errors.Join(err, ignoreMissing(unix.Unlinkat(dir, name, 0)))
	}
	return s.w.WriteMessage(wire.TypeFileEnd, wire.FileResult{Bytes: n})
}

// modeFor is the mode of a file that is about to be replaced, or a new one's. A link is replaced as such.
func (s *service) modeFor(dir int, base string) (uint32, error) {
	var st unix.Stat_t
	switch err := unix.Fstatat(dir, base, &st, unix.AT_SYMLINK_NOFOLLOW); {
	case err == unix.ENOENT:
		st.Mode = 0o644
	case err != nil:
		return 0, err
	case st.Mode&unix.S_IFMT == unix.S_IFDIR:
		return 0, unix.EISDIR
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		st.Mode = 0o644
	}
	if s.req.Mode != 0 {
		st.Mode = s.req.Mode
	}
	return st.Mode & 0o777, nil
}

// appendTo adds to a file, or makes it.
func (s *service) appendTo() error {
	fd, err := s.openFile(s.path(), unix.O_WRONLY|unix.O_APPEND)
	if err == unix.ENOENT {
		dir, base, parentErr := s.parent(s.path())
		if parentErr != nil {
			return parentErr
		}
		defer unix.Close(dir)
		mode, modeErr := s.modeFor(dir, base)
		if modeErr != nil {
			return modeErr
		}
		fd, err = create(dir, base, mode)
	}
	if err != nil {
		return err
	}
	n, err := s.receive(fd)
	if closeErr := unix.Close(fd); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return s.w.WriteMessage(wire.TypeFileEnd, wire.FileResult{Bytes: n})
}

func create(dir int, name string, mode uint32) (int, error) {
	return unix.Openat(dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_APPEND|unix.O_CLOEXEC, mode)
}

// receive writes what the caller sends, up to the limit.
func (s *service) receive(fd int) (int64, error) {
	in := wire.NewDataReader(s.r)
	buf := make([]byte, wire.DataChunk)
	total := int64(0)
	for {
		n, err := in.Read(buf)
		if total += int64(n); s.req.Limit > 0 && total > s.req.Limit {
			return total, &tooLarge{fmt.Sprintf("%d bytes", s.req.Limit)}
		}
		if writeErr := writeAll(fd, buf[:n]); writeErr != nil {
			return total, writeErr
		}
		if err == io.EOF {
			return total, nil
		}
		if err != nil {
			return total, err
		}
	}
}

func writeAll(fd int, p []byte) error {
	for len(p) > 0 {
		n, err := unix.Write(fd, p)
		if err != nil && err != unix.EINTR {
			return err
		}
		p = p[max(n, 0):]
	}
	return nil
}

func ignoreMissing(err error) error {
	if err == unix.ENOENT {
		return nil
	}
	return err
}
