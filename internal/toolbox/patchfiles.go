package toolbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"hermes.example/hermes/internal/toolbox/patch"
)

// Patch changes files: a passage of one, or several by a patch. Everything is read and computed before anything is
// written, and what was written is put back if a later file cannot be.
func (t *Toolbox) Patch(ctx context.Context, in PatchInput) (PatchOutput, error) {
	if in.Patch != "" && (in.Path != "" || in.OldString != "" || in.NewString != "") {
		return PatchOutput{}, refuse("cannot patch: give either patch, or path with old_string and new_string, not both")
	}
	if in.Patch == "" && in.Path == "" {
		return PatchOutput{}, refuse("cannot patch: give path with old_string and new_string, or a whole patch in patch")
	}
	var out PatchOutput
	recreated, err := t.inTree(ctx, func(x tree) (err error) {
		p := &plan{t: t, x: x}
		if in.Patch == "" {
			err = p.replace(ctx, in)
		} else {
			err = p.parse(ctx, in.Patch)
		}
		if err == nil {
			err = p.check(ctx)
		}
		if err == nil {
			err = p.carryOut(ctx)
		}
		if err == nil {
			out = p.report()
		}
		return err
	})
	out.Recreated = recreated
	return out, err
}

// edit is what becomes of one file.
type edit struct {
	path, to string // to is another name, or empty
	before   string
	existed  bool
	after    string
	deleted  bool
	mode     fs.FileMode
	how      patch.Tolerance
	places   int
}

// target is the path that has the new content.
func (e edit) target() string {
	if e.to != "" {
		return e.to
	}
	return e.path
}

// plan is all edits of one patch. Its life: replace or parse, check, carryOut, report.
type plan struct {
	t     *Toolbox
	x     tree
	edits []edit
}

// replace plans the replacement of a passage.
func (p *plan) replace(ctx context.Context, in PatchInput) error {
	name, err := p.x.path(in.Path)
	if err != nil {
		return err
	}
	content, info, err := p.x.text(ctx, name)
	if err != nil {
		return p.t.fileRefusal(ctx, p.x, "patch", name, err)
	}
	result, err := patch.Replacement{Old: in.OldString, New: in.NewString, All: in.ReplaceAll}.Apply(content)
	if err != nil {
		hint := ""
		if !in.ReplaceAll && strings.Contains(err.Error(), " times, ") {
			hint = ", or set replace_all"
		}
		return refuse("cannot replace old_string in %q: %v%s", name, err, hint)
	}
	p.edits = []edit{{path: name, before: content, existed: true, after: result.Text, mode: info.Mode, how: result.Tolerance, places: result.Places}}
	return nil
}

// parse plans what a patch says.
func (p *plan) parse(ctx context.Context, text string) error {
	changes, err := patch.Parse(text)
	if err != nil {
		return refuse("cannot patch: %v", err)
	}
	seen := map[string]bool{}
	for _, c := range changes {
		e, err := p.edit(ctx, c)
		if err != nil {
			return err
		}
		for _, name := range []string{e.path, e.to} {
			if seen[name] && name != "" {
				return refuse("cannot patch: the patch has %q twice; put all changes of a file together", name)
			}
			seen[name] = true
		}
		p.edits = append(p.edits, e)
	}
	return nil
}

// edit reads the file of a change and computes what becomes of it.
func (p *plan) edit(ctx context.Context, c patch.Change) (e edit, err error) {
	if e.path, err = p.x.path(c.Path); err != nil {
		return e, err
	}
	if c.To != "" {
		if e.to, err = p.x.path(c.To); err != nil {
			return e, err
		}
		if e.to == e.path {
			e.to = ""
		}
	}
	if c.Op == patch.Create {
		if err = p.absent(ctx, e.path, "create", "change it with *** Update File: or a diff of its lines"); err != nil {
			return e, err
		}
	} else {
		content, info, err := p.x.text(ctx, e.path)
		if err != nil {
			return e, p.t.fileRefusal(ctx, p.x, "patch", e.path, err)
		}
		e.before, e.existed, e.mode = content, true, info.Mode
	}
	if e.to != "" {
		if err = p.absent(ctx, e.to, "rename a file to", "remove it first, or use another name"); err != nil {
			return e, err
		}
	}
	result, err := c.Apply(e.before)
	if err != nil {
		return e, refuse("cannot patch %q: %v; nothing was changed", e.path, err)
	}
	e.after, e.how, e.places, e.deleted = result.Text, result.Tolerance, result.Places, c.Op == patch.Delete
	if e.deleted && e.after != "" {
		return e, refuse("cannot delete %q: it has lines that the patch does not have; read it again, or delete it with *** Delete File:; nothing was changed", e.path)
	}
	return e, nil
}

// absent refuses a name that is taken.
func (p *plan) absent(ctx context.Context, name, what, instead string) error {
	_, err := p.x.files.Lstat(ctx, name)
	switch {
	case err == nil:
		return refuse("cannot %s %q: it exists already; %s; nothing was changed", what, name, instead)
	case errors.Is(err, fs.ErrNotExist):
		return nil
	}
	return p.t.fileRefusal(ctx, p.x, what, name, err)
}

// check asks whether all of it may be written, before any of it is.
func (p *plan) check(ctx context.Context) error {
	for _, e := range p.edits {
		for _, name := range []string{e.path, e.to} {
			if name == "" {
				continue
			}
			if err := p.x.files.Check(ctx, name); err != nil {
				return p.t.fileRefusal(ctx, p.x, "patch", name, err)
			}
		}
	}
	return nil
}

// carryOut writes everything, or puts everything back.
func (p *plan) carryOut(ctx context.Context) error {
	var done []func(context.Context) error // puts one thing back
	for i, e := range p.edits {
		undo, err := p.write(ctx, e)
		done = append(done, undo...)
		if err == nil {
			continue
		}
		// Also when the caller gave up: half a patch is worse than none.
		left := p.putBack(context.WithoutCancel(ctx), done)
		err = p.t.fileRefusal(ctx, p.x, "patch", e.target(), err)
		say := "nothing is changed"
		if len(left) > 0 {
			say = "these files are changed and could not be put back: " + strings.Join(left, "; ")
		}
		var refused *Refusal
		if errors.As(err, &refused) {
			return refuse("%s; it was file %d of %d of the patch, and %s", refused.Text, i+1, len(p.edits), say)
		}
		// Not as what it was: whoever finds that the sandbox is gone begins anew, and this has begun.
		return fmt.Errorf("%v; it was file %d of %d of the patch, and %s", err, i+1, len(p.edits), say)
	}
	return nil
}

// write carries out one edit, and returns how each of its steps is put back.
func (p *plan) write(ctx context.Context, e edit) (undo []func(context.Context) error, err error) {
	restore := func(ctx context.Context) error {
		return named(e.path, p.x.files.WriteFile(ctx, e.path, []byte(e.before), e.mode))
	}
	if !e.deleted {
		made, err := p.x.write(ctx, e.target(), e.after, e.mode)
		if err != nil {
			p.x.unmake(ctx, made)
			return nil, err
		}
		if e.existed && e.to == "" {
			undo = append(undo, restore)
		} else {
			undo = append(undo, func(ctx context.Context) error {
				defer p.x.unmake(ctx, made)
				return named(e.target(), p.x.files.Remove(ctx, e.target(), false))
			})
		}
	}
	if e.deleted || e.to != "" {
		if err := p.x.files.Remove(ctx, e.path, false); err != nil {
			return undo, err
		}
		undo = append(undo, restore)
	}
	return undo, nil
}

func named(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s (%w)", path, err)
}

// putBack undoes the last first, and says what it could not.
func (p *plan) putBack(ctx context.Context, done []func(context.Context) error) (left []string) {
	for i := len(done) - 1; i >= 0; i-- {
		if err := done[i](ctx); err != nil {
			left = append(left, err.Error())
		}
	}
	return left
}

// report is the answer.
func (p *plan) report() PatchOutput {
	var out PatchOutput
	var diffs strings.Builder
	for _, e := range p.edits {
		from, to, change := e.path, e.target(), "changed"
		switch {
		case !e.existed:
			from, change = "", "created"
		case e.deleted:
			to, change = "", "deleted"
		case e.to != "":
			change = "renamed"
		}
		d := patch.Diff(from, to, e.before, e.after)
		diffs.WriteString(d.Unified)
		out.Files = append(out.Files, PatchedFile{Path: e.path, Change: change, To: e.to, Added: d.Added, Removed: d.Removed})
		if how := e.how.String(); how != "" {
			out.Notes = append(out.Notes, fmt.Sprintf("%s did not match exactly, but only one place matched but for %s; look at the diff", e.path, how))
		}
		if e.places > 1 && len(p.edits) == 1 {
			out.Notes = append(out.Notes, fmt.Sprintf("changed %d places", e.places))
		}
	}
	if out.Diff = diffs.String(); len(out.Diff) > p.t.settings.MaxOutput {
		out.Diff = strings.ToValidUTF8(out.Diff[:p.t.settings.MaxOutput], "") + "\n[the rest of the diff is left out]\n"
	}
	out.Diff = strings.ToValidUTF8(out.Diff, "\uFFFD")
	return out
}
