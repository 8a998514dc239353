package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"hermes.example/hermes/internal/addon/manifest"
	"hermes.example/hermes/internal/atomicfile"
)

// Problem is something in a generation that is not as it was published.
type Problem struct{ Path, Why string }

func (p Problem) String() string { return p.Path + ": " + p.Why }

// Verify reads a whole generation and compares it with its manifest, and that with the generation's name. No problem
// means that what can be imported is what was vetted.
func (s *Store) Verify(ctx context.Context, g Generation) ([]Problem, error) {
	problems, err := verify(ctx, g)
	if err != nil {
		return nil, fmt.Errorf("cannot verify generation %.12s: %w", g.Digest, err)
	}
	return problems, nil
}

func verify(ctx context.Context, g Generation) ([]Problem, error) {
	text, err := atomicfile.Read(filepath.Join(g.Dir, manifestFile))
	if err != nil {
		return []Problem{{manifestFile, err.Error()}}, nil
	}
	if manifest.Digest(text) != g.Digest {
		return []Problem{{manifestFile, "it is not the one that the generation is named after"}}, nil
	}
	m, err := manifest.Decode(text)
	if err != nil {
		return []Problem{{manifestFile, err.Error()}}, nil
	}
	v := verification{g: g, ctx: ctx}
	v.expect(m)
	if err := v.walk(); err != nil {
		return nil, err
	}
	for name := range v.expected {
		v.say(name, "it is missing")
	}
	slices.SortFunc(v.problems, func(a, b Problem) int { return strings.Compare(a.Path, b.Path) })
	return v.problems, nil
}

// verification is one run of Verify.
type verification struct {
	g   Generation
	ctx context.Context
	// expected is what was not met yet, by the path in the generation.
	expected map[string]expectation

	mu       sync.Mutex
	problems []Problem
}

// expectation is what a file or directory has to be.
type expectation struct {
	mode fs.FileMode
	size int64  // of a file, or -1
	sum  string // its content's, or "": any
}

func (v *verification) say(path, why string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.problems = append(v.problems, Problem{path, why})
}

// expect derives all that has to be there from the manifest.
func (v *verification) expect(m manifest.Manifest) {
	v.expected = map[string]expectation{
		".": {mode: dirMode | fs.ModeDir}, featuresDir: {mode: dirMode | fs.ModeDir},
		manifestFile: {mode: fileMode, size: -1}, sbomFile: {mode: fileMode, size: -1}, lockFile: {mode: lockMode},
	}
	for dir := range m.Dirs() {
		v.expected[dir] = expectation{mode: dirMode | fs.ModeDir}
	}
	for _, f := range m.Placed() {
		v.expected[f.Path] = expectation{modeOf(f), f.Size, f.SHA256}
	}
	for name, content := range proofs(m) {
		v.expected[featuresDir+"/"+name] = expectation{fileMode, int64(len(content)), manifest.Digest(content)}
	}
}

// job is a file to read.
type job struct{ name, sum string }

// walk meets everything that is there. Files are read meanwhile, by as many as there are processors.
func (v *verification) walk() error {
	jobs := make(chan job)
	var readers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		readers.Go(func() {
			buf := make([]byte, 256<<10)
			for j := range jobs {
				v.read(j, buf)
			}
		})
	}
	err := filepath.WalkDir(v.g.Dir, func(path string, d fs.DirEntry, err error) error {
		if err := v.ctx.Err(); err != nil {
			return err
		}
		name := below(v.g.Dir, path)
		if err != nil {
			v.say(name, err.Error())
			return nil
		}
		want, ok := v.expected[name]
		if !ok {
			v.say(name, "it was not installed")
			return nil
		}
		delete(v.expected, name)
		if v.meet(name, want, d) && want.sum != "" {
			jobs <- job{name, want.sum}
		}
		return nil
	})
	close(jobs)
	readers.Wait()
	return cmp.Or(err, v.ctx.Err()) // what was not read to its end is not a problem
}

// meet compares all but the content, and says whether that is worth reading.
func (v *verification) meet(name string, want expectation, d fs.DirEntry) bool {
	info, err := d.Info()
	switch {
	case err != nil:
		v.say(name, err.Error())
	case info.Mode().Type() != want.mode.Type():
		v.say(name, fmt.Sprintf("it is a %s", kind(info.Mode())))
	case owner(info) != 0 && owner(info) != os.Geteuid():
		v.say(name, fmt.Sprintf("it belongs to user %d", owner(info)))
	case info.Mode() != want.mode && !looser(filepath.Join(v.g.Dir, name), info, want.mode):
		v.say(name, fmt.Sprintf("its mode is %v, not %v", info.Mode(), want.mode))
	case !info.IsDir() && want.size >= 0 && info.Size() != want.size:
		v.say(name, fmt.Sprintf("it has %d bytes, not %d", info.Size(), want.size))
	default:
		return true
	}
	return false
}

func kind(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeSymlink != 0:
		return "link"
	case mode.IsDir():
		return "directory"
	case mode.IsRegular():
		return "file"
	}
	return "special file"
}

// read compares the content.
func (v *verification) read(j job, buf []byte) {
	f, err := os.Open(filepath.Join(v.g.Dir, j.name))
	if err != nil {
		v.say(j.name, err.Error())
		return
	}
	defer f.Close()
	hash := sha256.New()
	if _, err := io.CopyBuffer(hash, reading{v.ctx, f}, buf); err != nil {
		v.say(j.name, err.Error())
	} else if hex.EncodeToString(hash.Sum(nil)) != j.sum {
		v.say(j.name, "its content was changed")
	}
}

// reading ends with its context, and hides that a file could copy itself.
type reading struct {
	ctx context.Context
	r   io.Reader
}

func (r reading) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}
