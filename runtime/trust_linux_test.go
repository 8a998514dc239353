package pyruntime_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	core "hermes.example/hermes/internal/addon/sealed"
	"hermes.example/hermes/test/sealed"
)

// levels are the directories of the store that lead to the packages, and the one that the store is in.
func (s *store) levels(digest string) []string {
	return []string{filepath.Dir(s.target), s.target, filepath.Dir(s.abi()), s.abi(), filepath.Dir(s.generation(digest)), s.generation(digest), s.site(digest)}
}

func TestAStoreThatOthersCanWriteIsNotUsed(t *testing.T) {
	s := newStore(t)
	digest := s.publish(map[string]string{"addon.py": ""})
	for _, dir := range s.levels(digest) {
		for _, mode := range []fs.FileMode{0o775, 0o757, 0o777} {
			chmod(t, dir, mode)
			s.wantNothing(mode.String() + " " + dir)
		}
		chmod(t, dir, 0o755)
	}
	chmod(t, filepath.Dir(s.target), 0o777|fs.ModeSticky) // as /tmp: nobody can rename what is another's
	if s.last() != s.site(digest) {
		t.Error("it is not used though nobody else can write it")
	}
}

func TestAStoreOfAnotherUserIsNotUsed(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give files away")
	}
	const other, third = 54321, 54322
	s := newStore(t)
	digest := s.publish(map[string]string{"addon.py": ""})
	for _, dir := range s.levels(digest) {
		chown(t, dir, other)
		s.wantNothing("root, in one of another: " + dir)
		chown(t, dir, 0)
	}
	as := func(uid uint32) { s.as = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}} }
	cmd := s.command("-S", "-c", "import os, sys; os.setresuid(54321, 0, 0); os.execv(sys.executable, [sys.executable, '-c', 'import sys; print(sys.path[-1])'])")
	if got := s.output(cmd); got != s.runtime.Site() {
		t.Errorf("with root's rights, in a user's environment, the path ends with %s", got)
	}
	as(other)
	if s.last() != s.site(digest) {
		t.Error("a user does not use root's store")
	}
	for _, dir := range s.levels(digest) {
		chown(t, dir, other)
	}
	if s.last() != s.site(digest) {
		t.Error("a user does not use its own store")
	}
	as(third)
	s.wantNothing("a user, another's store")
	s.as = nil
	s.wantNothing("root, a user's store")
}

// A pod's volume: Kubernetes gives all of it to a group, which the pod's processes are in and nobody else is.
func TestAVolumeOfAnOrchestratorsGroupIsUsed(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give files away")
	}
	const user, volume, elsewhere = 54321, 54399, 54398
	s := newStore(t)
	digest := s.publish(map[string]string{"addon.py": ""})
	in := func(groups ...uint32) {
		s.as = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user, Groups: groups}}
	}
	give := func(gid int, mode fs.FileMode) {
		for i, dir := range s.levels(digest) {
			owner := user
			if i == 0 {
				owner = 0
			}
			if err := os.Chown(dir, owner, gid); err != nil {
				t.Fatal(err)
			}
			chmod(t, dir, mode)
		}
	}
	give(volume, 0o775|fs.ModeSetgid)
	in(volume)
	if s.last() != s.site(digest) {
		t.Error("it is not used")
	}
	in(elsewhere)
	s.wantNothing("a process that is not in the group")
	in(volume)
	give(volume, 0o775)
	s.wantNothing("a group that no orchestrator gave it to")
	give(volume, 0o777|fs.ModeSetgid)
	s.wantNothing("everybody's")
	give(0, 0o775|fs.ModeSetgid)
	in(0)
	s.wantNothing("root's group")
}

func TestALinkInTheStoreIsNotFollowed(t *testing.T) {
	s := newStore(t)
	digest := s.publish(map[string]string{"addon.py": ""})
	lock := filepath.Join(s.generation(digest), "lock")
	for _, path := range append(s.levels(digest)[1:], lock) {
		moved := path + ".moved"
		if err := os.Rename(path, moved); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(moved, path); err != nil {
			t.Fatal(err)
		}
		s.wantNothing("a link: " + path)
		if err := os.Rename(moved, path); err != nil && os.Remove(path) == nil {
			err = os.Rename(moved, path)
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if s.last() != s.site(digest) {
		t.Error("without links it is not used")
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(filepath.Dir(s.target), link); err != nil {
		t.Fatal(err)
	}
	s.env = append(s.env[:2:2], "HERMES_LAZY_INSTALL_TARGET="+filepath.Join(link, "lazy-packages"))
	if s.last() != s.site(digest) {
		t.Errorf("behind a link of the operator's the path ends with %s", s.last())
	}
}

func TestD33AnotherABIIsNotOnThePath(t *testing.T) {
	s := newStore(t)
	ours := s.runtime.Tag
	digest := ""
	for _, tag := range []string{strings.Replace(ours, "311", "312", 1), strings.Replace(ours, "311", "311d", 1), strings.Replace(ours, "x86_64", "sparc", 1) + "x"} {
		s.runtime.Tag = tag
		digest = s.publish(map[string]string{"addon.py": "who = " + quote(tag)})
		s.write(filepath.Join(s.target, ".python-abi"), "3.12:."+tag+".so\n")
		s.write(filepath.Join(s.target, "addon.py"), "who = 'flat'")
		s.wantNothing("only " + tag)
		s.env = append(s.env, "HERMES_ADDON_GENERATION="+digest) // as a parent of that ABI hands it down
		s.wantNothing("only " + tag + ", asked for it")
		os.Remove(filepath.Join(s.target, ".python-abi"))
		os.Remove(filepath.Join(s.target, "addon.py"))
	}
	s.runtime.Tag = ours
	site := s.site(s.publish(map[string]string{"addon.py": "who = 'ours'"}))
	if got := s.last(); got != site {
		t.Errorf("beside others the path ends with %s", got)
	}
}

// The same, with an interpreter that really is another.
func TestD33TwoInterpretersEachHaveTheirOwn(t *testing.T) {
	s := newStore(t)
	ours, other := s.runtime, sealed.OfAnotherABI(t)
	digest := s.publish(map[string]string{"addon.py": "who = 'ours'"})
	s.runtime = other
	s.env = append(s.env, "HERMES_ADDON_GENERATION="+digest)
	s.wantNothing("only of another")
	s.publish(map[string]string{"addon.py": "who = 'other'"})
	for who, runtime := range map[string]*core.Runtime{"ours": ours, "other": other} {
		s.runtime = runtime
		if got := s.python("-c", "import addon; print(addon.who)"); got != who {
			t.Errorf("%s of %s finds %s", runtime.Python(), runtime.ABI, got)
		}
	}
	// What a parent of one ABI hands down is none of a child's of the other.
	s.runtime = ours
	child := "import subprocess; print(subprocess.check_output([" + quote(other.Python()) + ", '-c', 'import addon; print(addon.who)'], text=True))"
	if got := s.python("-c", child); got != "other" {
		t.Errorf("a child of another ABI finds %s", got)
	}
}

func chmod(t *testing.T, path string, mode fs.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func chown(t *testing.T, path string, uid int) {
	t.Helper()
	if err := os.Lchown(path, uid, uid); err != nil {
		t.Fatal(err)
	}
}
