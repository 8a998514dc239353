package vet

import (
	"maps"
	"path"
	"slices"
	"strings"

	"hermes.example/hermes/internal/addon/sealed"
)

// topLevel are the names directly in the tree, of files and directories, sorted.
func (t *contents) topLevel() []string {
	var names []string
	for name := range t.files {
		if !strings.Contains(name, "/") {
			names = append(names, name)
		}
	}
	for _, name := range t.directories {
		if !strings.Contains(name, "/") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// moduleOf is the name under which an entry of a directory can be imported; empty: not at all. A directory needs no
// __init__ for that, and an extension module may have any tag between its name and its ending.
func moduleOf(name string, isDirectory bool) string {
	if isDirectory {
		if strings.Contains(name, ".") {
			return ""
		}
		return name
	}
	switch path.Ext(name) {
	case ".py", ".pyc", ".so", ".pyd":
		module, _, _ := strings.Cut(name, ".")
		return module
	}
	return ""
}

// checkNames holds the top-level names against those of the core, and all names against each other.
func (t *contents) checkNames(core sealed.Description) {
	taken := make(map[string]Rule)
	take := func(rule Rule, names []string) {
		for _, name := range names {
			taken[strings.ToLower(name)] = rule
		}
	}
	take(CoreModule, core.Modules)
	take(CoreNamespace, core.Namespaces) // these are among the modules
	take(StandardLibrary, core.Stdlib)
	for _, name := range t.topLevel() {
		if strings.ContainsFunc(name, func(r rune) bool { return r > '~' }) {
			t.refuse(Name, name, "Python, or a file system, may take such letters for others")
			continue
		}
		module := moduleOf(name, t.files[name] == nil)
		rule := taken[strings.ToLower(module)]
		if rule == "" {
			continue
		}
		for _, file := range t.under(name) {
			switch {
			case rule == CoreNamespace && t.isPackage(name):
				t.refuse(rule, file, "a package over the core's namespace package %s would win although it comes last", module)
			case rule == CoreNamespace:
				t.refuse(rule, file, "it adds to the core's namespace package %s", module)
			default:
				t.refuse(rule, file, "the name %s is taken by %s", module, takers[rule])
			}
		}
	}
	t.checkCase()
}

var takers = map[Rule]string{CoreModule: "a module of the core", StandardLibrary: "the standard library"}

// isPackage says whether a top-level entry is more than a part of a namespace package.
func (t *contents) isPackage(name string) bool {
	if t.files[name] != nil {
		return true
	}
	for file := range t.files {
		if dir, base := path.Split(file); dir == name+"/" && moduleOf(base, false) == "__init__" {
			return true
		}
	}
	return false
}

// under is a top-level name itself, or for a directory the first file of each distribution that has one there.
func (t *contents) under(name string) []string {
	first := make(map[*distribution]string)
	for file, owner := range t.owners {
		if before, other := first[owner]; strings.HasPrefix(file, name+"/") && !isBytecode(file) && (!other || file < before) {
			first[owner] = file
		}
	}
	if len(first) == 0 {
		return []string{name}
	}
	return slices.Sorted(maps.Values(first))
}

// checkCase finds names that are one where the case of letters does not count.
func (t *contents) checkCase() {
	folded := make(map[string]string)
	names := slices.Clone(t.directories)
	for name := range t.files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		low := strings.ToLower(name)
		if before, clash := folded[low]; clash {
			t.refuse(Name, name, "on some file systems %.200q is the same file", before)
			continue
		}
		folded[low] = name
	}
}

// modules are the top-level names that a distribution can be imported by.
func (t *contents) modules(d *distribution) []string {
	found := make(map[string]bool)
	for _, name := range d.claims {
		if t.isInstallers(name) || moduleOf(path.Base(name), false) == "" {
			continue
		}
		top, _, isBelow := strings.Cut(name, "/")
		if module := moduleOf(top, isBelow); module != "" && module != pycache {
			found[module] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}
