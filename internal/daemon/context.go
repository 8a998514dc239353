package daemon

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"hermes.example/hermes/internal/config"
)

// noContext is the name of the context that is none: the usual places.
const noContext = "default"

// otherContext is what to do about one that is of no use.
const otherContext = `choose another with "docker context use NAME", or set DOCKER_HOST`

// dockerConfig is the directory of Docker's command line tool.
func (s *search) dockerConfig() string {
	if dir := s.env("DOCKER_CONFIG"); dir != "" {
		return dir
	}
	dir, err := config.ExpandHome(s.Lookup, "~/.docker")
	if err != nil {
		return ""
	}
	return dir
}

// context is the place of the context that DOCKER_CONTEXT names or "docker context use" chose.
func (s *search) context() (*place, error) {
	dir := s.dockerConfig()
	name, by := s.env("DOCKER_CONTEXT"), "DOCKER_CONTEXT"
	if name == "" {
		by = filepath.Join(dir, "config.json")
		name = s.currentContext(by)
	}
	if name == "" || name == noContext {
		return nil, nil
	}
	from := fmt.Sprintf("context %q of %s", name, by)
	sum := sha256.Sum256([]byte(name))
	id := hex.EncodeToString(sum[:])
	var meta struct {
		Endpoints map[string]struct {
			Host          string
			SkipTLSVerify bool
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, "contexts", "meta", id, "meta.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, s.unusable(from, otherContext, "there is no such context in %s", dir)
	}
	if err == nil {
		err = json.Unmarshal(data, &meta)
	}
	if err != nil {
		return nil, s.unusable(from, otherContext, "it cannot be read: %v", err)
	}
	endpoint := meta.Endpoints["docker"]
	if endpoint.Host == "" {
		return nil, s.unusable(from, otherContext, "it names no address of a Docker engine")
	}
	secured, err := readTLS(filepath.Join(dir, "contexts", "tls", id, "docker"))
	if err != nil {
		return nil, s.unusable(from, otherContext, "%v", err)
	}
	if endpoint.SkipTLSVerify {
		if secured == nil {
			secured = &tls.Config{}
		}
		secured.InsecureSkipVerify = true
	}
	return s.at(endpoint.Host, from, secured)
}

// currentContext is what the tool's own file says. One that cannot be read has no say, as with the tool.
func (s *search) currentContext(path string) string {
	var file struct{ CurrentContext string }
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	if err == nil {
		err = json.Unmarshal(data, &file)
	}
	if err != nil {
		s.Warn(oneLine(fmt.Sprintf("the contexts of Docker are ignored: cannot read %s: %v", path, err)))
	}
	return file.CurrentContext
}
