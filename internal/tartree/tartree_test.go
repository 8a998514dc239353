//go:build linux

package tartree

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/sampletar"
	"hermes.example/hermes/internal/treetest"
)

// Umask is the process's, so these tests do not run beside each other.
func withUmask(t *testing.T, mask int) {
	old := unix.Umask(mask)
	t.Cleanup(func() { unix.Umask(old) })
}

func TestATreeArrivesAsItIs(t *testing.T) {
	withUmask(t, 0o022)
	_, from := treetest.Place(t)
	treetest.Write(t, filepath.Join(from, "file"), "content")
	treetest.Write(t, filepath.Join(from, "dir", "sub", "deep"), strings.Repeat("long ", 200_000))
	treetest.Write(t, filepath.Join(from, "empty"), "")
	treetest.Write(t, filepath.Join(from, "newline\n and bad \xff UTF-8"), "odd")
	treetest.Write(t, filepath.Join(from, "long-"+strings.Repeat("n", 200)), "a long name")
	for _, err := range []error{
		os.Symlink("../../outside/secret", filepath.Join(from, "dir", "link")),
		os.Link(filepath.Join(from, "file"), filepath.Join(from, "dir", "second name")),
		os.Chmod(filepath.Join(from, "file"), 0o751),
		os.Mkdir(filepath.Join(from, "empty dir"), 0o755),
		os.Chmod(filepath.Join(from, "dir"), 0o555), // closed to us only when all is in it
		os.Chtimes(filepath.Join(from, "dir"), sampletar.Time, sampletar.Time), os.Chtimes(filepath.Join(from, "file"), sampletar.Time, sampletar.Time),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { os.Chmod(filepath.Join(from, "dir"), 0o755) })
	blob, res, err := packed(t, from, "as", Limits{})
	if err != nil || res.Entries != 11 || res.Bytes != 7+1_000_000+3+11 {
		t.Fatalf("%+v, %v", res, err)
	}
	base, to := treetest.Place(t)
	got, err := into(t, to, blob, Options{Top: "as"})
	if err != nil || got.Entries != res.Entries || got.Bytes != res.Bytes {
		t.Fatalf("%+v, %v", got, err)
	}
	t.Cleanup(func() { os.Chmod(filepath.Join(to, "as", "dir"), 0o755) })
	if want, have := walk(t, from), walk(t, filepath.Join(to, "as")); !maps.Equal(want, have) {
		t.Errorf("have %.300v\nwant %.300v", have, want)
	}
	for _, name := range []string{"file", "dir"} {
		if st := treetest.Stat(t, filepath.Join(to, "as", name)); st.Mtim.Sec != sampletar.Time.Unix() {
			t.Errorf("%s is of %d", name, st.Mtim.Sec)
		}
	}
	if a, b := treetest.Stat(t, filepath.Join(to, "as", "file")), treetest.Stat(t, filepath.Join(to, "as", "dir", "second name")); a.Ino != b.Ino {
		t.Error("two names of one file became two files")
	}
	treetest.CheckOutside(t, base)
}

func TestWhatIsInADirectory(t *testing.T) {
	_, from := treetest.Place(t)
	treetest.Write(t, filepath.Join(from, "a"), "a")
	treetest.Write(t, filepath.Join(from, "d", "b"), "b")
	blob, _, err := packed(t, from, "", Limits{})
	got := names(t, blob)
	slices.Sort(got)
	if err != nil || !slices.Equal(got, []string{"a", "d/", "d/b"}) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestOneFile(t *testing.T) {
	_, from := treetest.Place(t)
	treetest.Write(t, filepath.Join(from, "a"), "a")
	blob, res, err := packed(t, filepath.Join(from, "a"), "other name", Limits{})
	if got := names(t, blob); err != nil || res.Entries != 1 || !slices.Equal(got, []string{"other name"}) {
		t.Errorf("%q, %+v, %v", got, res, err)
	}
}

// Opening a pipe would wait for its other end, and a device may do anything.
func TestOnlyFilesAndDirectoriesAreOpened(t *testing.T) {
	_, from := treetest.Place(t)
	if err := errors.Join(unix.Mkfifo(filepath.Join(from, "pipe"), 0o666), unix.Mknod(filepath.Join(from, "socket"), unix.S_IFSOCK|0o666, 0)); err != nil {
		t.Fatal(err)
	}
	treetest.Write(t, filepath.Join(from, "file"), "x")
	blob, res, err := packed(t, from, "", Limits{})
	if got := names(t, blob); err != nil || res.Skipped != 2 || !slices.Equal(got, []string{"file"}) {
		t.Errorf("%q, %+v, %v", got, res, err)
	}
	for _, path := range []string{filepath.Join(from, "pipe"), "/dev/null", "/proc/self/status", "/proc"} {
		if _, _, err := packed(t, path, "x", Limits{}); err == nil {
			t.Errorf("%s was packed", path)
		}
	}
}

func TestLimitsOfATree(t *testing.T) {
	_, from := treetest.Place(t)
	for i := range 5 {
		treetest.Write(t, filepath.Join(from, fmt.Sprint(i)), "12345")
	}
	for _, l := range []Limits{{Entries: 4}, {Bytes: 24}} {
		_, _, err := packed(t, from, "", l)
		var large *TooLarge
		if !errors.As(err, &large) {
			t.Errorf("%+v: %v", l, err)
		}
	}
	if _, _, err := packed(t, from, "", Limits{Entries: 5, Bytes: 25}); err != nil {
		t.Error(err)
	}
}

func TestTreesThatAreTooDeep(t *testing.T) {
	_, from := treetest.Place(t)
	dir := openPath(t, from)
	for range 300 {
		err := unix.Mkdirat(dir, "d", 0o755)
		if err == nil {
			dir, err = unix.Openat(dir, "d", unix.O_PATH|unix.O_CLOEXEC, 0)
		}
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(dir)
	}
	_, _, err := packed(t, from, "", Limits{})
	refused(t, err, "deeper than 255")
}

// shrinking makes the file that is being packed shorter as soon as its header was written.
type shrinking struct{ path string }

func (s shrinking) Write(p []byte) (int, error) { return len(p), os.Truncate(s.path, 5) }

func TestAFileThatBecomesShorterIsFilledWithZeros(t *testing.T) {
	_, from := treetest.Place(t)
	path := filepath.Join(from, "file")
	treetest.Write(t, path, strings.Repeat("x", 1_000_000))
	res, err := Pack(shrinking{path}, openPath(t, path), "file", Limits{})
	if err != nil || res.Changed != 1 || res.Bytes != 1_000_000 {
		t.Errorf("%+v, %v", res, err)
	}
}

func TestHolesStayHoles(t *testing.T) {
	_, from := treetest.Place(t)
	path := filepath.Join(from, "sparse")
	treetest.Write(t, path, "")
	if err := os.Truncate(path, 64<<20); err != nil {
		t.Fatal(err)
	}
	blob, _, err := packed(t, path, "sparse", Limits{})
	if err != nil {
		t.Fatal(err)
	}
	_, to := treetest.Place(t)
	if _, err := into(t, to, blob, Options{}); err != nil {
		t.Fatal(err)
	}
	if st := treetest.Stat(t, filepath.Join(to, "sparse")); st.Size != 64<<20 || st.Blocks*512 > 1<<20 {
		t.Errorf("size %d, on disk %d", st.Size, st.Blocks*512)
	}
}

func TestWhatIsThereStaysAsItIs(t *testing.T) {
	_, dir := treetest.Place(t)
	treetest.Write(t, filepath.Join(dir, "d", "mine"), "mine")
	if err := errors.Join(os.Chmod(filepath.Join(dir, "d"), 0o700), os.Chtimes(filepath.Join(dir, "d"), time.Unix(1, 0), time.Unix(1, 0))); err != nil {
		t.Fatal(err)
	}
	if _, err := into(t, dir, archive(t, item{Name: "d/", Mode: 0o777}, item{Name: "d/new", Content: "new"}), Options{}); err != nil {
		t.Fatal(err)
	}
	if st := treetest.Stat(t, filepath.Join(dir, "d")); st.Mode != unix.S_IFDIR|0o700 {
		t.Errorf("mode %o", st.Mode)
	}
	treetest.Holds(t, filepath.Join(dir, "d", "mine"), "mine")
	treetest.Holds(t, filepath.Join(dir, "d", "new"), "new")
}

// What others may do with new files is the caller's umask's to say.
func TestTheUmaskCounts(t *testing.T) {
	withUmask(t, 0o077)
	_, dir := treetest.Place(t)
	if _, err := into(t, dir, archive(t, item{Name: "d/", Mode: 0o777}, item{Name: "d/f", Content: "x", Mode: 0o666}), Options{}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]uint32{"d": unix.S_IFDIR | 0o700, "d/f": unix.S_IFREG | 0o600} {
		if st := treetest.Stat(t, filepath.Join(dir, name)); st.Mode != want {
			t.Errorf("%s has mode %o", name, st.Mode)
		}
	}
}
