package up

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// refused calls "hermes up" where it cannot work: one line that says why and what to do, and nothing is left.
func (w *world) refused(code int, says ...string) {
	w.t.Helper()
	out, got := w.hermes("up", "--port", "0")
	if got != code || strings.Count(out, "\n") != 1 {
		w.t.Errorf("%d, not %d in one line: %s", got, code, out)
	}
	for _, s := range says {
		if !strings.Contains(out, s) {
			w.t.Errorf("%q is not in %s", s, out)
		}
	}
	w.clean()
}

// room makes the home a file system of its own, and returns what changes how that is mounted.
func (w *world) room(options string) (remount func(flags uintptr)) {
	w.t.Helper()
	if os.Getuid() != 0 {
		w.t.Skip("only root can mount a file system")
	}
	if err := os.Mkdir(w.home, 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := syscall.Mount("home", w.home, "tmpfs", 0, options); err != nil {
		w.t.Skipf("no file system can be mounted here: %v", err)
	}
	w.t.Cleanup(func() { syscall.Unmount(w.home, syscall.MNT_DETACH) })
	return func(flags uintptr) {
		if err := syscall.Mount("home", w.home, "tmpfs", syscall.MS_REMOUNT|flags, options); err != nil {
			w.t.Fatal(err)
		}
	}
}

// fill leaves no room in the home, and returns what gives it back.
func (w *world) fill() (free func()) {
	w.t.Helper()
	path := filepath.Join(w.home, "fill")
	f, err := os.Create(path)
	if err != nil {
		w.t.Fatal(err)
	}
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	return func() { os.Remove(path) }
}

func TestAHomeThatCannotBeUsed(t *testing.T) {
	const step = "HERMES_HOME"
	t.Run("read only", func(t *testing.T) {
		w := newWorld(t, nil)
		w.room("size=1m")(syscall.MS_RDONLY)
		w.refused(1, w.home, "read-only file system", step)
	})
	t.Run("full", func(t *testing.T) {
		w := newWorld(t, nil)
		w.room("size=256k")
		free := w.fill()
		w.refused(1, w.home, "no space left", "make room", step)
		free()
		w.up().there()
	})
	t.Run("another user's", func(t *testing.T) {
		if os.Getuid() != 0 {
			t.Skip("only root can be another user")
		}
		w := newWorld(t, ordinary)
		if err := os.Mkdir(w.home, 0o755); err != nil {
			t.Fatal(err)
		}
		w.refused(1, w.home, "permission denied", step)
	})
	t.Run("where none can be made", func(t *testing.T) {
		if os.Getuid() != 0 {
			t.Skip("only root can be another user")
		}
		w := newWorld(t, ordinary)
		os.Chown(filepath.Dir(w.home), 0, 0)
		os.Chmod(filepath.Dir(w.home), 0o755)
		w.refused(1, w.home, "permission denied", step)
	})
	t.Run("a file", func(t *testing.T) {
		w := newWorld(t, nil)
		if err := os.WriteFile(w.home, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		w.refused(1, w.home, "not a directory", step)
	})
}

// A home that fills up keeps what runs, and ends in order.
func TestAHomeThatFillsUp(t *testing.T) {
	w := newWorld(t, nil)
	w.room("size=4m")
	p := w.up()
	p.there()
	free := w.fill()
	w.must("service", "restart", "dashboard")
	if code, _ := w.call("GET", "/health", ""); code != 200 {
		t.Errorf("the gateway answers %d", code)
	}
	free()
	w.must("gateway", "restart")
	p.signal(syscall.SIGINT)
	if code := p.status(); code != 0 {
		t.Errorf("it ends with %d: %s", code, p.err.String())
	}
	w.clean()
}

func TestNoPlaceForSockets(t *testing.T) {
	t.Run("all are another's", func(t *testing.T) {
		if os.Getuid() != 0 {
			t.Skip("only root can be another user")
		}
		w := newWorld(t, ordinary)
		temp := filepath.Join(filepath.Dir(w.run), "tmp")
		for _, dir := range []string{filepath.Join(w.run, "hermes"), temp, filepath.Join(temp, "hermes-"+itoa(ordinary.UID))} {
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		w.env = append(w.env, "TMPDIR="+temp)
		w.refused(1, "belongs to user 0", "XDG_RUNTIME_DIR")
	})
	t.Run("a path that no socket can have", func(t *testing.T) {
		w := newWorld(t, nil)
		long := filepath.Join(w.run, strings.Repeat("long", 30))
		if err := os.Mkdir(long, 0o700); err != nil {
			t.Fatal(err)
		}
		w.env = append(w.env, "XDG_RUNTIME_DIR="+long)
		w.refused(1, long, "too long", "XDG_RUNTIME_DIR")
	})
	// One that somebody else put there before is left alone, and another place is used.
	t.Run("one is a link", func(t *testing.T) {
		if os.Getuid() != 0 {
			t.Skip("only root can make what is not the user's")
		}
		w := newWorld(t, ordinary)
		temp, trap := filepath.Join(filepath.Dir(w.run), "tmp"), t.TempDir()
		if err := os.Mkdir(temp, 0o1777); err != nil {
			t.Fatal(err)
		}
		os.Chmod(temp, 0o1777)
		os.Chmod(trap, 0o777)
		if err := os.Symlink(trap, filepath.Join(w.run, "hermes")); err != nil {
			t.Fatal(err)
		}
		w.env = append(w.env, "TMPDIR="+temp)
		if said := w.up().there(); !oneTime.MatchString(said) {
			t.Errorf("it says %s", said)
		}
		if left, _ := os.ReadDir(trap); len(left) > 0 {
			t.Errorf("what the link leads to has %v", left)
		}
	})
}

// A home whose path is longer than a socket's may be, with what paths may have in them.
func TestAHomeWithALongName(t *testing.T) {
	w := newWorld(t, nil)
	w.home = filepath.Join(filepath.Dir(w.home), "a b ü漢字 $HOME"+strings.Repeat("x", 150), "home")
	if err := os.Mkdir(filepath.Dir(w.home), 0o700); err != nil {
		t.Fatal(err)
	}
	w.env = append(w.env, "HERMES_HOME="+w.home)
	p := w.up()
	if said := p.there(); !oneTime.MatchString(said) || !strings.Contains(said, w.home) {
		t.Errorf("it says %s", said)
	}
	if out := w.must("service", "ls"); strings.Count(out, "ready") != 2 {
		t.Errorf("from another process: %s", out)
	}
	p.signal(syscall.SIGINT)
	p.status()
	w.clean()
}

// Where no service can run there is nothing to stay for.
func TestAConfigurationThatNothingCanUse(t *testing.T) {
	w := newWorld(t, nil)
	if err := os.Mkdir(w.home, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(w.home, "config.yaml")
	if err := os.WriteFile(file, []byte("terminal: [\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.refused(78, "cannot understand "+file, "run this again")
	// A program is told the same, and why each of them does not run.
	p := w.up("--json")
	code, text := p.status(), p.stdout.String()
	var found struct {
		Dashboard struct{ State, Problem string }
		Gateways  []struct{ State, Problem string }
	}
	if err := json.Unmarshal([]byte(text), &found); err != nil || code != 78 || found.Dashboard.State != "parked" || len(found.Gateways) != 1 || !strings.Contains(found.Gateways[0].Problem, file) {
		t.Errorf("%d: %s, %v", code, text, err)
	}
	// What one of them can use is enough.
	if err := os.WriteFile(file, []byte("terminal:\n  backend: warp\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if said := w.up().there(); !oneTime.MatchString(said) || !strings.Contains(lineOf(said, "gateway"), `cannot use the backend "warp"`) {
		t.Errorf("it says %s", said)
	}
}

// A file that cannot be understood is not the end of what its owner wrote in another.
func TestAKeyOfTheOwnerStays(t *testing.T) {
	for name, c := range map[string]struct{ variables, configuration string }{
		"port":          {"API_SERVER_PORT=nope\n", ""},
		"configuration": {"", "terminal: [\n"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			if err := os.Mkdir(w.home, 0o700); err != nil {
				t.Fatal(err)
			}
			text := "API_SERVER_KEY=written-by-a-person\n" + c.variables
			os.WriteFile(filepath.Join(w.home, ".env"), []byte(text), 0o600)
			os.WriteFile(filepath.Join(w.home, "config.yaml"), []byte(c.configuration), 0o600)
			p := w.up()
			eventually(t, "it has tried", func() bool { return p.hasEnded() || strings.Contains(p.stdout.String(), "Ctrl-C stops") })
			if now, _ := os.ReadFile(filepath.Join(w.home, ".env")); string(now) != text {
				t.Errorf("the file of variables has become %q", now)
			}
		})
	}
}
