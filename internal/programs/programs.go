// Package programs holds the small programs that hermes carries, for each
// architecture that they run on, so that there is one file to install.
//
// `make build` fills it. The engines take the guest from here, and the command
// that prepares an image takes the init.
package programs

import (
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

//go:embed all:bin
var files embed.FS

// Program is one of them, by its name.
type Program string

// The programs.
const (
	Guest Program = "hermes-guest" // PID 1 of every sandbox
	Init  Program = "hermes-init"  // the entrypoint of the image
	Shim  Program = "hermes-shim"  // the hermes that people type in it
)

// ErrMissing means that this hermes was built without its programs.
var ErrMissing = errors.New("this hermes was built without it: build it with make")

// For returns the program for a Linux architecture, as Go names it.
func (p Program) For(arch string) ([]byte, error) {
	data, err := files.ReadFile(p.file(arch))
	if err != nil {
		return nil, p.missing(arch)
	}
	return data, nil
}

// Digest names the program's content. It is computed when the program is built:
// hashing megabytes at every start would take longer than everything else.
func (p Program) Digest(arch string) (string, error) {
	d, err := files.ReadFile(p.file(arch) + ".sha256")
	if err != nil || len(d) < digestLength {
		return "", p.missing(arch)
	}
	return string(d[:digestLength]), nil
}

const digestLength = 16

func (p Program) file(arch string) string { return "bin/" + string(p) + "-linux-" + arch }

// short is what the names of extracted files begin with; those who sweep them know it.
func (p Program) short() string { return strings.TrimPrefix(string(p), "hermes-") }

func (p Program) missing(arch string) error {
	return fmt.Errorf("no %s for %s: %w", p, arch, ErrMissing)
}

// cachePiece is how much of a program is written at a time. Linux may cache what is
// written at once as one piece, and maps all of it where one byte is touched: one
// that uses little of its program would weigh a megabyte more.
const cachePiece = 64 << 10

// Extract puts the program into dir, once for all callers, and returns its path.
// The name has its digest, so that versions stand side by side; the content of a
// file that exists is what its name says, because it got the name when complete.
func (p Program) Extract(dir, arch string) (string, error) {
	d, err := p.Digest(arch)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, p.short()+"-"+d)
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		return path, nil
	}
	return path, p.write(path, arch)
}

// write puts the program where it is to be, whole or not at all.
func (p Program) write(path, arch string) error {
	data, err := p.For(arch)
	if err != nil {
		return err
	}
	// What a fork of ours inherits cannot be executed while it is open for writing.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	f, err := os.CreateTemp(filepath.Dir(path), "."+p.short()+"-*")
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", p, err)
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
		return fmt.Errorf("cannot write %s: %w", p, err)
	}
	return nil
}
