package toolbox

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"

	"hermes.example/hermes/internal/toolbox/patch"
	"hermes.example/hermes/sandbox"
)

// WriteFile makes a file with a content, or replaces that of one. It appears when it is whole. A link is written
// through, and permissions stay.
func (t *Toolbox) WriteFile(ctx context.Context, in WriteFileInput) (WriteFileOutput, error) {
	if len(in.Content) > patch.Most {
		return WriteFileOutput{}, refuse("cannot write %q: its content is larger than %d bytes; write it in parts with a command", in.Path, patch.Most)
	}
	var out WriteFileOutput
	recreated, err := t.inTree(ctx, func(x tree) error {
		name, err := x.path(in.Path)
		if err == nil && (strings.HasSuffix(in.Path, "/") || name == "/") {
			err = refuse("cannot write %q: it names a directory; give the path of a file in it", in.Path)
		}
		if err != nil {
			return err
		}
		info, err := x.files.Stat(ctx, name)
		switch {
		case err == nil && info.Mode.IsDir():
			return refuse("cannot write %q: it is a directory; give the path of a file in it", name)
		case err == nil && !info.Mode.IsRegular():
			return refuse("cannot write %q: it is %s, not a file; a command in the terminal can write to it", name, kindName(info.Mode))
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return t.fileRefusal(ctx, x, "write", name, err)
		}
		out = WriteFileOutput{Path: name, Created: err != nil, Bytes: int64(len(in.Content))}
		made, err := x.write(ctx, name, in.Content, 0)
		if err == nil && len(made) > 0 {
			out.Notes = append(out.Notes, "made the directory "+made[len(made)-1])
		}
		return t.fileRefusal(ctx, x, "write", name, err)
	})
	out.Recreated = recreated
	return out, err
}

// write writes a file, in directories that are made if they are missing. Those are returned, the first one to be made
// last.
func (x tree) write(ctx context.Context, name, content string, mode fs.FileMode) (made []string, err error) {
	err = x.files.WriteFile(ctx, name, []byte(content), mode)
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for dir := path.Dir(name); dir != "/" && dir != "."; dir = path.Dir(dir) {
		if _, err := x.plain.Lstat(ctx, dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		made = append(made, dir)
	}
	if len(made) == 0 {
		return nil, err
	}
	if err := x.files.Mkdir(ctx, path.Dir(name), 0, true); err != nil {
		return nil, err
	}
	return made, x.files.WriteFile(ctx, name, []byte(content), mode)
}

// unmake removes directories that were made, if nothing else came into them.
func (x tree) unmake(ctx context.Context, made []string) {
	for _, dir := range made {
		if x.files.Remove(ctx, dir, false) != nil {
			return
		}
	}
}

// text reads a file that is to be changed.
func (x tree) text(ctx context.Context, name string) (content string, info sandbox.FileInfo, err error) {
	if info, err = x.files.Stat(ctx, name); err == nil {
		err = readable(name, info)
	}
	if err != nil {
		return "", info, err
	}
	data, err := x.files.ReadFile(ctx, name, patch.Most)
	if err != nil {
		return "", info, err
	}
	if kind := binary(data[:min(len(data), sniffed)]); kind != "" {
		return "", info, refuse("cannot change %q as text: it is binary (%s)", name, kind)
	}
	return string(data), info, nil
}
