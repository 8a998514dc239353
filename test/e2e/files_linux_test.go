package e2e

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

func (w *world) read(path string) string {
	w.t.Helper()
	content, err := os.ReadFile(filepath.Join(w.work, path))
	if err != nil {
		w.t.Error(err)
	}
	return string(content)
}

func TestCpGoesBothWays(t *testing.T) {
	asEveryone(t, func(t *testing.T, w *world) {
		w.mkdir(filepath.Join(w.work, "src"))
		w.mkdir(filepath.Join(w.work, "src", "sub"))
		w.write("src/file", "content\n")
		w.write("src/sub/deep", "deep\n")
		if err := os.Symlink("/etc/hostname", filepath.Join(w.work, "src", "link")); err != nil {
			t.Fatal(err)
		}
		w.own(filepath.Join(w.work, "src", "sub"))
		for _, step := range [][]string{
			{"cp", "--task", "c", "src", ":"}, {"cp", "--task", "c", "src/file", ":/workspace/renamed"}, {"cp", "--task", "c", "src/.", ":flat"},
		} {
			if out := w.must(append([]string{"sandbox"}, step...)...); out != "" {
				t.Errorf("%q printed %q", step, out)
			}
		}
		if got := w.must("sandbox", "exec", "--task", "c", "-c", "cd /workspace; cat src/file src/sub/deep renamed flat/file; readlink src/link; stat -c %u src/file"); got != "content\ndeep\ncontent\ncontent\n/etc/hostname\n0\n" {
			t.Errorf("inside is %q", got)
		}
		if got := w.must("sandbox", "cat", "--task", "c", "src/file", "/workspace/src/sub/deep"); got != "content\ndeep\n" {
			t.Errorf("cat prints %q", got)
		}
		w.must("sandbox", "exec", "--task", "c", "-c", "cd /workspace; echo changed >src/file; chmod 6755 src/file; mkfifo src/pipe; chown 1000 src/sub 2>/dev/null; true")
		r := w.hermes("sandbox", "cp", "--task", "c", ":src", "back")
		if r.code != 0 || !strings.HasPrefix(r.stderr, "hermes: left out 1 entry") {
			t.Errorf("%v", r)
		}
		if w.read("back/file")+w.read("back/sub/deep") != "changed\ndeep\n" {
			t.Error("what came back is not what was there")
		}
		for _, name := range []string{"back", "back/file", "back/sub", "back/link"} {
			info, err := os.Lstat(filepath.Join(w.work, name))
			if err != nil || ownerOf(info) != w.uid() || info.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 {
				t.Errorf("%s: %v, %v", name, info, err)
			}
		}
		// Once more, and it lands in the directory.
		w.must("sandbox", "cp", "--task", "c", ":src/file", "back/sub")
		if w.read("back/sub/file") != "changed\n" {
			t.Error("it is not in the directory")
		}
	})
}

func (w *world) uid() int {
	if w.who != nil {
		return w.who.UID
	}
	return os.Getuid()
}

func TestCpOfTarStreams(t *testing.T) {
	w := newWorld(t, nil)
	w.must("sandbox", "exec", "-c", "cd /workspace; mkdir d; echo one >d/one; echo two >d/two")
	blob := w.must("sandbox", "cp", ":d", "-")
	cmd := w.command("sandbox", "cp", "-", ":/tmp")
	cmd.Stdin = strings.NewReader(blob)
	if r := w.finish(cmd); r.code != 0 {
		t.Fatal(r)
	}
	if got := w.must("sandbox", "cat", "/tmp/d/one", "/tmp/d/two"); got != "one\ntwo\n" {
		t.Errorf("%q", got)
	}
	cmd = w.command("sandbox", "cp", "-", ":/tmp")
	cmd.Stdin = bytes.NewReader([]byte(blob)[:1026])
	if r := w.finish(cmd); r.code != 1 || !oneLine(r.stderr) || !strings.Contains(r.stderr, "too early") {
		t.Errorf("a stream that is cut off: %v", r)
	}
}

func TestFilesThatCannotBeCopied(t *testing.T) {
	w := newWorld(t, nil)
	w.write("file", "x")
	if err := unix.Mkfifo(filepath.Join(w.work, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.must("sandbox", "exec", "-c", "cd /workspace; echo x >file; mkdir dir; ln -s /proc/self/environ env")
	for _, c := range []struct {
		args   []string
		status int
		why    string
	}{
		{[]string{"cp", "file"}, 2, "one source and one destination"},
		{[]string{"cp", "file", "other"}, 2, "exactly one"},
		{[]string{"cp", ":file", ":other"}, 2, "exactly one"},
		{[]string{"cp", "--max-size", "lots", "file", ":"}, 2, "--max-size"},
		{[]string{"cp", "none", ":"}, 1, "no such file"},
		{[]string{"cp", ":none", "."}, 1, "no such file"},
		{[]string{"cp", "file", ":none/"}, 1, "no such directory"},
		{[]string{"cp", "file", ":none/x"}, 1, "no such file"},
		{[]string{"cp", ":dir", "file"}, 1, "by a directory"},
		{[]string{"cp", "pipe", ":"}, 1, "neither a file nor a directory"},
		{[]string{"cp", ":env", "."}, 1, "kernel"},
		{[]string{"cp", ":/dev/zero", "."}, 1, "neither a file nor a directory"},
		{[]string{"cp", "file", ":/usr"}, 1, "read-only"},
		{[]string{"cp", "--max-size", "1k", ":/usr/bin/env", "."}, 1, "more than 1024 bytes"},
		{[]string{"cat", "none"}, 1, "no such file"},
		{[]string{"cat"}, 2, "name a file"},
		{[]string{"cat", "dir"}, 1, "is a directory"},
		{[]string{"ls-files", "none"}, 1, "no such file"},
		{[]string{"ls-files", "a", "b"}, 2, "give one"},
	} {
		r := w.hermes(append([]string{"sandbox"}, c.args...)...)
		if r.code != c.status || !oneLine(r.stderr) || !strings.Contains(r.stderr, c.why) || r.stdout != "" {
			t.Errorf("%q: %v", c.args, r)
		}
	}
	if left := w.tree(w.work); len(left) != 2 {
		t.Errorf("it left %q", left)
	}
}

func TestLsFiles(t *testing.T) {
	w := newWorld(t, nil)
	w.must("sandbox", "exec", "-c", "cd /workspace; mkdir -m 750 d; printf 12345 >d/f; chmod 640 d/f; ln -s d l; touch $'bad\\xff'")
	out := w.must("sandbox", "ls-files", "-R")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 4 || !strings.HasPrefix(lines[1], "drwxr-x---  0:0") || !strings.HasSuffix(lines[0], `"bad\xff"`) || !strings.HasSuffix(lines[3], "l -> d") {
		t.Errorf("it prints\n%s", out)
	}
	type row struct {
		Name, Type, Mode, Link string
		Name64                 string `json:"name_base64"`
		Size                   int64
	}
	rows := decode[[]row](t, w.must("sandbox", "ls-files", "-R", "--json"))
	want := []row{{Name: "bad\ufffd", Type: "file", Mode: "0644", Name64: "YmFk/w=="}, {Name: "d", Type: "directory", Mode: "0750"},
		{Name: "d/f", Type: "file", Mode: "0640", Size: 5}, {Name: "l", Type: "link", Mode: "0777", Link: "d", Size: 1}}
	for i := range rows {
		if rows[i].Type == "directory" {
			rows[i].Size = 0
		}
	}
	if len(rows) != len(want) {
		t.Fatalf("%+v", rows)
	}
	for i := range want {
		if rows[i] != want[i] {
			t.Errorf("%+v instead of %+v", rows[i], want[i])
		}
	}
	if one := w.must("sandbox", "ls-files", "d/f"); strings.Count(one, "\n") != 1 || !strings.HasSuffix(one, "  f\n") {
		t.Errorf("one file: %q", one)
	}
}

// A long copy shows how far it is where there is a terminal, and leaves nothing on it.
func TestALongCopyShowsItsProgress(t *testing.T) {
	w := newWorld(t, nil)
	w.must("sandbox", "exec", "-c", "head -c 1000000 /dev/zero >/workspace/file")
	blob := w.must("sandbox", "cp", ":file", "-")
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	cmd := w.command("sandbox", "cp", "-", ":/tmp")
	cmd.Stderr = slave
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	if _, err := io.WriteString(input, blob[:600_000]); err != nil {
		t.Fatal(err)
	}
	shown, buf := "", make([]byte, 4096)
	for !strings.Contains(shown, "copied 0.6 MB") {
		n, err := master.Read(buf)
		if err != nil {
			t.Fatalf("%q, %v", shown, err)
		}
		shown += string(buf[:n])
	}
	if _, err := io.WriteString(input, blob[600_000:]); err != nil {
		t.Fatal(err)
	}
	input.Close()
	for err = nil; err == nil; {
		var n int
		n, err = master.Read(buf)
		shown += string(buf[:n])
	}
	if err := cmd.Wait(); err != nil || !strings.HasSuffix(shown, "\r\x1b[K") {
		t.Errorf("%q, %v", shown, err)
	}
}

// An interrupt ends a copy at once, also one whose source is silent, and leaves nothing half-written.
func TestAnInterruptedCopyLeavesNothingHalf(t *testing.T) {
	w := newWorld(t, nil)
	w.must("sandbox", "exec", "-c", "head -c 1000000 /dev/zero >/workspace/file; mkdir /workspace/to")
	blob := w.must("sandbox", "cp", ":file", "-")
	cmd := w.command("sandbox", "cp", "-", ":to")
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer input.Close()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(input, blob[:600_000]); err != nil {
		t.Fatal(err)
	}
	inside := func() string { return w.must("sandbox", "exec", "-c", "ls -A /workspace/to") }
	eventually(t, "the file is under way", func() bool { return strings.HasPrefix(inside(), ".hermes-") })
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-ended:
	case <-time.After(bound / 2):
		t.Error("it waits for its source")
	}
	if code := cmd.ProcessState.ExitCode(); code != 130 || !oneLine(stderr.String()) {
		t.Errorf("status %d, %q", code, stderr.String())
	}
	eventually(t, "nothing half-written is left", func() bool { return inside() == "" })
}
