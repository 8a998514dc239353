package addon

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"hermes.example/hermes/internal/addon/feature"
	"hermes.example/hermes/internal/addon/install"
	"hermes.example/hermes/internal/addon/lock"
	"hermes.example/hermes/internal/addon/manifest"
	"hermes.example/hermes/internal/addon/npm"
	"hermes.example/hermes/internal/addon/store"
	"hermes.example/hermes/internal/addon/unavailable"
	"hermes.example/hermes/internal/addon/vet"
)

// withoutNode is why a feature of npm cannot be installed here.
func (m *Manager) withoutNode(p *place, f feature.Feature) *unavailable.Error {
	if _, refused := p.tree(f); refused != nil {
		return refused
	}
	if !(install.Installer{Environ: m.Environ}).HasNode() {
		return unavailable.NoNode()
	}
	return nil
}

// tree is the lock of a feature of npm. One that is not shipped is not made at run time: npm chooses by what a registry
// says on the day, and nothing that the core has would hold it to a version.
func (p *place) tree(f feature.Feature) (lock.Tree, *unavailable.Error) {
	t, err := lock.LoadTree(p.locks, f.Name)
	if err == nil {
		err = t.Current(f.Specs)
	}
	if err != nil {
		return lock.Tree{}, unavailable.Because(unavailable.Unsupported, fmt.Errorf("unsupported: %w", err), "")
	}
	return t, nil
}

// keepsTree says whether the current generation has a tree exactly as it is wanted.
func (b *build) keepsTree(wanted lock.Tree) bool {
	tree, there := b.current.Tree(wanted.Feature)
	if !there || b.anew {
		return false
	}
	have := make(map[string]manifest.NodePackage)
	for _, p := range tree.Packages {
		have[p.Path] = p
	}
	for _, n := range wanted.Packages {
		p, there := have[n.Path]
		if there && (p.Version != n.Version || p.Integrity != n.Integrity) || !there && !n.Optional {
			return false
		}
		delete(have, n.Path)
	}
	return len(have) == 0
}

// fillTrees has npm bring the trees that the current generation does not have, and says which it has. A tree stands by
// itself: one that cannot be had keeps nobody from another feature, and is taken out of the plan.
func (b *build) fillTrees(ctx context.Context, p *plan, staged store.Staged) (kept []manifest.Tree, err error) {
	for _, part := range slices.Clone(p.parts) {
		switch {
		case !part.Node():
		case p.keptTrees[part.Name]:
			tree, _ := b.current.Tree(part.Name)
			kept = append(kept, tree)
		default:
			err := b.installer().InstallTree(ctx, part.tree, part.Specs, staged.Node(part.Name))
			if err != nil && (b.about == "" || b.about == part.Name || ctx.Err() != nil) {
				return nil, err
			}
			if err != nil {
				b.leaveOut(part.Name, err)
				p.without(part.Name)
			}
		}
	}
	return kept, nil
}

// without takes a feature out of the plan.
func (p *plan) without(name string) {
	p.parts = slices.DeleteFunc(p.parts, func(part part) bool { return part.Name == name })
}

// checkTrees says what is staged of packages of npm, or why it must not be published.
func checkTrees(staged store.Staged, wanted []lock.Tree) (all []manifest.Tree, err error) {
	for _, w := range wanted {
		t, err := vet.CheckTree(staged.Node(w.Feature), w)
		if err != nil {
			return nil, rejected(err)
		}
		all = append(all, t)
	}
	return all, nil
}

// trees are the locks of the parts that npm brings.
func (p plan) trees() (all []lock.Tree) {
	for _, part := range p.parts {
		if part.Node() {
			all = append(all, part.tree)
		}
	}
	return all
}

// installedTrees are those of a generation, as locks would have them.
func installedTrees(m manifest.Manifest) (all []lock.Tree) {
	for _, t := range m.Trees {
		tree := lock.Tree{Feature: t.Feature}
		for _, p := range t.Packages {
			tree.Packages = append(tree.Packages, lock.Node{Path: p.Path, Version: p.Version, Integrity: p.Integrity, Requires: p.Requires})
		}
		all = append(all, tree)
	}
	return all
}

// startable says which feature of npm does not have the file that it is started from.
func (p plan) startable(staged store.Staged) error {
	for _, part := range p.parts {
		file, isNode := part.NodeEntry()
		if !isNode {
			continue
		}
		if info, err := os.Lstat(filepath.Join(staged.Node(part.Name), filepath.FromSlash(file))); err != nil || !info.Mode().IsRegular() {
			return fmt.Errorf("%s has no file %s", part.Name, file)
		}
	}
	return nil
}

// neededOfNPM are the packages of the trees of all generations that there are, and of the locks of what is wanted.
func (b *build) neededOfNPM(wanted []string) (keep []npm.Spec) {
	for _, m := range b.writer.Manifests() {
		for _, t := range m.Trees {
			for _, p := range t.Packages {
				keep = append(keep, npm.Spec{Name: p.Name(), Version: p.Version})
			}
		}
	}
	for _, name := range wanted {
		t, err := lock.LoadTree(b.locks, name)
		if err != nil {
			continue
		}
		for _, n := range t.Packages {
			keep = append(keep, npm.Spec{Name: n.Name(), Version: n.Version})
		}
	}
	return keep
}

// native are the packages of a feature that brought compiled code.
func native(m manifest.Manifest, feature string) (names []string) {
	tree, _ := m.Tree(feature)
	for _, p := range tree.Packages {
		if p.Native {
			names = append(names, npm.Spec{Name: p.Name(), Version: p.Version}.String())
		}
	}
	return names
}

// scripts are the packages of a feature's lock that would run something when they are installed.
func (p *place) scripts(f feature.Feature) (names []string) {
	if !f.Node() {
		return nil
	}
	t, _ := p.tree(f) // no lock has none
	for _, n := range t.Packages {
		if n.Scripts {
			names = append(names, n.String())
		}
	}
	return names
}
