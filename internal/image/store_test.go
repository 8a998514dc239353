//go:build linux

package image

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"hermes.example/hermes/internal/image/unpack"
	"hermes.example/hermes/internal/sampletar"
)

func open(t testing.TB) *Store {
	t.Helper()
	o := Options{Locks: t.TempDir()}
	if os.Getuid() != 0 {
		o.Unpack.Owner = &unpack.Owner{UID: os.Getuid(), GID: os.Getgid()}
	}
	s, err := Open(filepath.Join(t.TempDir(), "images"), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// layerOf makes a layer of files given as path and content.
func layerOf(t testing.TB, files ...string) v1.Layer {
	t.Helper()
	var entries []sampletar.Entry
	for pair := range slices.Chunk(files, 2) {
		entries = append(entries, sampletar.Entry{Name: pair[0], Content: pair[1]})
	}
	content, err := sampletar.Archive(entries...)
	if err != nil {
		t.Fatal(err)
	}
	l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil })
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func imageOf(t testing.TB, layers ...v1.Layer) v1.Image {
	t.Helper()
	img, err := mutate.AppendLayers(empty.Image, layers...)
	if err != nil {
		t.Fatal(err)
	}
	file, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	file = file.DeepCopy()
	file.OS, file.Architecture = "linux", runtime.GOARCH
	file.Config = v1.Config{Env: []string{"PATH=/bin", "A=b=c"}, User: "1000:1000", WorkingDir: "/srv", Entrypoint: []string{"/init"}, Cmd: []string{"run", "it"}}
	if img, err = mutate.ConfigFile(img, file); err != nil {
		t.Fatal(err)
	}
	return img
}

// saved writes an image as `docker save` does.
func saved(t testing.TB, img v1.Image) Source {
	t.Helper()
	path := filepath.Join(t.TempDir(), "image.tar")
	if err := tarball.WriteToFile(path, name.MustParseReference("local/test:1"), img); err != nil {
		t.Fatal(err)
	}
	return source(t, "archive:"+path)
}

func source(t testing.TB, text string) Source {
	t.Helper()
	s, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func pull(t testing.TB, s *Store, name string, from Source) Image {
	t.Helper()
	img, err := s.Pull(t.Context(), name, from, nil)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func collect(t testing.TB, s *Store) int {
	t.Helper()
	n, err := s.GC(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// inside lists what a directory of the store holds.
func inside(t testing.TB, s *Store, sub string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(s.dir, sub))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestLayersAreSharedAndCollected(t *testing.T) {
	s := open(t)
	base, one, two := layerOf(t, "base", "b"), layerOf(t, "one", "1"), layerOf(t, "two", "22")
	a := pull(t, s, "a", saved(t, imageOf(t, base, one)))
	pull(t, s, "b", saved(t, imageOf(t, base, two)))
	if n := len(inside(t, s, "layers")); n != 3 {
		t.Errorf("%d layers for two images of three", n)
	}
	dirs, err := s.Dirs(a)
	if err != nil || len(dirs) != 2 {
		t.Fatal(dirs, err)
	}
	for i, want := range []string{"one", "base"} { // the topmost first
		if _, err := os.Stat(filepath.Join(dirs[i], want)); err != nil {
			t.Error(err)
		}
	}
	if a.Bytes != 2 || a.Config.WorkDir != "/srv" || a.Config.User != "1000:1000" || !slices.Equal(a.Config.Env, []string{"PATH=/bin", "A=b=c"}) ||
		!slices.Equal(a.Config.Entrypoint, []string{"/init"}) || !slices.Equal(a.Config.Cmd, []string{"run", "it"}) {
		t.Errorf("%+v", a)
	}
	if n := collect(t, s); n != 0 {
		t.Errorf("%d layers in use were collected", n)
	}
	if err := s.Remove(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if err := s.Remove(t.Context(), "a"); !errors.Is(err, ErrAbsent) {
		t.Error(err)
	}
	if _, err := s.Get("a"); !errors.Is(err, ErrAbsent) {
		t.Error(err)
	}
	if n := collect(t, s); n != 1 {
		t.Errorf("%d layers were collected, not the one", n)
	}
	images, err := s.List()
	if err != nil || len(images) != 1 || images[0].Name != "b" {
		t.Errorf("%+v %v", images, err)
	}
	if _, err := s.Dirs(images[0]); err != nil {
		t.Errorf("the image that stays: %v", err)
	}
	if _, err := s.Dirs(a); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the image that went: %v", err)
	}
}

func TestATagKeepsTheLayersOfARemovedName(t *testing.T) {
	s := open(t)
	img := pull(t, s, "a", saved(t, imageOf(t, layerOf(t, "f", "x"))))
	if err := errors.Join(s.Tag(t.Context(), "sandbox/1", img), s.Remove(t.Context(), "a")); err != nil {
		t.Fatal(err)
	}
	if n := collect(t, s); n != 0 {
		t.Errorf("%d collected", n)
	}
	if err := s.Remove(t.Context(), "sandbox/1"); err != nil {
		t.Fatal(err)
	}
	if n := collect(t, s); n != 1 {
		t.Errorf("%d collected", n)
	}
	if err := s.Tag(t.Context(), "late", img); err == nil {
		t.Error("tagged an image without its layers")
	}
}

func TestANameMovesToTheNewImage(t *testing.T) {
	s := open(t)
	old := pull(t, s, "a", saved(t, imageOf(t, layerOf(t, "f", "old"))))
	bad := saved(t, imageOf(t, layerOf(t, "../f", "bad")))
	if _, err := s.Pull(t.Context(), "a", bad, nil); err == nil || !strings.Contains(err.Error(), "leads out") {
		t.Errorf("got %v", err)
	}
	if got, err := s.Get("a"); err != nil || got.Digest != old.Digest {
		t.Errorf("after a failed fetch: %+v %v", got, err)
	}
	if left := slices.Concat(inside(t, s, "pulls"), inside(t, s, "layers")[1:]); len(left) > 0 {
		t.Errorf("the failed fetch left %v", left)
	}
	if entries, _ := os.ReadDir(s.Locks); len(entries) != 0 {
		t.Errorf("locks: %v", entries)
	}
	pull(t, s, "a", saved(t, imageOf(t, layerOf(t, "f", "new"))))
	if n := collect(t, s); n != 1 {
		t.Errorf("%d collected, not the old layer", n)
	}
}

func TestAnOpaqueLayerHidesThoseBelow(t *testing.T) {
	s := open(t)
	l := layerOf(t, "f", "x")
	img := pull(t, s, "a", saved(t, imageOf(t, layerOf(t, "below", "x"), layerOf(t, ".wh..wh..opq", ""), l, layerOf(t, "g", "y"), l)))
	dirs, err := s.Dirs(img)
	if err != nil || len(dirs) != 3 || len(img.Layers) != 5 {
		t.Fatalf("%v %v", dirs, err)
	}
}

type seen struct {
	mu   sync.Mutex
	last map[string][2]int64
}

func (s *seen) Layer(digest string, done, total int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if done < s.last[digest][0] {
		panic("progress went back")
	}
	s.last[digest] = [2]int64{done, total}
}

func TestProgressEndsAtTheTotal(t *testing.T) {
	s := open(t)
	from := saved(t, imageOf(t, layerOf(t, "f", strings.Repeat("x", 3<<20)), layerOf(t, "g", "y")))
	for _, round := range []string{"fetched", "there already"} {
		p := &seen{last: map[string][2]int64{}}
		if _, err := s.Pull(t.Context(), "a", from, p); err != nil {
			t.Fatal(err)
		}
		if len(p.last) != 2 {
			t.Errorf("%s: %v", round, p.last)
		}
		for digest, l := range maps.All(p.last) {
			if l[0] != l[1] || l[1] == 0 || !validDigest(digest) {
				t.Errorf("%s: %s ended at %v", round, digest, l)
			}
		}
	}
}
