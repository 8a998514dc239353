//go:build linux

package rooted

import (
	"bytes"
	"io"

	"golang.org/x/sys/unix"
)

// WriteSparse writes size bytes of content to a new file, through buf; whole buffers of zeros become holes.
func WriteSparse(fd int, size int64, content io.Reader, buf []byte) error {
	for at := int64(0); at < size; {
		n, err := io.ReadFull(content, buf[:min(size-at, int64(len(buf)))])
		if err != nil {
			return err
		}
		if !isZero(buf[:n]) {
			if err := writeAt(fd, buf[:n], at); err != nil {
				return err
			}
		} else if at+int64(n) == size {
			if err := unix.Ftruncate(fd, size); err != nil {
				return err
			}
		}
		at += int64(n)
	}
	return nil
}

var zeros [64 << 10]byte

func isZero(b []byte) bool {
	for len(b) > len(zeros) {
		if !bytes.Equal(b[:len(zeros)], zeros[:]) {
			return false
		}
		b = b[len(zeros):]
	}
	return bytes.Equal(b, zeros[:len(b)])
}

func writeAt(fd int, b []byte, at int64) error {
	for len(b) > 0 {
		n, err := unix.Pwrite(fd, b, at)
		if err != nil && err != unix.EINTR {
			return err
		}
		n = max(n, 0)
		b, at = b[n:], at+int64(n)
	}
	return nil
}
