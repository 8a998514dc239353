package sandbox

import (
	"context"
	"errors"

	"hermes.example/hermes/internal/wire"
)

// FileRule bounds what is done to the files of a sandbox that is no boundary itself. The guest keeps it by
// descriptors: links, also such that are swapped meanwhile, lead to no other verdict.
type FileRule struct {
	// Beneath are directories, with absolute paths; whatever is outside of all of them is not changed. Nil is no
	// such bound, and an empty list that nothing is changed at all.
	Beneath []string
	// Protected are files that are neither read nor changed, whatever other names they have.
	Protected []FilePattern
}

// FilePattern is files of one directory.
type FilePattern struct {
	Dir string
	// Names is a pattern as of path.Match, and Except, which may be empty, another one, of names that are not meant.
	Names, Except string
}

// What a rule refuses.
var (
	ErrOutside   = errors.New("outside of the directories that may be changed")
	ErrProtected = errors.New("a protected file")
)

// Under returns the same files under a rule. It holds for reading, writing, looking, listing, making directories and
// removing single files; everything else is refused under one, and so is all of it by a guest that knows no rules.
// It holds in the whole sandbox only. Other than without a rule, a link is written through.
func (f Files) Under(rule FileRule) Files {
	f.rule = &rule
	return f
}

// Check says whether the rule allows to write a file, whose directory need not exist yet, without changing anything.
// Whether the write then succeeds is for the write to show.
func (f Files) Check(ctx context.Context, path string) error {
	_, err := f.ask(ctx, wire.File{Op: wire.FileCheck, Path: []byte(path)})
	return cannotFile("write", path, err)
}

func (r *FileRule) request(op wire.FileOp) *wire.FileRule {
	w := &wire.FileRule{Op: op}
	if r.Beneath != nil {
		w.Beneath = make([][]byte, len(r.Beneath))
	}
	for i, dir := range r.Beneath {
		w.Beneath[i] = []byte(dir)
	}
	for _, p := range r.Protected {
		w.Protected = append(w.Protected, wire.FilePattern{Dir: []byte(p.Dir), Names: p.Names, Except: p.Except})
	}
	return w
}
