//go:build linux

package rooted

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// openIn makes a Root of dir.
func openIn(t testing.TB, dir string, how How) *Root {
	t.Helper()
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	r := New(fd, how)
	t.Cleanup(r.Close)
	return r
}

// where asks the kernel what a descriptor stands for.
func where(t testing.TB, fd int) string {
	t.Helper()
	path, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// tree makes a root with a file in it, and a secret beside it.
func tree(t testing.TB) (base, root string) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root = filepath.Join(base, "root")
	for _, dir := range []string{filepath.Join(root, "dir"), filepath.Join(base, "outside")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for path, content := range map[string]string{filepath.Join(root, "dir", "file"): "inside", filepath.Join(base, "outside", "secret"): "untouched"} {
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return base, root
}

func TestPathsStayBelowTheRoot(t *testing.T) {
	base, root := tree(t)
	for name, target := range map[string]string{
		"up": "..", "up2": "../../../..", "out": "../outside", "absolute": "/dir/file", "real": base + "/outside/secret",
		"loop": "loop", "dir/back": "../dir/file", "cwd": "/proc/self/cwd", "self": "/proc/self/root",
	} {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	asRoot, noLinks := openIn(t, root, AsRoot), openIn(t, root, NoLinks)
	for path, want := range map[string]string{
		"": "", "/": "", ".": "", "..": "", "../../..": "", "dir/file": "dir/file", "/dir/file": "dir/file", "dir/../dir/./file": "dir/file",
		"../dir/file": "dir/file", "up/dir/file": "dir/file", "up2/dir/file": "dir/file", "absolute": "dir/file", "dir/back": "dir/file",
	} {
		fd, err := asRoot.Open(path, unix.O_PATH)
		if err != nil {
			t.Errorf("%q: %v", path, err)
			continue
		}
		if got := where(t, fd); got != filepath.Join(root, want) {
			t.Errorf("%q leads to %s", path, got)
		}
		unix.Close(fd)
	}
	for path, want := range map[string]error{
		"out/secret": unix.ENOENT, "real": unix.ENOENT, "../outside/secret": unix.ENOENT, "loop": unix.ELOOP, "loop/x": unix.ELOOP,
		"cwd": unix.ENOENT, "self/etc": unix.ENOENT, "dir/file/x": unix.ENOTDIR, strings.Repeat("a", 300): unix.ENAMETOOLONG, "a\x00b": unix.EINVAL,
	} {
		if fd, err := asRoot.Open(path, unix.O_PATH); !errors.Is(err, want) {
			t.Errorf("%q: %d, %v instead of %v", path, fd, err, want)
		}
	}
	for _, path := range []string{"up/dir/file", "absolute", "dir/back", "loop"} {
		if fd, err := noLinks.Open(path, unix.O_PATH); !errors.Is(err, unix.ELOOP) {
			t.Errorf("%q without links: %d, %v", path, fd, err)
		}
	}
	if fd, err := noLinks.Open("../outside", unix.O_PATH); !errors.Is(err, unix.EXDEV) {
		t.Errorf("dots out of the root: %d, %v", fd, err)
	}
}

func TestLinksToOpenFilesAreNotFollowed(t *testing.T) {
	secret, err := os.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	defer secret.Close()
	proc := openIn(t, "/proc", AsRoot)
	for _, path := range []string{"self/fd/" + strconv.Itoa(int(secret.Fd())), "self/root", "self/cwd/x", "self/exe"} {
		if fd, err := proc.Open(path, unix.O_PATH); !errors.Is(err, unix.ELOOP) {
			t.Errorf("%s: %d, %v", path, fd, err)
		}
	}
}

func TestTheKernelsFileSystemsAreKnown(t *testing.T) {
	var devices Devices
	for path, want := range map[string]bool{"/proc/self/status": true, "/sys": true, t.TempDir(): false} {
		fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if got, err := devices.Kernels(fd, &st); got != want || err != nil {
				t.Errorf("%s: %v, %v", path, got, err)
			}
		}
		unix.Close(fd)
	}
}

// A file that takes the place of one that was looked at is not the one that is opened.
func TestReopenOpensWhatWasLookedAt(t *testing.T) {
	base, root := tree(t)
	fd, err := openIn(t, root, AsRoot).Open("dir/file", unix.O_PATH)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	path := filepath.Join(root, "dir", "file")
	if err := errors.Join(os.Rename(path, path+".old"), os.Symlink(filepath.Join(base, "outside", "secret"), path)); err != nil {
		t.Fatal(err)
	}
	again, err := Reopen(fd, unix.O_RDONLY)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(again), "again")
	defer f.Close()
	content := make([]byte, 100)
	if n, _ := f.Read(content); string(content[:n]) != "inside" {
		t.Errorf("read %q", content[:n])
	}
}

// FuzzFilePath builds links and directories from its input, resolves a path among them in both ways, and makes a
// directory there. Whatever that is, it is below the root.
func FuzzFilePath(f *testing.F) {
	f.Add("a\x00b/c", "d\x00../..", "d/outside/secret")
	f.Add("a", "l\x00/\x00m\x00l/../..", "m/../../outside")
	f.Add("x/y/z", "x/l\x00../../../outside\x00x/y/up\x00../..", "x/y/up/l/secret")
	f.Add("", "a\x00b\x00b\x00a", "a/b")
	f.Add("", "p\x00/proc/self/root\x00q\x00/proc/self/fd/0", "p/etc/../q")
	f.Fuzz(func(t *testing.T, dirs, links, path string) {
		base, root := tree(t)
		for i, dir := range strings.Split(dirs, "\x00") {
			if name, err := Clean(dir, 10); err == nil && name != "" && i < 20 {
				_ = os.MkdirAll(filepath.Join(root, name), 0o755) // in the way of another one: nothing to follow there
			}
		}
		pieces := strings.Split(links, "\x00")
		for i := 0; i+1 < min(len(pieces), 40); i += 2 {
			name, err := Clean(pieces[i], 10)
			dir, _ := Split(name)
			// Links are only made in real directories: this test must not follow the ones it made.
			if real, dirErr := filepath.EvalSymlinks(filepath.Join(root, dir)); err == nil && name != "" && dirErr == nil && real == filepath.Join(root, dir) {
				_ = os.Symlink(pieces[i+1], filepath.Join(root, name))
			}
		}
		for _, how := range []How{AsRoot, NoLinks} {
			r := openIn(t, root, how)
			r.Make = func(above int, dir string) error {
				_, last := Split(dir)
				return unix.Mkdirat(above, last, 0o755)
			}
			if fd, err := r.Open(path, unix.O_PATH); err == nil {
				within(t, root, where(t, fd))
				unix.Close(fd)
			}
			if name, err := Clean(path, 10); err == nil {
				if fd, err := r.Parent(name); err == nil {
					within(t, root, where(t, fd))
				}
			}
		}
		checkOutside(t, base)
	})
}

func within(t *testing.T, root, path string) {
	t.Helper()
	if path != root && !strings.HasPrefix(path, root+"/") {
		t.Errorf("it leads out of the root, to %q", path)
	}
}

func checkOutside(t *testing.T, base string) {
	t.Helper()
	if got, err := os.ReadFile(filepath.Join(base, "outside", "secret")); string(got) != "untouched" {
		t.Errorf("the file outside is %q, %v", got, err)
	}
	for dir, want := range map[string]int{base: 2, filepath.Join(base, "outside"): 1} {
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != want {
			t.Errorf("%s holds %v, %v", dir, entries, err)
		}
	}
}
