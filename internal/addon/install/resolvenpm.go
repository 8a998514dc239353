package install

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"hermes.example/hermes/internal/addon/lock"
	"hermes.example/hermes/internal/addon/npm"
	"hermes.example/hermes/internal/addon/unavailable"
)

// ResolveTree has npm choose the packages that a feature needs, and where they lie. Only who makes locks to be shipped
// calls it.
func (i Installer) ResolveTree(ctx context.Context, feature string, specs []string) (lock.Tree, error) {
	program, err := i.npm()
	if err != nil {
		return lock.Tree{}, err
	}
	wanted, _, err := forNPM(lock.Tree{}, specs)
	if err != nil {
		return lock.Tree{}, unavailable.UnsafeSpec(err)
	}
	s, err := i.open()
	if err != nil {
		return lock.Tree{}, err
	}
	defer s.close()
	if err := s.write("package.json", wanted); err != nil {
		return lock.Tree{}, err
	}
	args := []string{"install", "--package-lock-only", "--ignore-scripts", "--omit=dev", "--install-links=false"}
	if before := s.before(); !before.IsZero() {
		args = append(args, "--before="+before.UTC().Format(time.RFC3339))
	}
	if err := s.runNPM(ctx, program, nil, args...); err != nil {
		return lock.Tree{}, s.judgeNPM("npm install", err)
	}
	text, err := os.ReadFile(s.path("package-lock.json"))
	if err != nil {
		return lock.Tree{}, failed("", "cannot read what npm has chosen: %w", err)
	}
	t, err := s.reduce(ctx, feature, specs, text)
	if err != nil {
		return lock.Tree{}, failed("", "cannot lock %s: %w", feature, err)
	}
	return t, nil
}

// reduce takes out of a package-lock.json what a lock needs.
func (s *session) reduce(ctx context.Context, feature string, specs []string, text []byte) (lock.Tree, error) {
	var all npmLock
	if err := json.Unmarshal(text, &all); err != nil {
		return lock.Tree{}, err
	}
	if all.LockfileVersion != 3 {
		return lock.Tree{}, fmt.Errorf("npm has written a lock of version %d, not 3", all.LockfileVersion)
	}
	delete(all.Packages, "")
	var packages []lock.Node
	for key, n := range all.Packages {
		path, isBelow := strings.CutPrefix(key, below)
		switch {
		case !isBelow || n.Link || n.InBundle:
			return lock.Tree{}, fmt.Errorf("%s comes from no registry", key)
		case n.Name != "" && n.Name != npm.NameAt(path):
			return lock.Tree{}, fmt.Errorf("%s is %s under another name", key, n.Name)
		}
		node := lock.Node{
			Path: path, Version: n.Version, Integrity: n.Integrity,
			Optional: n.Optional, OS: n.OS, CPU: n.CPU, Libc: n.Libc, Scripts: n.HasInstallScript,
		}
		// What others need is what they were tried with, and mostly works with less.
		if slices.Contains(specs, path+"@"+n.Version) {
			node.Engine = lock.Range(n.Engines["node"])
		}
		if s.Measure != nil && n.Resolved != "" {
			node.Size = s.Measure(ctx, n.Resolved)
		}
		packages = append(packages, node)
	}
	slices.SortFunc(packages, func(a, b lock.Node) int { return cmp.Compare(a.Path, b.Path) })
	t := lock.NewTree(feature, specs, packages)
	for i, n := range packages {
		from := all.Packages[below+n.Path]
		for _, requires := range []map[string]string{from.Dependencies, from.OptionalDeps, from.PeerDependencies} {
			for name, version := range requires {
				if version != "" && lock.Range(version) == "" {
					return lock.Tree{}, fmt.Errorf("%s requires %s as %.80q, which is no version of a registry", n, name, version)
				}
				if t.Found(n.Path, name) != nil { // what is optional need not be there
					packages[i].Requires = append(packages[i].Requires, name)
				}
			}
		}
		slices.Sort(packages[i].Requires)
		packages[i].Requires = slices.Compact(packages[i].Requires)
	}
	if _, err := lock.ParseTree(t.Text()); err != nil {
		return lock.Tree{}, err
	}
	return t, t.Current(specs)
}
