//go:build linux

package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

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
	for what, h := range map[string]v1.Hash{"layer": manifest.Layers[0].Digest, "packed anew": manifest.Layers[0].Digest, "config": manifest.Config.Digest, "manifest": digest} {
		dir := laidOut(t, map[string]v1.Image{"": img})
		file := filepath.Join(dir, blobName(h))
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		// Still a valid file of its kind: only the digest tells.
		switch what {
		case "layer":
			other, _ := layerOf(t, "f", "other").Compressed()
			b, _ = io.ReadAll(other)
		case "packed anew":
			same, _ := layerOf(t, "f", noise(1000)).Uncompressed()
			b, _ = io.ReadAll(same)
		default:
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
