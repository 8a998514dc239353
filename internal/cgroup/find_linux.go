package cgroup

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
)

// Open finds a group that any process made earlier, also one whose creation or
// removal was cut short. Without one the error is fs.ErrNotExist.
func Open(name string) (*Group, error) {
	if err := checkName(name); err != nil {
		return nil, fmt.Errorf("cannot open cgroup %q: %w", name, err)
	}
	sys, err := detect()
	if err != nil {
		return nil, err
	}
	g := sys.find(name)
	if len(g.places) == 0 {
		return nil, fmt.Errorf("cannot open cgroup %q: %w", name, fs.ErrNotExist)
	}
	return g, nil
}

func (s system) find(name string) *Group {
	g := &Group{name: name}
	v1, v2 := s.searchDirs()
	for i, bases := range [][]string{v2, v1} {
		for _, base := range bases {
			if dir := filepath.Join(base, parentName, name); exists(dir) {
				g.places = append(g.places, place{dir: dir, v2: i == 0})
			}
		}
	}
	return g
}

// List returns the names of all groups that Open finds, sorted.
func List() ([]string, error) {
	sys, err := detect()
	if err != nil {
		return nil, err
	}
	v1, v2 := sys.searchDirs()
	var names []string
	for _, base := range append(v1, v2...) {
		for _, dir := range subgroups(filepath.Join(base, parentName)) {
			names = append(names, filepath.Base(dir))
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}
