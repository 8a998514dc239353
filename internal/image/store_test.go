//go:build linux

package image

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"hermes.example/hermes/internal/image/unpack"
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
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for i := 0; i < len(files); i += 2 {
		if err := w.WriteHeader(&tar.Header{Name: files[i], Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(files[i+1]))}); err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, files[i+1])
	}
	w.Close()
	l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(out.Bytes())), nil })
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
	if entries, _ := os.ReadDir(s.Locks); len(entries) != 1 { // the store's own stays
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

func TestManyFetchesOfTheSameAreOne(t *testing.T) {
	s := open(t)
	from := saved(t, imageOf(t, layerOf(t, "f", strings.Repeat("x", 1<<20)), layerOf(t, "g", "y")))
	var wg sync.WaitGroup
	stop := make(chan struct{})
	wg.Go(func() {
		for pace := time.NewTicker(5 * time.Millisecond); ; {
			select {
			case <-stop:
				pace.Stop()
				return
			case <-pace.C:
				if _, err := s.GC(context.Background()); err != nil {
					t.Error(err)
				}
			}
		}
	})
	var pulls sync.WaitGroup
	for i := range 6 {
		pulls.Go(func() {
			name := string(rune('a' + i%3))
			img, err := s.Pull(t.Context(), name, from, nil)
			if err == nil {
				_, err = s.Dirs(img)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	pulls.Wait()
	close(stop)
	wg.Wait()
	if n := len(inside(t, s, "layers")); n != 2 {
		t.Errorf("%d layers: %v", n, inside(t, s, "layers"))
	}
}

// A process that is killed in the middle leaves only what the next collection removes.
func TestWhatAKilledFetchLeavesIsCollected(t *testing.T) {
	const variable = "HERMES_TEST_IMAGE_KILL"
	if dir := os.Getenv(variable); dir != "" {
		s, err := Open(filepath.Join(dir, "images"), Options{Locks: dir, Unpack: unpack.Options{Owner: &unpack.Owner{UID: os.Getuid(), GID: os.Getgid()}}})
		if err == nil {
			_, err = s.Pull(t.Context(), "a", source(t, "archive:"+filepath.Join(dir, "image.tar")), dieAt(700_000))
		}
		t.Fatalf("not killed: %v", err)
	}
	dir := t.TempDir()
	img := imageOf(t, layerOf(t, "f", noise(1<<20)))
	if err := tarball.WriteToFile(filepath.Join(dir, "image.tar"), name.MustParseReference("local/test:1"), img); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestWhatAKilledFetchLeavesIsCollected$")
	cmd.Env = append(os.Environ(), variable+"="+dir)
	if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != -1 {
		t.Fatalf("%s", out)
	}
	s, err := Open(filepath.Join(dir, "images"), Options{Locks: dir})
	if err != nil {
		t.Fatal(err)
	}
	if len(inside(t, s, "pulls")) != 1 || !strings.HasSuffix(strings.Join(inside(t, s, "layers"), ""), part) {
		t.Fatalf("the kill came at another moment: %v %v", inside(t, s, "pulls"), inside(t, s, "layers"))
	}
	if images, err := s.List(); err != nil || len(images) != 0 {
		t.Errorf("%v %v", images, err)
	}
	collect(t, s)
	if left := slices.Concat(inside(t, s, "pulls"), inside(t, s, "layers"), inside(t, s, "names")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// noise is text that no compression makes smaller.
func noise(n int) string {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{}).Read(b)
	return string(b)
}

type dieAt int64

func (d dieAt) Layer(_ string, done, _ int64) {
	if done >= int64(d) {
		self, _ := os.FindProcess(os.Getpid())
		self.Kill()
		select {}
	}
}

func TestTheCollectionRemovesClosedDirectories(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tree")
	if err := errors.Join(os.MkdirAll(dir+"/a/b", 0o755), os.WriteFile(dir+"/a/b/f", nil, 0o400), os.Chmod(dir+"/a/b", 0), os.Chmod(dir+"/a", 0o555)); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 {
		asOrdinaryUser(t, filepath.Dir(dir))
		return
	}
	if err := removeTree(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(dir); !os.IsNotExist(err) {
		t.Error(err)
	}
}

// asOrdinaryUser runs the test again as somebody to whom modes mean something.
func asOrdinaryUser(t *testing.T, base string) {
	t.Helper()
	if _, err := exec.LookPath("setpriv"); err != nil {
		t.Skip("no setpriv to become an ordinary user")
	}
	for d := base; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	binary := filepath.Join(base, "test")
	b, err := os.ReadFile(os.Args[0])
	if err := errors.Join(err, os.WriteFile(binary, b, 0o755)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "setpriv", "--reuid=4242", "--regid=4242", "--clear-groups", binary, "-test.run=^"+t.Name()+"$")
	cmd.Dir, cmd.Env = base, []string{"TMPDIR=" + base}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
}
