//go:build unix

package sealed

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// trusted says why somebody else than root and the caller could change one of these files or directories. What is not
// there is nobody's.
func trusted(paths ...string) error {
	for _, path := range paths {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o022 != 0 {
			return fmt.Errorf("others can write %s; take the right away with \"chmod go-w\"", path)
		}
		if uid := int(info.Sys().(*syscall.Stat_t).Uid); uid != 0 && uid != os.Geteuid() {
			return fmt.Errorf("%s belongs to user %d; run this as that user, or give the runtime to root", path, uid)
		}
	}
	return nil
}
