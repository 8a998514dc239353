package wire

import (
	"errors"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// SendFile sends the next n bytes of an open file as if they were written, and returns how many of them it had;
// zeros stand for the rest. Where the stream is a socket's own, the kernel passes on the pages of the file
// without copying them. Elsewhere it sends nothing and returns errors.ErrUnsupported.
func (d *DataWriter) SendFile(fd int, n int64) (int64, error) {
	conn, ok := d.w.w.(syscall.Conn)
	if !ok {
		return 0, errors.ErrUnsupported
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	if err := d.Flush(); err != nil {
		return 0, err
	}
	had := int64(0)
	for left := n; left > 0; {
		size := int(min(left, MaxPayload))
		if err := d.announce(size); err != nil {
			return had, err
		}
		sent, err := sendPages(raw, fd, size)
		if err == unix.EINVAL { // not every file system can
			sent, err = d.sendCopied(fd, sent, size)
		}
		if err == nil && sent < size {
			_, err = d.w.w.Write(make([]byte, size-sent))
		}
		if err != nil {
			return had, err
		}
		had, left = had+int64(sent), left-int64(size)
	}
	return had, nil
}

// announce sends the header of a frame, whose payload the caller sends.
func (d *DataWriter) announce(n int) error {
	_, err := d.w.w.Write(d.header(n))
	return err
}

// sendPages sends up to n bytes; fewer mean the end of the file.
func sendPages(raw syscall.RawConn, fd, n int) (sent int, err error) {
	waitErr := raw.Write(func(socket uintptr) bool {
		for sent < n {
			var m int
			m, err = unix.Sendfile(int(socket), fd, nil, n-sent)
			switch {
			case err == unix.EINTR:
				continue
			case err == unix.EAGAIN:
				err = nil
				return false // until there is room again
			case err != nil || m <= 0:
				return true
			}
			sent += m
		}
		return true
	})
	if waitErr != nil {
		return sent, waitErr
	}
	return sent, err
}

// sendCopied sends what sendPages could not.
func (d *DataWriter) sendCopied(fd, sent, n int) (int, error) {
	buf := make([]byte, n-sent)
	m, err := io.ReadFull(fileReader(fd), buf)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return sent, err
	}
	_, err = d.w.w.Write(buf[:m])
	return sent + m, err
}

// fileReader reads a descriptor that stays somebody else's.
type fileReader int

func (f fileReader) Read(p []byte) (int, error) {
	for {
		n, err := unix.Read(int(f), p)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return 0, os.NewSyscallError("read", err)
		case n == 0 && len(p) > 0:
			return 0, io.EOF
		}
		return n, nil
	}
}
