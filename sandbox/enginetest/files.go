package enginetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"hermes.example/hermes/sandbox"
)

var fileTests = []test{
	{"files/what is written is read", filesContent},
	{"files/a part of a file", filesSection},
	{"files/a write that breaks off leaves the old file", filesBroken},
	{"files/permissions stay when a file is replaced", filesMode},
	{"files/directories are made, renamed and removed", filesChange},
	{"files/a listing is as deep and as long as asked", filesList},
	{"files/names are any bytes", filesNames},
	{"files/they belong to the user of commands", filesOwner},
	{"files/what a command may not write stays as it is", filesReadOnly},
	{"files/a deep tree is removed", filesDeep},
	{"files/a closed hold ends what is under way", filesClosed},
	{"files/over a connection that commands share", filesShared},
}

// fileTree is sandbox.Files with the names of places that tests use.
type fileTree struct {
	files sandbox.Files
	paths paths
}

// files is the whole tree of a test's sandbox, filesIn that below a directory.
func (b *box) files() fileTree { return fileTree{b.Files(""), b.paths} }

func (b *box) filesIn(root string) fileTree { return fileTree{b.Files(b.paths.in(root)), nil} }

func (f fileTree) Open(ctx context.Context, path string, s sandbox.Section) (io.ReadCloser, error) {
	return f.files.Open(ctx, f.paths.in(path), s)
}

func (f fileTree) ReadFile(ctx context.Context, path string, limit int64) ([]byte, error) {
	return f.files.ReadFile(ctx, f.paths.in(path), limit)
}

func (f fileTree) Write(ctx context.Context, path string, content io.Reader, o sandbox.WriteOptions) (int64, error) {
	return f.files.Write(ctx, f.paths.in(path), content, o)
}

func (f fileTree) WriteFile(ctx context.Context, path string, content []byte, mode fs.FileMode) error {
	return f.files.WriteFile(ctx, f.paths.in(path), content, mode)
}

func (f fileTree) Stat(ctx context.Context, path string) (sandbox.FileInfo, error) {
	return f.files.Stat(ctx, f.paths.in(path))
}

func (f fileTree) Lstat(ctx context.Context, path string) (sandbox.FileInfo, error) {
	return f.files.Lstat(ctx, f.paths.in(path))
}

func (f fileTree) List(ctx context.Context, dir string, o sandbox.ListOptions) iter.Seq2[sandbox.FileInfo, error] {
	return f.files.List(ctx, f.paths.in(dir), o)
}

func (f fileTree) Mkdir(ctx context.Context, path string, mode fs.FileMode, parents bool) error {
	return f.files.Mkdir(ctx, f.paths.in(path), mode, parents)
}

func (f fileTree) Remove(ctx context.Context, path string, all bool) error {
	return f.files.Remove(ctx, f.paths.in(path), all)
}

func (f fileTree) Rename(ctx context.Context, from, to string) error {
	return f.files.Rename(ctx, f.paths.in(from), f.paths.in(to))
}

func (f fileTree) Watch(ctx context.Context, path string) (iter.Seq2[sandbox.FileEvent, error], error) {
	return f.files.Watch(ctx, f.paths.in(path))
}

func (f fileTree) CopyIn(ctx context.Context, dir string, archive io.Reader, o sandbox.CopyOptions) (sandbox.CopyResult, error) {
	return f.files.CopyIn(ctx, f.paths.in(dir), archive, o)
}

func (f fileTree) CopyOut(ctx context.Context, path, as string, o sandbox.CopyOptions) (*sandbox.Archive, error) {
	return f.files.CopyOut(ctx, f.paths.in(path), as, o)
}

func (b *box) writes(path, content string) {
	b.t.Helper()
	if err := b.files().WriteFile(bounded(b.t), path, []byte(content), 0); err != nil {
		b.t.Fatal(err)
	}
}

func (b *box) reads(path, want string) {
	b.t.Helper()
	got, err := b.files().ReadFile(bounded(b.t), path, 64<<20)
	if err != nil || string(got) != want {
		b.t.Errorf("%s holds %.100q (%d bytes), %v; want %.100q (%d)", path, got, len(got), err, want, len(want))
	}
}

func filesContent(t *testing.T, s *suite) {
	b := s.box(t)
	for _, n := range []int{0, 1, 100_000, 128 << 10, 256<<10 + 1, 5 << 20} {
		content := strings.Repeat("0123456789abcdef", n/16+1)[:n]
		b.writes("/workspace/file", content)
		b.reads("/workspace/file", content)
		b.says("wc -c </workspace/file", fmt.Sprint(n))
	}
	b.output("printf 'from a command' >/workspace/made")
	b.reads("made", "from a command")
	n, err := b.files().Write(bounded(t), "/workspace/made", strings.NewReader(", and more"), sandbox.WriteOptions{Append: true})
	if n != 10 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	b.reads("/workspace/made", "from a command, and more")
	if _, err := b.files().Write(bounded(t), "/workspace/new", strings.NewReader("first"), sandbox.WriteOptions{Append: true}); err != nil {
		t.Error(err)
	}
	b.reads("/workspace/new", "first")
	for path, want := range map[string]error{"/workspace/none": fs.ErrNotExist, "/nowhere/file": fs.ErrNotExist, "/workspace": nil} {
		if _, err := b.files().ReadFile(bounded(t), path, 10); err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func filesSection(t *testing.T, s *suite) {
	b := s.box(t)
	b.writes("/workspace/file", "0123456789")
	for _, c := range []struct {
		sandbox.Section
		want string
	}{{sandbox.Section{}, "0123456789"}, {sandbox.Section{Offset: 4}, "456789"}, {sandbox.Section{Limit: 3}, "012"}, {sandbox.Section{Offset: 8, Limit: 5}, "89"}, {sandbox.Section{Offset: 99}, ""}} {
		r, err := b.files().Open(bounded(t), "/workspace/file", c.Section)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || string(got) != c.want {
			t.Errorf("%+v is %q, %v", c.Section, got, err)
		}
		r.Close()
	}
	if got, err := b.files().ReadFile(bounded(t), "/workspace/file", 9); !errors.Is(err, sandbox.ErrTooLarge) || got != nil {
		t.Errorf("a file above the limit: %q, %v", got, err)
	}
	b.reads("/workspace/file", "0123456789")
}

func filesBroken(t *testing.T, s *suite) {
	b := s.box(t)
	b.writes("/workspace/file", "as it was")
	broken := errors.New("broken")
	_, err := b.files().Write(bounded(t), "/workspace/file", io.MultiReader(strings.NewReader(strings.Repeat("x", 1<<20)), iotest.ErrReader(broken)), sandbox.WriteOptions{})
	if !errors.Is(err, broken) {
		t.Errorf("the error is %v", err)
	}
	ctx, cancel := context.WithCancel(bounded(t))
	_, err = b.files().Write(ctx, "/workspace/file", io.MultiReader(strings.NewReader(strings.Repeat("x", 1<<20)), cancelling{cancel}), sandbox.WriteOptions{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	_, err = b.files().Write(bounded(t), "/workspace/file", strings.NewReader(strings.Repeat("x", 5<<20)), sandbox.WriteOptions{Limit: 2 << 20})
	if !errors.Is(err, sandbox.ErrTooLarge) {
		t.Errorf("above its limit: %v", err)
	}
	if _, err := b.files().Write(bounded(t), "/nowhere/file", strings.NewReader(strings.Repeat("x", 20<<20)), sandbox.WriteOptions{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("into no directory: %v", err)
	}
	b.reads("/workspace/file", "as it was")
	// The guest notices a caller that is gone when it next reads.
	eventually(t, "nothing half-written is left", func() bool { return b.output("ls -A /workspace") == "file" })
}

// cancelling is a source that its reader is not waiting for any more.
type cancelling struct{ cancel func() }

func (c cancelling) Read(p []byte) (int, error) {
	c.cancel()
	return len(p), nil
}

func filesMode(t *testing.T, s *suite) {
	b := s.box(t)
	b.output("echo old >/workspace/script; chmod 750 /workspace/script; ln -s script /workspace/link")
	b.writes("/workspace/script", "new")
	b.writes("/workspace/fresh", "new")
	if err := b.files().WriteFile(bounded(t), "/workspace/private", nil, 0o600); err != nil {
		t.Error(err)
	}
	b.says("cd /workspace; stat -c %a script fresh private", "750\n644\n600")
	// A link is replaced; what it leads to is not written through it.
	b.writes("/workspace/link", "replaced")
	b.says("cat /workspace/script; stat -c %F /workspace/link", "newregular file")
}

func filesChange(t *testing.T, s *suite) {
	b := s.box(t)
	f, ctx := b.filesIn("/workspace"), bounded(t)
	for _, c := range []struct {
		what string
		err  error
		want error
	}{
		{"mkdir", f.Mkdir(ctx, "a", 0o750, false), nil},
		{"mkdir again", f.Mkdir(ctx, "a", 0, false), fs.ErrExist},
		{"mkdir without a parent", f.Mkdir(ctx, "x/y/z", 0, false), fs.ErrNotExist},
		{"mkdir with parents", f.Mkdir(ctx, "x/y/z", 0o700, true), nil},
		{"mkdir with parents again", f.Mkdir(ctx, "x/y/z", 0, true), nil},
		{"write", f.WriteFile(ctx, "x/y/z/file", []byte("kept"), 0), nil},
		{"rename", f.Rename(ctx, "x/y", "a/moved"), nil},
		{"rename what is not there", f.Rename(ctx, "x/y", "a/again"), fs.ErrNotExist},
		{"remove an empty one", f.Remove(ctx, "x", false), nil},
		{"remove what is not there", f.Remove(ctx, "x", false), fs.ErrNotExist},
	} {
		if c.want == nil && c.err != nil || !errors.Is(c.err, c.want) {
			t.Errorf("%s: %v", c.what, c.err)
		}
	}
	b.says("cd /workspace; stat -c %a a a/moved/z; cat a/moved/z/file; ls", "750\n700\nkepta")
	if err := f.Remove(ctx, "a", false); err == nil {
		t.Error("a directory that is not empty was removed")
	}
	for _, path := range []string{"", "/", ".", "..", "a/..", "a/."} {
		if err := f.Remove(ctx, path, true); err == nil {
			t.Errorf("%q was removed", path)
		}
	}
	info, err := f.Stat(ctx, "a/moved/z/file")
	if err != nil || info.Size != 4 || info.Mode != 0o644 || info.Time.IsZero() {
		t.Errorf("%+v, %v", info, err)
	}
	if err := f.Remove(ctx, "a", true); err != nil {
		t.Error(err)
	}
	b.says("ls -A /workspace", "")
}

// listed returns the paths of a listing, sorted.
func (b *box) lists(path string, o sandbox.ListOptions) ([]string, error) {
	var found []string
	for f, err := range b.files().List(bounded(b.t), path, o) {
		if err != nil {
			return found, err
		}
		found = append(found, f.Path)
	}
	slices.Sort(found)
	return found, nil
}

func filesList(t *testing.T, s *suite) {
	b := s.box(t)
	b.output("cd /workspace; mkdir -p a/b/c; touch f a/f a/b/f a/b/c/f; ln -s a link")
	for depth, want := range [][]string{
		{"a", "f", "link"}, {"a", "a/b", "a/f", "f", "link"}, {"a", "a/b", "a/b/c", "a/b/f", "a/f", "f", "link"},
	} {
		if got, err := b.lists("/workspace", sandbox.ListOptions{Depth: depth}); err != nil || !slices.Equal(got, want) {
			t.Errorf("%d deep: %q, %v", depth, got, err)
		}
	}
	b.output("cd /workspace/a/b/c; seq 1200 | xargs touch")
	if got, err := b.lists("/workspace/a/b/c", sandbox.ListOptions{}); err != nil || len(got) != 1201 {
		t.Errorf("%d entries, %v", len(got), err)
	}
	if got, err := b.lists("/workspace", sandbox.ListOptions{Depth: 9, Entries: 1000}); !errors.Is(err, sandbox.ErrTooLarge) || len(got) > 1000 {
		t.Errorf("%d entries, %v", len(got), err)
	}
	if _, err := b.lists("/workspace/f", sandbox.ListOptions{}); err == nil {
		t.Error("a file was listed")
	}
	// Whoever has seen enough stops.
	for range b.files().List(bounded(t), "/workspace/a/b/c", sandbox.ListOptions{}) {
		break
	}
}

func filesNames(t *testing.T, s *suite) {
	b := s.box(t)
	names := []string{"new\nline", "bad \xff\xfe UTF-8", "ünï", " ", "-rf", "\x01", "a\\b", strings.Repeat("n", 255)}
	for i, name := range names {
		b.writes("/workspace/"+name, fmt.Sprint(i))
		b.reads("/workspace/"+name, fmt.Sprint(i))
	}
	if err := b.files().Rename(bounded(t), "/workspace/bad \xff\xfe UTF-8", "/workspace/worse \xff\n"); err != nil {
		t.Error(err)
	}
	names[1] = "worse \xff\n"
	slices.Sort(names)
	if got, err := b.lists("/workspace", sandbox.ListOptions{}); err != nil || !slices.Equal(got, names) {
		t.Errorf("listed %q, %v", got, err)
	}
	b.says("cd /workspace; cat $'new\\nline' $'worse \\xff\\n'", "01")
	for _, name := range []string{"a\x00b", strings.Repeat("n", 256), strings.Repeat("n/", 3000)} {
		if err := b.files().WriteFile(bounded(t), "/workspace/"+name, nil, 0); err == nil {
			t.Errorf("%.20q was written", name)
		}
	}
}

// A user's sandbox takes over files that root's has kept, so that both rights can be seen.
func filesOwner(t *testing.T, s *suite) {
	s.need(t, ManyIDs)
	id := s.identity(t)
	s.ensure(t, s.manager, id, s.spec()).output("cd /workspace; echo secret >secret; chmod 600 secret; mkdir -m 700 closed; echo x >closed/x; echo y >public")
	if err := s.manager.Remove(bounded(t), id, false); err != nil {
		t.Fatal(err)
	}
	b := s.ensure(t, s.manager, id, s.spec(func(spec *sandbox.Spec) { spec.User = "1000:2000" }))
	b.reads("/workspace/public", "y\n")
	f, ctx := b.files(), bounded(t)
	_, errRead := f.ReadFile(ctx, "/workspace/secret", 100)
	_, errClosed := f.ReadFile(ctx, "/workspace/closed/x", 100)
	_, errList := b.lists("/workspace/closed", sandbox.ListOptions{})
	_, errAppend := f.Write(ctx, "/workspace/public", strings.NewReader("z"), sandbox.WriteOptions{Append: true})
	archive, errCopy := f.CopyOut(ctx, "/workspace/secret", "secret", sandbox.CopyOptions{})
	if errCopy == nil {
		_, errCopy = io.Copy(io.Discard, archive)
		archive.Close()
	}
	_, errWatch := f.Watch(ctx, "/workspace/secret")
	for what, err := range map[string]error{
		"read": errRead, "read in a closed directory": errClosed, "list": errList, "append": errAppend, "copy out": errCopy, "watch": errWatch,
		"write in a closed directory": f.WriteFile(ctx, "/workspace/closed/y", nil, 0),
		"remove":                      f.Remove(ctx, "/workspace/closed/x", false), "rename": f.Rename(ctx, "/workspace/closed/x", "/workspace/x"),
	} {
		if !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: %v", what, err)
		}
	}
	b.writes("/workspace/mine", "mine")
	if err := f.Mkdir(ctx, "/workspace/dir/sub", 0o755, true); err != nil {
		t.Error(err)
	}
	if _, err := f.CopyIn(ctx, "/workspace", bytes.NewReader(tarOf(t, entry{Name: "copied/file", Content: "x"})), sandbox.CopyOptions{}); err != nil {
		t.Error(err)
	}
	b.says("cd /workspace; stat -c %u:%g mine dir/sub copied copied/file", strings.TrimSpace(strings.Repeat("1000:2000\n", 4)))
	if info, err := f.Stat(ctx, "/workspace/mine"); err != nil || info.UID != 1000 || info.GID != 2000 {
		t.Errorf("%+v, %v", info, err)
	}
}

func filesReadOnly(t *testing.T, s *suite) {
	s.need(t, ReadOnlyRoot)
	b := s.box(t)
	f, ctx := b.files(), bounded(t)
	_, copyErr := f.CopyIn(ctx, "/usr", bytes.NewReader(tarOf(t, entry{Name: "x", Content: "x"})), sandbox.CopyOptions{})
	for what, err := range map[string]error{
		"write": f.WriteFile(ctx, "/usr/x", nil, 0), "mkdir": f.Mkdir(ctx, "/usr/x", 0, false), "remove": f.Remove(ctx, "/usr/bin/env", false),
		"rename": f.Rename(ctx, "/usr/bin/env", "/usr/bin/vne"), "copy in": copyErr,
	} {
		if !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func filesDeep(t *testing.T, s *suite) {
	b := s.box(t)
	b.output("cd /workspace; mkdir top; cd top; for i in $(seq 400); do mkdir d && cd d || exit 1; done; touch f")
	if _, err := b.lists("/workspace/top", sandbox.ListOptions{Depth: 1 << 30}); err != nil {
		t.Error(err)
	}
	if err := b.files().Remove(bounded(t), "/workspace/top", true); err != nil {
		t.Error(err)
	}
	b.says("ls /workspace", "")
}

func filesClosed(t *testing.T, s *suite) {
	b := s.box(t)
	b.output("head -c 20000000 /dev/zero >/workspace/file")
	r, err := b.files().Open(bounded(t), "/workspace/file", sandbox.Section{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b.Close()
	if n, err := io.Copy(io.Discard, r); !errors.Is(err, sandbox.ErrClosed) {
		t.Errorf("after %d bytes: %v", n, err)
	}
	if _, err := b.files().Stat(bounded(t), "/workspace"); !errors.Is(err, sandbox.ErrClosed) {
		t.Errorf("the error is %v", err)
	}
}

// shared is the engine where connecting is dear: everything goes over one connection.
type shared struct{ sandbox.Engine }

func (e shared) Capabilities() sandbox.Capabilities {
	c := e.Engine.Capabilities()
	c.Direct = false
	return c
}

func filesShared(t *testing.T, s *suite) {
	b := s.ensure(t, s.another(t, shared{s.engine}), s.identity(t), s.spec())
	content := strings.Repeat("0123456789abcdef", 300_000)
	b.writes("/workspace/file", content)
	b.reads("/workspace/file", content)
	// Whoever is refused does not go on sending.
	if _, err := b.files().Write(bounded(t), "/nowhere/file", strings.NewReader(strings.Repeat("x", 20<<20)), sandbox.WriteOptions{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("into no directory: %v", err)
	}
	if _, err := b.copiesIn("/workspace", entry{Name: "tree/file", Content: content}); err != nil {
		t.Error(err)
	}
	if found, res, err := b.copiedOut("/workspace/tree", "tree", sandbox.CopyOptions{}); err != nil || len(found) != 2 || res.Bytes != int64(len(content)) {
		t.Errorf("%q, %+v, %v", found, res, err)
	}
	// Whoever stops reading holds nobody else up.
	r, err := b.files().Open(bounded(t), "/workspace/file", sandbox.Section{})
	if err != nil {
		t.Fatal(err)
	}
	b.says("echo still here", "still here")
	r.Close()
	b.says("echo still here", "still here")
}
