package toolbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes.example/hermes/internal/toolbox/capture"
	"hermes.example/hermes/sandbox"
)

// sh runs a line in the session of the tools, and returns what it printed.
func sh(t *testing.T, b *Toolbox, line string) string {
	t.Helper()
	var out bytes.Buffer
	err := b.place.Use(t.Context(), func(box *sandbox.Sandbox) error {
		result, err := box.Session(b.session).Exec(t.Context(), sandbox.Command{Line: line, Stdout: &out})
		if err == nil && result.Code != 0 {
			err = fmt.Errorf("%q ended with %d: %s", line, result.Code, out.String())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// refusedWith checks that an error is one that a model can act on, and says all of this.
func refusedWith(t *testing.T, what string, err error, says ...string) {
	t.Helper()
	var refused *Refusal
	if !errors.As(err, &refused) {
		t.Errorf("%s: %v", what, err)
		return
	}
	for _, s := range says {
		if !strings.Contains(refused.Text, s) {
			t.Errorf("%s: %q does not say %q", what, refused.Text, s)
		}
	}
}

// noted checks that one of the notes says something.
func noted(t *testing.T, what string, notes []string, says string) {
	t.Helper()
	if !slices.ContainsFunc(notes, func(n string) bool { return strings.Contains(n, says) }) {
		t.Errorf("%s: no note of %q says %q", what, notes, says)
	}
}

func TestAFileIsReadByLines(t *testing.T) {
	b, _ := newToolbox(t)
	ctx := t.Context()
	sh(t, b, `mkdir -p /workspace/deep; cd /workspace/deep; seq 1 3000 >numbers; printf 'a\nb' >open; printf '\357\273\277a\r\nb\r\n' >windows; : >empty
		printf 'a\xff\n' >latin; printf '%05000d\nshort\n' 7 >wide; printf '\177ELF\1\0' >program; printf 'a\0b' >zeros; ln -s numbers link; ln -s nowhere dangling; mkfifo pipe; printf '\xff\xfea\0' >wider`)
	read := func(in ReadFileInput) ReadFileOutput {
		t.Helper()
		out, err := b.ReadFile(ctx, in)
		if err != nil {
			t.Errorf("%+v: %v", in, err)
		}
		return out
	}
	// A relative path begins where the session is.
	out := read(ReadFileInput{Path: "numbers"})
	if out.Path != "/workspace/deep/numbers" || !strings.HasPrefix(out.Content, "1|1\n2|2\n") || out.FirstLine != 1 || out.LastLine != 500 || *out.TotalLines != 3000 || out.NextOffset != 501 || out.Size != 13893 {
		t.Errorf("%.40q… %d-%d of %v, %d, %d bytes", out.Content, out.FirstLine, out.LastLine, out.TotalLines, out.NextOffset, out.Size)
	}
	out = read(ReadFileInput{Path: "link", Offset: out.NextOffset, Limit: 2})
	if out.Content != "501|501\n502|502\n" || out.NextOffset != 503 {
		t.Errorf("read on: %+v", out)
	}
	if out = read(ReadFileInput{Path: "~/../workspace/deep/numbers", Offset: 2999}); out.Content != "2999|2999\n3000|3000\n" || out.NextOffset != 0 {
		t.Errorf("the end: %+v", out)
	}
	if out = read(ReadFileInput{Path: "/workspace/deep/numbers", Offset: -2}); out.Content != "2999|2999\n3000|3000\n" || out.FirstLine != 2999 || out.NextOffset != 0 {
		t.Errorf("the last lines: %+v", out)
	}
	if out = read(ReadFileInput{Path: "numbers", Limit: 99999}); out.LastLine != mostLines || out.NextOffset != mostLines+1 {
		t.Errorf("more than the most: up to %d, then %d", out.LastLine, out.NextOffset)
	}
	for name, note := range map[string]string{"open": "no newline", "windows": "CRLF", "empty": "empty", "latin": "not UTF-8", "wide": "cut"} {
		noted(t, name, read(ReadFileInput{Path: name}).Notes, note)
	}
	out = read(ReadFileInput{Path: "windows"})
	noted(t, "windows", out.Notes, "byte order mark")
	if out.Content != "1|a\n2|b\n" {
		t.Errorf("windows: %q", out.Content)
	}
	if out = read(ReadFileInput{Path: "wide"}); len(out.Content) > longestLine+100 || !strings.HasSuffix(out.Content, "bytes of this line are left out]\n2|short\n") {
		t.Errorf("wide: %d bytes, %q", len(out.Content), out.Content[len(out.Content)-80:])
	}
	for name, says := range map[string][]string{
		"program": {"binary", "program", "6 bytes"}, "zeros": {"binary"}, "wider": {"UTF-16"}, "pipe": {"a pipe"}, ".": {"directory", "list_files"}, "": {"empty path"}, "a\x00b": {"NUL"},
		"number": {"does not exist", "similar names are: /workspace/deep/numbers"}, "Numbers.txt": {"/workspace/deep/numbers"}, "zebra": {"nothing in /workspace/deep"},
		"dangling": {"does not exist", `a link to "nowhere"`}, "danglin": {"similar names are: /workspace/deep/dangling"},
		"/workspace/deep/no/way/x": {"nearest one that does is /workspace/deep"}, "/proc/self/environ": {"kernel"}, "/dev/null": {"a device"},
	} {
		_, err := b.ReadFile(ctx, ReadFileInput{Path: name})
		refusedWith(t, name, err, says...)
	}
	_, err := b.ReadFile(ctx, ReadFileInput{Path: "numbers", Offset: 3001})
	refusedWith(t, "beyond the end", err, "only 3000 lines")
}

func TestALargeFileIsReadWithoutItsRest(t *testing.T) {
	b, _ := newToolbox(t, func(o *Options) { o.Settings.MaxOutput = 1000 })
	sh(t, b, `yes 'a line of some length, of which there are many' | head -c 60000000 >/workspace/large; head -c 40000000 /dev/zero | tr '\0' x >/workspace/one`)
	out, err := b.ReadFile(t.Context(), ReadFileInput{Path: "/workspace/large", Offset: 1_000_000})
	if err != nil || out.TotalLines != nil || len(out.Content) > 1200 || out.FirstLine != 1_000_000 || out.NextOffset != out.LastLine+1 || out.LastLine < 1_000_010 {
		t.Errorf("%d-%d of %v, then %d, %d bytes, %v", out.FirstLine, out.LastLine, out.TotalLines, out.NextOffset, len(out.Content), err)
	}
	if out, err = b.ReadFile(t.Context(), ReadFileInput{Path: "/workspace/one"}); err != nil || len(out.Content) > longestLine+100 || *out.TotalLines != 1 {
		t.Errorf("a single line: %d bytes, %v", len(out.Content), err)
	}
}

func TestALineWithoutEndIsNotReadToItsEnd(t *testing.T) {
	b, _ := newToolbox(t)
	// It takes no room, and to read all of it would take an hour.
	sh(t, b, `seq 10000 >/workspace/endless; truncate -s 4T /workspace/endless`)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := b.ReadFile(ctx, ReadFileInput{Path: "/workspace/endless", Offset: 9990})
	if err != nil || out.FirstLine != 9990 || out.LastLine != 10001 || out.TotalLines != nil || !strings.Contains(strings.Join(out.Notes, " "), "not read to its end") {
		t.Errorf("%d-%d of %v, %q, %v", out.FirstLine, out.LastLine, out.TotalLines, out.Notes, err)
	}
	for _, offset := range []int{10002, -1} {
		_, err = b.ReadFile(ctx, ReadFileInput{Path: "/workspace/endless", Offset: offset})
		refusedWith(t, fmt.Sprint("line ", offset), err, "line 10001 before it", "use a command")
	}
}

func TestTheWholeOutputOfACommandCanBeRead(t *testing.T) {
	b, p := newToolbox(t)
	dir := filepath.Join(p.identity.Home, filepath.FromSlash(capture.Directory))
	secret := filepath.Join(p.identity.Home, ".env")
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "out-1.log"), []byte("all of it\n"), 0o600), os.WriteFile(secret, []byte("KEY=1"), 0o600),
		os.Symlink(secret, filepath.Join(dir, "out-2.log")), syscall.Mkfifo(filepath.Join(dir, "out-3.log"), 0o600),
		os.Link(secret, filepath.Join(dir, "out-4.log")), os.WriteFile(filepath.Join(dir, "other"), []byte("KEY=1"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if out, err := b.ReadFile(t.Context(), ReadFileInput{Path: filepath.Join(dir, "out-1.log")}); err != nil || out.Content != "1|all of it\n" {
		t.Errorf("%+v, %v", out, err)
	}
	for _, path := range []string{filepath.Join(dir, "out-2.log"), filepath.Join(dir, "out-3.log"), filepath.Join(dir, "out-4.log"), filepath.Join(dir, "other"), dir + "/../../.env", filepath.Join(dir, "none")} {
		_, err := b.ReadFile(t.Context(), ReadFileInput{Path: path})
		refusedWith(t, path, err)
	}
}

// A sandbox that has the home mounted can put a link in the place of the directory, and Hermes may read what it may not.
func TestNoLinkLeadsToWhatTheSandboxDoesNotSee(t *testing.T) {
	for _, link := range []string{"cache", capture.Directory} {
		b, p := newToolbox(t)
		elsewhere := t.TempDir()
		at := filepath.Join(p.identity.Home, filepath.FromSlash(link))
		file := filepath.Join(elsewhere, strings.TrimPrefix(strings.TrimPrefix(capture.Directory, link), "/"), "out-1.log")
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.RemoveAll(at), os.Symlink(elsewhere, at), os.MkdirAll(filepath.Dir(file), 0o700),
			os.WriteFile(file, []byte("of the host\n"), 0o600)); err != nil {
			t.Fatal(err)
		}
		out, err := b.ReadFile(t.Context(), ReadFileInput{Path: filepath.Join(p.identity.Home, filepath.FromSlash(capture.Directory), "out-1.log")})
		if err == nil {
			t.Errorf("by the link %s it reads %q", link, out.Content)
		}
	}
}

func TestAFileIsWritten(t *testing.T) {
	b, _ := newToolbox(t)
	ctx := t.Context()
	sh(t, b, `cd /workspace; echo old >script; chmod 750 script; ln -s script link; ln -s nowhere dangling; mkdir dir; mkfifo pipe; cd dir`)
	for _, c := range []struct {
		path    string
		created bool
		stored  string
	}{
		{"new", true, "/workspace/dir/new"}, {"new", false, "/workspace/dir/new"}, {"a/b/c", true, "/workspace/dir/a/b/c"}, {"../script", false, "/workspace/script"},
		{"/workspace/link", false, "/workspace/link"}, {"~/own", true, "/root/own"},
	} {
		out, err := b.WriteFile(ctx, WriteFileInput{Path: c.path, Content: c.path + "\n"})
		if err != nil || out.Created != c.created || out.Path != c.stored || out.Bytes != int64(len(c.path)+1) {
			t.Errorf("%s: %+v, %v", c.path, out, err)
		}
		if got := sh(t, b, "cat "+c.stored); got != c.path+"\n" {
			t.Errorf("%s holds %q", c.stored, got)
		}
	}
	// The link is still one, and what it leads to has its mode.
	if got := sh(t, b, "cd /workspace; stat -c '%a %F' script link; ls -A dir"); got != "750 regular file\n777 symbolic link\na\nnew\n" {
		t.Errorf("%q", got)
	}
	sh(t, b, "cd /workspace")
	for path, says := range map[string]string{
		"dir": "directory", "dir/": "directory", "fresh/": "directory", "/": "directory", "script/below": "not a directory", "pipe": "a pipe", "dangling": "link", "/proc/self/comm": "kernel", "": "empty",
		"/usr/bin/new": "permission denied, or read-only",
	} {
		_, err := b.WriteFile(ctx, WriteFileInput{Path: path, Content: "x"})
		refusedWith(t, path, err, says)
	}
}

func TestADirectoryIsListed(t *testing.T) {
	b, _ := newToolbox(t)
	ctx := t.Context()
	sh(t, b, `mkdir -p /workspace/p/src/deep/er /workspace/many; cd /workspace/p; printf 12345 >src/main; : >.hidden; ln -s src link; mkfifo pipe; : >src/deep/x; cd /workspace/many; seq 300 | xargs touch; cd ../p`)
	out, err := b.ListFiles(ctx, ListFilesInput{})
	want := []FileEntry{{Path: ".hidden", Kind: "file"}, {Path: "link", Kind: "link", Link: "src"}, {Path: "pipe", Kind: "other"}, {Path: "src", Kind: "directory"}}
	if err != nil || out.Path != "/workspace/p" || !slices.Equal(out.Entries, want) || out.Cut {
		t.Errorf("%+v, %v", out, err)
	}
	out, err = b.ListFiles(ctx, ListFilesInput{Path: "src", Depth: 2})
	want = []FileEntry{{Path: "deep", Kind: "directory"}, {Path: "deep/er", Kind: "directory"}, {Path: "deep/x", Kind: "file"}, {Path: "main", Kind: "file", Size: 5}}
	if err != nil || !slices.Equal(out.Entries, want) {
		t.Errorf("%+v, %v", out, err)
	}
	if out, err = b.ListFiles(ctx, ListFilesInput{Path: "../many"}); err != nil || !out.Cut || len(out.Entries) != 200 || len(out.Notes) != 1 {
		t.Errorf("%d entries, %v, %q, %v", len(out.Entries), out.Cut, out.Notes, err)
	}
	if out, err = b.ListFiles(ctx, ListFilesInput{Path: "../many", Limit: 300}); err != nil || out.Cut || len(out.Entries) != 300 {
		t.Errorf("%d entries, %v, %v", len(out.Entries), out.Cut, err)
	}
	for path, says := range map[string]string{"src/main": "no directory", "sources": "does not exist"} {
		_, err := b.ListFiles(ctx, ListFilesInput{Path: path})
		refusedWith(t, path, err, says)
	}
	// The kernel's own are listed by name and not gone into.
	if out, err = b.ListFiles(ctx, ListFilesInput{Path: "/", Depth: 2, Limit: 2000}); err != nil || slices.ContainsFunc(out.Entries, func(e FileEntry) bool { return strings.HasPrefix(e.Path, "proc/") }) {
		t.Errorf("%d entries, %v", len(out.Entries), err)
	}
}

func TestACancelledCallEnds(t *testing.T) {
	b, _ := newToolbox(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.ReadFile(ctx, ReadFileInput{Path: "/etc/passwd"}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
