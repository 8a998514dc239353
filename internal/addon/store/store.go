// Package store keeps what was installed: one complete, verified generation after the other, for each interpreter ABI.
// A kill at any moment leaves the state before or the state after.
//
// The manager of add-ons calls it. Nobody but the one Writer changes anything below the target, a generation is never
// changed once it is published, and what is in the target beside our own names is never touched.
//
//	.python-abi                       the ABI that was published last
//	.hermes/lock                      held by the one writer
//	.hermes/desired.json              the features that are wanted, whatever the ABI
//	.hermes/failures.json             installs that failed a short while ago
//	.hermes/cache/                    the installer's
//	.hermes/TAG/current               a link to generations/DIGEST
//	.hermes/TAG/history.json          what current has been
//	.hermes/TAG/generations/DIGEST/   site-packages, node/NAME/node_modules, manifest.json, sbom.json, lock, features/NAME
//	.hermes/TAG/staging/              what is not complete yet, or no longer
//
// The digest is the SHA-256 of manifest.json, which has the SHA-256 of every file. Whoever imports from a generation
// holds a shared lock on its lock file meanwhile.
package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"hermes.example/hermes/internal/atomicfile"
)

// Private is the directory of a target that is ours.
const Private = ".hermes"

// Options are what a store stands on. Zero values mean the real thing.
type Options struct {
	Now func() time.Time
	// Warn is told what could not be cleaned up. It is tried again by every writer.
	Warn func(error)
}

// Store is the part of a target that is for one ABI. It holds nothing open, and looks anew with every call: other
// processes write. It is safe for concurrent use.
type Store struct {
	target   string // without links
	abi, tag string
	o        Options
	// seen are answers of Has, by proof: the time at which names in site-packages changed last. A Store is not copied.
	seen sync.Map
}

var (
	abiForm = regexp.MustCompile(`^[0-9]+\.[0-9]+:\.[A-Za-z0-9._-]{1,100}$`)
	// A tag has a dash, which no other name in .hermes has.
	tagForm = regexp.MustCompile(`^[a-z0-9_]+(-[a-z0-9_.]+)+$`)
)

// Open finds the store of an ABI, as "3.11:.cpython-311-x86_64-linux-gnu.so" with its tag
// "cpython-311-x86_64-linux-gnu", in the target directory, which need not be there yet. It makes nothing. A target
// that somebody else could change is refused.
func Open(target, abi, tag string, o Options) (*Store, error) {
	if !abiForm.MatchString(abi) || !tagForm.MatchString(tag) || !isOf(abi, tag) {
		return nil, fmt.Errorf("cannot open the add-on store: %q, %q is no ABI with its tag", abi, tag)
	}
	real, err := resolve(target)
	if err != nil {
		return nil, fmt.Errorf("cannot use the add-on store %s: %w", target, err)
	}
	s := &Store{target: real, abi: abi, tag: tag}
	for _, dir := range []string{s.private(), s.own(), s.generations()} {
		if err := trusted(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("cannot use the add-on store %s: %w", target, err)
		}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Warn == nil {
		o.Warn = func(error) {}
	}
	s.o = o
	return s, nil
}

// isOf says whether an ABI is the one with that tag.
func isOf(abi, tag string) bool { return strings.Contains(abi, ":."+tag+".") }

// Target is the store's directory, without links.
func (s *Store) Target() string { return s.target }

// Cache is where the installer keeps what it fetched. Nobody has made it yet.
func (s *Store) Cache() string { return filepath.Join(s.private(), "cache") }

// ActiveABI is the ABI that was published last, or "" if none was.
func (s *Store) ActiveABI() (string, error) {
	text, err := atomicfile.Read(s.stamp())
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("cannot tell the active ABI: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

func (s *Store) stamp() string       { return filepath.Join(s.target, ".python-abi") }
func (s *Store) private() string     { return filepath.Join(s.target, Private) }
func (s *Store) lock() string        { return filepath.Join(s.private(), "lock") }
func (s *Store) desired() string     { return filepath.Join(s.private(), "desired.json") }
func (s *Store) failures() string    { return filepath.Join(s.private(), "failures.json") }
func (s *Store) own() string         { return filepath.Join(s.private(), s.tag) }
func (s *Store) current() string     { return filepath.Join(s.own(), "current") }
func (s *Store) history() string     { return filepath.Join(s.own(), "history.json") }
func (s *Store) generations() string { return filepath.Join(s.own(), "generations") }
func (s *Store) staging() string     { return filepath.Join(s.own(), "staging") }
