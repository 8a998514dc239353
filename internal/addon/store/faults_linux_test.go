package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes.example/hermes/test/machine"
)

// bound is far above what anything here takes.
const bound = 2 * time.Minute

// TestD36OneWriterAtATime lets thirty processes ensure one feature, or each its own.
func TestD36OneWriterAtATime(t *testing.T) {
	dir := t.TempDir()
	// By two names: the lock is one all the same.
	link := filepath.Join(dir, "link")
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "home"), 0o755), os.Symlink("home", link)); err != nil {
		t.Fatal(err)
	}
	s := open(t, filepath.Join(dir, "home", "lazy-packages"), abi311, tag311)
	journal := filepath.Join(dir, "journal")
	if err := os.WriteFile(journal, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	const processes = 30
	var all []*player
	want := []string{"a.one"}
	for i := range processes {
		feature := "a.one"
		if i%2 == 1 {
			feature = fmt.Sprintf("b.n%02d", i)
			want = append(want, feature)
		}
		target := s.target
		if i%3 == 1 {
			target = filepath.Join(link, "lazy-packages")
		}
		all = append(all, start(t, "ensure", target, feature, journal))
	}
	for _, p := range all {
		p.begin()
	}
	for _, p := range all {
		if err := p.Wait(); err != nil {
			t.Errorf("%v: %s", err, p.err)
		}
	}
	if err := errors.Join(whole(s, want...), nothingLeft(s)); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(journal)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != 2*len(want) {
		t.Errorf("%d features, and %d installs", len(want), len(lines)/2)
	}
	for i := 1; i < len(lines); i += 2 {
		if strings.Replace(lines[i-1], "begin", "end", 1) != lines[i] {
			t.Fatalf("two at once: %q, %q", lines[i-1], lines[i])
		}
	}
}

func TestTheNextWriterWaitsAsLongAsItLikes(t *testing.T) {
	s := open(t, t.TempDir(), abi311, tag311)
	first := writer(t, s)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.Write(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	second := make(chan error)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), bound)
		defer cancel()
		w, err := s.Write(ctx)
		if err == nil {
			w.Close()
		}
		second <- err
	}()
	first.Close()
	if err := <-second; err != nil {
		t.Error(err)
	}
}

// TestWithoutLocksNothingIsWritten has a kernel that answers as on a file system without locks.
func TestWithoutLocksNothingIsWritten(t *testing.T) {
	s := open(t, t.TempDir(), abi311, tag311)
	publish(t, s, "a.one")
	before := tree(t, s.own())
	p := start(t, "unlocked", s.target)
	p.begin()
	if err := p.Wait(); err == nil || !strings.Contains(p.err.String(), "its file system has no locks") || strings.Count(p.err.String(), "\n") != 1 {
		t.Errorf("%v: %s", err, p.err)
	}
	for name, entry := range tree(t, s.own()) {
		if before[name] != entry {
			t.Errorf("%s was changed", name)
		}
	}
}

// TestAFullDiskChangesNothing publishes with ever more room until there is enough.
func TestAFullDiskChangesNothing(t *testing.T) {
	machine.OnSmallDisk(t, "1m", func(t *testing.T, dir string) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		s := open(t, dir, abi311, tag311)
		publish(t, s, "a.one")
		publishesOnceThereIsRoom(t, s, 1<<20, 4<<10, func(room int) error { return occupy(dir+"/.hermes/ballast", room) }, func(err error) bool {
			return errors.Is(err, syscall.ENOSPC) && !strings.Contains(err.Error(), "\n")
		})
	})
}

// publishesOnceThereIsRoom tries to publish with ever more room, which leave leaves, in steps up to a limit. Until there is
// enough it fails as it should, and nothing changes.
func publishesOnceThereIsRoom(t *testing.T, s *Store, limit, step int, leave func(room int) error, asItShould func(error) bool) {
	t.Helper()
	failed := 0
	for room := 0; ; room += step {
		if room > limit {
			t.Fatal("it never succeeds")
		}
		if err := leave(room); err != nil {
			t.Fatal(err)
		}
		w, err := s.Write(t.Context())
		if err == nil {
			_, err = install(t.Context(), w, "a.one", "b.two")
			w.Close()
		}
		if err == nil {
			break
		}
		failed++
		if !asItShould(err) {
			t.Fatalf("with room for %d bytes: %v", room, err)
		}
		if err := errors.Join(whole(s, "a.one"), allWhole(s), nothingLeft(s)); err != nil {
			t.Fatalf("with room for %d bytes: %v", room, err)
		}
	}
	if err := errors.Join(whole(s, "a.one", "b.two"), nothingLeft(s)); err != nil {
		t.Error(err)
	}
	if failed < 10 {
		t.Errorf("it failed %d times only", failed)
	}
}

// occupy fills the disk except for so many bytes.
func occupy(path string, room int) error {
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		return err
	}
	var fs syscall.Statfs_t
	if err := syscall.Statfs(path, &fs); err != nil {
		return err
	}
	free := int(fs.Bavail)*int(fs.Bsize) - room
	return os.WriteFile(path, make([]byte, max(0, free)), 0o600)
}

// TestAReadOnlyTargetIsSaid is for root, too.
func TestAReadOnlyTargetIsSaid(t *testing.T) {
	machine.OnSmallDisk(t, "4m", func(t *testing.T, dir string) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		s := open(t, dir, abi311, tag311)
		remount := func(flags uintptr) {
			t.Helper()
			if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|flags, ""); err != nil {
				t.Fatal(err)
			}
		}
		remount(syscall.MS_RDONLY)
		if _, err := s.Write(t.Context()); !notWritable(err, dir) {
			t.Errorf("an empty one: %v", err)
		}
		remount(0)
		publish(t, s, "a.one")
		remount(syscall.MS_RDONLY)
		if _, err := s.Write(t.Context()); !notWritable(err, dir) {
			t.Errorf("a used one: %v", err)
		}
		if err := whole(s, "a.one"); err != nil {
			t.Errorf("it cannot be used any more: %v", err)
		}
		remount(0)
	})
}

// TestATargetThatIsRemovedMeanwhile takes everything away while a writer is at work, and perhaps another makes it anew.
func TestATargetThatIsRemovedMeanwhile(t *testing.T) {
	for name, anew := range map[string]bool{"and stays so": false, "and is made anew": true} {
		t.Run(name, func(t *testing.T) {
			s := open(t, filepath.Join(t.TempDir(), "target"), abi311, tag311)
			publish(t, s, "a.one")
			w := writer(t, s)
			staged, m := stage(t, w, "a.one", "b.two")
			if err := removeTree(s.target); err != nil {
				t.Fatal(err)
			}
			if anew {
				publish(t, s, "c.three")
				// What was staged seems to be there, too.
				if err := errors.Join(os.MkdirAll(staged.SitePackages(), 0o755), fill(staged, "a.one", "b.two")); err != nil {
					t.Fatal(err)
				}
			}
			if s.Has("a.one", specs("a.one")) {
				t.Error("what was removed is still there")
			}
			if g, err := w.Publish(t.Context(), staged, m, nil); err == nil || strings.Contains(err.Error(), "\n") {
				t.Errorf("it was published: %v %v", g, err)
			}
			if _, err := w.Rollback(t.Context()); err == nil {
				t.Error("it was rolled back")
			}
			w.Close()
			if anew {
				if err := whole(s, "c.three"); err != nil {
					t.Error(err)
				}
				if wanted, err := s.Desired(); err != nil || !slices.Equal(wanted, []string{"c.three"}) {
					t.Errorf("%v %v", wanted, err)
				}
			}
			publish(t, s, "a.one")
			if err := errors.Join(whole(s, "a.one"), nothingLeft(s)); err != nil {
				t.Error(err)
			}
		})
	}
}
