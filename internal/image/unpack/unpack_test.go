//go:build linux

package unpack_test

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/image/packed"
	"hermes.example/hermes/internal/image/unpack"
	"hermes.example/hermes/internal/sampletar"
	"hermes.example/hermes/internal/treetest"
)

func TestAllCompressionsGiveTheSameTreeAndTheirDigests(t *testing.T) {
	plain := archive(t, item{Name: "./"}, item{Name: "./etc/"}, item{Name: "./etc/motd", Content: strings.Repeat("hello ", 100_000)})
	for name, blob := range map[string][]byte{"plain": plain, "gzip": gzipped(t, plain), "zstd": zstded(t, plain)} {
		t.Run(name, func(t *testing.T) {
			var last int64
			dir, res, err := into(t, blob, unpack.Options{HashBlob: true, Progress: func(n int64) { last = n }})
			if err != nil {
				t.Fatal(err)
			}
			treetest.Holds(t, filepath.Join(dir, "etc/motd"), strings.Repeat("hello ", 100_000))
			want := unpack.Result{Blob: sum(blob), Tar: sum(plain), Bytes: 600_000, Entries: 3}
			if res != want {
				t.Errorf("got %+v, want %+v", res, want)
			}
			if last != int64(len(blob)) {
				t.Errorf("progress ended at %d of %d", last, len(blob))
			}
		})
	}
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

func TestTrailingBytesCountForTheDigests(t *testing.T) {
	tarball := append(archive(t, item{Name: "f"}), make([]byte, 1<<20)...)
	blob := append(gzipped(t, tarball), gzipped(t, []byte("more"))...)
	_, res, err := into(t, blob, unpack.Options{HashBlob: true})
	if err != nil || res.Blob != sum(blob) || res.Tar != sum(append(tarball, "more"...)) {
		t.Errorf("%+v, %v", res, err)
	}
}

func TestEveryKindOfFile(t *testing.T) {
	needRoot(t)
	dir := unpacked(t, unpack.Options{Devices: unpack.Keep, Setuid: unpack.Keep},
		item{Name: "./", Mode: 0o750, UID: 5, GID: 6},
		item{Name: "d/", Mode: 0o2555, UID: 7, GID: 8, PAX: map[string]string{paxXattr + "user.note": "dir"}},
		item{Name: "d/f", Content: "text", Mode: 0o4751, UID: 1000, GID: 1001, PAX: map[string]string{paxXattr + "user.note": "file"}},
		item{Name: "d/hard", Typeflag: tar.TypeLink, Link: "d/f"},
		item{Name: "soft", Typeflag: tar.TypeSymlink, Link: "/etc/passwd", UID: 9, GID: 9},
		item{Name: "pipe", Typeflag: tar.TypeFifo, Mode: 0o640, UID: 3, GID: 4},
		item{Name: "null", Typeflag: tar.TypeChar, Mode: 0o666, Major: 1, Minor: 3},
		item{Name: "disk", Typeflag: tar.TypeBlock, Mode: 0o660, Major: 8, Minor: 300})
	for path, want := range map[string]unix.Stat_t{
		".":      {Mode: unix.S_IFDIR | 0o750, Uid: 5, Gid: 6},
		"d":      {Mode: unix.S_IFDIR | 0o2555, Uid: 7, Gid: 8},
		"d/f":    {Mode: unix.S_IFREG | 0o4751, Uid: 1000, Gid: 1001},
		"d/hard": {Mode: unix.S_IFREG | 0o4751, Uid: 1000, Gid: 1001},
		"soft":   {Mode: unix.S_IFLNK | 0o777, Uid: 9, Gid: 9},
		"pipe":   {Mode: unix.S_IFIFO | 0o640, Uid: 3, Gid: 4},
		"null":   {Mode: unix.S_IFCHR | 0o666, Rdev: unix.Mkdev(1, 3)},
		"disk":   {Mode: unix.S_IFBLK | 0o660, Rdev: unix.Mkdev(8, 300)},
	} {
		got := treetest.Stat(t, filepath.Join(dir, path))
		if got.Mode != want.Mode || got.Uid != want.Uid || got.Gid != want.Gid || got.Rdev != want.Rdev || got.Mtim.Sec != sampletar.Time.Unix() {
			t.Errorf("%s: mode %o owner %d:%d device %x time %d", path, got.Mode, got.Uid, got.Gid, got.Rdev, got.Mtim.Sec)
		}
	}
	if a, b := treetest.Stat(t, dir+"/d/f"), treetest.Stat(t, dir+"/d/hard"); a.Ino != b.Ino || a.Nlink != 2 {
		t.Error("the hard link is another file")
	}
	if link, _ := os.Readlink(dir + "/soft"); link != "/etc/passwd" {
		t.Errorf("the link leads to %q", link)
	}
	if a, b := xattr(dir+"/d", "user.note"), xattr(dir+"/d/f", "user.note"); a != "dir" || b != "file" {
		t.Errorf("attributes %q, %q", a, b)
	}
}

func TestRightsAreDroppedOrRefused(t *testing.T) {
	caps := "\x01\x00\x00\x02\x00\x20\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	suspects := map[string]item{
		"setuid":     {Name: "su", Content: "x", Mode: 0o6755},
		"capability": {Name: "ping", Content: "x", Mode: 0o755, PAX: map[string]string{paxXattr + capability: caps}},
		"device":     {Name: "mem", Typeflag: tar.TypeChar, Major: 1, Minor: 1},
	}
	for name, suspect := range suspects {
		_, _, err := into(t, archive(t, suspect), unpack.Options{Devices: unpack.Refuse, Setuid: unpack.Refuse})
		if refused(t, err, suspect.Name); t.Failed() {
			t.Errorf("%s was not refused", name)
		}
	}
	dir := unpacked(t, unpack.Options{}, suspects["setuid"], suspects["capability"], suspects["device"], item{Name: "group/", Mode: 0o2775})
	if st := treetest.Stat(t, dir+"/su"); st.Mode&0o7777 != 0o755 {
		t.Errorf("mode %o", st.Mode)
	}
	if st := treetest.Stat(t, dir+"/group"); st.Mode&0o7777 != 0o2775 {
		t.Errorf("a directory's mode %o", st.Mode)
	}
	if got := xattr(dir+"/ping", capability); got != "<"+unix.ENODATA.Error()+">" {
		t.Errorf("capability %q", got)
	}
	if _, err := os.Lstat(dir + "/mem"); !os.IsNotExist(err) {
		t.Errorf("the device: %v", err)
	}
	if os.Getuid() == 0 {
		dir = unpacked(t, unpack.Options{Setuid: unpack.Keep}, suspects["capability"])
		if got := xattr(dir+"/ping", capability); got != caps {
			t.Errorf("a kept capability became %q", got)
		}
	}
}

func TestOwnershipCanBeSquashed(t *testing.T) {
	owner := &unpack.Owner{os.Getuid(), os.Getgid()}
	if os.Getuid() == 0 {
		owner = &unpack.Owner{4242, 4343}
	}
	dir := unpacked(t, unpack.Options{Owner: owner}, item{Name: "d/", UID: 1}, item{Name: "d/f", UID: 2, GID: 3},
		item{Name: "l", Typeflag: tar.TypeSymlink, Link: "x", UID: 4}, item{Name: "p", Typeflag: tar.TypeFifo, UID: 5}, item{Name: "implicit/f"})
	for _, path := range []string{"", "d", "d/f", "l", "p", "implicit", "implicit/f"} {
		if st := treetest.Stat(t, filepath.Join(dir, path)); int(st.Uid) != owner.UID || int(st.Gid) != owner.GID {
			t.Errorf("%q belongs to %d:%d", path, st.Uid, st.Gid)
		}
	}
}

func TestADirectoryDoesNotHandItsGroupDown(t *testing.T) {
	needRoot(t)
	dir := filepath.Join(t.TempDir(), "root")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.Chown(dir, 0, 4242), os.Chmod(dir, 0o700|os.ModeSetgid)); err != nil {
		t.Fatal(err)
	}
	b := archive(t, item{Name: "d/f", Content: "x"})
	if _, err := packed.Unpack(t.Context(), dir, io.NopCloser(bytes.NewReader(b)), unpack.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"", "d", "d/f"} {
		if st := treetest.Stat(t, filepath.Join(dir, path)); st.Gid != 0 || st.Mode&unix.S_ISGID != 0 {
			t.Errorf("%q belongs to group %d, mode %o", path, st.Gid, st.Mode)
		}
	}
}

// An ordinary user may not enter some of the directories that it unpacks.
func TestAnOrdinaryUserUnpacksClosedDirectories(t *testing.T) {
	items := []item{{Name: "closed/", Mode: 0o555}, {Name: "closed/f", Content: "in", Mode: 0o400}, {Name: "none/sub/", Mode: 0o700},
		{Name: "none/", Mode: 0o001}, {Name: "none/sub/f", Content: "x", UID: 77}, {Name: "none/", Mode: 0o002}, {Name: ".wh.gone"}, {Name: "p", Typeflag: tar.TypeFifo}}
	if os.Getuid() != 0 {
		dir := unpacked(t, unpack.Options{}, items...)
		for _, closed := range []string{"/none", "/closed"} {
			os.Chmod(dir+closed, 0o700) // so that it can be removed
		}
		return
	}
	if os.Getenv("HERMES_TEST_UNPACK") != "" {
		dir := os.Getenv("HERMES_TEST_UNPACK")
		if err := unix.Setgid(4242); err != nil {
			t.Fatal(err)
		}
		if err := unix.Setuid(4242); err != nil {
			t.Fatal(err)
		}
		_, err := packed.Unpack(t.Context(), dir, io.NopCloser(bytes.NewReader(archive(t, items...))), unpack.Options{Owner: &unpack.Owner{4242, 4242}})
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	dir := filepath.Join(t.TempDir(), "root")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.Chown(dir, 4242, 4242), os.Chmod(filepath.Dir(dir), 0o755),
		os.Chmod(filepath.Dir(filepath.Dir(dir)), 0o755)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAnOrdinaryUserUnpacksClosedDirectories$")
	cmd.Env = append(os.Environ(), "HERMES_TEST_UNPACK="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	treetest.Holds(t, dir+"/closed/f", "in")
	if st := treetest.Stat(t, dir+"/gone"); st.Mode&unix.S_IFMT != unix.S_IFCHR || st.Rdev != 0 {
		t.Errorf("the whiteout has mode %o", st.Mode)
	}
	if st := treetest.Stat(t, dir+"/none"); st.Mode&0o7777 != 0o002 || st.Uid != 4242 {
		t.Errorf("mode %o, owner %d", st.Mode, st.Uid)
	}
	if st := treetest.Stat(t, dir+"/none/sub/f"); st.Uid != 4242 {
		t.Errorf("owner %d", st.Uid)
	}
}

func TestHolesStayHoles(t *testing.T) {
	if _, err := exec.LookPath("tar"); err != nil {
		t.Skip("no tar that writes sparse archives")
	}
	dir := t.TempDir()
	f, err := os.Create(dir + "/sparse")
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt([]byte("middle"), 32<<20)
	if err := errors.Join(err, f.Truncate(64<<20), f.Close()); err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"gnu", "posix"} {
		out, err := exec.CommandContext(t.Context(), "tar", "-C", dir, "-S", "--format="+format, "-cf", "-", "sparse").Output()
		if err != nil || len(out) > 1<<20 {
			t.Fatalf("tar wrote %d bytes, %v", len(out), err)
		}
		root, res, err := into(t, out, unpack.Options{})
		if err != nil || res.Bytes != 64<<20 {
			t.Fatalf("%+v %v", res, err)
		}
		st := treetest.Stat(t, root+"/sparse")
		if st.Size != 64<<20 || st.Blocks*512 > 1<<20 {
			t.Errorf("%s: size %d, on disk %d", format, st.Size, st.Blocks*512)
		}
		got, err := os.ReadFile(root + "/sparse")
		if err != nil || len(got) != 64<<20 || string(got[32<<20:32<<20+6]) != "middle" || len(bytes.Trim(got, "\x00")) != 6 {
			t.Errorf("%s: another content, %v", format, err)
		}
	}
}

// endless is a source that cancels its reader's context after a while, and goes on.
type endless struct {
	left   int
	cancel func()
}

func (e *endless) Read(p []byte) (int, error) {
	if e.left -= len(p); e.left < 0 {
		e.cancel()
	}
	clear(p)
	return len(p), nil
}

func (e *endless) Close() error { return nil }

func TestCancellingEndsTheUnpacking(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	dir := filepath.Join(t.TempDir(), "root")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := packed.Unpack(ctx, dir, &endless{1 << 20, cancel}, unpack.Options{Owner: &unpack.Owner{os.Getuid(), os.Getgid()}, Limits: unpack.Limits{Bytes: 1 << 30}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// The source may be a connection on which nothing comes any more.
func TestARefusalDoesNotWaitForTheRest(t *testing.T) {
	r, w := io.Pipe()
	go w.Write(append(archive(t, item{Name: "../x"}), make([]byte, 256<<10)...)) // more than one buffer, less than two
	dir := filepath.Join(t.TempDir(), "root")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := packed.Unpack(t.Context(), dir, r, unpack.Options{})
	refused(t, err, "leads out")
}
