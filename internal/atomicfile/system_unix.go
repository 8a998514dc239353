//go:build unix

package atomicfile

import (
	"errors"
	"syscall"
)

// nonblocking makes an open return at once, whatever it is that is opened.
const nonblocking = syscall.O_NONBLOCK

func unsupported(err error) bool {
	return errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP)
}
