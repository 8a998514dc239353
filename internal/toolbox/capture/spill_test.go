package capture

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestFileIsItsOwnersOnly(t *testing.T) {
	home := t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, Directory), 0o777); err != nil {
		t.Fatal(err)
	}
	s, err := newSpill(home, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	s.write([]byte("text"))
	if remark := s.finish(); remark != "" {
		t.Error(remark)
	}
	for path, want := range map[string]os.FileMode{s.path: 0o600, filepath.Dir(s.path): 0o700 | os.ModeDir} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	if base := filepath.Base(s.path); !strings.HasPrefix(base, "out-") || !strings.HasSuffix(base, ".log") {
		t.Error(base)
	}
}

func TestNoLinkIsFollowedToTheFile(t *testing.T) {
	for _, link := range []string{"cache", Directory} {
		home, elsewhere := t.TempDir(), t.TempDir()
		inside := filepath.Join(home, "inside")
		for _, target := range []string{elsewhere, inside} {
			if err := os.MkdirAll(inside, 0o700); err != nil {
				t.Fatal(err)
			}
			at := filepath.Join(home, link)
			os.MkdirAll(filepath.Dir(at), 0o700)
			os.Remove(at)
			to, err := filepath.Rel(filepath.Dir(at), target) // an absolute one leads out of every root
			if err == nil {
				err = os.Symlink(to, at)
			}
			if err != nil {
				t.Fatal(err)
			}
			if s, err := newSpill(home, time.Now()); err == nil {
				t.Errorf("%s -> %s: %s was made", link, target, s.path)
			}
			if found, _ := os.ReadDir(target); len(found) != 0 {
				t.Errorf("%s -> %s: something was made behind the link", link, target)
			}
		}
		got := New(Options{Limit: 10, Home: home, Now: time.Now})
		got.Write([]byte(strings.Repeat("x", 100)))
		if text := got.Finish(""); text.File != "" || !strings.Contains(text.Remark, "could not be kept in a file") || len(text.Text) > 10 {
			t.Errorf("%+v", text)
		}
	}
}

func TestFileHoldsSoMuchAndSaysSo(t *testing.T) {
	c := newCapture(t, 1000)
	line := []byte(strings.Repeat("0123456789ä", 90) + "\n")
	const lines = mostChars/991 + 500
	for range lines {
		c.Write(line)
	}
	got := c.Finish("")
	whole, err := os.ReadFile(got.File)
	if err != nil {
		t.Fatal(err)
	}
	text, _, found := bytes.Cut(whole, []byte("\n[it holds the first 5,000,000 characters only]\n"))
	if n := len([]rune(string(text))); !found || n != mostChars {
		t.Errorf("%d characters, said %v", n, found)
	}
	if !strings.Contains(got.Remark, "5,000,000") || got.Total != lines*991 {
		t.Errorf("%+v", got)
	}
}

func TestOldFilesAreRemoved(t *testing.T) {
	home, now := t.TempDir(), time.Now()
	dir := filepath.Join(home, Directory)
	os.MkdirAll(dir, 0o700)
	make := func(name string, age time.Duration) {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		os.Chtimes(path, now.Add(-age), now.Add(-age))
	}
	make("out-old.log", 7*24*time.Hour+time.Minute)
	make("out-young.log", 7*24*time.Hour-time.Minute)
	make("other.log", 30*24*time.Hour)
	if _, err := newSpill(home, now); err != nil {
		t.Fatal(err)
	}
	left := func() (names []string) {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	if names := left(); len(names) != 3 || names[0] != "other.log" || names[2] != "out-young.log" {
		t.Error(names)
	}
	for range mostFiles + 5 {
		s, err := newSpill(home, now)
		if err != nil {
			t.Fatal(err)
		}
		s.finish()
	}
	if names := left(); len(names) != mostFiles+1 {
		t.Errorf("%d files are kept", len(names))
	}
}
