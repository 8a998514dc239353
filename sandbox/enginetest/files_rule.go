package enginetest

import (
	"errors"
	"io/fs"
	"testing"

	"hermes.example/hermes/sandbox"
)

var ruleTests = []test{
	{"files/a rule bounds what is changed", ruleBounds},
	{"files/a rule protects files under all their names", ruleProtects},
	{"files/what a rule cannot be kept for is refused", ruleRefuses},
}

// under is the test's files, of which only what is beneath some directories may be changed.
func (b *box) under(protected []sandbox.FilePattern, beneath ...string) fileTree {
	rule := sandbox.FileRule{Protected: protected}
	for _, dir := range beneath {
		rule.Beneath = append(rule.Beneath, b.paths.in(dir))
	}
	return fileTree{b.Files("").Under(rule), b.paths}
}

func ruleBounds(t *testing.T, s *suite) {
	b := s.box(t)
	b.output(`cd /workspace; mkdir -p safe/in other; echo old >safe/in/file; echo mine >other/file; top=$PWD
		ln -s in/file safe/near; ln -s "$top/safe/in" safe/absolute; ln -s ../other safe/out; ln -s "$top/other/file" safe/outfile; ln -s nowhere safe/dangling
		ln -s safe way; ln -s ../../other safe/in/up`)
	f, ctx := b.under(nil, "/workspace/safe", "/workspace/missing"), bounded(t)
	write := func(path string) error {
		checked := f.files.Check(ctx, f.paths.in(path))
		err := f.WriteFile(ctx, path, []byte("new"), 0)
		if (checked == nil) != (err == nil) || errors.Is(checked, sandbox.ErrOutside) != errors.Is(err, sandbox.ErrOutside) {
			t.Errorf("%s is checked to %v and written to %v", path, checked, err)
		}
		return err
	}
	for path, want := range map[string]error{
		"/workspace/safe/fresh": nil, "/workspace/safe/near": nil, "/workspace/safe/absolute/fresh": nil, "/workspace/way/in/fresh2": nil,
		"/workspace/safe/../safe/in/dots": nil,
		"/workspace/other/file":           sandbox.ErrOutside, "/workspace/fresh": sandbox.ErrOutside, "/workspace/safe": sandbox.ErrOutside,
		"/workspace/safe/out/file": sandbox.ErrOutside, "/workspace/safe/out/fresh": sandbox.ErrOutside, "/workspace/safe/outfile": sandbox.ErrOutside,
		"/workspace/safe/in/up/file": sandbox.ErrOutside, "/workspace/safe/../other/file": sandbox.ErrOutside, "/etc/passwd": sandbox.ErrOutside,
	} {
		if err := write(path); want == nil && err != nil || !errors.Is(err, want) {
			t.Errorf("writing %s: %v", path, err)
		}
	}
	if err := write("/workspace/safe/dangling"); err == nil {
		t.Error("a link to nothing was written through")
	}
	// A link is written through, and stays one.
	b.says("cd /workspace; cat safe/in/file other/file; test -L safe/near; ls other; ls safe/in", "newmine\nfile\ndots\nfile\nfresh\nfresh2\nup")
	for _, c := range []struct {
		what string
		err  error
		want error
	}{
		{"check where directories are missing", f.files.Check(ctx, f.paths.in("/workspace/safe/new/deep/file")), nil},
		{"check where they are missing outside", f.files.Check(ctx, f.paths.in("/workspace/safe/out/deep/file")), sandbox.ErrOutside},
		{"mkdir beneath", f.Mkdir(ctx, "/workspace/safe/a/b/c", 0, true), nil},
		{"mkdir that is there", f.Mkdir(ctx, "/workspace/safe/a/b", 0, true), nil},
		{"mkdir through a link that stays inside", f.Mkdir(ctx, "/workspace/safe/absolute/x/y", 0, true), nil},
		{"mkdir outside", f.Mkdir(ctx, "/workspace/other/a/b", 0, true), sandbox.ErrOutside},
		{"mkdir through a link", f.Mkdir(ctx, "/workspace/safe/out/a", 0, true), sandbox.ErrOutside},
		{"one mkdir through a link", f.Mkdir(ctx, "/workspace/safe/out/a", 0, false), sandbox.ErrOutside},
		{"remove through a link", f.Remove(ctx, "/workspace/safe/out/file", false), sandbox.ErrOutside},
		{"remove outside", f.Remove(ctx, "/workspace/other/file", false), sandbox.ErrOutside},
		{"remove a link itself", f.Remove(ctx, "/workspace/safe/outfile", false), nil},
		{"remove beneath", f.Remove(ctx, "/workspace/safe/fresh", false), nil},
	} {
		if c.want == nil && c.err != nil || !errors.Is(c.err, c.want) {
			t.Errorf("%s: %v", c.what, c.err)
		}
	}
	b.says("cd /workspace; ls other; ls -d safe/a/b/c safe/in/x/y", "file\nsafe/a/b/c\nsafe/in/x/y")
	if got, err := f.ReadFile(ctx, "/workspace/other/file", 100); err != nil || string(got) != "mine\n" {
		t.Errorf("reading is not bounded: %q, %v", got, err)
	}
	nowhere := fileTree{b.Files("").Under(sandbox.FileRule{Beneath: []string{}}), b.paths}
	if err := nowhere.WriteFile(ctx, "/workspace/safe/fresh", nil, 0); !errors.Is(err, sandbox.ErrOutside) {
		t.Errorf("with no directory at all: %v", err)
	}
}

func ruleProtects(t *testing.T, s *suite) {
	b := s.box(t)
	b.output(`cd /workspace; mkdir home keys; echo secret >home/.env; echo key >keys/id_one; echo public >keys/id_one.pub; echo plain >plain
		ln -s home/.env link; ln home/.env hard; ln -s ../plain home/linked; ln keys/id_one hardkey; ln -s home way`)
	f, ctx := b.under([]sandbox.FilePattern{
		{Dir: b.paths.in("/workspace/home"), Names: ".env"}, {Dir: b.paths.in("/workspace/home"), Names: "linked"}, {Dir: b.paths.in("/workspace/home"), Names: "auth.json"},
		{Dir: b.paths.in("/workspace/keys"), Names: "id_*", Except: "*.pub"}, {Dir: b.paths.in("/workspace/nowhere"), Names: "*"},
	}), bounded(t)
	for path, protected := range map[string]bool{
		"home/.env": true, "link": true, "hard": true, "plain": true, "home/linked": true, "keys/id_one": true, "hardkey": true, "way/.env": true,
		"keys/id_one.pub": false,
	} {
		path = "/workspace/" + path
		_, readErr := f.ReadFile(ctx, path, 100)
		_, statErr := f.Stat(ctx, path)
		writeErr := f.WriteFile(ctx, path, []byte("new"), 0)
		for what, err := range map[string]error{"read": readErr, "looked at": statErr, "written": writeErr} {
			if protected != errors.Is(err, sandbox.ErrProtected) || !protected && err != nil {
				t.Errorf("%s is %s: %v", path, what, err)
			}
		}
	}
	for path, want := range map[string]error{"home/auth.json": sandbox.ErrProtected, "way/auth.json": sandbox.ErrProtected, "keys/id_new": sandbox.ErrProtected, "keys/known": nil} {
		if err := f.WriteFile(ctx, "/workspace/"+path, []byte("new"), 0); want == nil && err != nil || !errors.Is(err, want) {
			t.Errorf("the new file %s: %v", path, err)
		}
	}
	for _, path := range []string{"home/.env", "hard"} {
		if err := f.Remove(ctx, "/workspace/"+path, false); !errors.Is(err, sandbox.ErrProtected) {
			t.Errorf("%s is removed: %v", path, err)
		}
	}
	b.says("cd /workspace; cat home/.env keys/id_one plain keys/id_one.pub; ls home keys", "secret\nkey\nplain\nnewhome:\nlinked\n\nkeys:\nid_one\nid_one.pub\nknown")
}

// What is not judged file by file would do what the rule forbids.
func ruleRefuses(t *testing.T, s *suite) {
	b := s.box(t)
	b.output("cd /workspace; mkdir -p safe/full; echo old >safe/full/file")
	f, ctx := b.under(nil, "/workspace/safe"), bounded(t)
	_, copyErr := f.CopyOut(ctx, "/workspace/safe", "safe", sandbox.CopyOptions{})
	_, watchErr := f.Watch(ctx, "/workspace/safe")
	inRoot := fileTree{b.Files(b.paths.in("/workspace")).Under(sandbox.FileRule{}), nil}
	for what, err := range map[string]error{
		"rename": f.Rename(ctx, "/workspace/safe/full/file", "/workspace/safe/other"), "remove all": f.Remove(ctx, "/workspace/safe/full", true),
		"copy out": copyErr, "watch": watchErr, "a root of its own": inRoot.WriteFile(ctx, "safe/full/file", []byte("new"), 0),
	} {
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", what, err)
		}
	}
	b.says("cat /workspace/safe/full/file", "old")
}
