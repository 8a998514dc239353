// Package guestbin holds hermes-guest, the program that is PID 1 of every
// sandbox, for each architecture that sandboxes run on.
//
// `make build` fills it. The engines take the program from here, so that there
// is one file to install.
package guestbin

import (
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

//go:embed all:bin
var files embed.FS

// ErrMissing means that this program was built without its guest.
var ErrMissing = errors.New("this hermes was built without its guest: build it with make")

// For returns the guest for a Linux architecture, as Go names it.
func For(arch string) ([]byte, error) {
	data, err := files.ReadFile("bin/hermes-guest-linux-" + arch)
	if err != nil {
		return nil, fmt.Errorf("no guest for %s: %w", arch, ErrMissing)
	}
	return data, nil
}

// Digest names the guest's content. It is computed when the guest is built:
// hashing megabytes at every start would take longer than everything else.
func Digest(arch string) (string, error) {
	d, err := files.ReadFile("bin/hermes-guest-linux-" + arch + ".sha256")
	if err != nil || len(d) < digestLength {
		return "", fmt.Errorf("no guest for %s: %w", arch, ErrMissing)
	}
	return string(d[:digestLength]), nil
}

const digestLength = 16

// cachePiece is how much of the guest is written at a time. Linux may cache what is
// written at once as one piece, and maps all of it where one byte is touched: a
// guest that uses little of its program would weigh a megabyte more.
const cachePiece = 64 << 10

// Extract puts the guest into dir, once for all callers, and returns its path.
// The name has its digest, so that versions stand side by side; the content of a
// file that exists is what its name says, because it got the name when complete.
func Extract(dir, arch string) (string, error) {
	d, err := Digest(arch)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "guest-"+d)
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		return path, nil
	}
	data, err := For(arch)
	if err != nil {
		return "", err
	}
	// What a fork of ours inherits cannot be executed while it is open for writing.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	f, err := os.CreateTemp(dir, ".guest-*")
	if err != nil {
		return "", fmt.Errorf("cannot extract the guest: %w", err)
	}
	for piece := range slices.Chunk(data, cachePiece) {
		if _, err = f.Write(piece); err != nil {
			break
		}
	}
	if err == nil {
		err = f.Chmod(0o555)
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return "", fmt.Errorf("cannot extract the guest: %w", err)
	}
	return path, nil
}
