package vet

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

const scripts = "bin"

// notes are what installers write for themselves into the metadata: who they are, when and from where.
var notes = []string{"INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json", "uv_build.json"}

// isInstallers says whether a file is left behind by the installer and is no part of a generation: its lock, its
// notes, and scripts. Nobody's search path leads to a generation's scripts, and one that did would have the names of
// the wheels' choosing in it, git for instance.
func (t *contents) isInstallers(name string) bool {
	dir, base := path.Split(name)
	switch dir = strings.TrimSuffix(dir, "/"); dir {
	case "":
		return name == ".lock"
	case scripts:
		return t.files[name] != nil && t.files[name].Exec
	}
	return isDistInfo(dir) && slices.Contains(notes, base)
}

// checkScripts finds modules among the scripts, which would be lost with them.
func (t *contents) checkScripts() {
	for name := range t.files {
		if strings.HasPrefix(name, scripts+"/") && !t.isInstallers(name) {
			t.refuse(Script, name, "it lies among scripts and is none")
		}
	}
}

// Tidy makes the tree what the report says: without what the installer left, and with RECORDs that do not depend on
// it. It is for trees without problems.
func (r *Report) Tidy() error {
	if err := r.Err(); err != nil {
		return err
	}
	root, err := os.OpenRoot(r.tree)
	if err != nil {
		return fmt.Errorf("cannot tidy %s: %w", r.tree, err)
	}
	defer root.Close()
	for _, name := range r.dropped {
		if err := root.Remove(name); err != nil {
			return fmt.Errorf("cannot tidy %s: %w", r.tree, err)
		}
	}
	if err := root.Remove(scripts); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot tidy %s: %w", r.tree, err)
	}
	for name, content := range r.records {
		if err := replace(root, name, content); err != nil {
			return fmt.Errorf("cannot tidy %s: %w", r.tree, err)
		}
	}
	return nil
}

// replace makes a new file of the name: the old one may be linked to the installer's cache.
func replace(root *os.Root, name string, content []byte) error {
	if err := root.Remove(name); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}
