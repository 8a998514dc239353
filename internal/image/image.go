// Package image keeps the images whose layers the native engine mounts: it fetches them from a registry, an OCI
// layout or an archive, checks every digest, and unpacks each layer once, for all images that have it.
//
// The engine calls it. It prints nothing, mounts nothing, and runs nothing of an image. Whatever ends the
// process, what the store shows is whole; halves of fetches are removed by the next GC.
package image

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Image is one name in the store and what it stands for.
type Image struct {
	Name         string    `json:"name"`
	Source       string    `json:"source"` // where it was fetched from
	Digest       string    `json:"digest"` // of the manifest, or of the config where an archive has no manifest
	Architecture string    `json:"architecture"`
	Fetched      time.Time `json:"fetched"`
	Layers       []string  `json:"layers"` // digests of the unpacked tars, the lowest first
	Bytes        int64     `json:"bytes"`  // the sum of all file sizes
	Config       Config    `json:"config"`
}

// Config is what an image says about the programs that run in it.
type Config struct {
	Env        []string `json:"env,omitempty"` // NAME=value
	User       string   `json:"user,omitempty"`
	WorkDir    string   `json:"workdir,omitempty"`
	Entrypoint []string `json:"entrypoint,omitempty"`
	Cmd        []string `json:"cmd,omitempty"`
}

// Progress is told how far each layer is, from several goroutines; it must return at once. A layer that was
// there already is done at its first word. The total is 0 where nobody knows it.
type Progress interface {
	Layer(digest string, done, total int64)
}

// ErrAbsent is the error of a name that is not in the store.
var ErrAbsent = errors.New("no such image in the store")

// configOf refuses what no program could be started with.
func configOf(file *v1.ConfigFile) (Config, error) {
	c := file.Config
	for _, text := range slices.Concat(c.Env, c.Entrypoint, c.Cmd, []string{c.User, c.WorkingDir}) {
		if strings.ContainsRune(text, 0) {
			return Config{}, fmt.Errorf("its config holds a NUL byte in %q", text)
		}
	}
	for _, env := range c.Env {
		if i := strings.IndexByte(env, '='); i < 1 {
			return Config{}, fmt.Errorf("its config has the variable %q, which is not NAME=value", env)
		}
	}
	if os := file.OS; os != "" && os != "linux" {
		return Config{}, fmt.Errorf("it is for %s, not for linux", os)
	}
	return Config{Env: c.Env, User: c.User, WorkDir: c.WorkingDir, Entrypoint: c.Entrypoint, Cmd: c.Cmd}, nil
}
