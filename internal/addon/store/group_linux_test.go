package store

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/sandbox/enginetest/account"
)

// hand gives a tree to its group, as the kubelet does with a volume that has an fsGroup, at every start of a pod.
func hand(t *testing.T, root string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink != 0 {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		mode := info.Mode() | 0o660
		if d.IsDir() {
			mode |= 0o110 | fs.ModeSetgid
		}
		return os.Chmod(path, mode)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestAVolumeOfAnOrchestratorsGroupIsUsed: a pod's volume, whose group nobody else is in.
func TestAVolumeOfAnOrchestratorsGroupIsUsed(t *testing.T) {
	if os.Geteuid() == 0 {
		account.New(t, false).Run(t, t.Name())
		return
	}
	volume := t.TempDir()
	hand(t, volume)
	s := open(t, filepath.Join(volume, "lazy-packages"), abi311, tag311)
	publish(t, s, "a.one")
	for range 2 { // the pod starts again
		hand(t, volume)
		s = open(t, filepath.Join(volume, "lazy-packages"), abi311, tag311)
		if err := whole(s, "a.one"); err != nil {
			t.Error(err)
		}
		g, err := s.Current()
		if err != nil {
			t.Fatal(err)
		}
		if problems, err := s.Verify(t.Context(), g); err != nil || len(problems) > 0 {
			t.Errorf("%v, %v", problems, err)
		}
	}
	publish(t, s, "a.one", "b.two")
	w := writer(t, s)
	if _, err := w.Rollback(t.Context()); err != nil {
		t.Error(err)
	}
	if done, err := w.GC(t.Context(), Collect{}); err != nil || len(done.Removed) != 1 {
		t.Errorf("%+v, %v", done, err)
	}
	w.Close()
	// A list of somebody else's rights shows as the group's.
	list := []byte{2, 0, 0, 0, 1, 0, 7, 0, 255, 255, 255, 255, 2, 0, 7, 0, 1, 0, 0, 0, 4, 0, 7, 0, 255, 255, 255, 255, 16, 0, 7, 0, 255, 255, 255, 255, 32, 0, 5, 0, 255, 255, 255, 255}
	if err := unix.Setxattr(volume, "system.posix_acl_access", list, 0); err != nil {
		t.Skipf("no lists of rights can be set here: %v", err)
	}
	if err := os.Chmod(volume, 0o775|fs.ModeSetgid); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(s.target, abi311, tag311, Options{}); err == nil {
		t.Error("it is used though another user may write it")
	}
}

// TestWhoElseIsInAGroup: by the files of an image.
func TestWhoElseIsInAGroup(t *testing.T) {
	if os.Geteuid() == 0 {
		account.New(t, false).Run(t, t.Name())
		return
	}
	me, gid := os.Geteuid(), os.Getegid()
	const root = "root:x:0:0::/root:/bin/sh\n"
	us := "hermes:x:" + strconv.Itoa(me) + ":" + strconv.Itoa(gid) + "::/:/bin/sh\n"
	for name, c := range map[string]struct {
		passwd, group, nsswitch string
		gid                     int
		want                    bool
	}{
		"nobody knows it":          {root, "", "", gid, true},
		"our own":                  {root + us, "hermes:x:" + strconv.Itoa(gid) + ":\n", "passwd: files\ngroup: files # nothing else\n", gid, true},
		"we are listed":            {root + us, "volume:x:" + strconv.Itoa(gid) + ":hermes,root\n", "", gid, true},
		"systemd's services":       {root + us, "", "passwd: files systemd\ngroup: files [SUCCESS=merge] systemd\n", gid, false},
		"systemd's services alone": {root + us, "", "passwd: files systemd\nhosts: dns\n", gid, true},
		"another's own":            {root + us + "other:x:77:" + strconv.Itoa(gid) + "::/:/bin/sh\n", "", "", gid, false},
		"another is listed":        {root + us + "other:x:77:77::/:/bin/sh\n", "volume:x:" + strconv.Itoa(gid) + ":hermes,other\n", "", gid, false},
		"somebody who is not here": {root + us, "volume:x:" + strconv.Itoa(gid) + ":gone\n", "", gid, false},
		"a directory server":       {root + us, "", "passwd: files\ngroup: files sss\n", gid, false},
		"one that we are not in":   {root + us, "", "", gid + 1, false},
		"root's":                   {root + us, "", "", 0, false},
	} {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "etc"), 0o755); err != nil {
			t.Fatal(err)
		}
		for file, text := range map[string]string{"passwd": c.passwd, "group": c.group, "nsswitch.conf": c.nsswitch} {
			if err := os.WriteFile(filepath.Join(dir, "etc", file), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got := alone(dir, c.gid); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
