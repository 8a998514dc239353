//go:build linux

package image

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// serve runs a registry on loopback; middle sees every request first and says whether it answered.
func serve(t *testing.T, middle func(http.ResponseWriter, *http.Request) bool) string {
	t.Helper()
	t.Setenv("DOCKER_CONFIG", t.TempDir()) // nobody's credentials
	reg := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if middle == nil || !middle(w, r) {
			reg.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(srv.Close)
	return strings.TrimPrefix(srv.URL, "http://")
}

func reference(t *testing.T, text string) name.Reference {
	t.Helper()
	ref, err := name.ParseReference(text)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

func push(t *testing.T, ref string, img v1.Image) {
	t.Helper()
	if err := remote.Write(reference(t, ref), img); err != nil {
		t.Fatal(err)
	}
}

func TestFetchingFromARegistry(t *testing.T) {
	host := serve(t, nil)
	other := imageOf(t, layerOf(t, "other", "x"))
	ours := imageOf(t, layerOf(t, "base", "b"), layerOf(t, "top", "t"))
	index := mutate.AppendManifests(empty.Index,
		mutate.IndexAddendum{Add: other, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "s390x"}}},
		mutate.IndexAddendum{Add: ours, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: runtime.GOARCH}}})
	ref := reference(t, host+"/some/image:tag")
	if err := remote.WriteIndex(ref, index); err != nil {
		t.Fatal(err)
	}
	s := open(t)
	img := pull(t, s, "a", source(t, ref.Name()))
	want, err := ours.Digest()
	if err != nil || img.Digest != want.String() {
		t.Errorf("digest %s, want %s, %v", img.Digest, want, err)
	}
	dirs, err := s.Dirs(img)
	if err != nil || len(dirs) != 2 {
		t.Fatal(dirs, err)
	}
	if b, err := os.ReadFile(filepath.Join(dirs[0], "top")); string(b) != "t" {
		t.Errorf("%q %v", b, err)
	}
	if _, err := s.Pull(t.Context(), "b", source(t, host+"/absent:1"), nil); err == nil || !strings.Contains(err.Error(), "cannot fetch image") {
		t.Errorf("an absent image: %v", err)
	}
}

func TestCredentialsComeFromTheDockerConfig(t *testing.T) {
	locked := false
	host := serve(t, func(w http.ResponseWriter, r *http.Request) bool {
		if user, pass, _ := r.BasicAuth(); !locked || user == "me" && pass == "secret" {
			return false
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
		w.WriteHeader(http.StatusUnauthorized)
		return true
	})
	push(t, host+"/a:1", imageOf(t, layerOf(t, "f", "x")))
	locked = true
	s := open(t)
	if _, err := s.Pull(t.Context(), "a", source(t, host+"/a:1"), nil); err == nil {
		t.Fatal("fetched without a password")
	}
	config := fmt.Sprintf(`{"auths": {%q: {"username": "me", "password": "secret"}}}`, host)
	if err := os.WriteFile(filepath.Join(os.Getenv("DOCKER_CONFIG"), "config.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	pull(t, s, "a", source(t, host+"/a:1"))
}

func TestARegistryThatChangesALayerIsNoticed(t *testing.T) {
	l := layerOf(t, "f", "x")
	digest, _ := l.Digest()
	other, _ := layerOf(t, "f", "y").Compressed()
	changed, _ := io.ReadAll(other)
	lie := false
	host := serve(t, func(w http.ResponseWriter, r *http.Request) bool {
		if !lie || !strings.HasSuffix(r.URL.Path, digest.String()) {
			return false
		}
		w.Write(changed)
		return true
	})
	push(t, host+"/a:1", imageOf(t, l))
	lie = true
	s := open(t)
	if _, err := s.Pull(t.Context(), "a", source(t, host+"/a:1"), nil); err == nil {
		t.Error("no error")
	}
	if left := inside(t, s, "layers"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestAnotherLayersFailureEndsASilentConnection(t *testing.T) {
	slow, bad := layerOf(t, "f", noise(1<<20)), layerOf(t, "../g", "x")
	digest, _ := slow.Digest()
	hang := false
	host := serve(t, func(w http.ResponseWriter, r *http.Request) bool {
		if !hang || r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, digest.String()) {
			return false
		}
		w.Write([]byte{0x1f, 0x8b})
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		return true
	})
	push(t, host+"/a:1", imageOf(t, slow, bad))
	hang = true
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, err := open(t).Pull(ctx, "a", source(t, host+"/a:1"), nil)
	if err == nil || !strings.Contains(err.Error(), "leads out") || ctx.Err() != nil {
		t.Errorf("got %v, %v", err, ctx.Err())
	}
}

func TestLayersAtForeignAddressesAreRefused(t *testing.T) {
	host := serve(t, nil)
	for _, c := range []mutate.Addendum{
		{MediaType: types.DockerForeignLayer},
		{MediaType: types.DockerLayer, URLs: []string{"http://127.0.0.1:1/x"}},
		{MediaType: "application/x-something"},
	} {
		c.Layer = layerOf(t, "f", "x")
		img, err := mutate.Append(imageOf(t), c)
		if err != nil {
			t.Fatal(err)
		}
		push(t, host+"/a:1", img)
		_, err = open(t).Pull(t.Context(), "a", source(t, host+"/a:1"), nil)
		if err == nil || !strings.Contains(err.Error(), "not a file system layer") {
			t.Errorf("%s %s: got %v", c.MediaType, c.URLs, err)
		}
	}
}

func TestParseSources(t *testing.T) {
	for text, want := range map[string]string{
		"oci:/x/y#tag": "oci:/x/y#tag", "archive:/x.tar": "archive:/x.tar", "example.com:5000/a/b:1": "example.com:5000/a/b:1",
		"example.com/a": "example.com/a:latest", "oci:": "", "UPPER CASE": "", "": "",
	} {
		got, err := Parse(text)
		if (err != nil) != (want == "") || err == nil && got.String() != want {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

func TestImagesThatCannotRunAreRefused(t *testing.T) {
	for why, change := range map[string]func(*v1.ConfigFile){
		"not for linux":   func(c *v1.ConfigFile) { c.OS = "windows" },
		"it is for s390x": func(c *v1.ConfigFile) { c.Architecture = "s390x" },
		"NUL byte":        func(c *v1.ConfigFile) { c.Config.Cmd = []string{"a\x00b"} },
		"not NAME=value":  func(c *v1.ConfigFile) { c.Config.Env = []string{"=x"} },
		"cannot be read":  func(c *v1.ConfigFile) { c.RootFS.DiffIDs = []v1.Hash{{Algorithm: "sha256", Hex: "../../x"}} },
	} {
		img := imageOf(t, layerOf(t, "f", "x"))
		file, _ := img.ConfigFile()
		change(file)
		img, err := mutate.ConfigFile(img, file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := open(t).Pull(t.Context(), "a", saved(t, img), nil); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("want %q, got %v", why, err)
		}
	}
}
