//go:build linux

package image

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"hermes.example/hermes/internal/image/unpack"
)

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
	if err := os.WriteFile(filepath.Join(s.dir, "names", ".half.json.123"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if images, err := s.List(); err != nil || len(images) != 0 {
		t.Errorf("%v %v", images, err)
	}
	collect(t, s)
	if left := slices.Concat(inside(t, s, "pulls"), inside(t, s, "layers"), inside(t, s, "names")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestTheCollectionLeavesAFetchAlone(t *testing.T) {
	s := open(t)
	dir := filepath.Join(s.dir, "layers", "x"+part)
	if got, err := s.condemnPart(dir); got != "" || err != nil {
		t.Errorf("one that has just ended: %q %v", got, err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	lock, err := s.lock(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.condemnPart(dir); got != "" || err != nil {
		t.Errorf("one that is at work: %q %v", got, err)
	}
	lock.Release(true)
	if got, err := s.condemnPart(dir); got == "" || err != nil {
		t.Errorf("one that died: %q %v", got, err)
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
