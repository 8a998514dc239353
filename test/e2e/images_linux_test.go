package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hermes.example/hermes/internal/image/hostimage"
)

// image makes a small image that the caller can read, and returns its name.
func (w *world) image() string {
	w.t.Helper()
	dir := filepath.Join(w.dir, "image")
	programs, err := hostimage.FromHost("bash", "sh", "cat")
	if err != nil {
		w.t.Fatal(err)
	}
	name, err := hostimage.Write(dir, hostimage.Config{}, programs, []hostimage.File{{Name: "srv/"}, {Name: "srv/a", Content: "a\n"}})
	if err == nil {
		err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			w.own(path)
			return nil
		})
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { w.forgetImage(name) })
	return name
}

// forgetImage takes an image out of the home, with the sandboxes that are made of it, and looks for what is left of its
// layers. The store itself stays, and has to go before the home is looked at.
func (w *world) forgetImage(name string) {
	w.must("sandbox", "prune", "--all", "--yes")
	if strings.Contains(w.must("image", "ls", "--json"), name) {
		w.must("image", "rm", name)
	}
	w.must("image", "prune")
	store := filepath.Join(w.home, "images")
	if left := w.tree(filepath.Join(store, "layers")); len(left) > 0 {
		w.t.Errorf("image prune left %q", left)
	}
	if err := os.RemoveAll(store); err != nil {
		w.t.Error(err)
	}
}

func TestImages(t *testing.T) {
	asEveryone(t, func(t *testing.T, w *world) {
		name := w.image()
		type image struct{ Name, Digest string }
		pulled := decode[image](t, w.must("image", "pull", "--json", name))
		if got := w.must("image", "pull", name); got != pulled.Name+" "+pulled.Digest+"\n" || pulled.Name != name {
			t.Errorf("pulled %+v, then %q", pulled, got)
		}
		if got := decode[[]image](t, w.must("image", "ls", "--json")); !slices.Equal(got, []image{pulled}) {
			t.Errorf("the list has %v", got)
		}
		if got := w.must("image", "ls"); strings.Count(got, "\n") != 2 || !strings.HasPrefix(got, "NAME ") || !strings.Contains(got, "\n"+name+" ") {
			t.Errorf("the list is %q", got)
		}
		w.must("sandbox", "exec", "--task", "t", "--image", name, "--", "cat", "/srv/a")
		if r := w.hermes("image", "rm", "docker.io/library/nosuch", name); r.code != 1 || r.stdout != "removed "+name+"\n" || !oneLine(r.stderr) {
			t.Errorf("%v", r)
		}
		if got := w.must("image", "ls", "--json"); got != "[]\n" {
			t.Errorf("the list is %q", got)
		}
		if got := w.must("image", "prune"); got != "removed 0 layers\n" {
			t.Errorf("with a sandbox on it: %q", got)
		}
		if got := w.must("sandbox", "exec", "--task", "t", "--", "cat", "/srv/a"); got != "a\n" {
			t.Errorf("the sandbox has %q", got)
		}
		w.must("sandbox", "rm", "--files", "t")
	})
}

func TestForks(t *testing.T) {
	asEveryone(t, func(t *testing.T, w *world) {
		line := func(task, line string) string { return w.must("sandbox", "exec", "--task", task, "-c", line) }
		w.must("sandbox", "exec", "--task", "p", "--image", w.image(), "-c", "echo p >/srv/p")
		if got := w.must("sandbox", "fork", "-n", "2", "p"); got != "p-1\np-2\n" {
			t.Errorf("forked %q", got)
		}
		if got := decode[[]string](t, w.must("sandbox", "fork", "--json", "p", "mine")); !slices.Equal(got, []string{"mine"}) {
			t.Errorf("forked %q", got)
		}
		line("p-1", "cat /srv/p; echo one >/srv/a; echo new >/srv/b")
		if got := w.must("sandbox", "diff", "p-1"); got != "M /srv/a\nA /srv/b\n" {
			t.Errorf("changed %q", got)
		}
		if got := w.must("sandbox", "commit", "p-1", "/srv/b"); got != "A /srv/b\n" {
			t.Errorf("committed %q", got)
		}
		if got := line("p", "cat /srv/a /srv/b /srv/p"); got != "a\nnew\np\n" {
			t.Errorf("the original has %q", got)
		}
		// One that cannot be discarded does not keep the others.
		if r := w.hermes("sandbox", "discard", "p", "p-1"); r.code != 1 || r.stdout != "removed p-1\n" || !oneLine(r.stderr) {
			t.Errorf("%v", r)
		}
		gone := decode[struct {
			Removed []string
			Files   bool
		}](t, w.must("sandbox", "discard", "--json", "p-2", "mine"))
		if !slices.Equal(gone.Removed, []string{"p-2", "mine"}) || !gone.Files {
			t.Errorf("%+v", gone)
		}
		if got := line("p", "cat /srv/p"); got != "p\n" {
			t.Errorf("the original has %q", got)
		}
	})
}
