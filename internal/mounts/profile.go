package mounts

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"strconv"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/sandbox"
)

// cacheDirs are the parts of the home's cache that hold files for the agent: what
// people sent, and what the host's tools made.
var cacheDirs = []string{"documents", "images", "audio", "videos", "screenshots", "web", "delegation"}

// addProfile adds a file or directory of the profile, read-only. A volume at the
// same place is there because somebody wanted it so.
func (c *collection) addProfile(source, target string) {
	if target = path.Join(base, target); !taken(c.list, target) {
		c.add(sandbox.Mount{Source: source, Target: target, ReadOnly: true, Origin: sandbox.ByProfile})
	}
}

func (c *collection) credentials(names []string) {
	for _, name := range names {
		source, err := regularInside(c.host.config.Home, name)
		if err == nil {
			err = leadsOut(filepath.Join(c.host.config.Home, name), source, c.list)
		}
		if err != nil {
			c.warn("cannot mount the credential file %q: %v; the sandbox goes without it", name, err)
			continue
		}
		c.addProfile(source, filepath.ToSlash(filepath.Clean(name)))
	}
}

// regularInside finds a regular file of dir by its relative name. Links may lead
// to it, but not out of dir.
func regularInside(dir, name string) (string, error) {
	if !filepath.IsLocal(name) {
		return "", errors.New("it is not the name of a file inside of the home")
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", reason(err)
	}
	file, err := filepath.EvalSymlinks(filepath.Join(dir, name))
	if err != nil {
		return "", reason(err)
	}
	rel, err := filepath.Rel(dir, file)
	if err != nil || !filepath.IsLocal(rel) {
		return "", errors.New("a link leads out of the home")
	}
	// What was found is looked at again where nothing leads out of dir: it may
	// have changed since.
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", reason(err)
	}
	defer root.Close()
	info, err := root.Lstat(rel)
	if err != nil {
		return "", reason(err)
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("it is not a regular file")
	}
	return file, nil
}

// caches adds those that exist.
func (c *collection) caches() {
	for _, name := range cacheDirs {
		dir, err := c.directory(filepath.Join(c.host.config.Home, "cache", name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			c.warn("cannot mount the cache %q: %v; the sandbox goes without it", name, reason(err))
			continue
		}
		c.addProfile(dir, "cache/"+name)
	}
}

// skills adds the home's own skills, if there are any, and those of other
// directories, numbered.
func (c *collection) skills(ctx context.Context, others []string) {
	dirs := c.skillDirs(others)
	sources := make([]string, len(dirs))
	for i, d := range dirs {
		sources[i] = d.source
	}
	shown, skipped, err := c.host.withoutLinks(ctx, sources)
	if err != nil {
		c.warn("cannot copy the skills: %v; the sandbox goes without them", err)
		return
	}
	for _, err := range skipped {
		c.warn("cannot copy a skill: %v; the sandbox goes without it", err)
	}
	for i, d := range dirs {
		c.addProfile(shown[i], d.target)
	}
}

type skillDir struct{ source, target string }

func (c *collection) skillDirs(others []string) []skillDir {
	var found []skillDir
	seen := make(map[string]bool)
	add := func(dir, target string) error {
		real, err := c.directory(dir)
		if err == nil && !seen[real] {
			seen[real] = true
			found = append(found, skillDir{real, target})
		}
		return err
	}
	own := filepath.Join(c.host.config.Home, "skills")
	if err := add(own, "skills"); err != nil && !errors.Is(err, os.ErrNotExist) {
		c.warn("cannot mount the skills in %s: %v; the sandbox goes without them", own, reason(err))
	}
	first := len(found)
	for _, text := range others {
		dir, err := config.ExpandHome(c.host.lookup, text)
		if err == nil && !filepath.IsAbs(dir) {
			dir = filepath.Join(c.host.config.Home, dir)
		}
		if err == nil {
			err = add(dir, "external_skills/"+strconv.Itoa(len(found)-first))
		}
		if err != nil {
			c.warn("cannot mount the skills in %s: %v; the sandbox goes without them", text, reason(err))
		}
	}
	return found
}

// directory returns the real path of a directory.
func (c *collection) directory(dir string) (string, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(real)
	if err == nil && !info.IsDir() {
		err = errors.New("it is not a directory")
	}
	if err == nil {
		err = leadsOut(dir, real, c.list)
	}
	return real, err
}
