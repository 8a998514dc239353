package mounts

import (
	"os"
	"path"
	"path/filepath"
	"slices"

	"hermes.example/hermes/sandbox"
)

// Join puts what is configured beside what a caller asked for, who has the last
// word. What would have its place in a read-only mount that has no such place is
// left out, with a warning.
func Join(given, configured []sandbox.Mount) (list []sandbox.Mount, warnings []string) {
	c := collection{list: slices.Clone(given)}
	for _, m := range configured {
		if !taken(given, m.Target) {
			c.list = append(c.list, m)
		}
	}
	all := slices.Clone(c.list)
	c.list = slices.DeleteFunc(c.list, func(m sandbox.Mount) bool {
		over, ok := above(all, m)
		if m.Origin == sandbox.ByCaller || !ok || !over.ReadOnly || placeIn(over, m) {
			return false
		}
		c.warn("cannot mount %s at %s: it has no place in %s, which is mounted read-only; the sandbox goes without it", m.Source, m.Target, over.Source)
		return true
	})
	return c.list, c.warnings
}

// above finds the mount in which another one has its place.
func above(list []sandbox.Mount, m sandbox.Mount) (found sandbox.Mount, ok bool) {
	for _, other := range list {
		target := path.Clean(other.Target)
		if target != path.Clean(m.Target) && in(m.Target, target) && (!ok || len(target) > len(path.Clean(found.Target))) {
			found, ok = other, true
		}
	}
	return found, ok
}

// placeIn says whether a mount finds its place in another one without making it.
func placeIn(over, m sandbox.Mount) bool {
	rel, err := filepath.Rel(filepath.FromSlash(path.Clean(over.Target)), filepath.FromSlash(path.Clean(m.Target)))
	if err != nil {
		return false
	}
	place, err := os.Lstat(filepath.Join(over.Source, rel))
	source, err2 := os.Stat(m.Source)
	return err == nil && err2 == nil && place.IsDir() == source.IsDir()
}

// Given returns the mounts that a sandbox's caller asked for.
func Given(list []sandbox.Mount) []sandbox.Mount {
	return slices.DeleteFunc(slices.Clone(list), func(m sandbox.Mount) bool { return m.Origin != sandbox.ByCaller })
}
