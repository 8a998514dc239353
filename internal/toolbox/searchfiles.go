package toolbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"time"

	"hermes.example/hermes/sandbox"
)

const (
	defaultMatches = 50
	mostMatches    = 1000
	mostContext    = 20
	// searchTime bounds a search.
	searchTime = 30 * time.Second
	// mostCandidates is how many files one search looks at.
	mostCandidates = 100_000
	// shownMatch is how many bytes of a line that matches are shown.
	shownMatch = 500
	// longestPattern bounds what has to be compiled.
	longestPattern = 10_000
)

// search is one that goes on.
type search struct {
	t    *Toolbox
	x    tree
	in   SearchFilesInput
	root string // the directory, or the one file
	glob *glob
	re   *regexp.Regexp
	// endless is the same for the beginning of a line, which has no end.
	endless *regexp.Regexp

	out     SearchFilesOutput
	room    int
	full    bool
	skipped int // files that are protected
}

// SearchFiles finds lines by a regular expression in RE2 syntax, or files by their names. What matches is decided here,
// line by line; programs of the sandbox only help to leave out files in which nothing can match, so that the answer is
// the same in every image.
func (t *Toolbox) SearchFiles(ctx context.Context, in SearchFilesInput) (SearchFilesOutput, error) {
	s := &search{t: t, in: in, room: t.settings.MaxOutput}
	if err := s.prepare(); err != nil {
		return SearchFilesOutput{}, err
	}
	limited, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	recreated, err := t.inTree(limited, func(x tree) (err error) {
		s.x = x
		if s.root, err = x.dir(in.Path); err != nil {
			return err
		}
		info, err := x.files.Stat(limited, s.root)
		if err == nil {
			err = s.run(limited, info)
		}
		return t.fileRefusal(limited, x, "search", s.root, err)
	})
	if err != nil && errors.Is(limited.Err(), context.DeadlineExceeded) && ctx.Err() == nil {
		s.full = true
		s.note("the search was cut off after %s; search a smaller directory", searchTime)
		err = nil
	}
	if err != nil {
		return SearchFilesOutput{}, err
	}
	s.out.Recreated = recreated
	return s.finish(), nil
}

// prepare checks what was asked for.
func (s *search) prepare() (err error) {
	in := &s.in
	in.Limit = bounded(in.Limit, defaultMatches, mostMatches)
	in.Context = min(max(in.Context, 0), mostContext)
	in.Offset = max(in.Offset, 0)
	if in.Target == "" {
		in.Target = "content"
	}
	if in.OutputMode == "" {
		in.OutputMode = "content"
	}
	pattern := in.FileGlob
	switch {
	case in.Pattern == "":
		return refuse("cannot search: pattern is empty; list_files shows what there is")
	case len(in.Pattern) > longestPattern:
		return refuse("cannot search: the pattern is longer than %d bytes", longestPattern)
	case in.Target == "names":
		pattern = in.Pattern
	case in.Target != "content":
		return refuse("cannot search for target %q: it is content or names", in.Target)
	case !slices.Contains([]string{"content", "files", "count"}, in.OutputMode):
		return refuse("cannot answer with output_mode %q: it is content, files or count", in.OutputMode)
	}
	if s.glob, err = newGlob(pattern, in.IgnoreCase && in.Target == "names"); err != nil {
		return refuse("cannot use the glob %q: %v", pattern, err)
	}
	if in.Target == "names" {
		return nil
	}
	expression := in.Pattern
	if in.IgnoreCase {
		expression = "(?i)" + expression
	}
	if s.re, err = regexp.Compile(expression); err == nil {
		s.endless, err = endless(expression)
	}
	if err != nil {
		return refuse("cannot use the regular expression %q: %v; it is RE2 syntax, without backreferences and lookaround, and ( ) [ ] { } . * + ? ^ $ | are meant as themselves after a backslash", in.Pattern, err)
	}
	return nil
}

func (s *search) note(format string, args ...any) {
	s.out.Notes = append(s.out.Notes, fmt.Sprintf(format, args...))
}

func (s *search) run(ctx context.Context, info sandbox.FileInfo) error {
	if !info.Mode.IsDir() {
		if s.in.Target == "names" {
			return refuse("cannot search names in %q: it is no directory", s.root)
		}
		if err := readable(s.root, info); err != nil {
			return err
		}
		return s.file(ctx, s.root)
	}
	if s.in.Target == "names" {
		return s.names(ctx)
	}
	files, err := s.candidates(ctx)
	if err != nil {
		return err
	}
	for _, name := range files {
		if !s.glob.match(name) {
			continue
		}
		err := s.file(ctx, path.Join(s.root, name))
		switch {
		case errors.Is(err, sandbox.ErrProtected):
			s.skipped++
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission), errors.Is(err, sandbox.ErrRefused):
			// gone, closed or no file: whoever else searches passes over it too
		case err != nil:
			return err
		}
		if s.full {
			return nil
		}
	}
	return nil
}

// names finds files by their names.
func (s *search) names(ctx context.Context) error {
	var found []string
	w := walk{x: s.x, depth: 255, skip: skipped, visit: func(rel string, info sandbox.FileInfo) bool {
		if !info.Mode.IsDir() && s.glob.match(rel) {
			found = append(found, rel)
		}
		return len(found) < mostCandidates
	}}
	err := w.dir(ctx, s.root, "", 1)
	slices.Sort(found)
	for _, name := range found {
		s.found(FoundFile{Path: path.Join(s.root, name)})
	}
	s.out.Notes = append(s.out.Notes, w.notes()...)
	return err
}

// skipped are the directories that no search goes into.
func skipped(base string) bool { return base == ".git" }

// found takes a file, if it is one of those that were asked for.
func (s *search) found(f FoundFile) {
	if s.full {
		return
	}
	if s.out.Total++; s.out.Total <= s.in.Offset {
		return
	}
	s.room -= len(f.Path) + 20
	if s.full = len(s.out.Files) == s.in.Limit || s.room < 0 && len(s.out.Files) > 0; !s.full {
		s.out.Files = append(s.out.Files, f)
	}
}

func (s *search) finish() SearchFilesOutput {
	s.out.Complete = !s.full
	if got := len(s.out.Files) + len(s.out.Matches); s.full && got > 0 {
		s.out.NextOffset = s.in.Offset + got
	}
	if s.skipped > 0 {
		s.note("%d protected credential files were left out", s.skipped)
	}
	if s.out.Total == 0 && s.out.Complete {
		s.note("nothing was found; .git and binary files are not searched")
	}
	return s.out
}
