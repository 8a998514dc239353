package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"hermes.example/hermes/internal/profile"
	"hermes.example/hermes/internal/upkeep"
)

// giveKey gives the default gateway a key of its own, unless the operator has one for it. Where it cannot, that is said with
// the addresses: without a key the gateway runs, and lets nobody in.
func (a *app) giveKey(root string) error {
	if key, _ := a.lookup("API_SERVER_KEY"); key != "" {
		return nil
	}
	_, err := giveDoor(&profile.Home{Root: root}, profile.Default)
	return err
}

// unfit is what is wrong with a home that nothing can be kept in, and what to do about it.
func unfit(root string, err error) error {
	var step string
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		step = "make room there"
	case errors.Is(err, syscall.EROFS):
		step = "mount it writable"
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		step = fmt.Sprintf("give it, with all in it, to user %d, who runs this", os.Geteuid())
	case errors.Is(err, syscall.ENOTDIR):
		step = "remove what is in its place"
	default:
		if home := (*upkeep.HomeError)(nil); errors.As(err, &home) {
			err = home.Err
		}
		return cannot("run this home", err)
	}
	why := ""
	if at := (*os.PathError)(nil); errors.As(err, &at) && at.Path != root && filepath.IsAbs(at.Path) {
		why = at.Path + ": "
	}
	var number syscall.Errno
	errors.As(err, &number)
	return fmt.Errorf("cannot use the home %s: %s%w; %s, or name another home with HERMES_HOME", root, why, number, step)
}
