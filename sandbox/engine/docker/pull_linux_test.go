package docker_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/moby/moby/client"

	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/engine/docker"
	"hermes.example/hermes/test/containers"
)

const (
	somebody = "ann"
	password = "correct-horse-battery"
)

// shelf is a registry on loopback that knows one user, and an engine that fetches from it.
type shelf struct {
	t    *testing.T
	host string
	// before sees every request of the daemon's for a layer.
	before func(r *http.Request)
	over   chan struct{} // closed with the test
	api    *client.Client
	log    bytes.Buffer
	layers layers
}

// layers is a Progress.
type layers struct {
	mu    sync.Mutex
	words int
	last  map[string][2]int64
}

func (l *layers) Layer(digest string, done, total int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.words++
	l.last[digest] = [2]int64{done, total}
}

func newShelf(t *testing.T) *shelf {
	t.Helper()
	a := &shelf{t: t, api: containers.Docker(t), before: func(*http.Request) {}, over: make(chan struct{}), layers: layers{last: make(map[string][2]int64)}}
	store := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, word, _ := r.BasicAuth(); user != somebody || word != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/blobs/") {
			a.before(r)
		}
		store.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		close(a.over)
		server.Close()
	})
	a.host = strings.TrimPrefix(server.URL, "http://")
	return a
}

// login is what the usual login stores.
func (a *shelf) login(password string) {
	a.t.Helper()
	dir := a.t.TempDir()
	a.t.Setenv("DOCKER_CONFIG", dir)
	secret := base64.StdEncoding.EncodeToString([]byte(somebody + ":" + password))
	if err := os.WriteFile(filepath.Join(dir, "config.json"), fmt.Appendf(nil, `{"auths": {%q: {"auth": %q}}}`, a.host, secret), 0o600); err != nil {
		a.t.Fatal(err)
	}
}

// push puts an image into the registry that no daemon has, and returns its name.
func (a *shelf) push() string {
	a.t.Helper()
	ctx := a.t.Context()
	saved, err := a.api.ImageSave(ctx, []string{containers.Busybox.In(a.t, a.api)})
	if err != nil {
		a.t.Fatal(err)
	}
	defer saved.Close()
	file, err := os.Create(filepath.Join(a.t.TempDir(), "image.tar"))
	if err == nil {
		_, err = io.Copy(file, saved)
		file.Close()
	}
	if err != nil {
		a.t.Fatal(err)
	}
	img, err := tarball.ImageFromPath(file.Name(), nil)
	if err != nil {
		a.t.Fatal(err)
	}
	layer, err := random.Layer(4<<20, types.DockerLayer)
	if err != nil {
		a.t.Fatal(err)
	}
	if img, err = mutate.AppendLayers(img, layer); err != nil {
		a.t.Fatal(err)
	}
	image := a.host + "/team/app:1"
	ref, err := name.ParseReference(image)
	if err == nil {
		err = remote.Write(ref, img, remote.WithAuth(&authn.Basic{Username: somebody, Password: password}), remote.WithContext(ctx))
	}
	if err != nil {
		a.t.Fatal(err)
	}
	return image
}

// ensure makes a sandbox of an image; both go with the test.
func (a *shelf) ensure(image string, o docker.Options) error {
	a.t.Helper()
	o.Client, o.Name, o.Arch, o.Progress = a.api, "docker", runtime.GOARCH, &a.layers
	o.Log = slog.New(slog.NewTextHandler(&a.log, nil))
	e, err := docker.New(o)
	if err != nil {
		a.t.Fatal(err)
	}
	ctx := a.t.Context()
	id := sandbox.Identity{Home: a.t.TempDir(), Task: "pull"}.Normal()
	_, err = e.Create(ctx, id, sandbox.Spec{Image: image, Network: sandbox.NetworkNone})
	if err := e.Remove(ctx, id, true); err != nil {
		a.t.Error(err)
	}
	if _, err := a.api.ImageInspect(ctx, image); err == nil {
		if _, err := a.api.ImageRemove(ctx, image, client.ImageRemoveOptions{Force: true, PruneChildren: true}); err != nil {
			a.t.Error(err)
		}
	}
	return err
}

// fails compares an error, which must not show a secret.
func (a *shelf) fails(err error, wants ...string) {
	a.t.Helper()
	if err == nil {
		a.t.Fatal("it works")
	}
	for _, want := range wants {
		if !strings.Contains(err.Error(), want) {
			a.t.Errorf("the error is %q, without %q", err, want)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		a.t.Errorf("the error has several lines: %q", err)
	}
	a.noSecret(err.Error())
	a.noSecret(a.log.String())
}

func (a *shelf) noSecret(text string) {
	a.t.Helper()
	for _, secret := range []string{password, "wrong-staple", base64.StdEncoding.EncodeToString([]byte(somebody + ":" + password))[:16]} {
		if strings.Contains(text, secret) {
			a.t.Errorf("it shows a secret: %s", text)
		}
	}
}

func TestAnImageIsFetchedWithTheLoginAndProgress(t *testing.T) {
	a := newShelf(t)
	a.login(password)
	if err := a.ensure(a.push(), docker.Options{}); err != nil {
		t.Fatal(err)
	}
	if a.layers.words < 2 {
		t.Errorf("it was told %d times how far it is", a.layers.words)
	}
	large := false
	for id, l := range a.layers.last {
		if l[0] != l[1] {
			t.Errorf("layer %s ended at %d of %d", id, l[0], l[1])
		}
		large = large || l[1] > 4<<20
	}
	if !large {
		t.Errorf("the large layer is not among those that it was told of: %v", a.layers.last)
	}
	a.noSecret(a.log.String())
}

func TestAWrongLoginIsSaidWithoutIt(t *testing.T) {
	a := newShelf(t)
	image := a.push()
	a.login("wrong-staple")
	a.fails(a.ensure(image, docker.Options{}), image, "unauthorized", "docker login")
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	a.fails(a.ensure(image, docker.Options{}), image, "docker login")
}

func TestAnImageThatIsNowhereIsNamed(t *testing.T) {
	a := newShelf(t)
	a.login(password)
	image := a.host + "/team/missing:1"
	a.fails(a.ensure(image, docker.Options{}), "cannot fetch the image", image)
}

// TestD14APullIsNotPartOfTheStart fetches for longer than a start may take.
func TestD14APullIsNotPartOfTheStart(t *testing.T) {
	const bound = 15 * time.Second
	a := newShelf(t)
	a.login(password)
	slow := sync.OnceFunc(func() {
		timer := time.NewTimer(bound + time.Second)
		defer timer.Stop()
		<-timer.C
	})
	a.before = func(*http.Request) { slow() }
	if err := a.ensure(a.push(), docker.Options{StartBound: bound}); err != nil {
		t.Error(err)
	}
}

func TestD14APullHasABoundOfItsOwn(t *testing.T) {
	a := newShelf(t)
	a.login(password)
	image := a.push()
	a.before = func(*http.Request) { <-a.over }
	a.fails(a.ensure(image, docker.Options{PullBound: 2 * time.Second}), image, "within 2s", "docker pull")
}
