package profile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hermes.example/hermes/internal/asuser"
)

func TestOnlyMarkedDirectoriesWithProperNamesAreProfiles(t *testing.T) {
	h := newHome(t)
	if names, odd, err := h.List(); len(names)+len(odd) > 0 || err != nil {
		t.Fatalf("of nothing: %v, %v, %v", names, odd, err)
	}
	outside := t.TempDir()
	for _, path := range []string{"zoe/SOUL.md", "coder/SOUL.md", "half/config.yaml", "file", "default/SOUL.md", "Bad Name/SOUL.md", ".hidden/SOUL.md", "x\nprofile=y/SOUL.md"} {
		h.put(t, "profiles/"+path, "")
	}
	if err := errors.Join(os.WriteFile(filepath.Join(outside, Mark), nil, 0o644), os.Symlink(outside, h.Dir("linked")), os.Mkdir(h.Dir("marklink"), 0o755),
		os.Symlink("/nowhere", filepath.Join(h.Dir("marklink"), Mark))); err != nil {
		t.Fatal(err)
	}
	names, odd, err := h.List()
	if err != nil || !reflect.DeepEqual(names, []string{"coder", "marklink", "zoe"}) {
		t.Errorf("%v, %v", names, err)
	}
	all := strings.Join(odd, "; ")
	if len(odd) != 4 || !strings.Contains(all, "Bad Name") || !strings.Contains(all, "linked\" is no profile: a link") || !strings.Contains(all, "default\" is no profile") {
		t.Errorf("odd are %q", odd)
	}
	for name, want := range map[string]bool{Default: true, "coder": true, "half": false, "nobody": false} {
		if real, err := h.Real(name); real != want || err != nil {
			t.Errorf("%s: %v, %v", name, real, err)
		}
	}
	if real, err := h.Real("linked"); real || err == nil {
		t.Errorf("a linked one: %v, %v", real, err)
	}
}

func TestALinkInTheWayIsNotFollowed(t *testing.T) {
	h := newHome(t)
	outside := t.TempDir()
	if err := errors.Join(os.MkdirAll(filepath.Join(outside, "coder"), 0o755), os.WriteFile(filepath.Join(outside, "coder", Mark), nil, 0o644),
		os.Symlink(outside, filepath.Join(h.Root, "profiles")), os.Symlink(outside, filepath.Join(h.Root, "logs"))); err != nil {
		t.Fatal(err)
	}
	_, _, listErr := h.List()
	_, staleErr := h.ClearStale("coder")
	for what, err := range map[string]error{
		"list": listErr, "clear": staleErr, "record": h.SetDesired("coder", Running), "plan": h.PlanStop("coder", 1), "create": h.Create("x"),
		"delete": h.Delete("coder"), "audit": h.Audit(Audit{Profile: "coder"}),
	} {
		if err == nil {
			t.Errorf("%s followed it", what)
		}
	}
	if entries, _ := os.ReadDir(filepath.Join(outside, "coder")); len(entries) != 1 {
		t.Errorf("outside changed: %v", entries)
	}
	if entries, _ := os.ReadDir(outside); len(entries) != 1 {
		t.Errorf("outside changed: %v", entries)
	}
}

func TestAProfileIsMadeOnceAndKeepsWhatIsThere(t *testing.T) {
	h := newHome(t)
	if err := os.Chmod(h.Root, 0o750); err != nil {
		t.Fatal(err)
	}
	h.put(t, "profiles/coder/config.yaml", "mine: 1\n")
	os.RemoveAll(h.Dir("zoe"))
	for _, name := range []string{"coder", "zoe"} {
		if err := h.Create(name); err != nil {
			t.Fatal(err)
		}
		if real, err := h.Real(name); !real || err != nil {
			t.Errorf("%s: %v, %v", name, real, err)
		}
		if info, err := os.Stat(filepath.Join(h.Dir(name), "sessions")); err != nil || !info.IsDir() {
			t.Errorf("%s has no sessions: %v", name, err)
		}
		if err := h.Create(name); !errors.Is(err, ErrExists) {
			t.Errorf("%s twice: %v", name, err)
		}
	}
	if got := h.content(t, "profiles/coder/config.yaml"); got != "mine: 1\n" {
		t.Errorf("what was there became %q", got)
	}
	if info, _ := os.Stat(h.Dir("zoe")); info.Mode().Perm() != 0o750 {
		t.Errorf("it is open as %v", info.Mode())
	}
	for _, bad := range []string{Default, "", "..", "A"} {
		if err := h.Create(bad); err == nil {
			t.Errorf("%q was made", bad)
		}
	}
}

func TestMakersAtTheSameTime(t *testing.T) {
	h := newHome(t)
	var makers sync.WaitGroup
	results := make(chan error, 16)
	for range cap(results) {
		makers.Go(func() { results <- h.Create("coder") })
	}
	makers.Wait()
	close(results)
	made := 0
	for err := range results {
		if err == nil {
			made++
		} else if !errors.Is(err, ErrExists) {
			t.Error(err)
		}
	}
	if made != 1 {
		t.Errorf("%d made it", made)
	}
}

func TestADeletedProfileIsGoneAndNothingElse(t *testing.T) {
	h := newHome(t)
	outside := t.TempDir()
	for _, name := range []string{"coder", "zoe"} {
		if err := h.Create(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.WriteFile(filepath.Join(outside, "theirs"), nil, 0o644), os.Symlink(outside, filepath.Join(h.Dir("coder"), "home", "link")),
		os.Symlink(outside, h.Dir("linked"))); err != nil {
		t.Fatal(err)
	}
	h.put(t, "profiles/.deleted-old/deep/er", "")
	for _, name := range []string{"coder", "linked"} {
		if err := h.Delete(name); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"coder", "nobody"} {
		if err := h.Delete(name); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := h.Delete(Default); err == nil {
		t.Error("the home was deleted")
	}
	if err := h.Sweep(t.Context()); err != nil {
		t.Error(err)
	}
	if entries, _ := os.ReadDir(filepath.Join(h.Root, "profiles")); len(entries) != 1 {
		t.Errorf("%v are left", entries)
	}
	if _, err := os.Stat(filepath.Join(outside, "theirs")); err != nil {
		t.Errorf("a link was followed: %v", err)
	}
}

// A sweep of a large tree leaves room for others, and comes to its end.
func TestASweepGoesOnWhereItStopped(t *testing.T) {
	h := newHome(t)
	for i := range 200 {
		for j := range 20 {
			h.put(t, fmt.Sprintf("profiles/.deleted-x/%d/%d", i, j), "")
		}
	}
	dir, err := os.Open(filepath.Join(h.Root, "profiles"))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	for left, calls := true, 0; left; calls++ {
		asked := 0
		left, err = sweep(int(dir.Fd()), func() bool { asked++; return asked > 10 })
		if err != nil || calls > 10000 || calls == 0 && !left {
			t.Fatalf("call %d: left %v, %v", calls, left, err)
		}
	}
	if entries, _ := dir.Readdirnames(-1); len(entries) > 0 {
		t.Errorf("%v are left", entries)
	}
}

func TestTheLogOfBootsIsReadableAndBounded(t *testing.T) {
	h := newHome(t)
	h.Now = func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("x", 3600)) }
	for _, a := range []Audit{
		{Profile: Default, Exit: ExitUnknown},
		{Profile: "coder", Prior: Running, Started: true, Exit: ExitUnclean},
		{Profile: "zoe", Prior: "x\nprofile=evil action=started", Exit: ExitClean},
	} {
		if err := h.Audit(a); err != nil {
			t.Fatal(err)
		}
	}
	const want = "2026-01-02T02:04:05Z profile=default prior_state=None action=registered prior_exit=unknown\n" +
		"2026-01-02T02:04:05Z profile=coder prior_state=running action=started prior_exit=unclean\n" +
		`2026-01-02T02:04:05Z profile=zoe prior_state="x\nprofile=evil action=started" action=registered prior_exit=clean` + "\n"
	if got := h.content(t, "logs/container-boot.log"); got != want {
		t.Errorf("the log is\n%s", got)
	}
	h.put(t, "logs/container-boot.log", strings.Repeat("x", auditSize-1))
	for range 2 {
		if err := h.Audit(Audit{Profile: "a", Exit: ExitClean}); err != nil {
			t.Fatal(err)
		}
	}
	if old, log := h.content(t, "logs/container-boot.log.1"), h.content(t, "logs/container-boot.log"); len(old) < auditSize || strings.Count(log, "\n") != 1 {
		t.Errorf("the old log has %d bytes, the new one is %q", len(old), log)
	}
	h.put(t, "logs/container-boot.log", strings.Repeat("x", auditSize))
	if err := errors.Join(os.Remove(filepath.Join(h.Root, "logs/container-boot.log.1")), os.MkdirAll(filepath.Join(h.Root, "logs/container-boot.log.1/x"), 0o755)); err != nil {
		t.Fatal(err)
	}
	if err := h.Audit(Audit{Profile: "b"}); err != nil || !strings.Contains(h.content(t, "logs/container-boot.log"), "profile=b") {
		t.Errorf("a log that cannot be moved away: %v", err)
	}
}

func TestRootWritesAsTheUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can use files as somebody else")
	}
	const user = 54321
	root, err := os.MkdirTemp("", "profile") // which others may enter, unlike the test's own
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	if err := errors.Join(os.Chmod(root, 0o755), os.Chown(root, user, user)); err != nil {
		t.Fatal(err)
	}
	hand, err := asuser.New(asuser.User{UID: user, GID: user})
	if err != nil {
		t.Fatal(err)
	}
	defer hand.Close()
	h := &Home{Root: root, Hand: hand}
	if err := errors.Join(h.Create("coder"), h.SetDesired("coder", Running), h.SetDesired(Default, Running), h.PlanStop("coder", 1), h.Audit(Audit{Profile: "coder"})); err != nil {
		t.Fatal(err)
	}
	err = filepath.Walk(root, func(path string, info os.FileInfo, err error) error {
		if err == nil && info.Sys().(*syscall.Stat_t).Uid != user {
			t.Errorf("%s belongs to another", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if err := os.Chown(h.Dir("coder"), 0, 0); err != nil {
		t.Fatal(err)
	}
	if err := h.SetDesired("coder", Stopped); err == nil || !strings.Contains(err.Error(), "permission denied") || strings.Contains(err.Error(), "/proc/") {
		t.Errorf("into root's directory: %v", err)
	}
}

func TestAWatcherTellsOfChanges(t *testing.T) {
	h := newHome(t)
	w := h.Watch()
	defer w.Close()
	w.Arm() // nothing to watch yet
	h.put(t, "profiles/x/y", "")
	w.Arm()
	w.Arm()
	for what, change := range map[string]func() error{
		"made":    func() error { return os.Mkdir(h.Dir("coder"), 0o755) },
		"removed": func() error { return os.RemoveAll(h.Dir("x")) },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		select {
		case <-w.Changes:
		case <-time.After(20 * time.Second):
			t.Errorf("it did not tell that one was %s", what)
		}
	}
}

func TestADirectoryWithoutEndIsNotReadToItsEnd(t *testing.T) {
	h := &Home{Root: t.TempDir()}
	for i := range mostEntries + 2*mostOdd {
		dir := filepath.Join(h.Root, directory, fmt.Sprintf("Odd%d", i))
		if i < 2*mostOdd {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			dir = filepath.Join(dir, Mark)
		}
		if err := os.WriteFile(dir, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	err := h.below(directory, func(dir int) error {
		names, err := entries(dir)
		if len(names) != mostEntries {
			t.Errorf("%d names were read", len(names))
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if _, odd, err := h.List(); err != nil || len(odd) > mostOdd {
		t.Errorf("%d oddities, %v", len(odd), err)
	}
}
