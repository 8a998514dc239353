//go:build linux

package containers

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"
)

// Image is something to make containers of. It is made here, of this machine's packages, and loaded into a
// daemon under a name that holds its digest: the same content is made and loaded once, a change is another name.
type Image struct {
	name   string
	layer  func(testing.TB) layer
	config config
}

// config has the names of the image format.
type config struct {
	User         string              `json:",omitempty"`
	Env          []string            `json:",omitempty"`
	Entrypoint   []string            `json:",omitempty"`
	Cmd          []string            `json:",omitempty"`
	WorkingDir   string              `json:",omitempty"`
	Volumes      map[string]struct{} `json:",omitempty"`
	ExposedPorts map[string]struct{} `json:",omitempty"`
	Labels       map[string]string   `json:",omitempty"`
	StopSignal   string              `json:",omitempty"`
	Healthcheck  *healthcheck        `json:",omitempty"`
}

// healthcheck is what a daemon runs again and again to see whether a container is well.
type healthcheck struct {
	Test     []string
	Interval time.Duration
}

// layer is the files of an image, as a tar.
type layer struct {
	digest string // SHA-256 in hexadecimal
	size   int64
	open   func() (io.ReadCloser, error)
}

// In is the reference by which the daemon knows the image. Tests of several processes may ask at once.
func (i Image) In(t testing.TB, c *client.Client) string {
	t.Helper()
	unlock := lock(t, "images")
	defer unlock()
	files := i.layer(t)
	about, err := i.describe(files)
	if err != nil {
		t.Fatal(err)
	}
	digest := fmt.Sprintf("%x", sha256.Sum256(about))
	ref := "hermes-test/" + i.name + ":" + digest[:12]
	ctx := t.Context()
	if _, err := c.ImageInspect(ctx, ref); err == nil {
		return ref
	}
	if err := load(ctx, c, ref, digest, about, files); err != nil {
		t.Fatalf("cannot load image %s: %v", ref, err)
	}
	if _, err := c.ImageInspect(ctx, ref); err != nil {
		t.Fatalf("image %s is not there after it was loaded: %v", ref, err)
	}
	return ref
}

// describe is the image's configuration file; its digest is the image's id.
func (i Image) describe(files layer) ([]byte, error) {
	config := i.config
	config.Labels = map[string]string{"hermes-test": i.name}
	for k, v := range i.config.Labels {
		config.Labels[k] = v
	}
	return json.Marshal(map[string]any{
		"architecture": runtime.GOARCH,
		"os":           "linux",
		"created":      longAgo,
		"config":       config,
		"rootfs":       map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + files.digest}},
		"history":      []any{map[string]any{"created": longAgo, "created_by": "hermes-test"}},
	})
}

// load sends the image in the format of "docker save", which both daemons read with every setting as it is.
func load(ctx context.Context, c *client.Client, ref, digest string, about []byte, files layer) error {
	manifest, err := json.Marshal([]any{map[string]any{
		"Config": digest + ".json", "RepoTags": []string{ref}, "Layers": []string{files.digest + "/layer.tar"},
	}})
	if err != nil {
		return err
	}
	content, err := files.open()
	if err != nil {
		return err
	}
	defer content.Close()
	r, w := io.Pipe()
	defer func() { _ = r.Close() }() // ends the writer when the daemon does not read on
	go func() {
		out := tar.NewWriter(w)
		put := func(name string, size int64, content io.Reader) error {
			if err := out.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: size, ModTime: longAgo}); err != nil {
				return err
			}
			_, err := io.Copy(out, content)
			return err
		}
		err := put(digest+".json", int64(len(about)), strings.NewReader(string(about)))
		if err == nil {
			err = put(files.digest+"/layer.tar", files.size, content)
		}
		if err == nil {
			err = put("manifest.json", int64(len(manifest)), strings.NewReader(string(manifest)))
		}
		if err == nil {
			err = out.Close()
		}
		w.CloseWithError(err)
	}()
	answer, err := c.ImageLoad(ctx, r)
	if err != nil {
		return err
	}
	defer answer.Close()
	return finish(answer)
}

// finish reads the progress that follows an answer that began well, in which an error may still come.
func finish(progress io.Reader) error {
	for in := json.NewDecoder(progress); ; {
		var line struct{ Error string }
		switch err := in.Decode(&line); {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case line.Error != "":
			return fmt.Errorf("%s", line.Error)
		}
	}
}
