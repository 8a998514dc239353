package profile

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

var (
	//go:embed seeds/SOUL.md
	soul []byte
	//go:embed seeds/config.yaml
	settings []byte
)

// directories are those of a new profile.
var directories = []string{"cron", "sessions", "logs", "hooks", "memories", "skills", "skins", "plans", "workspace", "home", "pairing"}

// Create makes a profile. What already stands in its directory stays as it is. The mark comes last, so that what a
// crash leaves half made is no profile, and can be made again.
func (h *Home) Create(name string) error {
	if name == Default {
		return fmt.Errorf("cannot create the profile %q: %w", name, ErrExists)
	}
	if err := Check(name); err != nil {
		return err
	}
	err := h.below("", func(root int) error {
		var st unix.Stat_t
		if err := unix.Fstat(root, &st); err != nil {
			return err
		}
		// As open to others as the home is: whose files they are is the same.
		return enter(root, directory, st.Mode, func(profiles int) error {
			return enter(profiles, name, st.Mode, furnish)
		})
	})
	if err != nil {
		return fmt.Errorf("cannot create the profile %q: %w", name, noLink(err))
	}
	return nil
}

// enter calls do with a directory, made if it is missing.
func enter(above int, name string, mode uint32, do func(dir int) error) error {
	if err := unix.Mkdirat(above, name, mode&0o777|0o700); err != nil && err != unix.EEXIST {
		return err
	}
	dir, err := unix.Openat(above, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	return do(dir)
}

func furnish(dir int) error {
	if marked(dir) {
		return ErrExists
	}
	for _, name := range directories {
		if err := unix.Mkdirat(dir, name, 0o755); err != nil && err != unix.EEXIST {
			return err
		}
	}
	if err := plant(dir, "config.yaml", settings, 0o640); err != nil && !errors.Is(err, unix.EEXIST) {
		return err
	}
	err := plant(dir, Mark, soul, 0o644)
	if errors.Is(err, unix.EEXIST) {
		return ErrExists
	}
	return err
}

// plant writes a file that must not be there yet. Half of one is worse than none.
func plant(dir int, name string, content []byte, mode uint32) error {
	fd, err := unix.Openat(dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), name)
	_, err = f.Write(content)
	err = cmp.Or(err, f.Sync(), f.Close())
	if err != nil {
		unix.Unlinkat(dir, name, 0)
	}
	return err
}
