//go:build linux

package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
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
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
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
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := open(t).Pull(ctx, "a", source(t, host+"/a:1"), nil)
	if err == nil || !strings.Contains(err.Error(), "leads out") {
		t.Errorf("got %v", err)
	}
}

func TestLayersAtForeignAddressesAreRefused(t *testing.T) {
	l := layerOf(t, "f", "x")
	img, err := mutate.Append(imageOf(t), mutate.Addendum{Layer: l, MediaType: types.DockerForeignLayer, URLs: []string{"http://127.0.0.1:1/x"}})
	if err != nil {
		t.Fatal(err)
	}
	host := serve(t, nil)
	push(t, host+"/a:1", img)
	_, err = open(t).Pull(t.Context(), "a", source(t, host+"/a:1"), nil)
	if err == nil || !strings.Contains(err.Error(), "not a file system layer") {
		t.Errorf("got %v", err)
	}
}

// laidOut writes images as an OCI layout.
func laidOut(t *testing.T, images map[string]v1.Image) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "layout")
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	for ref, img := range images {
		if err := path.AppendImage(img, layout.WithAnnotations(map[string]string{refName: ref})); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestFetchingFromALayoutAndItsArchive(t *testing.T) {
	ours := imageOf(t, layerOf(t, "f", "x"))
	want, _ := ours.Digest()
	dir := laidOut(t, map[string]v1.Image{"one": ours, "two": imageOf(t, layerOf(t, "g", "y"))})
	file := filepath.Join(t.TempDir(), "layout.tar")
	pack(t, file, dir)
	for _, where := range []string{"oci:" + dir, "archive:" + file} {
		s := open(t)
		if _, err := s.Pull(t.Context(), "a", source(t, where), nil); err == nil || !strings.Contains(err.Error(), "name one with #NAME") {
			t.Errorf("%s: two images: %v", where, err)
		}
		if _, err := s.Pull(t.Context(), "a", source(t, where+"#three"), nil); err == nil || !strings.Contains(err.Error(), `no image "three"`) {
			t.Errorf("%s: no such image: %v", where, err)
		}
		if img := pull(t, s, "a", source(t, where+"#one")); img.Digest != want.String() {
			t.Errorf("%s: digest %s", where, img.Digest)
		}
	}
}

// pack puts a directory into a plain tar.
func pack(t *testing.T, file, dir string) {
	t.Helper()
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(f)
	if err := errors.Join(w.AddFS(os.DirFS(dir)), w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestADamagedLayoutIsNoticed(t *testing.T) {
	img := imageOf(t, layerOf(t, "f", noise(1000)))
	manifest, _ := img.Manifest()
	digest, _ := img.Digest()
	for what, h := range map[string]v1.Hash{"layer": manifest.Layers[0].Digest, "config": manifest.Config.Digest, "manifest": digest} {
		dir := laidOut(t, map[string]v1.Image{"": img})
		file := filepath.Join(dir, blobName(h))
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		// Still a valid file of its kind: only the digest tells.
		if what == "layer" {
			other, _ := layerOf(t, "f", "other").Compressed()
			b, _ = io.ReadAll(other)
		} else {
			b = append(b, '\n')
		}
		if err := errors.Join(os.Remove(file), os.WriteFile(file, b, 0o600)); err != nil {
			t.Fatal(err)
		}
		s := open(t)
		if _, err := s.Pull(t.Context(), "a", source(t, "oci:"+dir), nil); err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("%s: %v", what, err)
		}
		if left := inside(t, s, "layers"); len(left) > 0 {
			t.Errorf("%s: left %v", what, left)
		}
	}
}

func TestALayoutsLinksLeadNowhereElse(t *testing.T) {
	dir := laidOut(t, map[string]v1.Image{"": imageOf(t, layerOf(t, "f", "x"))})
	outside := filepath.Join(t.TempDir(), "index.json")
	if err := errors.Join(os.Rename(filepath.Join(dir, "index.json"), outside), os.Symlink(outside, filepath.Join(dir, "index.json"))); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t).Pull(t.Context(), "a", source(t, "oci:"+dir), nil); err == nil || !strings.Contains(err.Error(), "escapes") {
		t.Errorf("got %v", err)
	}
}

func TestDockerSaveArchives(t *testing.T) {
	one, two := imageOf(t, layerOf(t, "f", "x")), imageOf(t, layerOf(t, "g", "y"))
	file := filepath.Join(t.TempDir(), "two.tar")
	err := tarball.MultiWriteToFile(file, map[name.Tag]v1.Image{name.MustParseReference("one:1").(name.Tag): one, name.MustParseReference("two:1").(name.Tag): two})
	if err != nil {
		t.Fatal(err)
	}
	zipped := file + ".gz"
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	plain, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	w.Write(plain)
	w.Close()
	if err := os.WriteFile(zipped, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	want, _ := two.ConfigName()
	for _, file := range []string{file, zipped} {
		s := open(t)
		if _, err := s.Pull(t.Context(), "a", source(t, "archive:"+file), nil); err == nil || !strings.Contains(err.Error(), "name one") {
			t.Errorf("two images: %v", err)
		}
		if img := pull(t, s, "a", source(t, "archive:"+file+"#two:1")); img.Digest != want.String() {
			t.Errorf("digest %s", img.Digest)
		}
		if left := inside(t, s, "pulls"); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	}
}

// Old archives hold plain tars, and a link for a layer that two images share.
func TestOldDockerSaveArchivesHaveLinks(t *testing.T) {
	l := layerOf(t, "f", "x")
	img := imageOf(t, l)
	r, _ := l.Uncompressed()
	layer, _ := io.ReadAll(r)
	config, _ := img.RawConfigFile()
	manifest := `[{"Config": "c.json", "RepoTags": ["a:1"], "Layers": ["two/layer.tar"]}]`
	write := func(name, link string, content []byte) Source {
		path := filepath.Join(t.TempDir(), name)
		f, _ := os.Create(path)
		w := tar.NewWriter(f)
		for _, file := range []struct {
			name    string
			content []byte
		}{{"manifest.json", []byte(manifest)}, {"c.json", config}, {"one/layer.tar", content}} {
			w.WriteHeader(&tar.Header{Name: file.name, Typeflag: tar.TypeReg, Size: int64(len(file.content)), Mode: 0o644})
			w.Write(file.content)
		}
		w.WriteHeader(&tar.Header{Name: "two/layer.tar", Typeflag: tar.TypeSymlink, Linkname: link})
		if err := errors.Join(w.Close(), f.Close()); err != nil {
			t.Fatal(err)
		}
		return source(t, "archive:"+path)
	}
	pull(t, open(t), "a", write("good", "../one/layer.tar", layer))
	for name, c := range map[string]struct {
		link, why string
		content   []byte
	}{
		"circle":  {"layer.tar", "do not end", layer},
		"outside": {"../../../../../../etc/passwd", "has no file", layer},
		"changed": {"../one/layer.tar", "damaged", make([]byte, 1024)},
	} {
		if _, err := open(t).Pull(t.Context(), "a", write(name, c.link, c.content), nil); err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %v", name, err)
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
