package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"hermes.example/hermes/sandbox"
)

func (a *arena) stateFile(task string) string {
	return filepath.Join(a.home, "sandboxes", "native", a.id(task).Name(), "state.json")
}

// editState changes fields of a sandbox's state.
func (a *arena) editState(task string, fields map[string]any) {
	a.Helper()
	data, err := os.ReadFile(a.stateFile(task))
	if err != nil {
		a.Fatal(err)
	}
	st := make(map[string]any)
	if err := json.Unmarshal(data, &st); err != nil {
		a.Fatal(err)
	}
	for name, value := range fields {
		if _, ok := st[name]; !ok {
			a.Fatalf("the state has no %s", name)
		}
		st[name] = value
	}
	if data, err = json.Marshal(st); err != nil {
		a.Fatal(err)
	}
	if err := os.WriteFile(a.stateFile(task), data, 0o600); err != nil {
		a.Fatal(err)
	}
}

// spoil replaces a state by something that is none.
var spoil = map[string]func(file string) error{
	"empty":      func(file string) error { return os.WriteFile(file, nil, 0o600) },
	"cut":        func(file string) error { return os.Truncate(file, 40) },
	"binary":     func(file string) error { return os.WriteFile(file, []byte("\x00\xff\x00\xff"), 0o600) },
	"null":       func(file string) error { return os.WriteFile(file, []byte("null"), 0o600) },
	"other JSON": func(file string) error { return os.WriteFile(file, []byte(`{"PID":"x"}`), 0o600) },
	"huge": func(file string) error {
		os.Remove(file)
		f, err := os.Create(file)
		if err != nil {
			return err
		}
		defer f.Close()
		return f.Truncate(2 << 30)
	},
	"link": func(file string) error {
		os.Remove(file)
		return os.Symlink("/etc/passwd", file)
	},
	"link to itself": func(file string) error {
		os.Remove(file)
		return os.Symlink(file, file)
	},
	"directory": func(file string) error {
		os.Remove(file)
		return os.Mkdir(file, 0o700)
	},
	"fifo": func(file string) error {
		os.Remove(file)
		return syscall.Mkfifo(file, 0o600)
	},
}

func TestStateThatCannotBeRead(t *testing.T) {
	everyone(t, func(t *testing.T) {
		for name, spoil := range spoil {
			for _, dead := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s, guest dead %v", name, dead), func(t *testing.T) {
					a := newArena(t)
					a.must(a.ensure("t", sandbox.Spec{}), "echo kept > file")
					other := a.ensure("other", sandbox.Spec{})
					if dead {
						pid := a.statePID("t")
						signal(pid, syscall.SIGKILL)
						eventually(func() bool { return signal(pid, 0) != nil })
					}
					if err := spoil(a.stateFile("t")); err != nil {
						t.Fatal(err)
					}
					before := peak()
					a.openSpoilt(dead)
					if used := peak() - before; used > 200<<20 {
						t.Errorf("reading it took %d MB", used>>20)
					}
					// The others are not affected, and it can be removed.
					a.must(other, "true")
					infos, err := a.manager.List(t.Context(), a.home)
					if err != nil || len(infos) < 1 {
						t.Errorf("%d are listed: %v", len(infos), err)
					}
					ctx, cancel := context.WithTimeout(t.Context(), bound)
					defer cancel()
					if err := a.manager.Remove(ctx, a.id("t"), true); err != nil {
						t.Errorf("cannot remove: %v", err)
					}
					a.must(a.ensure("t", sandbox.Spec{}), "test ! -e file")
					if !eventually(func() bool { return len(a.guests()) == 2 }) {
						t.Errorf("%d guests instead of two", len(a.guests()))
					}
				})
			}
		}
	})
}

// openSpoilt opens it within the bound: either it works and there is no second
// one, or there is one line that says what to do.
func (a *arena) openSpoilt(dead bool) {
	a.Helper()
	ctx, cancel := context.WithTimeout(a.Context(), bound)
	defer cancel()
	box, err := a.manager.Ensure(ctx, a.id("t"), sandbox.Spec{})
	switch {
	case ctx.Err() != nil:
		a.Errorf("it hangs: %v", err)
	case err != nil:
		if text := err.Error(); strings.Contains(text, "\n") || !strings.Contains(text, "remove") {
			a.Errorf("an error that does not help: %s", text)
		}
	default:
		a.must(box, "true")
	}
	if n := len(a.guests()); n > 2 {
		a.Errorf("%d guests", n)
	}
}

func (a *arena) statePID(task string) int {
	a.Helper()
	data, err := os.ReadFile(a.stateFile(task))
	var st struct{ PID int }
	if err == nil {
		err = json.Unmarshal(data, &st)
	}
	if err != nil {
		a.Fatal(err)
	}
	return st.PID
}

// peak is the most memory that this process has had.
func peak() int64 {
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "VmHWM:" {
			kb, _ := strconv.ParseInt(f[1], 10, 64)
			return kb << 10
		}
	}
	return 0
}

// victim starts a process that nobody here may signal.
func victim(t testing.TB) (pid int, started string, alive func() bool) {
	t.Helper()
	cmd := exec.Command("sleep", "300")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		cmd.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-ended
	})
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	return cmd.Process.Pid, fields[19], func() bool {
		select {
		case <-ended:
			return false
		default:
			return true
		}
	}
}

func TestRecycledPidIsNeverSignalled(t *testing.T) {
	everyone(t, func(t *testing.T) {
		for name, started := range map[string]bool{"another start time": false, "the same start time": true} {
			t.Run(name, func(t *testing.T) {
				a := newArena(t)
				a.must(a.ensure("t", sandbox.Spec{}), "echo kept > file")
				a.killGuest()
				eventually(func() bool { return len(a.guests()) == 0 })
				pid, since, alive := victim(t)
				fields := map[string]any{"PID": pid}
				if started {
					fields["Started"] = since
				}
				a.editState("t", fields)
				ctx, cancel := context.WithTimeout(t.Context(), bound)
				defer cancel()
				box, err := a.manager.Ensure(ctx, a.id("t"), sandbox.Spec{})
				if err != nil {
					t.Errorf("it cannot be opened: %v", err)
				} else if out := a.must(box, "cat file"); out != "kept" {
					t.Errorf("its files are gone: %q", out)
				}
				if !alive() {
					t.Fatal("a stranger was signalled by opening")
				}
				a.editState("t", fields)
				a.manager.Remove(ctx, a.id("t"), false)
				if !alive() {
					t.Fatal("a stranger was signalled by removing")
				}
				for _, pid := range a.guests() { // the state no longer names it
					signal(pid, syscall.SIGKILL)
				}
			})
		}
	})
}

func TestStateOfAnotherHostOrBoot(t *testing.T) {
	everyone(t, func(t *testing.T) {
		for name, c := range map[string]struct {
			fields map[string]any
			lives  bool // there
			works  bool
		}{
			"another boot":                       {map[string]any{"Boot": "00000000-0000-0000-0000-000000000000"}, false, true},
			"another host":                       {map[string]any{"Host": "another"}, true, false},
			"another host and its boot":          {map[string]any{"Host": "another", "Boot": "00000000-0000-0000-0000-000000000000"}, true, false},
			"another host where it ended":        {map[string]any{"Host": "another"}, false, true},
			"a container that was made anew":     {map[string]any{"Host": "another", "PID": 1, "Started": "1"}, false, true},
			"another boot of a host that is not": {map[string]any{"Host": "another", "Boot": "00000000-0000-0000-0000-000000000000"}, false, true},
		} {
			t.Run(name, func(t *testing.T) {
				a := newArena(t)
				a.must(a.ensure("t", sandbox.Spec{}), "echo kept > file")
				a.killGuest()
				eventually(func() bool { return len(a.guests()) == 0 })
				a.editState("t", c.fields)
				if c.lives {
					spool, err := os.Open(filepath.Join(filepath.Dir(a.stateFile("t")), "spool"))
					if err != nil {
						t.Fatal(err)
					}
					defer spool.Close()
					if !eventually(func() bool { return syscall.Flock(int(spool.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil }) {
						t.Fatal("a dead guest still holds it")
					}
				}
				ctx, cancel := context.WithTimeout(t.Context(), bound)
				defer cancel()
				box, err := a.manager.Ensure(ctx, a.id("t"), sandbox.Spec{})
				switch {
				case c.works && err != nil:
					t.Error(err)
				case c.works:
					if out := a.must(box, "cat file"); out != "kept" {
						t.Errorf("its files are gone: %q", out)
					}
				case err == nil:
					t.Error("a second sandbox was made beside one on another host")
				case !strings.Contains(err.Error(), "host") || strings.Contains(err.Error(), "\n"):
					t.Errorf("an error that does not help: %v", err)
				}
				if !c.works { // only its owner can end it; for the test it is over
					os.RemoveAll(filepath.Dir(a.stateFile("t")))
				}
			})
		}
	})
}
