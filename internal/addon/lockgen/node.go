package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"hermes.example/hermes/internal/addon/feature"
	"hermes.example/hermes/internal/addon/lock"
	"hermes.example/hermes/internal/atomicfile"
)

// lockTrees makes the locks of all features of npm. They are the same for all platforms.
func (g *generator) lockTrees(ctx context.Context) error {
	dir := filepath.Join(locksDir, lock.NodeLocks)
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, f := range ofNPM() {
		t, err := g.ResolveTree(ctx, f.Name, f.Specs)
		if err != nil {
			return fmt.Errorf("cannot lock %s: %w", f.Name, err)
		}
		fmt.Printf("%-28s %-8s %3d packages, %s\n", f.Name, "npm", len(t.Packages), megabytes(t.Bytes()))
		for _, n := range t.Packages {
			if n.Scripts {
				fmt.Printf("%-28s %-8s scripts of %s do not run\n", f.Name, "npm", n)
			}
		}
		if err := atomicfile.Replace(lock.TreePath(locksDir, f.Name), t.Text(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// python and ofNPM are the features by who brings them.
func python() []feature.Feature { return slices.DeleteFunc(feature.All(), feature.Feature.Node) }

func ofNPM() []feature.Feature {
	return slices.DeleteFunc(feature.All(), func(f feature.Feature) bool { return !f.Node() })
}

// readTrees reads and checks the locks of all features of npm.
func readTrees(dir string) (map[string]lock.Tree, error) {
	all := make(map[string]lock.Tree)
	for _, f := range ofNPM() {
		t, err := lock.LoadTree(dir, f.Name)
		if err == nil {
			err = t.Current(f.Specs)
		}
		if err != nil {
			return nil, err
		}
		all[f.Name] = t
	}
	return all, nil
}

// writeScripts lists what npm would run at an installation, and does not.
func writeScripts(b *bytes.Buffer, trees map[string]lock.Tree) {
	b.WriteString("\n## Packages of npm with install scripts\n\n")
	var rows []string
	for _, f := range ofNPM() {
		for _, n := range trees[f.Name].Packages {
			if n.Scripts {
				rows = append(rows, fmt.Sprintf("| `%s` | %s |\n", f.Name, n))
			}
		}
	}
	if len(rows) == 0 {
		b.WriteString("None.\n")
		return
	}
	b.WriteString("These scripts never run: the features work without them.\n\n| feature | package |\n|---|---|\n")
	for _, row := range rows {
		b.WriteString(row)
	}
}
