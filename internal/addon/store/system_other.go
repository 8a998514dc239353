//go:build !linux

package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Where nothing is known of who could change a directory no store is opened, and the rest is never reached.
func resolve(string) (string, error) {
	return "", fmt.Errorf("add-ons are kept on Linux only: %w", errors.ErrUnsupported)
}

func looser(string, fs.FileInfo, fs.FileMode) bool { return false }
func trusted(string) error                         { return errors.ErrUnsupported }
func syncAll(string) error                         { return errors.ErrUnsupported }
func flock(string, bool) (*os.File, error)         { return nil, errors.ErrUnsupported }
func noLocks(error) bool                           { return true }
func cannotLink(error) bool                        { return false }
func removeTree(string) error                      { return errors.ErrUnsupported }
func owner(os.FileInfo) int                        { return -1 }
func (*sealing) tree(string, string) error         { return errors.ErrUnsupported }

type entered struct{}

func enter(string) (entered, error)          { return entered{}, errors.ErrUnsupported }
func (entered) close()                       {}
func (entered) trusted(string) (int64, bool) { return 0, false }
func (entered) has(string) bool              { return false }
func (entered) read(string) (string, error)  { return "", errors.ErrUnsupported }
