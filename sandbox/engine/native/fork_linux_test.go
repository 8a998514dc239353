package native_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes.example/hermes/internal/image/hostimage"
	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/engine/native"
)

func (a *imageArena) fork(task string, copies ...string) error {
	var ids []sandbox.Identity
	for _, c := range copies {
		ids = append(ids, a.id(c))
	}
	_, err := a.manager.Fork(a.t.Context(), a.id(task), ids)
	return err
}

// changes lists what a sandbox has changed, as text.
func (a *imageArena) changes(task string) string {
	a.t.Helper()
	list, err := a.manager.Changes(a.t.Context(), a.id(task))
	if err != nil {
		a.t.Error(err)
	}
	var lines []string
	for _, c := range list {
		lines = append(lines, string(c.Kind[:1])+" "+c.Path)
	}
	return strings.Join(lines, "\n")
}

func TestForksHaveTheFilesAndGoTheirOwnWays(t *testing.T) {
	a := newImageArena(t, native.Options{})
	spec := sandbox.Spec{Image: writeImage(t, hostimage.Config{}, []hostimage.File{{Name: "srv/a", Content: "a"}, {Name: "srv/b", Content: "b"}}), Cwd: "/"}
	parent := a.ensure("p", spec)
	a.says(parent, "echo root >/srv/new; rm /srv/a; echo home >~/h; mkdir -p /workspace/d; echo work >/workspace/d/w; chmod 750 /root; sleep 0", "")
	if got, want := a.changes("p"), "d /srv/a\na /srv/new"; got != want {
		t.Errorf("the original has changed %q, not %q", got, want)
	}
	if err := a.fork("p", "one", "two"); err != nil {
		t.Fatal(err)
	}
	if infos, err := a.manager.List(t.Context(), a.home); err != nil || len(infos) != 2 || infos[0].State != sandbox.Stopped {
		t.Errorf("the list has %+v, %v", infos, err)
	}
	const look = "ls /srv; cat /srv/new ~/h /workspace/d/w; stat -c %a /root"
	const seen = "b\nnew\nroot\nhome\nwork\n750"
	one, two := a.ensure("one", spec), a.ensure("two", spec)
	for _, box := range []*sandbox.Sandbox{parent, one, two} {
		a.says(box, look, seen)
	}
	a.says(one, "echo one >/srv/new; rm ~/h; echo o >~/o; rm -r /workspace/d; mkdir /workspace/d; echo n >/workspace/d/n; mkdir /fresh; echo f >/fresh/f; rm /srv/b", "")
	a.says(two, look, seen)
	a.says(parent, look, seen)
	a.says(parent, "echo later >/srv/new; echo later >/workspace/d/w", "")
	a.says(two, look, seen)
	if got, want := a.changes("one"), "a /fresh\nd /root/h\na /root/o\nd /srv/b\nm /srv/new\nm /workspace/d"; got != want {
		t.Errorf("the fork has changed\n%s\nnot\n%s", got, want)
	}
	if got := a.changes("two"); got != "" {
		t.Errorf("a fork that did nothing has changed %s", got)
	}
	// A fork of a fork, and of an original once more.
	for _, box := range []*sandbox.Sandbox{one, two, parent} {
		box.Close()
	}
	if err := errors.Join(a.fork("one", "three"), a.fork("p", "four")); err != nil {
		t.Fatal(err)
	}
	a.says(a.ensure("three", spec), "cat /srv/new ~/o /workspace/d/n; ls /workspace/d /srv", "one\no\nn\n/srv:\nnew\n\n/workspace/d:\nn")
	a.says(a.ensure("four", spec), "cat /srv/new /workspace/d/w ~/h; ls /srv", "later\nlater\nhome\nb\nnew")
	a.says(a.ensure("p", spec), "cat /srv/new /workspace/d/w ~/h; ls /srv", "later\nlater\nhome\nb\nnew")
}

func (a *imageArena) commit(fork string, paths ...string) error {
	_, err := a.manager.Commit(a.t.Context(), a.id(fork), paths)
	return err
}

func TestCommitMakesChosenChangesTheOriginals(t *testing.T) {
	a := newImageArena(t, native.Options{})
	spec := sandbox.Spec{Image: writeImage(t, hostimage.Config{}, []hostimage.File{{Name: "srv/a", Content: "a"}, {Name: "srv/b", Content: "b"}, {Name: "srv/deep/er/file", Content: "f"}}), Cwd: "/"}
	original := a.ensure("p", spec)
	a.says(original, "echo own >/srv/own; mkdir /workspace/d; echo old >/workspace/d/old; echo kept >/workspace/kept", "")
	if err := a.fork("p", "one"); err != nil {
		t.Fatal(err)
	}
	one := a.ensure("one", spec)
	a.says(one, "echo new >/srv/a; rm /srv/b; echo x >/srv/deep/er/more; chmod 600 /srv/deep/er/more; rm -r /workspace/d; mkdir /workspace/d; echo n >/workspace/d/n; echo not >/etc/not; rm /srv/own; ln -s a /srv/link", "")
	a.says(original, "echo later >/workspace/d/later; echo mine >/srv/a", "")
	if err := a.commit("one", "/srv", "workspace/d"); err != nil {
		t.Fatal(err)
	}
	const look = "ls /srv; cat /srv/a; stat -c %a /srv/deep/er/more; cat /srv/deep/er/file; readlink /srv/link; ls /workspace /workspace/d; ls /etc/not 2>/dev/null"
	const seen = "a\ndeep\nlink\nnew\n600\nfa\n/workspace:\nd\nkept\n\n/workspace/d:\nn"
	a.says(original, look, seen)
	a.says(a.ensure("p", spec), look, seen)
	a.says(one, "cat /etc/not /workspace/d/n", "not\nn")
	// Also onto an original that has not run since.
	for _, box := range []*sandbox.Sandbox{original, one} {
		box.Close()
	}
	if err := errors.Join(a.fork("p", "two"), a.commit("one", "/etc/not")); err != nil {
		t.Fatal(err)
	}
	a.says(a.ensure("p", spec), "cat /etc/not; "+look, "not\n"+seen+"\n/etc/not")
	a.says(a.ensure("two", spec), look, seen)
	for paths, want := range map[string]string{"/nothing": "nothing has changed at /nothing", "/../etc/passwd": "nothing has changed"} {
		if err := a.commit("one", paths); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", paths, err)
		}
	}
	if err := a.commit("p", "/"); err == nil || !strings.Contains(err.Error(), "is no fork") {
		t.Errorf("of an original: %v", err)
	}
}

// What forks stood on goes with the last of them.
func TestFrozenFilesGoWithTheLastWhoStandsOnThem(t *testing.T) {
	a := newImageArena(t, native.Options{})
	spec := sandbox.Spec{Image: writeImage(t, hostimage.Config{})}
	a.says(a.ensure("p", spec), "echo x >/x", "")
	if err := a.fork("p", "one"); err != nil {
		t.Fatal(err)
	}
	frozen := filepath.Join(a.home, "sandboxes", "native-frozen")
	if sets, err := os.ReadDir(frozen); err != nil || len(sets) != 1 {
		t.Fatalf("frozen: %v %v", sets, err)
	}
	if err := a.manager.Remove(t.Context(), a.id("p"), true); err != nil {
		t.Fatal(err)
	}
	a.says(a.ensure("one", spec), "cat /x", "x")
	if err := a.manager.Remove(t.Context(), a.id("one"), true); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(frozen); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the frozen files are left: %v", err)
	}
}

func TestForkRefusals(t *testing.T) {
	a := newImageArena(t, native.Options{})
	spec := sandbox.Spec{Image: writeImage(t, hostimage.Config{})}
	box := a.ensure("p", spec)
	done := make(chan error, 1)
	began := make(chan struct{})
	go func() {
		_, err := box.Exec(t.Context(), sandbox.Command{Line: "echo; sleep 1000", Stdout: signal(began)})
		done <- err
	}()
	<-began
	var busy *sandbox.BusyError
	if err := a.fork("p", "one"); !errors.As(err, &busy) || busy.Commands != 1 {
		t.Errorf("a busy one: %v", err)
	}
	box.Close()
	<-done
	a.ensure("host", sandbox.Spec{})
	a.ensure("there", spec)
	for wrong, forks := range map[string][]string{
		"name of its own":           {"p", "one", "one"},
		"name of its":               {"p", "p"},
		"exists already":            {"p", "there"},
		"made of an image":          {"host", "one"},
		"only sandboxes that are":   {"nobody", "one"},
		"keeps files of an earlier": {"p", "kept"},
	} {
		if forks[1] == "kept" {
			kept := a.ensure("kept", spec)
			a.says(kept, "echo mine >/mine", "")
			a.stop(kept)
		}
		var err error
		for patience := time.Now().Add(10 * time.Second); ; { // the command's end may not have been noticed yet
			if err = a.fork(forks[0], forks[1:]...); !errors.As(err, &busy) || time.Now().After(patience) {
				break
			}
		}
		if err == nil || !strings.Contains(err.Error(), wrong) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: %v", forks, err)
		}
	}
	if entries, err := filepath.Glob(filepath.Join(a.home, "sandboxes", "native", "one*")); err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v %v", entries, err)
	}
	a.says(a.ensure("p", spec), "echo well", "well")
	a.says(a.ensure("kept", spec), "cat /mine", "mine")
}

// A fork that is killed after any of its steps has happened or can be done again, and
// no file is lost.
func TestForkKilledAtAnyStepLosesNothing(t *testing.T) {
	a := newImageArena(t, native.Options{})
	spec := sandbox.Spec{Image: writeImage(t, hostimage.Config{}), Cwd: "/"}
	const look = "cat /r ~/h /workspace/w"
	a.says(a.ensure("p", spec), "echo r >/r; echo h >~/h; echo w >/workspace/w; "+look, "r\nh\nw")
	dir := filepath.Join(a.home, "sandboxes", "native", "p")
	for step := range 5 {
		a.stop(a.ensure("p", spec))
		// What a fork does before it has moved everything, up to a step.
		id := fmt.Sprintf("half%d", step)
		set := filepath.Join(a.home, "sandboxes", "native-frozen", id)
		own, err := os.Stat(filepath.Join(dir, "spool"))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.MkdirAll(set, 0o700), chownLike(set, own)); err != nil {
			t.Fatal(err)
		}
		if step > 0 {
			if err := os.Symlink(id, filepath.Join(dir, "freezing")); err != nil {
				t.Fatal(err)
			}
		}
		first := map[bool][]string{true: {"root/upper", "home", "workspace"}, false: {"root/upper", "root/home", "root/workspace"}}
		_, noStack := os.Stat(filepath.Join(dir, "stack.json"))
		for i, part := range first[noStack != nil] {
			if step > i+1 {
				if err := os.Rename(filepath.Join(dir, part), filepath.Join(set, []string{"root", "home", "workspace"}[i])); err != nil {
					t.Fatal(err)
				}
			}
		}
		box := a.ensure("p", spec)
		a.says(box, look, "r\nh\nw")
	}
}

// signal is a writer that says once that something was written.
type signalWriter struct{ began chan struct{} }

func signal(began chan struct{}) *signalWriter { return &signalWriter{began} }

func (s *signalWriter) Write(p []byte) (int, error) {
	select {
	case <-s.began:
	default:
		close(s.began)
	}
	return len(p), nil
}

func chownLike(path string, info os.FileInfo) error {
	st := info.Sys().(*syscall.Stat_t)
	return os.Lchown(path, int(st.Uid), int(st.Gid))
}

// A caller may be killed after it made a directory and before that was given to the sandbox.
func TestForksWhoseDirectoryWasNotGivenAwayYet(t *testing.T) {
	a := newImageArena(t, native.Options{})
	spec := sandbox.Spec{Image: writeImage(t, hostimage.Config{}, nil), Cwd: "/"}
	a.says(a.ensure("p", spec), "echo home >~/h", "")
	if err := a.fork("p", "one"); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(a.home, "sandboxes", "native", "one", "root")
	if err := os.Mkdir(left, 0o700); err != nil {
		t.Fatal(err)
	}
	a.says(a.ensure("one", spec), "cat ~/h; echo new >~/n", "home")
}
