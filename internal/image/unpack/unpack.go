//go:build linux

// Package unpack turns one layer of an image, a tar stream that anybody may have written, into a directory
// that overlayfs can use as it is.
//
// The image store calls it. It never follows a link out of the directory, never trusts a name, a size or a
// number of the archive, and never overwrites anything that was there before: the directory is the caller's,
// new, empty and closed to others, and on an error the caller throws it away.
package unpack

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/rooted"
)

// Overlay says which attributes mark a directory that hides what lies below it.
type Overlay string

// A mount inside a user namespace reads user.overlay.*, one by the machine's root trusted.overlay.*.
const (
	User    Overlay = "user.overlay."
	Trusted Overlay = "trusted.overlay."
)

// Opaque is the attribute, with the value "y", of a directory that hides all that lies below it.
func (o Overlay) Opaque() string { return string(o) + "opaque" }

// Policy says what becomes of something that an ordinary user may not make.
type Policy int

// Drop leaves it out, Refuse ends the unpacking, Keep makes it.
const (
	Drop Policy = iota
	Refuse
	Keep
)

// Owner is the one id that owns all files where a sandbox has only one.
type Owner struct{ UID, GID int }

// Options of an unpacking. The zero value suits an ordinary user, except for Owner.
type Options struct {
	Overlay Overlay // User if empty
	Owner   *Owner  // nil: as the archive says
	Devices Policy
	Setuid  Policy // of set-id bits of files, and of their capabilities
	Limits  Limits
	// HashBlob asks for Result.Blob too, at the price of a second hash; Result.Tar alone proves the content.
	HashBlob bool `json:"-"`
	// Progress, if not nil, is told how many bytes of the compressed stream were read so far.
	Progress func(done int64) `json:"-"`
	// Extract does the part of the work that makes files, if not this process is the one that may.
	Extract func(ctx context.Context, dir string, tar io.Reader, o Options) (Result, error) `json:"-"`
}

// Limits bound what an archive may cost. A zero means the default.
type Limits struct {
	Bytes   int64 // of the uncompressed stream, and of the sum of all sizes
	Entries int
	Depth   int
}

// DefaultLimits are far above any honest layer.
var DefaultLimits = Limits{Bytes: 64 << 30, Entries: 2_000_000, Depth: 255}

// Result tells what was in the stream.
type Result struct {
	Blob, Tar string // hexadecimal SHA-256 of the stream as it came (if asked for), and of the tar in it
	Bytes     int64  // the sum of all sizes
	Entries   int
	// HidesAll is set when nothing of the layers below shows through, which overlayfs cannot be told on a root.
	HidesAll bool
}

// Refusal is the error of an archive that asks for something that it may not.
type Refusal = rooted.Refusal

func refuse(entry, why string) error { return &Refusal{Entry: entry, Why: why} }

// Extract makes the files of a plain tar in the empty directory dir. It need not read to the end of the stream.
func Extract(_ context.Context, dir string, r io.Reader, o Options) (Result, error) {
	o = o.WithDefaults()
	root, err := openRoot(dir)
	if err != nil {
		return Result{}, err
	}
	defer root.Close()
	u := unpacker{Options: o, root: root, dirs: map[string]meta{}, buf: make([]byte, chunk)}
	u.uid, u.gid = unix.Geteuid(), unix.Getegid()
	root.Make = u.makeDir
	if err := u.entries(tar.NewReader(r)); err != nil {
		return Result{}, err
	}
	return u.result, u.finishDirs()
}

// WithDefaults fills in what zero values mean.
func (o Options) WithDefaults() Options {
	if o.Overlay == "" {
		o.Overlay = User
	}
	if o.Limits.Bytes == 0 {
		o.Limits.Bytes = DefaultLimits.Bytes
	}
	if o.Limits.Entries == 0 {
		o.Limits.Entries = DefaultLimits.Entries
	}
	if o.Limits.Depth == 0 {
		o.Limits.Depth = DefaultLimits.Depth
	}
	return o
}

// chunk is how much of a file is in memory at a time.
const chunk = 256 << 10

type unpacker struct {
	Options
	root     *rooted.Root
	uid, gid int             // what a new file has by itself
	dirs     map[string]meta // by name; finishDirs applies them
	buf      []byte
	result   Result
}

func (u *unpacker) entries(tr *tar.Reader) error {
	for {
		hdr, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return brokenTar(err)
		}
		if hdr.Typeflag == tar.TypeXGlobalHeader {
			continue
		}
		if err := u.count(hdr); err != nil {
			return err
		}
		if err := u.entry(hdr, tr); err != nil {
			var refused *Refusal
			if errors.As(err, &refused) {
				return err
			}
			return fmt.Errorf("cannot unpack %.200q: %w", hdr.Name, err)
		}
	}
}

// count holds the archive to its limits before anything of the entry is made.
func (u *unpacker) count(hdr *tar.Header) error {
	u.result.Entries++
	if u.result.Entries > u.Limits.Entries {
		return refuse(hdr.Name, fmt.Sprintf("the archive has more than %d entries", u.Limits.Entries))
	}
	if hdr.Size > u.Limits.Bytes-u.result.Bytes {
		return refuse(hdr.Name, fmt.Sprintf("the archive holds more than %d bytes", u.Limits.Bytes))
	}
	if isFile(hdr.Typeflag) {
		u.result.Bytes += hdr.Size
	}
	return nil
}

func isFile(typeflag byte) bool {
	return typeflag == tar.TypeReg || typeflag == tar.TypeGNUSparse
}

// brokenTar says what is wrong with the archive; errors of the stream below speak for themselves.
func brokenTar(err error) error {
	if errors.Is(err, tar.ErrHeader) || errors.Is(err, tar.ErrFieldTooLong) {
		return refuse("", "it is not a tar archive, or a damaged one ("+err.Error()+")")
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the archive ends too early: %w", err)
	}
	return err
}
