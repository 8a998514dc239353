package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hermes.example/hermes/sandbox/enginetest/account"
)

// stranger is a user whom these tests are not.
const stranger = 54321

// TestWhatOthersCouldChangeIsRefused opens targets that somebody else has a hand on.
func TestWhatOthersCouldChangeIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		root bool
		make func(dir string) (target string, err error)
		want string // in the error, or "" if it may be used
	}{
		"absent":             {false, func(dir string) (string, error) { return dir + "/a/b", nil }, ""},
		"its own":            {false, func(dir string) (string, error) { return dir + "/a", os.Mkdir(dir+"/a", 0o700) }, ""},
		"relative":           {false, func(string) (string, error) { return "a/b", nil }, "does not begin with /"},
		"the root directory": {false, func(string) (string, error) { return "//", nil }, "root directory"},
		"a link": {false, func(dir string) (string, error) {
			return dir + "/a", os.Symlink(dir, dir+"/a")
		}, "is a link"},
		"a link to nothing": {false, func(dir string) (string, error) { return dir + "/a", os.Symlink("nothing", dir+"/a") }, "is a link"},
		"below one's own link": {false, func(dir string) (string, error) {
			return dir + "/a/b", errors.Join(os.Mkdir(dir+"/c", 0o755), os.Symlink("../"+filepath.Base(dir)+"/c", dir+"/a"))
		}, ""},
		"links in a circle": {false, func(dir string) (string, error) {
			return dir + "/a/b", errors.Join(os.Symlink("c", dir+"/a"), os.Symlink("a", dir+"/c"))
		}, "too many links"},
		"up from nowhere": {false, func(dir string) (string, error) { return dir + "/a/../../b", nil }, "leads up"},
		"a file":          {false, func(dir string) (string, error) { return dir + "/a", os.WriteFile(dir+"/a", nil, 0o644) }, "not a directory"},
		"below a file":    {false, func(dir string) (string, error) { return dir + "/a/b", os.WriteFile(dir+"/a", nil, 0o644) }, "not a directory"},
		"everybody's": {false, func(dir string) (string, error) {
			return dir + "/a", errors.Join(os.Mkdir(dir+"/a", 0o755), os.Chmod(dir+"/a", 0o757))
		}, "others can write"},
		"its group's": {false, func(dir string) (string, error) {
			return dir + "/a", errors.Join(os.Mkdir(dir+"/a", 0o755), os.Chmod(dir+"/a", 0o775))
		}, "others can write"},
		"everybody's, though sticky": {false, func(dir string) (string, error) {
			return dir + "/a", errors.Join(os.Mkdir(dir+"/a", 0o755), os.Chmod(dir+"/a", 0o777|os.ModeSticky))
		}, "others can write"},
		"below everybody's": {false, func(dir string) (string, error) {
			return dir + "/a/b", errors.Join(os.MkdirAll(dir+"/a/b", 0o755), os.Chmod(dir+"/a", 0o777))
		}, "others can write"},
		"below a sticky one": {false, func(dir string) (string, error) {
			return dir + "/a/b", errors.Join(os.MkdirAll(dir+"/a/b", 0o755), os.Chmod(dir+"/a", 0o777|os.ModeSticky))
		}, ""},
		"a stranger's": {true, func(dir string) (string, error) {
			return dir + "/a", errors.Join(os.Mkdir(dir+"/a", 0o755), os.Chown(dir+"/a", stranger, -1))
		}, "belongs to user 54321"},
		"below a stranger's": {true, func(dir string) (string, error) {
			return dir + "/a/b", errors.Join(os.MkdirAll(dir+"/a/b", 0o755), os.Chown(dir+"/a", stranger, -1))
		}, "belongs to user 54321"},
		"below a stranger's link": {true, func(dir string) (string, error) {
			return dir + "/a/b", errors.Join(os.Mkdir(dir+"/c", 0o755), os.Symlink("c", dir+"/a"), os.Lchown(dir+"/a", stranger, -1))
		}, "belongs to user 54321"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.root && os.Geteuid() != 0 {
				t.Skip("only root can give a directory away")
			}
			target, err := c.make(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			_, err = Open(target, abi311, tag311, Options{})
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n")) {
				t.Errorf("want %q: %v", c.want, err)
			}
		})
	}
}

// TestAStoreThatWasTamperedWithIsNotUsed changes owners and modes below the target.
func TestAStoreThatWasTamperedWithIsNotUsed(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"others can write it": func(path string) error { return os.Chmod(path, 0o777) },
		"a stranger's":        func(path string) error { return os.Lchown(path, stranger, -1) },
		"a link": func(path string) error {
			return errors.Join(os.Chmod(filepath.Dir(path), 0o755), os.Rename(path, path+".real"), os.Symlink(path+".real", path))
		},
	} {
		for part, path := range map[string]func(s *Store, g Generation) string{
			"private":       func(s *Store, _ Generation) string { return s.private() },
			"ABI":           func(s *Store, _ Generation) string { return s.own() },
			"generations":   func(s *Store, _ Generation) string { return s.generations() },
			"generation":    func(_ *Store, g Generation) string { return g.Dir },
			"site-packages": func(_ *Store, g Generation) string { return g.SitePackages() },
		} {
			t.Run(part+" "+name, func(t *testing.T) {
				if name == "a stranger's" && os.Geteuid() != 0 {
					t.Skip("only root can give a directory away")
				}
				s := open(t, t.TempDir(), abi311, tag311)
				g := publish(t, s, "a.one")
				if err := change(path(s, g)); err != nil {
					t.Fatal(err)
				}
				if part == "site-packages" {
					if problems, err := s.Verify(t.Context(), g); err != nil || len(problems) == 0 {
						t.Errorf("%v %v", problems, err)
					}
				} else if _, err := s.Current(); err == nil || strings.Contains(err.Error(), "\n") {
					t.Error(err)
				}
				if part == "generation" || part == "site-packages" {
					if s.Has("a.one", specs("a.one")) {
						t.Error("it is used")
					}
					return
				}
				if _, err := Open(s.target, abi311, tag311, Options{}); err == nil {
					t.Error("it is opened")
				}
				if w, err := s.Write(t.Context()); err == nil {
					w.Close()
					t.Error("it is written")
				}
			})
		}
	}
}

func TestALinkToSomewhereElseIsNotFollowed(t *testing.T) {
	s := open(t, t.TempDir(), abi311, tag311)
	g := publish(t, s, "a.one")
	for _, to := range []string{g.Dir, "generations/" + g.Digest + "/../" + g.Digest, "../../elsewhere", "generations/" + strings.Repeat("z", 64), "generations/" + strings.Repeat("0", 64)} {
		if err := errors.Join(os.Remove(s.current()), os.Symlink(to, s.current())); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Current(); err == nil || s.Has("a.one", specs("a.one")) {
			t.Errorf("it leads to %s, and is used: %v", to, err)
		}
	}
	publish(t, s, "a.one")
	if err := whole(s, "a.one"); err != nil {
		t.Error(err)
	}
}

func TestTheLockIsNotALink(t *testing.T) {
	s := open(t, t.TempDir(), abi311, tag311)
	publish(t, s, "a.one")
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	if err := errors.Join(os.Remove(s.lock()), os.Symlink(elsewhere, s.lock())); err != nil {
		t.Fatal(err)
	}
	if w, err := s.Write(t.Context()); err == nil {
		w.Close()
		t.Error("it was followed")
	}
	if _, err := os.Lstat(elsewhere); !os.IsNotExist(err) {
		t.Error(err)
	}
}

// TestATargetThatCannotBeWrittenIsSaid is for an ordinary user: root may write everywhere.
func TestATargetThatCannotBeWrittenIsSaid(t *testing.T) {
	if os.Geteuid() == 0 {
		account.New(t, false).Run(t, t.Name())
		return
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	s := open(t, filepath.Join(dir, "lazy-packages"), abi311, tag311)
	if _, err := s.Write(t.Context()); !notWritable(err, s.target) {
		t.Errorf("below a directory that cannot be written: %v", err)
	}
	used := open(t, t.TempDir(), abi311, tag311)
	publish(t, used, "a.one")
	publish(t, used, "a.one", "b.two")
	if err := os.Chmod(used.private(), 0o555); err != nil {
		t.Fatal(err)
	}
	if err := whole(used, "a.one", "b.two"); err != nil {
		t.Error(err)
	}
	if err := os.Chmod(used.private(), 0o755); err != nil {
		t.Fatal(err)
	}
	// All of it is possible for whoever is not root.
	w := writer(t, used)
	defer w.Close()
	if _, err := w.Rollback(t.Context()); err != nil {
		t.Error(err)
	}
	if done, err := w.GC(t.Context(), Collect{}); err != nil || len(done.Removed) != 1 {
		t.Errorf("%+v %v", done, err)
	}
	if err := whole(used, "a.one"); err != nil {
		t.Error(err)
	}
}

// notWritable says whether an error is the one line that names the target and the reason.
func notWritable(err error, target string) bool {
	var e *NotWritableError
	return errors.As(err, &e) && strings.Contains(err.Error(), "lazy install target "+target+" is not writable") && !strings.Contains(err.Error(), "\n")
}
