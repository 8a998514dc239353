package enginetest

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hermes.example/hermes/internal/sampletar"
	"hermes.example/hermes/sandbox"
)

var fileCopyTests = []test{
	{"files/a tree goes in and comes back", copyTree},
	{"files/a copy keeps to its limits", copyLimits},
	{"files/hostile archives are refused or stay inside", copyHostile},
	{"files/links do not lead out of the root", filesRoot},
	{"files/links that are swapped meanwhile do not either", filesSwapped},
	{"files/links in a mount do not lead to the host", filesMount},
	{"files/only files are opened", filesKinds},
	{"files/the guest's own memory is no file", filesProc},
	{"files/a watch tells what happens", filesWatch},
	{"files/a watch tells that it missed something", filesOverflow},
}

type entry = sampletar.Entry

// tarOf makes an archive of programs that belong to somebody else.
func tarOf(t *testing.T, entries ...entry) []byte {
	t.Helper()
	for i, e := range entries {
		entries[i].UID, entries[i].GID, entries[i].Mode = 77, 77, cmp.Or(e.Mode, 0o755)
	}
	b, err := sampletar.Archive(entries...)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *box) copiesIn(dir string, entries ...entry) (sandbox.CopyResult, error) {
	b.t.Helper()
	return b.files().CopyIn(bounded(b.t), dir, bytes.NewReader(tarOf(b.t, entries...)), sandbox.CopyOptions{})
}

// copiedOut reads an archive to its end and describes its entries, sorted.
func (b *box) copiedOut(path, as string, o sandbox.CopyOptions) ([]string, sandbox.CopyResult, error) {
	b.t.Helper()
	archive, err := b.files().CopyOut(bounded(b.t), path, as, o)
	if err != nil {
		return nil, sandbox.CopyResult{}, err
	}
	defer archive.Close()
	blob, err := io.ReadAll(archive)
	if err != nil {
		return nil, sandbox.CopyResult{}, err
	}
	var found []string
	for r := tar.NewReader(bytes.NewReader(blob)); ; {
		h, err := r.Next()
		if err == io.EOF {
			slices.Sort(found)
			res, err := archive.Result()
			return found, res, err
		}
		if err != nil {
			b.t.Fatal(err)
		}
		found = append(found, string(h.Typeflag)+" "+h.Name+" "+h.Linkname)
	}
}

func copyTree(t *testing.T, s *suite) {
	b := s.box(t)
	res, err := b.copiesIn("/workspace", entry{Name: "t/"}, entry{Name: "t/file", Content: "content", Mode: 0o640}, entry{Name: "t/sub/deep", Content: "x"},
		entry{Name: "t/link", Typeflag: tar.TypeSymlink, Link: "/etc/passwd"}, entry{Name: "t/second", Typeflag: tar.TypeLink, Link: "t/file"},
		entry{Name: "t/suid", Content: "x", Mode: 0o6755}, entry{Name: "t/dev", Typeflag: tar.TypeChar}, entry{Name: "t/bad \xff\n", Content: "odd"})
	if err != nil || res.Entries != 8 || res.Bytes != 12 || res.Skipped != 1 {
		t.Fatalf("%+v, %v", res, err)
	}
	b.says("cd /workspace/t; cat file second sub/deep; stat -c '%a %h %Y' file; readlink link; stat -c %a suid; ls | wc -l",
		"contentcontentx640 2 1600000000\n/etc/passwd\n755\n7")
	b.says("[ $(stat -c %u:%g /workspace/t/file) = $(id -u):$(id -g) ] && echo mine", "mine")
	b.output("cd /workspace/t; truncate -s 100M sparse; mkfifo pipe; rm sub/deep")
	found, res, err := b.copiedOut("/workspace/t", "name", sandbox.CopyOptions{})
	want := []string{"0 name/bad \xff\n ", "0 name/sparse ", "0 name/suid ", "2 name/link /etc/passwd", "5 name/ ", "5 name/sub/ "}
	if err != nil || res.Skipped != 1 || len(found) != 8 {
		t.Errorf("%q, %+v, %v", found, res, err)
	}
	for _, w := range want {
		if !slices.Contains(found, w) {
			t.Errorf("%q is missing in %q", w, found)
		}
	}
	if found, _, err := b.copiedOut("/workspace/t/sub/.", "", sandbox.CopyOptions{}); err != nil || len(found) != 0 {
		t.Errorf("an empty directory's content: %q, %v", found, err)
	}
	if found, _, err := b.copiedOut("/workspace/t/file", "one", sandbox.CopyOptions{}); err != nil || !slices.Equal(found, []string{"0 one "}) {
		t.Errorf("one file: %q, %v", found, err)
	}
}

func copyLimits(t *testing.T, s *suite) {
	b := s.box(t)
	b.output("cd /workspace; mkdir d; cd d; for i in 1 2 3 4 5; do head -c 1000 /dev/zero >$i; done")
	for _, o := range []sandbox.CopyOptions{{Bytes: 4999}, {Entries: 5}} {
		if _, _, err := b.copiedOut("/workspace/d", "d", o); !errors.Is(err, sandbox.ErrTooLarge) {
			t.Errorf("%+v out: %v", o, err)
		}
	}
	if found, _, err := b.copiedOut("/workspace/d", "d", sandbox.CopyOptions{Bytes: 5000, Entries: 6}); err != nil || len(found) != 6 {
		t.Errorf("%q, %v", found, err)
	}
	big := tarOf(t, entry{Name: "whole", Content: "whole"}, entry{Name: "large", Content: strings.Repeat("x", 9<<20)})
	_, err := b.files().CopyIn(bounded(t), "/workspace", bytes.NewReader(big), sandbox.CopyOptions{Bytes: 1 << 20})
	if !errors.Is(err, sandbox.ErrTooLarge) || !strings.Contains(err.Error(), `"large"`) {
		t.Errorf("in: %v", err)
	}
	_, err = b.files().CopyIn(bounded(t), "/workspace", bytes.NewReader(big[:5<<20]), sandbox.CopyOptions{})
	if err == nil || !strings.Contains(err.Error(), `"large"`) {
		t.Errorf("cut off: %v", err)
	}
	b.says("ls -A /workspace; cat /workspace/whole", "d\nwhole\nwhole")
}

func copyHostile(t *testing.T, s *suite) {
	b := s.box(t)
	b.output("cd /workspace; mkdir in outside; echo untouched >outside/secret; ln -s ../outside in/there; ln -s ../outside/secret in/file")
	for name, entries := range map[string][]entry{
		"dots":              {{Name: "../outside/secret", Content: "evil"}},
		"link, then file":   {{Name: "l", Typeflag: tar.TypeSymlink, Link: "../outside"}, {Name: "l/secret", Content: "evil"}},
		"absolute link":     {{Name: "m", Typeflag: tar.TypeSymlink, Link: "/workspace/outside"}, {Name: "m/secret", Content: "evil"}},
		"through a link":    {{Name: "there/secret", Content: "evil"}},
		"hard link by dots": {{Name: "h", Typeflag: tar.TypeLink, Link: "../outside/secret"}},
		"hard link":         {{Name: "h", Typeflag: tar.TypeLink, Link: "there/secret"}},
	} {
		if _, err := b.copiesIn("/workspace/in", entries...); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for name, entries := range map[string][]entry{
		"absolute name":     {{Name: "/workspace/outside/secret", Content: "evil"}},
		"in place of links": {{Name: "file", Content: "evil"}},
		"twice":             {{Name: "twice", Content: "first"}, {Name: "twice", Content: "second"}},
	} {
		if _, err := b.copiesIn("/workspace/in", entries...); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	b.says("cd /workspace; cat outside/secret; stat -c %h outside/secret; ls -A outside; cat in/workspace/outside/secret in/file in/twice",
		"untouched\n1\nsecret\nevilevilsecond")
}

func filesRoot(t *testing.T, s *suite) {
	b := s.box(t)
	b.output("cd /workspace; mkdir root outside; echo untouched >outside/secret; echo inside >root/file; cd root; " +
		"ln -s ../outside out; ln -s /workspace/outside absolute; ln -s /file ok; ln -s loop loop; ln -s / all; ln -s .. up")
	f, ctx := b.filesIn("/workspace/root"), bounded(t)
	for path, want := range map[string]string{"file": "inside\n", "/file": "inside\n", "ok": "inside\n", "../file": "inside\n", "up/../all/file": "inside\n"} {
		if got, err := f.ReadFile(ctx, path, 100); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	for _, path := range []string{"out/secret", "absolute/secret", "../outside/secret", "up/outside/secret", "/workspace/outside/secret", "loop", "loop/x"} {
		_, readErr := f.ReadFile(ctx, path, 100)
		_, copyErr := f.CopyIn(ctx, path, bytes.NewReader(tarOf(t, entry{Name: "x"})), sandbox.CopyOptions{})
		for what, err := range map[string]error{
			"read": readErr, "copy in": copyErr, "write": f.WriteFile(ctx, path+"/x", []byte("evil"), 0), "remove": f.Remove(ctx, path+"/x", true),
			"rename": f.Rename(ctx, "file", path+"/x"),
		} {
			if err == nil {
				t.Errorf("%s of %s: no error", what, path)
			}
		}
	}
	if err := f.Mkdir(ctx, "absolute/made/here", 0, true); err == nil {
		t.Error("a directory was made through a link to nowhere")
	}
	if _, err := b.filesIn("/workspace/none").Stat(ctx, "x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a root that is not there: %v", err)
	}
	b.says("cd /workspace; ls -A outside; cat outside/secret", "secret\nuntouched")
}

// A process inside swaps a directory and a link to the outside as fast as it can, while files are written and
// trees copied through that name.
func filesSwapped(t *testing.T, s *suite) {
	b := s.box(t)
	b.output("cd /workspace; mkdir -p root/real/d outside/d; echo untouched >outside/d/secret; cd root; ln -s /workspace/outside bad; ln -s real d")
	flip := sandbox.Command{Line: "cd /workspace/root; while [ ! -e /workspace/stop ]; do ln -sfn ../outside x; mv -T x d; ln -sfn real x; mv -T x d; mv -T real x2; mv -T bad real; mv -T real bad; mv -T x2 real; done"}
	done := b.beside(flip)
	f, ctx := b.filesIn("/workspace/root"), bounded(t)
	blob := tarOf(t, entry{Name: "d/d/secret", Content: "evil"}, entry{Name: "real/d/secret", Content: "evil"}, entry{Name: "real/d/new", Content: "evil"})
	worked := 0
	enough := time.Now().Add(hang / 3) // on a machine that is busy with other things
	for round := 0; round < 300 && time.Now().Before(enough); round++ {
		if f.WriteFile(ctx, "d/d/secret", []byte("evil"), 0) == nil {
			worked++
		}
		if got, err := f.ReadFile(ctx, "d/d/secret", 100); err == nil && string(got) == "untouched\n" {
			t.Fatal("it read the file outside")
		}
		f.CopyIn(ctx, "/", bytes.NewReader(blob), sandbox.CopyOptions{})
		f.Remove(ctx, "d/d/new", false)
	}
	b.output("touch /workspace/stop")
	(<-done).ended(0, sandbox.Exited)
	b.says("cd /workspace/outside; cat d/secret; find . | sort | tr '\\n' ' '", "untouched\n. ./d ./d/secret ")
	if worked == 0 {
		t.Error("the directory was never there: this shows nothing")
	}
}

// A mount is the one place where the inside can leave links for the outside, and the other way round.
func filesMount(t *testing.T, s *suite) {
	s.need(t, HostMounts)
	secret := filepath.Join(folder(t, map[string]string{"secret": "the host's"}), "secret")
	dir := folder(t, map[string]string{"file": "shared"})
	b := s.box(t, mounts(sandbox.Mount{Source: dir, Target: "/mnt/here"}))
	b.output("cd /mnt/here; ln -s " + secret + " absolute; ln -s ../../../../../../.." + secret + " dots; ln -s " + filepath.Dir(secret) + " dir")
	f, ctx := b.files(), bounded(t)
	for _, path := range []string{"/mnt/here/absolute", "/mnt/here/dots", "/mnt/here/dir/secret"} {
		if got, err := f.ReadFile(ctx, path, 100); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %q, %v", path, got, err)
		}
		if found, _, err := b.copiedOut(path, "x", sandbox.CopyOptions{}); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("copy of %s: %q, %v", path, found, err)
		}
		if _, err := f.Write(ctx, path, strings.NewReader("evil"), sandbox.WriteOptions{Append: true}); err == nil {
			t.Errorf("%s was appended to", path)
		}
	}
	if _, err := b.copiesIn("/mnt/here", entry{Name: "dir/secret", Content: "evil"}); err == nil {
		t.Error("something was copied through a link")
	}
	if _, err := b.copiesIn("/mnt/here", entry{Name: "absolute", Content: "evil"}, entry{Name: "new", Content: "new"}); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(secret); string(got) != "the host's" {
		t.Errorf("the host's file is %q, %v", got, err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "new")); string(got) != "new" {
		t.Errorf("what was copied into the mount is %q, %v", got, err)
	}
}

func filesKinds(t *testing.T, s *suite) {
	b := s.box(t)
	b.output("cd /workspace; mkfifo pipe; ln -s pipe link; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"socket\")' 2>/dev/null || mkfifo socket")
	f, ctx := b.files(), bounded(t)
	for _, path := range []string{"/workspace/pipe", "/workspace/link", "/workspace/socket", "/dev/null", "/dev/zero", "/dev/tty"} {
		_, readErr := f.ReadFile(ctx, path, 10)
		_, appendErr := f.Write(ctx, path, strings.NewReader("x"), sandbox.WriteOptions{Append: true})
		_, watchErr := f.Watch(ctx, path)
		_, _, copyErr := b.copiedOut(path, "x", sandbox.CopyOptions{})
		for what, err := range map[string]error{"read": readErr, "append": appendErr, "watch": watchErr, "copy": copyErr} {
			if err == nil || !strings.Contains(err.Error(), "neither a file nor a directory") {
				t.Errorf("%s of %s: %v", what, path, err)
			}
		}
	}
	if info, err := f.Lstat(ctx, "/workspace/pipe"); err != nil || info.Mode&fs.ModeNamedPipe == 0 {
		t.Errorf("%+v, %v", info, err)
	}
	if info, err := f.Lstat(ctx, "/workspace/link"); err != nil || info.Link != "pipe" {
		t.Errorf("%+v, %v", info, err)
	}
}

func filesProc(t *testing.T, s *suite) {
	b := s.box(t)
	b.output("cd /workspace; ln -s /proc/self/mem mem; ln -s /proc/1/environ env; ln -s /proc/1/root root; ln -s /proc/self/fd/3 fd; ln -s /proc proc")
	f, ctx := b.files(), bounded(t)
	for _, path := range []string{"/workspace/mem", "/workspace/env", "/workspace/root/etc/passwd", "/workspace/fd", "/workspace/proc/1/maps", "/proc/version", "/proc/1/cwd/etc/passwd"} {
		_, readErr := f.ReadFile(ctx, path, 1<<20)
		_, appendErr := f.Write(ctx, path, strings.NewReader("x"), sandbox.WriteOptions{Append: true})
		_, statErr := f.Stat(ctx, path)
		_, _, copyErr := b.copiedOut(path, "x", sandbox.CopyOptions{})
		for what, err := range map[string]error{"read": readErr, "append": appendErr, "look": statErr, "copy": copyErr} {
			if err == nil {
				t.Errorf("%s of %s: no error", what, path)
			}
		}
	}
	for _, path := range []string{"/proc", "/workspace/proc/1", "/workspace/proc"} {
		if got, err := b.lists(path, sandbox.ListOptions{}); err == nil {
			t.Errorf("%s holds %d entries", path, len(got))
		}
		if _, err := b.copiesIn(path, entry{Name: "x"}); err == nil {
			t.Errorf("something was copied into %s", path)
		}
	}
	if _, err := b.copiesIn("/", entry{Name: "proc/self/oom_score_adj", Content: "1000"}); err == nil {
		t.Error("something was copied into /proc")
	}
}

func filesWatch(t *testing.T, s *suite) {
	b := s.box(t)
	b.output("mkdir /workspace/d; echo 1 >/workspace/d/old")
	ctx, cancel := context.WithCancel(bounded(t))
	events, err := b.files().Watch(ctx, "/workspace/d")
	if err != nil {
		t.Fatal(err)
	}
	b.output("cd /workspace/d; echo 2 >>old; mkdir sub; chmod 700 old; mv old $'new\\xff'; rm $'new\\xff'; touch last")
	type seen struct {
		name string
		kind sandbox.FileEventKind
	}
	var got []seen
	for e, err := range events {
		if err != nil {
			t.Fatal(err)
		}
		if e.Dir != (e.Name == "sub") {
			t.Errorf("%+v", e)
		}
		got = append(got, seen{e.Name, e.Kind})
		if e.Name == "last" && e.Kind == sandbox.FileCreated {
			break
		}
	}
	cancel()
	at := 0
	for _, want := range []seen{{"old", sandbox.FileChanged}, {"old", sandbox.FileClosed}, {"sub", sandbox.FileCreated}, {"old", sandbox.FileTouched},
		{"old", sandbox.FileRemoved}, {"new\xff", sandbox.FileCreated}, {"new\xff", sandbox.FileRemoved}, {"last", sandbox.FileCreated}} {
		i := slices.Index(got[at:], want)
		if i < 0 {
			t.Fatalf("%v is missing, or out of order, in %v", want, got)
		}
		at += i
	}
	// One that is gone ends its watch; one whose context ends does so without an error.
	events, err = b.files().Watch(bounded(t), "/workspace/d/last")
	if err != nil {
		t.Fatal(err)
	}
	b.output("rm /workspace/d/last")
	for e, err := range events {
		if err != nil || e.Name != "" {
			t.Errorf("%+v, %v", e, err)
		}
	}
	ctx, cancel = context.WithCancel(bounded(t))
	events, err = b.files().Watch(ctx, "/workspace/d")
	cancel()
	if err == nil {
		for e, err := range events {
			t.Errorf("%+v, %v", e, err)
		}
	}
}

func filesOverflow(t *testing.T, s *suite) {
	b := s.box(t)
	events, err := b.files().Watch(bounded(t), "/workspace")
	if err != nil {
		t.Fatal(err)
	}
	// More than the kernel keeps (16,384), and than fits into the connection.
	b.output("cd /workspace; for i in $(seq 30000); do : >a; : >b; done; touch end")
	n := 0
	for e, err := range events {
		if err != nil {
			t.Fatal(err)
		}
		if n++; e.Kind == sandbox.FileLost {
			return
		}
		if e.Name == "end" {
			break
		}
	}
	t.Errorf("nothing was lost of %d events", n)
}
