package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"hermes.example/hermes/internal/addon/manifest"
	"hermes.example/hermes/internal/atomicfile"
)

// Generation is one complete state of the store.
type Generation struct {
	Digest string
	Dir    string
}

// errInUse says that somebody else has locked a generation.
var errInUse = errors.New("a process uses it")

func (s *Store) generation(digest string) Generation {
	return Generation{Digest: digest, Dir: filepath.Join(s.generations(), digest)}
}

// SitePackages is the directory that is put on the search path.
func (g Generation) SitePackages() string { return filepath.Join(g.Dir, sitePackages) }

// Node is the directory of a feature's packages of npm. It is there if the generation has such a feature.
func (g Generation) Node(feature string) string {
	return filepath.Join(g.Dir, manifest.NodeModules(feature))
}

// The names in a generation, beside those of the manifest's files.
const (
	sitePackages = manifest.SitePackages
	manifestFile = "manifest.json"
	sbomFile     = "sbom.json"
	lockFile     = "lock"
	featuresDir  = "features"
)

// link is what current says.
const link = "generations/"

// Current is the generation that new processes use. fs.ErrNotExist: there is none.
func (s *Store) Current() (Generation, error) {
	g, err := s.look()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("cannot use the add-on store %s: %w", s.target, err)
	}
	return g, err
}

// look is Current without words.
func (s *Store) look() (Generation, error) {
	for _, dir := range [...]string{s.target, s.private(), s.own(), s.generations()} {
		if err := trusted(dir); err != nil {
			return Generation{}, err
		}
	}
	to, err := os.Readlink(s.current())
	if err != nil {
		return Generation{}, err
	}
	digest, ok := digestOf(to)
	if !ok {
		return Generation{}, fmt.Errorf("%s leads to %q, which is no generation; remove it", s.current(), to)
	}
	g := s.generation(digest)
	return g, trusted(g.Dir)
}

// digestOf is the generation that a link leads to, if it is one of ours.
func digestOf(to string) (string, bool) {
	digest, below := strings.CutPrefix(to, link)
	return digest, below && manifest.IsDigest(digest)
}

// Manifest says what is in the generation. Its digest is checked.
func (g Generation) Manifest() (manifest.Manifest, error) {
	text, err := atomicfile.Read(filepath.Join(g.Dir, manifestFile))
	if err != nil {
		return manifest.Manifest{}, err
	}
	if manifest.Digest(text) != g.Digest {
		return manifest.Manifest{}, fmt.Errorf("cannot use generation %.12s: its manifest is another's", g.Digest)
	}
	return manifest.Decode(text)
}

// Core is the digest of the core that the generation was checked against; "" is that of one that does not say.
func (g Generation) Core() (string, error) {
	f, err := os.Open(filepath.Join(g.Dir, manifestFile))
	if err != nil {
		return "", err
	}
	defer f.Close()
	return manifest.CoreOf(f)
}

// SBOM is the generation's bill of materials.
func (g Generation) SBOM() ([]byte, error) { return atomicfile.Read(filepath.Join(g.Dir, sbomFile)) }

// Hold keeps the generation from being collected until the file is closed, by whatever process has it then.
func (g Generation) Hold() (*os.File, error) {
	path := filepath.Join(g.Dir, lockFile)
	f, err := flock(path, false)
	if errors.Is(err, errInUse) {
		return nil, fmt.Errorf("cannot hold generation %.12s: it is being removed", g.Digest)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot hold generation %.12s: %w", g.Digest, err)
	}
	// It may have been removed between the open and the lock.
	if !same(f, path) {
		f.Close()
		return nil, fmt.Errorf("cannot hold generation %.12s: %w", g.Digest, fs.ErrNotExist)
	}
	return f, nil
}

// same says whether path still names the open file.
func same(f *os.File, path string) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(path)
	return err == nil && os.SameFile(open, named)
}
