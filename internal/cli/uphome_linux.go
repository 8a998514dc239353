package cli

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"hermes.example/hermes/internal/profile"
)

// giveKey gives the default gateway a key of its own, unless the operator has one for it. What it says that it cannot is
// for who looks on: a home without a key serves as it is.
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
		step = fmt.Sprintf("give it to user %d, who runs this", os.Geteuid())
	case errors.Is(err, syscall.ENOTDIR):
		step = "remove what is in its place"
	default:
		return cannot("run this home", err)
	}
	var why syscall.Errno
	errors.As(err, &why)
	return fmt.Errorf("cannot use the home %s: %w; %s, or name another home with HERMES_HOME", root, why, step)
}
