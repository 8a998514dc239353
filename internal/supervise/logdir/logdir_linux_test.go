package logdir

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes.example/hermes/internal/asuser"
)

var noon = time.Date(2026, 11, 16, 12, 0, 0, 5, time.UTC)

// writer writes to a directory that does not exist yet, and fails the test when it cannot.
func writer(t testing.TB) *Writer {
	w := &Writer{Place: Place{Dir: filepath.Join(t.TempDir(), "logs", "x")}, Warn: func(err error, lost int) { t.Errorf("%v, %d lost", err, lost) }}
	w.Place.Volume = filepath.Dir(filepath.Dir(w.Place.Dir))
	t.Cleanup(w.Release)
	return w
}

func content(t testing.TB, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func names(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func all(t testing.TB, p Place, lines int) string {
	t.Helper()
	r, err := p.Read(t.Context(), lines, false)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestLinesHaveTheirTime(t *testing.T) {
	w := writer(t)
	w.Write(noon, []byte("one\n\ntwo\n"))
	w.Release()
	w.Write(noon.Add(time.Second), []byte("three\n"))
	want := "2026-11-16T12:00:00.000000005Z one\n2026-11-16T12:00:00.000000005Z \n2026-11-16T12:00:00.000000005Z two\n2026-11-16T12:00:01.000000005Z three\n"
	if got := content(t, w.Place.Dir, current); got != want {
		t.Errorf("the log is %q", got)
	}
}

func TestTenArchivesAreKept(t *testing.T) {
	w := writer(t)
	if err := os.MkdirAll(w.Place.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	foreign := []string{"@4000000060000000000000aa.s", "@4000000060000000000000ab.u"}
	for _, name := range append(foreign, "@mine", "state", "lock") {
		if err := os.WriteFile(filepath.Join(w.Place.Dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	line := []byte(strings.Repeat("x", 9_000) + "\n")
	for i := range 13 * FileSize / len(line) {
		w.Write(noon.Add(time.Duration(i)*time.Second), line)
	}
	files := names(t, w.Place.Dir)
	kept := slices.DeleteFunc(slices.Clone(files), func(n string) bool { return !isArchive(n) })
	if len(kept) != Archives || slices.ContainsFunc(foreign, func(n string) bool { return slices.Contains(files, n) }) {
		t.Errorf("archives are %v", kept)
	}
	for _, other := range []string{"@mine", "state", "lock", current} {
		if !slices.Contains(files, other) {
			t.Errorf("%s is gone", other)
		}
	}
	for _, name := range kept {
		if info, err := os.Stat(filepath.Join(w.Place.Dir, name)); err != nil || info.Size() > FileSize || info.Size() < FileSize-20_000 {
			t.Errorf("%s has %d bytes, %v", name, info.Size(), err)
		}
	}
}

// The label of s6's own documentation of the format: 2^62 is 1970 in TAI.
func TestArchivesAreNamedAsS6Does(t *testing.T) {
	name := archiveName(time.Unix(0x5a5b5c5d-37, 0x11223344))
	if name != "@400000005a5b5c5d11223344.s" || !isArchive(name) {
		t.Errorf("the name is %s", name)
	}
	for _, bad := range []string{"", "current", "@", "@400000005a5b5c5d11223344", "@400000005a5b5c5d11223344.x", "@400000005A5b5c5d11223344.s", "x400000005a5b5c5d11223344.s"} {
		if isArchive(bad) {
			t.Errorf("%q is taken for an archive", bad)
		}
	}
}

func TestFollowingSurvivesRotation(t *testing.T) {
	w := writer(t)
	r, err := w.Place.Read(t.Context(), 0, true)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	const count = 60_000
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range count {
			w.Write(time.Now(), fmt.Appendf(nil, "line %d of a log that is rotated a few times\n", i))
		}
	}()
	scanner := bufio.NewScanner(r)
	for i := range count {
		if !scanner.Scan() {
			t.Fatalf("it ended before line %d: %v", i, scanner.Err())
		}
		if want := fmt.Sprintf("line %d of", i); !strings.Contains(scanner.Text(), want) {
			t.Fatalf("%q instead of %q", scanner.Text(), want)
		}
	}
	<-done
	if n := len(names(t, w.Place.Dir)); n < 4 {
		t.Errorf("there were no rotations: %d files", n)
	}
	r.Close()
	if scanner.Scan() {
		t.Errorf("after its end it says %q", scanner.Text())
	}
}

// Between a reader's last look at a file and its look for the next one the file grew and was rotated.
func TestWhatIsWrittenJustBeforeARotationIsRead(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root has a hand that can be held")
	}
	hand, err := asuser.New(asuser.User{UID: 54321, GID: 54321})
	if err != nil {
		t.Fatal(err)
	}
	defer hand.Close()
	w := writer(t)
	w.Write(noon, []byte("one\n"))
	for dir := w.Place.Dir; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	theirs := w.Place
	theirs.Hand = hand
	r, err := theirs.Read(t.Context(), -1, true)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	scanner := bufio.NewScanner(r)
	scanner.Scan()
	held, release := make(chan struct{}), make(chan struct{})
	go hand.Do(func() error { close(held); <-release; return nil })
	<-held
	next := make(chan string)
	go func() {
		for scanner.Scan() {
			_, said, _ := strings.Cut(scanner.Text(), " ")
			next <- said
		}
	}()
	time.Sleep(2 * poll) // the reader has found the end by now, and waits for the hand
	w.Write(noon, []byte("two\n"))
	w.mu.Lock()
	w.size = FileSize
	w.mu.Unlock()
	w.Write(noon, []byte("three\n"))
	close(release)
	for _, want := range []string{"two", "three"} {
		select {
		case got := <-next:
			if got != want {
				t.Fatalf("%q instead of %q", got, want)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%q never comes", want)
		}
	}
}

func TestFollowingEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r, err := Place{Dir: filepath.Join(t.TempDir(), "none")}.Read(ctx, 10, true)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ended := make(chan error)
	go func() { _, err := io.ReadAll(r); ended <- err }()
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("it does not end")
	}
}

func TestLastLinesReachIntoArchives(t *testing.T) {
	w := writer(t)
	line := strings.Repeat("x", 1_000)
	for i := range 2_500 {
		w.Write(noon.Add(time.Duration(i)*time.Second), fmt.Appendf(nil, "%d %s\n", i, line))
	}
	for _, lines := range []int{0, 1, 2, 900, 1_800, 2_499, 2_500, 2_501, -1} {
		text := all(t, w.Place, lines)
		want := lines
		if lines < 0 || lines > 2_500 {
			want = 2_500
		}
		if got := strings.Count(text, "\n"); got != want {
			t.Errorf("%d lines instead of %d", got, want)
		}
		if first := fmt.Sprintf("Z %d x", 2_500-want); want > 0 && !strings.Contains(text[:60], first) {
			t.Errorf("the first of %d lines is %q", lines, text[:60])
		}
	}
	if text := all(t, Place{Dir: filepath.Join(w.Place.Dir, "none")}, 10); text != "" {
		t.Errorf("a log that is not there says %q", text)
	}
}

func TestLinksAreRefused(t *testing.T) {
	outside := t.TempDir()
	for name, spoil := range map[string]func(w *Writer) error{
		"the directory": func(w *Writer) error { return os.Symlink(outside, w.Place.Dir) },
		"one above it": func(w *Writer) error {
			os.Remove(filepath.Dir(w.Place.Dir))
			return os.Symlink(outside, filepath.Dir(w.Place.Dir))
		},
		"the file": func(w *Writer) error {
			os.Mkdir(w.Place.Dir, 0o755)
			return os.Symlink(filepath.Join(outside, "f"), filepath.Join(w.Place.Dir, current))
		},
		"a pipe, not a log": func(w *Writer) error {
			os.Mkdir(w.Place.Dir, 0o755)
			return syscall.Mkfifo(filepath.Join(w.Place.Dir, current), 0o644)
		},
	} {
		w := writer(t)
		var warned error
		w.Warn = func(err error, _ int) { warned = err }
		if err := errors.Join(os.MkdirAll(filepath.Dir(w.Place.Dir), 0o755), spoil(w)); err != nil {
			t.Fatal(err)
		}
		w.Write(noon, []byte("x\n"))
		if warned == nil {
			t.Errorf("%s: it was written", name)
		}
		if left := names(t, outside); len(left) > 0 {
			t.Fatalf("%s: outside are %v", name, left)
		}
		if r, err := w.Place.Read(t.Context(), -1, false); err == nil {
			t.Errorf("%s: it was read", name)
			r.Close()
		}
	}
}

func TestWhatWasRemovedIsMadeAgain(t *testing.T) {
	w := writer(t)
	w.Write(noon, []byte("one\n"))
	if err := os.RemoveAll(filepath.Dir(w.Place.Dir)); err != nil {
		t.Fatal(err)
	}
	w.Write(noon, []byte("two\n"))
	if got := content(t, w.Place.Dir, current); !strings.HasSuffix(got, "Z two\n") || strings.Contains(got, "one") {
		t.Errorf("the log is %q", got)
	}
}

func TestHalfALineIsEnded(t *testing.T) {
	w := writer(t)
	if err := errors.Join(os.MkdirAll(w.Place.Dir, 0o755), os.WriteFile(filepath.Join(w.Place.Dir, current), []byte("hal"), 0o644)); err != nil {
		t.Fatal(err)
	}
	w.Write(noon, []byte("next\n"))
	if got := content(t, w.Place.Dir, current); got != "hal\n2026-11-16T12:00:00.000000005Z next\n" {
		t.Errorf("the log is %q", got)
	}
}

func TestAnUnwritableLogIsToldOnceAndComesBack(t *testing.T) {
	w := writer(t)
	var told []string
	w.Warn = func(err error, lost int) { told = append(told, fmt.Sprintf("%t %d", err != nil, lost)) }
	blocker := filepath.Dir(w.Place.Dir)
	if err := os.WriteFile(blocker, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		w.Write(noon.Add(time.Duration(i)*300*time.Millisecond), []byte("lost\nlost\n"))
	}
	if err := os.Remove(blocker); err != nil {
		t.Fatal(err)
	}
	w.Write(noon.Add(time.Minute), []byte("kept\n"))
	if !slices.Equal(told, []string{"true 0", "false 20"}) {
		t.Errorf("told %q", told)
	}
	if got := content(t, w.Place.Dir, current); !strings.HasSuffix(got, "Z kept\n") || strings.Contains(got, "lost") {
		t.Errorf("the log is %q", got)
	}
}

func TestTheLogIsTheUsers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can write as somebody else")
	}
	const user = 54321
	dir, err := os.MkdirTemp("", "logdir")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chown(dir, user, user); err != nil {
		t.Fatal(err)
	}
	hand, err := asuser.New(asuser.User{UID: user, GID: user})
	if err != nil {
		t.Fatal(err)
	}
	defer hand.Close()
	w := &Writer{Place: Place{Dir: filepath.Join(dir, "a", "b"), Volume: dir, Hand: hand}, Warn: func(err error, _ int) { t.Error(err) }}
	defer w.Release()
	w.Write(noon, []byte("x\n"))
	for _, name := range []string{"a", "a/b", "a/b/current"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if st := info.Sys().(*syscall.Stat_t); st.Uid != user || st.Gid != user {
			t.Errorf("%s belongs to %d:%d", name, st.Uid, st.Gid)
		}
	}
}

func FuzzLastLines(f *testing.F) {
	f.Add([]byte("a\nb\nc\n"), 2)
	f.Add([]byte("a\nb"), 1)
	f.Add([]byte("\n\n\n"), 2)
	f.Add(bytes.Repeat([]byte("0123456789abcde\n"), 5_000), 4_000)
	f.Fuzz(func(t *testing.T, text []byte, lines int) {
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		found, err := seekTail(file, lines)
		if err != nil {
			t.Fatal(err)
		}
		rest, err := io.ReadAll(file)
		if err != nil {
			t.Fatal(err)
		}
		want := slices.Collect(bytes.Lines(text))
		if lines >= 0 {
			want = want[max(0, len(want)-lines):]
		}
		if found != len(want) || !bytes.Equal(rest, bytes.Join(want, nil)) {
			t.Errorf("the last %d lines of %q are %d: %q", lines, text, found, rest)
		}
	})
}
