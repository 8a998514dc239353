package toolbox

import (
	"bytes"
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"time"

	"hermes.example/hermes/sandbox"
)

// finder is a program that finds the files in which something may match. Which lines do, it has no say in.
type finder struct {
	// argv asks for the files below some paths that have lines which match a pattern, in any case where that is said.
	argv func(pattern string, anyCase bool, below []string) []string
	// null says that names end with a NUL, and not with a line feed.
	null bool
}

// finders are tried in this order: the fastest that an image has. Without any, all files are looked at.
var finders = []finder{ripgrep, gnuGrep, findGrep}

var ripgrep = finder{null: true, argv: func(pattern string, anyCase bool, below []string) []string {
	return slices.Concat([]string{"rg", "--no-config", "--files-with-matches", "--null", "--no-ignore", "--hidden", "--text", "--no-messages",
		"--no-unicode", "--glob", "!.git"}, inAnyCase(anyCase), []string{"-e", pattern, "--"}, below)
}}

var gnuGrep = finder{null: true, argv: func(pattern string, anyCase bool, below []string) []string {
	return slices.Concat([]string{"grep", "-r", "-l", "-E", "-s", "-Z", "--exclude-dir=.git"}, inAnyCase(anyCase), []string{"-e", pattern, "--"}, below)
}}

// findGrep is for busybox, whose grep would wait for pipes that it meets, and others.
var findGrep = finder{argv: func(pattern string, anyCase bool, below []string) []string {
	return slices.Concat([]string{"find"}, below, []string{"-name", ".git", "-prune", "-o", "-type", "f", "-exec", "grep", "-l", "-E", "-s"}, inAnyCase(anyCase),
		[]string{"-e", pattern, "{}", "+"})
}}

func inAnyCase(yes bool) []string {
	if yes {
		return []string{"-i"}
	}
	return nil
}

const (
	finderTime   = 20 * time.Second
	finderOutput = 16 << 20
)

// candidates are the files in which something may match, relative to the directory that is searched, sorted.
func (s *search) candidates(ctx context.Context) ([]string, error) {
	for _, f := range s.t.finders {
		names, ok, err := s.ask(ctx, f)
		if err != nil {
			return nil, err
		}
		if ok {
			slices.Sort(names)
			return slices.Compact(names), nil
		}
	}
	return s.everyFile(ctx)
}

// everyFile is all files, where nothing else helps.
func (s *search) everyFile(ctx context.Context) ([]string, error) {
	var names []string
	w := walk{x: s.x, depth: 255, skip: skipped, visit: func(rel string, info sandbox.FileInfo) bool {
		if info.Mode.IsRegular() && s.glob.match(rel) {
			names = append(names, rel)
		}
		return len(names) < mostCandidates
	}}
	err := w.dir(ctx, s.root, "", 1)
	s.out.Notes = append(s.out.Notes, w.notes()...)
	if w.stopped {
		s.note("there are more than %d files; not all were searched", mostCandidates)
	}
	slices.Sort(names)
	return names, err
}

// ask runs a program. It is not ok if it is not there, does not understand us or takes too long; then another way has
// to be gone.
func (s *search) ask(ctx context.Context, f finder) (names []string, ok bool, err error) {
	pattern, fold := wider(s.re.String())
	below, err := s.below(ctx)
	if err != nil {
		return nil, false, err
	}
	stdout, stderr := &limitedBuffer{most: finderOutput}, &limitedBuffer{most: 4 << 10}
	result, err := s.x.box.Exec(ctx, sandbox.Command{Argv: f.argv(pattern, fold, below), Cwd: s.root, Env: map[string]string{"LC_ALL": "C"},
		Stdout: stdout, Stderr: stderr, Timeout: finderTime})
	switch {
	case errors.Is(err, sandbox.ErrGone), errors.Is(err, sandbox.ErrNotFound), ctx.Err() != nil:
		return nil, false, err
	// What it cannot read is no error that it tells of, so that all that it says is about the question.
	case err != nil, result.Reason != sandbox.Exited, result.Code > 2, stderr.Len() > 0, stdout.full:
		return nil, false, nil
	}
	end := byte('\n')
	if f.null {
		end = 0
	}
	for name := range bytes.SplitSeq(stdout.Bytes(), []byte{end}) {
		rel := path.Clean(string(name))
		if len(name) > 0 && !slices.ContainsFunc(strings.Split(path.Dir(rel), "/"), skipped) {
			names = append(names, rel)
		}
	}
	return names, true, nil
}

// below is what a program is told to search. In the root of everything it is all but what the kernel makes up.
func (s *search) below(ctx context.Context) ([]string, error) {
	if s.root != "/" {
		return []string{"."}, nil
	}
	entries, err := s.x.entries(ctx, "/", mostInDirectory)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if !slices.Contains([]string{"proc", "sys", "dev"}, e.Path) && (e.Mode.IsDir() || e.Mode.IsRegular()) {
			names = append(names, "./"+e.Path)
		}
	}
	return names, nil
}

// limitedBuffer takes so much and drops the rest.
type limitedBuffer struct {
	bytes.Buffer
	most int
	full bool
}

func (b *limitedBuffer) Write(p []byte) (int, error) {
	if room := b.most - b.Len(); len(p) > room {
		b.full = true
		b.Buffer.Write(p[:max(room, 0)])
		return len(p), nil
	}
	return b.Buffer.Write(p)
}
