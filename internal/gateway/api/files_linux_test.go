package api_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"hermes.example/hermes/client"
	"hermes.example/hermes/sandbox"
)

// route is that of something about one path, percent-encoded byte by byte as a caller has to.
func route(part, path string, more ...string) string {
	r := "/v1/sandboxes/work/" + part + "?path=" + url.QueryEscape(path)
	for _, m := range more {
		r += "&" + m
	}
	return r
}

func TestFilesGoInAndComeOutByteForByte(t *testing.T) {
	w := newWorld(t).begin()
	ctx, files := t.Context(), w.task.Files()
	content := bytes.Repeat([]byte("\x00\xff\r\nabc"), 100_000)
	for _, path := range []string{"/workspace/plain", "relative", "with space/ü/+%2f&?#", "not-utf8-\xff\xfe", "new\nline", "..dots.."} {
		if dir, _, deep := strings.Cut(path, "/"); deep && dir != "" {
			if err := files.Mkdir(ctx, path[:strings.LastIndexByte(path, '/')], 0, true); err != nil {
				t.Fatal(err)
			}
		}
		if n, err := files.Write(ctx, path, bytes.NewReader(content), sandbox.WriteOptions{Mode: 0o640}); n != int64(len(content)) || err != nil {
			t.Fatalf("%q: %d, %v", path, n, err)
		}
		got, err := files.ReadFile(ctx, path, 1<<20)
		if err != nil || !bytes.Equal(got, content) {
			t.Errorf("%q: %d bytes came back, %v", path, len(got), err)
		}
		info, err := files.Stat(ctx, path)
		if err != nil || info.Size != int64(len(content)) || info.Mode != 0o640 || info.Time.IsZero() {
			t.Errorf("%q: %+v, %v", path, info, err)
		}
	}
	var names []string
	for entry, err := range files.List(ctx, ".", sandbox.ListOptions{Depth: 3}) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, entry.Path)
	}
	for _, want := range []string{"plain", "relative", "not-utf8-\xff\xfe", "with space/ü/+%2f&?#"} {
		if !slices.Contains(names, want) {
			t.Errorf("%q is not among %q", want, names)
		}
	}
}

func TestAPartOfAFile(t *testing.T) {
	w := newWorld(t).begin()
	if err := errors.Join(write(w, "f", "0123456789"), write(w, "empty", "")); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		query, header string
		status        int
		body, part    string
	}{
		"all of it":                   {"", "", 200, "0123456789", ""},
		"from an offset":              {"offset=7", "", 200, "789", ""},
		"so much of it":               {"offset=2&limit=3", "", 200, "234", ""},
		"more than there is":          {"offset=8&limit=100", "", 200, "89", ""},
		"behind the end":              {"offset=100", "", 200, "", ""},
		"a range":                     {"", "bytes=2-4", 206, "234", "bytes 2-4/10"},
		"a range without an end":      {"", "bytes=8-", 206, "89", "bytes 8-9/10"},
		"the last bytes":              {"", "bytes=-3", 206, "789", "bytes 7-9/10"},
		"a range of another kind":     {"", "lines=1-2", 416, "", ""},
		"a range behind the end":      {"", "bytes=10-", 416, "", "bytes */10"},
		"a range that makes no sense": {"", "bytes=5-2", 416, "", ""},
	} {
		headers := []string{}
		if test.header != "" {
			headers = []string{"Range", test.header}
		}
		answer, body := w.ask("GET", route("files", "f", test.query), nil, headers...)
		if answer.StatusCode != test.status || test.status < 300 && body != test.body || test.part != "" && answer.Header.Get("Content-Range") != test.part {
			t.Errorf("%s: %d %q %q", name, answer.StatusCode, body, answer.Header.Get("Content-Range"))
		}
	}
	w.refused(client.CodeBadRange, "GET", route("files", "f"), nil, "Range", "bytes=100-")
	w.refused(client.CodeBadRequest, "GET", route("files", "f", "limit=1"), nil, "Range", "bytes=0-1")
	answer, body := w.ask("HEAD", route("files", "f"), nil)
	if answer.StatusCode != 200 || body != "" || answer.ContentLength != 10 || answer.Header.Get("Accept-Ranges") != "bytes" {
		t.Errorf("HEAD: %d %q %v", answer.StatusCode, body, answer.Header)
	}
	if answer, body := w.ask("GET", route("files", "empty"), nil); answer.StatusCode != 200 || body != "" {
		t.Errorf("an empty file: %d %q", answer.StatusCode, body)
	}
	// What was not changed need not be sent again.
	if answer, _ := w.ask("GET", route("files", "f"), nil, "If-None-Match", answer.Header.Get("ETag")); answer.StatusCode != 304 {
		t.Errorf("unchanged: %d", answer.StatusCode)
	}
}

func write(w *world, path, content string) error {
	_, err := w.task.Files().Write(w.t.Context(), path, strings.NewReader(content), sandbox.WriteOptions{})
	return err
}

func TestAFileThatIsCutOffLeavesWhatWasThere(t *testing.T) {
	w := newWorld(t).begin()
	ctx, files := t.Context(), w.task.Files()
	if err := write(w, "f", "before"); err != nil {
		t.Fatal(err)
	}
	broken := io.MultiReader(strings.NewReader(strings.Repeat("x", 1<<20)), failing{})
	if _, err := files.Write(ctx, "f", broken, sandbox.WriteOptions{}); err == nil {
		t.Fatal("half a file was taken")
	}
	if _, err := files.Write(ctx, "f", strings.NewReader(strings.Repeat("x", 1000)), sandbox.WriteOptions{Limit: 999}); !errors.Is(err, sandbox.ErrTooLarge) {
		t.Errorf("above the limit, and said before: %v", err)
	}
	if _, err := files.Write(ctx, "f", io.MultiReader(strings.NewReader(strings.Repeat("x", 1000))), sandbox.WriteOptions{Limit: 999}); !errors.Is(err, sandbox.ErrTooLarge) {
		t.Errorf("above the limit, and not said before: %v", err)
	}
	if got, err := files.ReadFile(ctx, "f", 100); string(got) != "before" || err != nil {
		t.Errorf("the file is %q, %v", got, err)
	}
	// What was begun is gone as soon as the sandbox has noticed.
	deadline := time.Now().Add(20 * time.Second)
	for names := []string{"?"}; !slices.Equal(names, []string{"f"}); {
		if time.Now().After(deadline) {
			t.Fatalf("the directory has %q", names)
		}
		names = nil
		for entry, err := range files.List(ctx, ".", sandbox.ListOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, entry.Path)
		}
	}
	if _, err := files.Write(ctx, "f", strings.NewReader(" and after"), sandbox.WriteOptions{Append: true}); err != nil {
		t.Fatal(err)
	}
	if got, _ := files.ReadFile(ctx, "f", 100); string(got) != "before and after" {
		t.Errorf("after an append it is %q", got)
	}
}

// What becomes shorter while it is read is not taken for whole.
func TestAFileThatShrinksIsAnError(t *testing.T) {
	w := newWorld(t).begin()
	ctx := t.Context()
	run := func(line string) {
		if r, err := w.task.Exec(ctx, client.Exec{Line: line}, client.ExecOptions{}); err != nil || r.Code != 0 {
			t.Fatal(r, err)
		}
	}
	run("truncate -s 500M f")
	r, err := w.task.Files().Open(ctx, "f", sandbox.Section{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := io.CopyN(io.Discard, r, 1<<20); err != nil {
		t.Fatal(err)
	}
	run("truncate -s 2M f")
	if n, err := io.Copy(io.Discard, r); err == nil {
		t.Errorf("%d bytes more were all", n)
	}
}

// failing is a caller that goes away.
type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("the caller is gone") }

func TestFilesAreMadeMovedAndRemoved(t *testing.T) {
	w := newWorld(t).begin()
	ctx, files := t.Context(), w.task.Files()
	if err := errors.Join(files.Mkdir(ctx, "a/b/c", 0o750, true), files.Mkdir(ctx, "a/b/c", 0, true), write(w, "a/b/c/f", "x"),
		files.Rename(ctx, "a/b/c/f", "a/g")); err != nil {
		t.Fatal(err)
	}
	if _, err := w.task.Exec(ctx, client.Exec{Line: "ln -s g a/link; ln -s nowhere a/dangling"}, client.ExecOptions{}); err != nil {
		t.Fatal(err)
	}
	if info, err := files.Stat(ctx, "a/b/c"); err != nil || info.Mode != fs.ModeDir|0o750 {
		t.Errorf("the directory: %+v, %v", info, err)
	}
	if info, err := files.Stat(ctx, "a/link"); err != nil || !info.Mode.IsRegular() {
		t.Errorf("followed: %+v, %v", info, err)
	}
	if info, err := files.Lstat(ctx, "a/link"); err != nil || info.Mode&fs.ModeSymlink == 0 || info.Link != "g" {
		t.Errorf("itself: %+v, %v", info, err)
	}
	if err := files.Remove(ctx, "a/b", false); !errors.Is(err, sandbox.ErrRefused) {
		t.Errorf("a directory that is not empty: %v", err)
	}
	if err := errors.Join(files.Remove(ctx, "a/b", true), files.Remove(ctx, "a/link", false)); err != nil {
		t.Error(err)
	}
	for name, err := range map[string]error{
		"removed":    files.Remove(ctx, "a/b", false),
		"not there":  second(files.Stat(ctx, "nowhere")),
		"dangling":   second(files.Stat(ctx, "a/dangling")),
		"to read":    second(files.ReadFile(ctx, "nowhere", 1)),
		"to list":    listed(ctx, files, "nowhere"),
		"to move":    files.Rename(ctx, "nowhere", "x"),
		"no parents": files.Mkdir(ctx, "x/y", 0, false),
	} {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := files.Mkdir(ctx, "a", 0, false); !errors.Is(err, fs.ErrExist) {
		t.Errorf("what exists: %v", err)
	}
	if err := second(files.ReadFile(ctx, "a", 1)); !errors.Is(err, sandbox.ErrRefused) {
		t.Errorf("the content of a directory: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

func listed(ctx context.Context, files client.Files, dir string) (err error) {
	for _, err = range files.List(ctx, dir, sandbox.ListOptions{}) {
	}
	return err
}

// Nothing is made for who only looks, and a mistake is refused before anything is done.
func TestBadRequestsAboutFilesAreRefused(t *testing.T) {
	w := newWorld(t)
	for _, r := range []struct{ method, path string }{
		{"GET", route("files", "f")}, {"GET", route("files/stat", "f")}, {"GET", route("files/list", ".")}, {"GET", route("archive", ".")},
		{"DELETE", route("files", "f")}, {"POST", route("files/rename", "f", "to=g")}, {"GET", "/v1/sandboxes/work/processes"}, {"GET", "/v1/sandboxes/work/events"},
	} {
		w.refused(client.CodeNotFound, r.method, r.path, nil)
	}
	if all, err := w.client.Sandboxes(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("there are sandboxes now: %v, %v", all, err)
	}
	w.begin()
	if err := write(w, "f", "x"); err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]struct{ method, path string }{
		"no path":                {"GET", "/v1/sandboxes/work/files"},
		"an empty path":          {"GET", route("files", "")},
		"two paths":              {"GET", route("files", "f", "path=g")},
		"NUL":                    {"GET", route("files", "f\x00g")},
		"NUL in the other path":  {"POST", route("files/rename", "f", "to=g%00")},
		"no other path":          {"POST", route("files/rename", "f")},
		"a misspelt parameter":   {"DELETE", route("files", "f", "al=true")},
		"neither true nor false": {"DELETE", route("files", "f", "all=yes")},
		"no number":              {"GET", route("files", "f", "offset=x")},
		"below zero":             {"GET", route("files", "f", "offset=-1")},
		"too large a number":     {"GET", route("files", "f", "offset=99999999999999999999")},
		"no mode":                {"PUT", route("files", "f", "mode=rw")},
		"too large a mode":       {"PUT", route("files", "f", "mode=17777")},
		"too deep":               {"GET", route("files/list", ".", "depth=256")},
		"no entries":             {"GET", route("files/list", ".", "limit=0")},
		"bad percent encoding":   {"GET", "/v1/sandboxes/work/files?path=%zz"},
		"a pair left out":        {"PUT", route("files", "f", "append=true;")},
		"a name left out":        {"DELETE", route("files", "f", "%zz=1")},
	} {
		before := w.t.Failed()
		w.refused(client.CodeBadRequest, r.method, r.path, nil)
		if w.t.Failed() && !before {
			t.Logf("that was %s", name)
		}
	}
	// Dots lead where the kernel says, and never out.
	for _, path := range []string{"../../../../workspace/f", "/../workspace/./f", "/workspace/../workspace/f"} {
		if answer, body := w.ask("GET", route("files", path), nil); answer.StatusCode != 200 || body != "x" {
			t.Errorf("%q: %d %q", path, answer.StatusCode, body)
		}
	}
	w.refused(client.CodeUnprocessable, "GET", route("files", "/dev/zero"), nil)
	w.refused(client.CodeUnprocessable, "GET", route("files", strings.Repeat("x", 5000)), nil)
	if got, err := w.task.Files().ReadFile(t.Context(), "f", 10); string(got) != "x" || err != nil {
		t.Errorf("the file is %q, %v", got, err)
	}
}

func TestADirectoryOfAHundredThousandEntries(t *testing.T) {
	w := newWorld(t).begin()
	ctx := t.Context()
	const many = 100_000
	if r, err := w.task.Exec(ctx, client.Exec{Line: fmt.Sprintf("mkdir big && cd big && seq 1 %d | xargs touch", many)}, client.ExecOptions{}); err != nil || r.Code != 0 {
		t.Fatal(r, err)
	}
	seen := make(map[string]bool)
	for entry, err := range w.task.Files().List(ctx, "big", sandbox.ListOptions{Entries: many}) {
		if err != nil {
			t.Fatal(err)
		}
		seen[entry.Path] = true
	}
	if len(seen) != many {
		t.Errorf("%d entries came", len(seen))
	}
	// Who asks for fewer gets so many, and is told.
	count := 0
	var last error
	for _, err := range w.task.Files().List(ctx, "big", sandbox.ListOptions{Entries: 100}) {
		if last = err; err == nil {
			count++
		}
	}
	if count != 100 || !errors.Is(last, sandbox.ErrTooLarge) {
		t.Errorf("%d entries, %v", count, last)
	}
}

func TestArchivesGoInAndComeOut(t *testing.T) {
	w := newWorld(t).begin()
	ctx, files := t.Context(), w.task.Files()
	in := archive(t, tar.Header{Name: "d/", Typeflag: tar.TypeDir, Mode: 0o755}, tar.Header{Name: "d/f", Mode: 0o600, Size: 5}, tar.Header{Name: "d/l", Typeflag: tar.TypeSymlink, Linkname: "f"})
	if r, err := files.CopyIn(ctx, ".", in, sandbox.CopyOptions{}); err != nil || r.Entries != 3 || r.Bytes != 5 {
		t.Fatal(r, err)
	}
	out, err := files.CopyOut(ctx, "d", "other", sandbox.CopyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if _, err := out.Result(); err == nil {
		t.Error("what it held is known before it was read")
	}
	names := []string{}
	for r := tar.NewReader(out); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
	}
	io.Copy(io.Discard, out)
	slices.Sort(names)
	if r, err := out.Result(); err != nil || r.Entries != 3 || r.Bytes != 5 || !slices.Equal(names, []string{"other/", "other/f", "other/l"}) {
		t.Errorf("%q, %+v, %v", names, r, err)
	}
	if _, err := files.CopyOut(ctx, "nowhere", "", sandbox.CopyOptions{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what is not there: %v", err)
	}
}

func archive(t *testing.T, headers ...tar.Header) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, strings.Repeat("x", int(h.Size)))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &b
}

func TestAHostileArchiveIsRefused(t *testing.T) {
	w := newWorld(t).begin()
	ctx, files := t.Context(), w.task.Files()
	if err := files.Mkdir(ctx, "in", 0, false); err != nil {
		t.Fatal(err)
	}
	for name, a := range map[string]*bytes.Buffer{
		"out of it":      archive(t, tar.Header{Name: "../escaped", Size: 1, Mode: 0o644}),
		"absolute":       archive(t, tar.Header{Name: "/workspace/escaped", Size: 1, Mode: 0o644}),
		"dots inside":    archive(t, tar.Header{Name: "a/../../escaped", Size: 1, Mode: 0o644}),
		"through a link": archive(t, tar.Header{Name: "out", Typeflag: tar.TypeSymlink, Linkname: ".."}, tar.Header{Name: "out/escaped", Size: 1, Mode: 0o644}),
	} {
		_, err := files.CopyIn(ctx, "in", a, sandbox.CopyOptions{})
		var refused *client.Error
		if name != "absolute" && (!errors.As(err, &refused) || refused.Status != http.StatusUnprocessableEntity) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := files.Lstat(ctx, "escaped"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: it is outside: %v", name, err)
		}
	}
	for name, o := range map[string]sandbox.CopyOptions{"bytes": {Bytes: 10}, "entries": {Entries: 1}} {
		a := archive(t, tar.Header{Name: "x", Size: 8, Mode: 0o644}, tar.Header{Name: "y", Size: 8, Mode: 0o644})
		if _, err := files.CopyIn(ctx, "in", a, o); !errors.Is(err, sandbox.ErrTooLarge) {
			t.Errorf("more %s than there may be: %v", name, err)
		}
	}
	if _, err := files.CopyIn(ctx, "in", strings.NewReader("this is no archive"+strings.Repeat("x", 1000)), sandbox.CopyOptions{}); err == nil {
		t.Error("what is no archive was unpacked")
	}
	half := archive(t, tar.Header{Name: "whole", Size: 5, Mode: 0o644}, tar.Header{Name: "half", Size: 1 << 20, Mode: 0o644})
	if _, err := files.CopyIn(ctx, "in", io.MultiReader(io.LimitReader(half, 100_000), failing{}), sandbox.CopyOptions{}); err == nil {
		t.Error("half an archive counts as whole")
	}
	if _, err := files.Lstat(ctx, "in/half"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("half a file is there: %v", err)
	}
}
