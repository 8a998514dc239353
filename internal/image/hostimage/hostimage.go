//go:build linux

// Package hostimage makes small images of real programs: the machine's own shell and
// tools with the libraries that they need. It needs no network and no package manager.
//
// Tests and measurements use it, and nothing else does.
package hostimage

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"hermes.example/hermes/internal/sampletar"
)

// Programs is what a sandbox is expected to have.
var Programs = []string{
	"bash", "sh", "env", "cat", "ls", "mkdir", "rm", "rmdir", "mv", "cp", "ln", "touch", "chmod", "chown", "stat", "id", "sleep", "true", "false",
	"echo", "printf", "head", "tail", "wc", "sort", "tr", "cut", "sed", "grep", "awk", "find", "xargs", "test", "pwd", "date", "dd", "seq", "yes",
	"kill", "ps", "pidof", "setsid", "nohup", "timeout", "tty", "stty", "sync", "readlink", "realpath", "basename", "dirname", "mktemp", "mkfifo",
	"mknod", "uname", "hostname", "getent", "df", "du", "tee", "md5sum", "sha256sum", "od", "base64", "tar", "mount", "umount", "unshare", "nproc",
	"truncate", "expr", "getconf", "script", "flock", "uniq", "cmp", "diff", "prlimit", "whoami", "printenv", "setpriv",
}

// File is an entry of a layer.
type File = sampletar.Entry

// Config is what the image says about the programs in it.
type Config = v1.Config

// Layer is one layer of an image.
type Layer = v1.Layer

// Write makes an OCI layout in dir, with a layer of programs and one for each list of
// files, and returns the name that it is found by.
func Write(dir string, config Config, programs Layer, layers ...[]File) (string, error) {
	all := []Layer{programs}
	for _, files := range layers {
		layer, err := layerOf(files)
		if err != nil {
			return "", err
		}
		all = append(all, layer)
	}
	img, err := mutate.AppendLayers(empty.Image, all...)
	if err != nil {
		return "", err
	}
	file, err := img.ConfigFile()
	if err != nil {
		return "", err
	}
	file = file.DeepCopy()
	file.OS, file.Config = "linux", config
	if img, err = mutate.ConfigFile(img, file); err != nil {
		return "", err
	}
	path, err := layout.Write(dir, empty.Index)
	if err == nil {
		err = path.AppendImage(img)
	}
	return "oci:" + dir, err
}

// layerOf packs files. It does not compress them: what is made here is read once or
// twice, on the same machine.
func layerOf(files []File) (Layer, error) {
	content, err := sampletar.Archive(files...)
	if err != nil {
		return nil, err
	}
	return static.NewLayer(content, types.OCIUncompressedLayer), nil
}

// Base is what every system has beside its programs.
func Base() []File {
	return []File{
		{Name: "etc/passwd", Content: "root:x:0:0:root:/root:/bin/bash\nagent:x:1234:1234:agent:/home/agent:/bin/bash\n"},
		{Name: "etc/group", Content: "root:x:0:\nagent:x:1234:\n"},
		{Name: "etc/nsswitch.conf", Content: "passwd: files\ngroup: files\nhosts: files dns\n"},
		{Name: "etc/os-release", Content: "NAME=test\n"},
		{Name: "home/agent/", UID: 1234, GID: 1234},
		{Name: "tmp/", Mode: 0o1777}, {Name: "root/", Mode: 0o700},
	}
}

// FromHost is a layer of those programs of this machine that exist, with all that they
// need. Making it takes longer than everything else; several images can have the same.
func FromHost(programs ...string) (Layer, error) {
	files, err := withNeeds(programs)
	if err != nil {
		return nil, err
	}
	return layerOf(files)
}

// Root is a whole root as one archive: programs of this machine with all that they need,
// and what every system has besides.
func Root(programs ...string) ([]byte, error) {
	files, err := withNeeds(programs)
	if err != nil {
		return nil, err
	}
	return sampletar.Archive(append(files, Base()...)...)
}

// withNeeds lists programs and all that they need.
func withNeeds(programs []string) ([]File, error) {
	seen := make(map[string]bool)
	var files []File
	add := func(path string) error {
		if seen[path] {
			return nil
		}
		seen[path] = true
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		dir, err := filepath.EvalSymlinks(filepath.Dir(path))
		if at := filepath.Join(dir, filepath.Base(path)); err == nil && (at == path || !seen[at]) {
			seen[at] = true
			files = append(files, File{Name: at[1:], Content: string(content), Mode: 0o755})
		}
		return err
	}
	for _, name := range programs {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return nil, err
		}
		if err := add(real); err != nil {
			return nil, err
		}
		if at := "/usr/bin/" + name; at != real && !seen[at] {
			seen[at] = true
			files = append(files, File{Name: at[1:], Link: real})
		}
		out, err := exec.Command("ldd", real).Output()
		if err != nil {
			continue // a script, or linked statically
		}
		for line := range strings.Lines(string(out)) {
			for _, field := range strings.Fields(line) {
				if strings.HasPrefix(field, "/") {
					if err := add(field); err != nil && !errors.Is(err, fs.ErrNotExist) {
						return nil, err
					}
				}
			}
		}
	}
	for _, dir := range []string{"/bin", "/sbin", "/lib", "/lib64"} {
		if target, err := os.Readlink(dir); err == nil {
			files = append(files, File{Name: dir[1:], Link: target})
		}
	}
	return files, nil
}
