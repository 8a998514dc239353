package addon

import (
	"context"
	"path"
	"strings"
	"unicode"

	"hermes.example/hermes/internal/addon/lock"
	"hermes.example/hermes/internal/addon/manifest"
	"hermes.example/hermes/internal/addon/store"
)

// Compile spares every start of a backend the compilation of its modules. That takes much longer than to install them,
// so it comes after an install and not as a part of it: the generation is published once more, with bytecode, and takes
// the place of the one without. So bytecode is held by a manifest as all code is, and there is no other state to keep.
// Where nothing is to be compiled, nothing is done.
func (m *Manager) Compile(ctx context.Context) error {
	return m.writing(ctx, func(p *place, w *store.Writer) error {
		b, err := m.newBuild(p, w)
		if err != nil || b.generation.Digest == "" || b.current.Compiled || len(b.current.Files) == 0 {
			return err
		}
		return b.compile(ctx)
	})
}

func (b *build) compile(ctx context.Context) error {
	b.tell(Compiling)
	staged, err := b.writer.Stage()
	if err == nil {
		err = b.writer.Adopt(staged, b.generation, b.current.Placed())
	}
	if err != nil {
		return inStore(err)
	}
	ours := paths(b.current.Files)
	var modules []string
	for _, f := range b.current.Files {
		if bytecode := bytecodeOf(f.Path, b.Tag); bytecode != "" && !ours[bytecode] {
			modules = append(modules, f.Path)
			ours[bytecode] = true
		}
	}
	if err := b.installer().Compile(ctx, modules, staged.SitePackages()); err != nil {
		return err
	}
	packages := installed(b.current)
	report, err := b.check(staged, packages, ours)
	if err != nil {
		return err
	}
	trees, err := checkTrees(staged, installedTrees(b.current))
	if err != nil {
		return err
	}
	m := b.current
	m.Distributions, m.Files, m.Trees, m.Compiled = marked(report.Distributions, packages), report.Files, trees, true
	return b.publish(ctx, b.writer.Replace, staged, m)
}

// bytecodeOf is where an interpreter looks for what a file was compiled to; empty, if none can import the file.
func bytecodeOf(file, tag string) string {
	dir, base := path.Split(file)
	module, isSource := strings.CutSuffix(base, ".py")
	if !isSource || module == "" || strings.ContainsFunc(module, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		return ""
	}
	implementation, rest, _ := strings.Cut(tag, "-") // as in cpython-311-x86_64-linux-gnu
	version, _, _ := strings.Cut(rest, "-")
	return dir + "__pycache__/" + module + "." + implementation + "-" + version + ".pyc"
}

// installed are the packages of a generation, as a lock would have them.
func installed(m manifest.Manifest) (all []lock.Package) {
	for _, d := range m.Distributions {
		all = append(all, d.Package())
	}
	return all
}
