package main

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"hermes.example/hermes/internal/addon/feature"
	"hermes.example/hermes/internal/addon/lock"
)

const intro = `# Add-ons

Every feature that can be installed, and what its locks say for the sealed runtime's platforms: packages beside the core's, and how much there is to
download. Written by ` + "`make lock`" + `; ` + "`make lock-table`" + ` writes it anew from the locks.
`

// table is the documentation of all features, made of the list, the locks and the core's versions and of nothing else:
// the same tree gives the same text.
func table(root string) ([]byte, error) {
	core, err := readCore(filepath.Join(root, coreFile))
	if err != nil {
		return nil, err
	}
	all, err := readLocks(filepath.Join(root, locksDir), core)
	if err != nil {
		return nil, err
	}
	trees, err := readTrees(filepath.Join(root, locksDir))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString(intro + "\n| feature | what for | imports |")
	for _, p := range platforms {
		b.WriteString(" " + p.name + " |")
	}
	b.WriteString("\n|---|---|---|" + strings.Repeat("---|", len(platforms)) + "\n")
	for _, f := range feature.All() {
		if f.Node() {
			t := trees[f.Name]
			cell := fmt.Sprintf(" %d packages of npm, %s |", len(t.Packages), megabytes(t.Bytes()))
			fmt.Fprintf(&b, "| `%s` | %s | `%s` |%s\n", f.Name, f.For, strings.Join(f.Specs, "`, `"), strings.Repeat(cell, len(platforms)))
			continue
		}
		fmt.Fprintf(&b, "| `%s` | %s | `%s` |", f.Name, f.For, strings.Join(f.Probes, "`, `"))
		for _, p := range platforms {
			b.WriteString(" " + all[p.tag].cell(f.Name) + " |")
		}
		b.WriteByte('\n')
	}
	writeTools(&b)
	writeScripts(&b, trees)
	all.writeSources(&b)
	all.writeUnlocked(&b)
	all.writeConflicts(&b)
	return b.Bytes(), nil
}

// locks are those of all platforms, by their tags.
type locks map[string]platformLocks

// platformLocks are what there is to install for each feature, and why there is nothing for the others.
type platformLocks struct {
	locked   map[string]lock.Lock
	unlocked map[string]string
}

// readLocks reads and checks everything: each lock is of the feature as it is in the list, and of the core as it is.
func readLocks(dir string, core map[string]string) (locks, error) {
	all := make(locks)
	for _, p := range platforms {
		here := platformLocks{locked: make(map[string]lock.Lock), unlocked: make(map[string]string)}
		for _, f := range python() {
			l, err := lock.Load(dir, p.tag, f.Name)
			var none *lock.Unlockable
			if errors.As(err, &none) {
				here.unlocked[f.Name] = none.Reason
				continue
			}
			if err == nil {
				err = l.Current(f.Specs)
			}
			if err != nil {
				return nil, err
			}
			if here.locked[f.Name], _, err = l.Without(core); err != nil {
				return nil, err
			}
		}
		all[p.tag] = here
	}
	return all, nil
}

func (p platformLocks) cell(name string) string {
	l, ok := p.locked[name]
	if !ok {
		return "no: " + p.unlocked[name]
	}
	packages := fmt.Sprintf("%d packages", len(l.Packages))
	if len(l.Packages) == 1 {
		packages = "1 package"
	}
	if _, sources := lock.Apart(l.Packages); len(sources) > 0 {
		packages += fmt.Sprintf(", %d of them built from source", len(sources))
	}
	return packages + ", " + megabytes(lock.Size(l.Packages))
}

func megabytes(bytes int64) string { return fmt.Sprintf("%.1f MB", float64(bytes)/1e6) }
