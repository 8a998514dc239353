package cgroup

import (
	"maps"
	"slices"
)

// Layout is what this machine has of control groups, as this process sees it.
type Layout struct {
	V1  []string // the controllers with a hierarchy of their own, sorted
	V2  string   // where v2 is mounted, or ""
	Own string   // the directory of our own group in v2, or ""
}

// Look finds the hierarchies and makes nothing.
func Look() (Layout, error) {
	sys, err := detect()
	return Layout{V1: slices.Sorted(maps.Keys(sys.v1)), V2: sys.v2, Own: sys.own}, err
}
