package toolbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/internal/spelling"
	"hermes.example/hermes/sandbox"
)

// tree is the files of the sandbox as one call of a tool sees them.
type tree struct {
	box *sandbox.Sandbox
	// files are under the rules of the tools, and plain are not: for names only, which nobody hides.
	files, plain sandbox.Files
	// cwd and home are the session's; empty where they are not known.
	cwd, home string
}

// inTree calls f with the files of the sandbox, and says whether that was made anew.
func (t *Toolbox) inTree(ctx context.Context, f func(tree) error) (recreated bool, err error) {
	return t.use(ctx, func(box *sandbox.Sandbox) error {
		plain := box.Files("")
		x := tree{box: box, plain: plain, files: plain.Under(t.fileRule())}
		// A session begins with its first command. Without a shell there never is one, and then paths are taken from
		// where commands begin.
		session := box.Session(t.session)
		state, err := session.State(ctx)
		if err != nil {
			_, err = session.Exec(ctx, sandbox.Command{Line: ":"})
			if ctx.Err() != nil || errors.Is(err, sandbox.ErrGone) || errors.Is(err, sandbox.ErrNotFound) {
				return cmp.Or(ctx.Err(), err)
			}
			state, err = session.State(ctx)
		}
		if err == nil {
			x.cwd, x.home = state.Cwd, state.Home
		}
		return f(x)
	})
}

// fileRule is what the tools may not do. In a sandbox that is a boundary, files are its own, but for the credentials
// that the home lends it.
func (t *Toolbox) fileRule() sandbox.FileRule {
	rule := sandbox.FileRule{}
	if !t.place.Isolated() {
		rule.Beneath = t.settings.WriteRoots
	}
	for _, p := range t.settings.Protected {
		dir := p.Dir
		if t.place.Isolated() {
			below, ok := strings.CutPrefix(dir+"/", strings.TrimSuffix(t.home, "/")+"/")
			if !ok {
				continue
			}
			dir = path.Join(sandbox.Home, ".hermes", below)
		}
		rule.Protected = append(rule.Protected, sandbox.FilePattern{Dir: dir, Names: p.Names, Except: p.Except})
	}
	return rule
}

// path makes an absolute path of what was given. Dots are taken as text: they lead where they seem to.
func (x tree) path(given string) (string, error) {
	switch {
	case given == "":
		return "", refuse("cannot use an empty path: give the path of a file or directory")
	case strings.ContainsRune(given, 0):
		return "", refuse("cannot use %q: a path has no NUL character", given)
	case given == "~" || strings.HasPrefix(given, "~/"):
		if x.home == "" {
			return "", refuse("cannot use %q: where ~ leads is not known in this sandbox; give an absolute path", given)
		}
		given = x.home + given[1:]
	case !strings.HasPrefix(given, "/"):
		if x.cwd == "" {
			return path.Clean(given), nil
		}
		given = x.cwd + "/" + given
	}
	return path.Clean(given), nil
}

// dir is path, and the session's directory where nothing was given.
func (x tree) dir(given string) (string, error) {
	if given == "" {
		given = "."
	}
	return x.path(given)
}

// fileRefusal makes what went wrong with a file something that a model can act on, if it can.
func (t *Toolbox) fileRefusal(ctx context.Context, x tree, what, name string, err error) error {
	var refused *Refusal
	switch {
	case err == nil || errors.As(err, &refused):
		return err
	case errors.Is(err, sandbox.ErrOutside):
		return refuse("cannot %s %q: it is outside of %s (%s); use a path below one of these directories", what, name, config.WriteSafeRoot, strings.Join(t.settings.WriteRoots, ":"))
	case errors.Is(err, sandbox.ErrProtected):
		return refuse("cannot %s %q: it is a protected credential file, which tools neither read nor write; secrets reach commands as environment variables: use them by their names, like $NAME, in a command, and ask the user to set what is missing", what, name)
	case errors.Is(err, fs.ErrNotExist):
		return refuse("cannot %s %q: it does not exist; %s", what, name, x.instead(ctx, name))
	case errors.Is(err, fs.ErrPermission):
		return refuse("cannot %s %q: the user of the sandbox may not (permission denied, or read-only); use another path, or look at its permissions with: ls -ld", what, name)
	case errors.Is(err, sandbox.ErrTooLarge):
		return refuse("cannot %s %q: it is too large for this tool; use a command in the terminal", what, name)
	case errors.Is(err, sandbox.ErrRefused):
		return refuse("%v", err)
	}
	return err
}

const (
	// mostSimilar is how many names are offered for one that does not exist.
	mostSimilar = 5
	// mostLooked is how many names are looked at for them.
	mostLooked = 5000
)

// instead says what there is in place of a file that does not exist.
func (x tree) instead(ctx context.Context, name string) string {
	dir, base := path.Split(name)
	dir = path.Clean(dir)
	entries, err := x.entries(ctx, dir, mostLooked)
	if errors.Is(err, fs.ErrNotExist) && dir != name && dir != "/" && dir != "." {
		above := path.Dir(dir)
		for above != "/" && above != "." {
			if info, err := x.plain.Stat(ctx, above); err == nil && info.Mode.IsDir() {
				break
			}
			above = path.Dir(above)
		}
		return "its directory does not exist either; the nearest one that does is " + above + ", see list_files"
	}
	if i := slices.IndexFunc(entries, func(e sandbox.FileInfo) bool { return e.Path == base && e.Link != "" }); i >= 0 {
		return fmt.Sprintf("it is a link to %q, and what that names is missing", entries[i].Link)
	}
	names := similar(base, entries)
	if len(names) == 0 {
		return "nothing in " + dir + " has a similar name; list_files or search_files with target names finds what there is"
	}
	for i := range names {
		names[i] = path.Join(dir, names[i])
	}
	return "similar names are: " + strings.Join(names, ", ")
}

// entries lists a directory without going deeper, sorted. With more than most entries, those that came first are
// returned with sandbox.ErrTooLarge.
func (x tree) entries(ctx context.Context, dir string, most int) ([]sandbox.FileInfo, error) {
	var list []sandbox.FileInfo
	var failed error
	for info, err := range x.plain.List(ctx, dir, sandbox.ListOptions{Entries: most}) {
		if err != nil {
			failed = err
			break
		}
		list = append(list, info)
	}
	slices.SortFunc(list, func(a, b sandbox.FileInfo) int { return strings.Compare(a.Path, b.Path) })
	return list, failed
}

// similar picks names that could have been meant, the likeliest first.
func similar(name string, entries []sandbox.FileInfo) []string {
	type candidate struct {
		name     string
		distance int
	}
	var found []candidate
	wanted := strings.ToLower(name)
	for _, e := range entries {
		have := strings.ToLower(e.Path)
		d := spelling.Distance(wanted, have)
		stem := strings.TrimSuffix(wanted, path.Ext(wanted))
		if stem != "" && (have == stem || strings.TrimSuffix(have, path.Ext(have)) == stem) {
			d = min(d, 1)
		}
		if d <= max(2, len(wanted)/3) {
			found = append(found, candidate{e.Path, d})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return a.distance - b.distance })
	var names []string
	for _, c := range found[:min(len(found), mostSimilar)] {
		names = append(names, c.name)
	}
	return names
}
