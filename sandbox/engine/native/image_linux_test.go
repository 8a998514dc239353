package native_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/image/hostimage"
	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/engine/native"
)

// imageArena is a home with an engine whose sandboxes have images.
type imageArena struct {
	t        *testing.T
	home     string
	manager  *sandbox.Manager
	progress *progress
}

// progress keeps the last word on each layer.
type progress struct {
	mu    sync.Mutex
	words int
	done  map[string][2]int64
}

func (p *progress) Layer(digest string, done, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.words++
	p.done[digest] = [2]int64{done, total}
}

func newImageArena(t *testing.T, o native.Options) *imageArena {
	t.Helper()
	run := filepath.Join(t.TempDir(), "run")
	if err := os.Mkdir(run, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_RUNTIME_DIR", run)
	a := &imageArena{t: t, home: filepath.Join(t.TempDir(), "home"), progress: &progress{done: make(map[string][2]int64)}}
	if err := os.Mkdir(a.home, 0o700); err != nil {
		t.Fatal(err)
	}
	o.Progress = a.progress
	e, err := native.New(o)
	if err != nil {
		t.Fatal(err)
	}
	a.manager = sandbox.NewManager(e, sandbox.Options{NoSweep: true})
	t.Cleanup(func() {
		ctx := context.Background()
		if _, err := a.manager.Prune(ctx, a.home, true); err != nil {
			t.Error(err)
		}
		if err := a.manager.Close(); err != nil {
			t.Error(err)
		}
		store, err := native.Images(a.home)
		if err != nil {
			t.Fatal(err)
		}
		images, err := store.List()
		if err != nil {
			t.Error(err)
		}
		for _, img := range images {
			if native.Pinned(img) {
				t.Errorf("a sandbox that is gone holds on to an image: %s", img.Name)
			}
		}
		// Also what only the sandboxes' ids may remove.
		if err := native.RemoveImages(ctx, a.home); err != nil {
			t.Error(err)
		}
	})
	return a
}

func (a *imageArena) id(task string) sandbox.Identity {
	return sandbox.Identity{Home: a.home, Task: task}
}

func (a *imageArena) ensure(task string, spec sandbox.Spec) *sandbox.Sandbox {
	a.t.Helper()
	box, err := a.manager.Ensure(a.t.Context(), a.id(task), spec)
	if err != nil {
		a.t.Fatal(err)
	}
	return box
}

// says runs a line and compares what it prints.
func (a *imageArena) says(box *sandbox.Sandbox, line, want string) {
	a.t.Helper()
	var out bytes.Buffer
	res, err := box.Exec(a.t.Context(), sandbox.Command{Line: line, Stdout: &out})
	if err != nil || strings.TrimSpace(out.String()) != want {
		a.t.Errorf("%q ended with %d (%v) and prints %q, not %q", line, res.Code, err, out.String(), want)
	}
}

// stop ends a sandbox and keeps its files.
func (a *imageArena) stop(box *sandbox.Sandbox) {
	a.t.Helper()
	if err := errors.Join(box.Close(), a.manager.Remove(a.t.Context(), box.Identity(), false)); err != nil {
		a.t.Fatal(err)
	}
}

// tools are the programs of most images here, which differ in other layers.
var tools = sync.OnceValues(func() (hostimage.Layer, error) {
	return hostimage.FromHost("bash", "sh", "cat", "ls", "id", "stat", "rm", "mkdir", "mv", "touch", "chmod", "ln", "find", "sort", "sleep", "readlink", "whoami", "echo", "wc")
})

func writeImage(t *testing.T, config hostimage.Config, layers ...[]hostimage.File) string {
	t.Helper()
	programs, err := tools()
	if err != nil {
		t.Fatal(err)
	}
	image, err := hostimage.Write(filepath.Join(t.TempDir(), "image"), config, programs, append([][]hostimage.File{hostimage.Base()}, layers...)...)
	if err != nil {
		t.Fatal(err)
	}
	return image
}

func TestAnImageSaysWhoWhereAndWith(t *testing.T) {
	a := newImageArena(t, native.Options{})
	image := writeImage(t, hostimage.Config{Env: []string{"GREETING=hello world", "PATH=/usr/bin:/bin"}, WorkingDir: "/srv/app", User: "agent", Entrypoint: []string{"/never/run"}},
		[]hostimage.File{{Name: "srv/app/", UID: 1234, GID: 1234}, {Name: "srv/app/file", Content: "x"}})
	box := a.ensure("t", sandbox.Spec{Image: image})
	who := "1234 1234"
	if os.Getenv(idsVariable) == "single" {
		who = "0 0"
	}
	a.says(box, "echo $(id -u) $(id -g)", who)
	a.says(box, "pwd; echo $GREETING; echo $PATH; ls", "/srv/app\nhello world\n/usr/bin:/bin\nfile")
	if who != "0 0" {
		a.says(box, "whoami; echo $USER; echo y >made; stat -c %U made; mkdir /etc/no 2>/dev/null || echo refused", "agent\nagent\nagent\nrefused")
		// One whom the image does not know joins those whom it does.
		a.says(a.ensure("stranger", sandbox.Spec{Image: image, User: "4321:4321"}), "whoami; stat -c %U /srv/app", "user\nagent")
	}
	other := a.ensure("other", sandbox.Spec{Image: image, User: "0:0", Cwd: "/tmp", Env: map[string]string{"GREETING": "mine"}})
	a.says(other, "id -u; pwd; echo $GREETING", "0\n/tmp\nmine")
}

func TestChangesStayWithTheirSandboxAndTheirImage(t *testing.T) {
	a := newImageArena(t, native.Options{})
	first := writeImage(t, hostimage.Config{}, []hostimage.File{{Name: "etc/which", Content: "first"}, {Name: "data/a", Content: "a"}, {Name: "data/b", Content: "b"}})
	second := writeImage(t, hostimage.Config{}, []hostimage.File{{Name: "etc/which", Content: "second"}})
	box, beside := a.ensure("t", sandbox.Spec{Image: first}), a.ensure("beside", sandbox.Spec{Image: first})
	a.says(box, "echo changed >/etc/which; rm /data/a; mkdir /new; echo n >/new/f; mv /data /moved; cat /etc/which; ls /moved", "changed\nb")
	a.says(beside, "cat /etc/which; ls /data; ls -d /new 2>/dev/null", "firsta\nb")
	a.stop(box)
	box = a.ensure("t", sandbox.Spec{Image: first, Limits: sandbox.Limits{Pids: 77}})
	a.says(box, "cat /etc/which /new/f; ls /moved; ls -d /data 2>/dev/null", "changed\nn\nb")
	a.stop(box)
	box = a.ensure("t", sandbox.Spec{Image: second})
	a.says(box, "cat /etc/which; ls -d /new /moved 2>/dev/null", "second")
}

// Whoever commands run as has a name, also where a layer takes the image's list away.
func TestAnImageThatHasNoUsersNamesItsOwn(t *testing.T) {
	a := newImageArena(t, native.Options{})
	for _, gone := range []string{"etc/.wh.passwd", ".wh.etc"} {
		image := writeImage(t, hostimage.Config{}, []hostimage.File{{Name: gone}})
		a.says(a.ensure(gone, sandbox.Spec{Image: image}), "whoami; wc -l </etc/passwd", "root\n1")
	}
}

func TestLayersHideWhatTheyRemove(t *testing.T) {
	a := newImageArena(t, native.Options{})
	box := a.ensure("t", sandbox.Spec{Image: layered(t)})
	a.says(box, whatLayersLeft, layersLeft)
}

// layered has files that a layer removes, replaces and hides.
func layered(t *testing.T) string {
	return writeImage(t, hostimage.Config{},
		[]hostimage.File{{Name: "d/gone", Content: "x"}, {Name: "d/kept", Content: "kept", Mode: 0o640}, {Name: "o/below", Content: "x"}, {Name: "o/sub/", Mode: 0o700},
			{Name: "becomes/dir/file", Content: "x"}, {Name: "file", Content: "x"}, {Name: "d/hard", Typeflag: '1', Link: "d/kept"}},
		[]hostimage.File{{Name: "d/.wh.gone"}, {Name: "o/.wh..wh..opq"}, {Name: "o/above", Content: "above"}, {Name: "becomes", Content: "a file"},
			{Name: "file/", Mode: 0o711}, {Name: "file/in", Content: "in"}, {Name: "link", Link: "/d/kept"}})
}

const (
	whatLayersLeft = "ls /d /o; cat /becomes /file/in /link; stat -c '%a %h' /d/kept; stat -c %a /file"
	layersLeft     = "/d:\nhard\nkept\n\n/o:\nabove\na fileinkept640 2\n711"
)

// An overlay cannot keep its changes on another one.
func TestAnImageIsCopiedWhereItCannotBeOverlaid(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can mount a file system that takes no overlay's changes")
	}
	at, scratch := t.TempDir(), t.TempDir()
	for _, dir := range []string{"lower", "upper", "work"} {
		if err := os.Mkdir(filepath.Join(scratch, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	options := "lowerdir=" + scratch + "/lower,upperdir=" + scratch + "/upper,workdir=" + scratch + "/work"
	if err := unix.Mount("overlay", at, "overlay", 0, options); err != nil {
		t.Skipf("cannot mount an overlay here: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(at, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	a := newImageArena(t, native.Options{Root: at})
	spec := sandbox.Spec{Image: layered(t)}
	box := a.ensure("t", spec)
	a.says(box, whatLayersLeft, layersLeft)
	a.says(box, "stat -c %u:%g /d/kept; stat -c %U /home/agent; cat /etc/hostname | wc -l; echo new >/d/new; rm /d/kept", "0:0\nagent\n1")
	posture, err := box.Posture(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, f := range posture.Facts {
		found = found || f.Name == sandbox.FactRoot && strings.Contains(f.Value, "copied")
	}
	if !found {
		t.Errorf("the posture does not say that the image was copied: %+v", posture.Facts)
	}
	a.stop(box)
	a.says(a.ensure("t", spec), "cat /d/new; ls /d", "new\nhard\nnew")
}

// Whatever an image puts where the sandbox has its own, nothing outside is touched and
// the sandbox's own is what is seen.
func TestAnImageCannotMoveWhatIsTheSandboxs(t *testing.T) {
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "hosts"), []byte("untouched"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, link := range []string{outside, "/proc/self/root" + outside, "../../../.." + outside, "/proc", "nowhere", "tmp"} {
		a := newImageArena(t, native.Options{})
		var files []hostimage.File
		for _, place := range []string{"proc", "dev", "run", "workspace", "var/tmp", "etc/hosts", "etc/resolv.conf"} {
			files = append(files, hostimage.File{Name: place, Link: link})
		}
		box := a.ensure("t", sandbox.Spec{Image: writeImage(t, hostimage.Config{}, files)})
		a.says(box, "stat -f -c %T /proc /dev /run /var/tmp; readlink /proc/1/../self/../1/cwd >/dev/null; stat -c %F /etc/hosts /workspace", "proc\ntmpfs\ntmpfs\ntmpfs\nregular file\ndirectory")
		if entries, err := os.ReadDir(outside); err != nil || len(entries) != 1 {
			t.Errorf("%s: %v %v", link, entries, err)
		}
		if content, err := os.ReadFile(filepath.Join(outside, "hosts")); string(content) != "untouched" {
			t.Errorf("%s: %q %v", link, content, err)
		}
	}
}

func TestAnImageIsFetchedFromARegistryOnce(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	path, err := layout.FromPath(strings.TrimPrefix(writeImage(t, hostimage.Config{WorkingDir: "/srv"}), "oci:"))
	if err != nil {
		t.Fatal(err)
	}
	index, err := path.ImageIndex()
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	img, err := index.Image(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.TrimPrefix(server.URL, "http://") + "/test/image:one"
	ref, err := name.ParseReference(text)
	if err == nil {
		err = remote.Write(ref, img)
	}
	if err != nil {
		t.Fatal(err)
	}
	a := newImageArena(t, native.Options{})
	a.says(a.ensure("t", sandbox.Spec{Image: text}), "pwd", "/srv")
	words := a.progress.words
	if len(a.progress.done) != 2 {
		t.Errorf("the progress is %v", a.progress.done)
	}
	for digest, p := range a.progress.done {
		if p[0] != p[1] || p[1] == 0 {
			t.Errorf("%s ends at %d of %d", digest, p[0], p[1])
		}
	}
	server.Close()
	a.says(a.ensure("second", sandbox.Spec{Image: text}), "pwd", "/srv")
	if a.progress.words != words {
		t.Error("the second sandbox fetched it again")
	}
}

func TestAnImageThatCannotBeHadIsOneClearError(t *testing.T) {
	a := newImageArena(t, native.Options{})
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	for image, want := range map[string]string{
		"oci:" + filepath.Join(a.home, "none"): "cannot fetch image",
		"UPPER/case":                           "cannot read the image name",
		strings.TrimPrefix(server.URL, "http://") + "/no/such:tag":          "cannot fetch image",
		writeImage(t, hostimage.Config{User: "stranger"}):                   "is not in its /etc/passwd",
		writeImage(t, hostimage.Config{}, []hostimage.File{{Name: "../x"}}): "leads out",
		writeImage(t, hostimage.Config{Env: []string{"NOVALUE"}}):           "is not NAME=value",
	} {
		_, err := a.manager.Ensure(t.Context(), a.id("t"), sandbox.Spec{Image: image})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: the error is %v", image, err)
		}
		if entries, _ := os.ReadDir(filepath.Join(a.home, "sandboxes", "native")); len(entries) > 0 {
			t.Errorf("%s: left behind: %v", image, entries)
		}
	}
}
