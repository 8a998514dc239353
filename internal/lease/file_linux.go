package lease

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// open opens the file of a home, and nothing but a file that has no other name: a link would lead elsewhere.
func open(dir, flags int) (*os.File, error) {
	fd, err := unix.Openat(dir, File, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return nil, refused(err)
	}
	f := os.NewFile(uintptr(fd), File)
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	if err == nil && (st.Mode&unix.S_IFMT != unix.S_IFREG || st.Nlink > 1) {
		err = errors.New("it is not a file of its own; remove it")
	}
	if err != nil {
		f.Close()
		return nil, refused(err)
	}
	return f, nil
}

func refused(err error) error {
	if errors.Is(err, unix.ELOOP) {
		err = errors.New("it is a link; remove it")
	}
	return fmt.Errorf("cannot use %s of the home: %w", File, err)
}

func read(f *os.File) (Holder, error) {
	info, err := f.Stat()
	if err != nil {
		return Holder{}, refused(err)
	}
	if info.Size() == 0 {
		return Holder{}, nil
	}
	text, err := io.ReadAll(io.NewSectionReader(f, 0, size))
	if err != nil {
		return Holder{}, refused(err)
	}
	return decode(text, info.ModTime()), nil
}
