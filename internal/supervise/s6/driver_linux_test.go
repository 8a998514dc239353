package s6

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/supervise"
)

func TestASlotHasTheLayoutOfTheContract(t *testing.T) {
	r := newScanned(t)
	s := r.service("gateway-phase3test", "exec sleep 1000")
	s.Env = append(s.Env, "KEY=secret")
	s.Log = filepath.Join(r.home, "log")
	defer unix.Umask(unix.Umask(0o077))
	r.ok(r.Register(t.Context(), s, false))
	slot := filepath.Join(r.scan, s.Name)
	for name, want := range map[string]os.FileMode{
		"": 0o755 | os.ModeDir, "type": 0o644, "run": 0o755, "finish": 0o755, "down": 0o644, "data/environment": 0o600,
		"event": eventMode | os.ModeDir, "supervise": 0o755 | os.ModeDir, "supervise/event": eventMode | os.ModeDir, "supervise/control": 0o660 | os.ModeNamedPipe,
		"log/run": 0o755, "log/event": eventMode | os.ModeDir, "log/supervise/event": eventMode | os.ModeDir, "log/supervise/control": 0o660 | os.ModeNamedPipe,
	} {
		info, err := os.Lstat(filepath.Join(slot, name))
		r.ok(err)
		if info.Mode() != want {
			t.Errorf("%q is %v and not %v", name, info.Mode(), want)
		}
		if st := info.Sys().(*syscall.Stat_t); r.user != nil && (int(st.Uid) != r.user.UID || int(st.Gid) != r.user.GID) {
			t.Errorf("%q belongs to %d:%d", name, st.Uid, st.Gid)
		}
	}
	if text, err := os.ReadFile(filepath.Join(slot, "type")); err != nil || string(text) != "longrun\n" {
		t.Errorf("type is %q, %v", text, err)
	}
	for _, script := range []string{"run", "finish", "log/run"} {
		text, err := os.ReadFile(filepath.Join(slot, script))
		r.ok(err)
		if bytes.Contains(text, []byte("secret")) || bytes.ContainsAny(text, "\r") || !bytes.HasPrefix(text, []byte("#!/bin/sh\n")) {
			t.Errorf("%s is\n%s", script, text)
		}
	}
	if st, err := r.Status(t.Context(), s.Name); err != nil || st.Want != "down" {
		t.Errorf("its status is %+v, %v", st, err)
	}
	r.ok(r.Start(t.Context(), s.Name))
	if !absent(filepath.Join(slot, "down")) {
		t.Error("a supervisor that begins anew would leave it down")
	}
	r.ok(r.Unregister(t.Context(), s.Name))
	if !absent(slot) {
		t.Error("the slot is there still")
	}
}

func TestTheSkeletonIsMadeOnce(t *testing.T) {
	slot := t.TempDir()
	if err := Skeleton(slot); err != nil {
		t.Fatal(err)
	}
	if !absent(filepath.Join(slot, "log")) {
		t.Error("a logger was made up")
	}
	// What is there may be in use, with modes that somebody chose.
	for _, name := range []string{"event", "supervise", "supervise/event", "supervise/control"} {
		if err := os.Chmod(filepath.Join(slot, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	before := tree(t, slot)
	if err := Skeleton(slot); err != nil {
		t.Fatal(err)
	}
	if after := tree(t, slot); after != before {
		t.Errorf("the second time changed\n%s\ninto\n%s", before, after)
	}
}

// tree is everything below a directory, with its mode and inode.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Lstat(path)
		fmt.Fprintln(&b, path, info.Mode(), info.Sys().(*syscall.Stat_t).Ino)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A scanner that looks at any time sees nothing or a whole slot.
func TestASlotIsPublishedAtOnce(t *testing.T) {
	r := newScanned(t)
	leftover := filepath.Join(r.scan, ".gateway-a.tmp")
	r.ok(r.hand.Do(func() error { return os.MkdirAll(filepath.Join(leftover, "run"), 0o755) }))
	watch, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	r.ok(err)
	defer unix.Close(watch)
	_, err = unix.InotifyAddWatch(watch, r.scan, unix.IN_CREATE|unix.IN_MOVE)
	r.ok(err)
	r.ok(r.Register(t.Context(), r.service("gateway-a", "exec sleep 1000"), true))
	buf := make([]byte, 64<<10)
	n, err := unix.Read(watch, buf)
	r.ok(err)
	if got, want := events(buf[:n]), []string{"create .gateway-a.tmp", "from .gateway-a.tmp", "to gateway-a"}; !slices.Equal(got, want) {
		t.Errorf("the scan directory saw %v", got)
	}
	if !absent(leftover) {
		t.Error("the staged one is there still")
	}
	if !absent(filepath.Join(r.scan, "gateway-a/down")) {
		t.Error("it is down")
	}
}

// events are what inotify told.
func events(buf []byte) (all []string) {
	for len(buf) >= unix.SizeofInotifyEvent {
		mask := uint32(buf[4]) | uint32(buf[5])<<8 | uint32(buf[6])<<16 | uint32(buf[7])<<24
		end := unix.SizeofInotifyEvent + int(buf[12]) + int(buf[13])<<8
		name := unix.ByteSliceToString(buf[unix.SizeofInotifyEvent:end])
		switch {
		case mask&unix.IN_CREATE != 0:
			all = append(all, "create "+name)
		case mask&unix.IN_MOVED_FROM != 0:
			all = append(all, "from "+name)
		case mask&unix.IN_MOVED_TO != 0:
			all = append(all, "to "+name)
		}
		buf = buf[end:]
	}
	return all
}

func TestBadNamesAreRefused(t *testing.T) {
	r := newReal(t)
	for _, p := range []string{"", "Coder", "foo/bar", "../e", "-x", "_x", "a b", "a.b", "a\n", strings.Repeat("a", 252)} {
		name := Prefix + p
		if err := r.Register(t.Context(), r.service(name, "true"), true); err == nil {
			t.Errorf("%q was registered", name)
		}
		if err := r.Unregister(t.Context(), name); err == nil {
			t.Errorf("%q was unregistered", name)
		}
		if _, err := r.Status(t.Context(), name); err == nil {
			t.Errorf("%q has a status", name)
		}
	}
	if names := r.names(); len(names) > 0 {
		t.Errorf("left behind is %v", names)
	}
	r.ok(r.Replace(t.Context(), r.service("gateway-a", "true"), true))
	if _, err := r.Status(t.Context(), "gateway-a/supervise/.."); !errors.Is(err, supervise.ErrNotRegistered) {
		t.Errorf("a path is a name: %v", err)
	}
}

// The longest name that there can be is registered.
func TestLongNames(t *testing.T) {
	r := newScanned(t)
	name := Prefix + strings.Repeat("a", longestName-len(Prefix))
	r.ok(r.Register(t.Context(), r.service(name, "exec sleep 1000"), true))
	r.ok(r.Unregister(t.Context(), name))
}

func TestImpossibleServicesAreRefused(t *testing.T) {
	r := newReal(t)
	for what, change := range map[string]func(*supervise.Service){
		"no program":              func(s *supervise.Service) { s.Argv = nil },
		"a relative program":      func(s *supervise.Service) { s.Argv[0] = "sh" },
		"a program like NAME=x":   func(s *supervise.Service) { s.Argv[0] = "/bin/a=b" },
		"a zero byte":             func(s *supervise.Service) { s.Argv[1] = "a\x00b" },
		"no directory":            func(s *supervise.Service) { s.Dir = "" },
		"a relative log":          func(s *supervise.Service) { s.Log = "log" },
		"a variable with no name": func(s *supervise.Service) { s.Env = []string{"=x"} },
		"no variable":             func(s *supervise.Service) { s.Env = []string{"x"} },
		"somebody else":           func(s *supervise.Service) { s.User = &supervise.User{UID: stranger + 1, GID: stranger} },
	} {
		s := r.service("gateway-a", "true")
		change(&s)
		if err := r.Replace(t.Context(), s, true); err == nil {
			t.Errorf("%s was registered", what)
		}
	}
}

func (r *real) names() (names []string) {
	r.t.Helper()
	entries, err := os.ReadDir(r.scan)
	r.ok(err)
	for _, e := range entries {
		if e.Name() != ".s6-svscan" {
			names = append(names, e.Name())
		}
	}
	return names
}

func TestTheListIsOfSlotsOnly(t *testing.T) {
	r := newReal(t)
	for _, dir := range []string{"gateway-b", "gateway-a", ".gateway-c.tmp", "dashboard", "main-hermes"} {
		r.ok(os.Mkdir(filepath.Join(r.scan, dir), 0o755))
	}
	r.ok(os.WriteFile(filepath.Join(r.scan, "gateway-file"), nil, 0o644))
	r.ok(os.Symlink("gateway-a", filepath.Join(r.scan, "gateway-link")))
	list, err := r.List(t.Context())
	r.ok(err)
	if len(list) != 2 || list[0].Name != "gateway-a" || list[1].Name != "gateway-b" {
		t.Errorf("the list is %+v", list)
	}
	r.ok(os.RemoveAll(r.scan))
	if list, err := r.List(t.Context()); err != nil || list != nil {
		t.Errorf("where no scan directory is, the list is %+v, %v", list, err)
	}
}

func TestWithoutAScannerNothingIsRegistered(t *testing.T) {
	r := newReal(t)
	s := r.service("gateway-a", "exec sleep 1000")
	if err := r.Register(t.Context(), s, true); err == nil || !strings.Contains(err.Error(), "s6-svscan") {
		t.Errorf("the error is %v", err)
	}
	if names := r.names(); len(names) > 0 {
		t.Errorf("left behind is %v", names)
	}
}

// A boot lays the slots out before its scanner starts.
func TestReplacingNeedsNoScanner(t *testing.T) {
	r := newReal(t)
	for _, script := range []string{"exit 1", "exec sleep 1000"} {
		r.ok(r.Replace(t.Context(), r.service("gateway-a", script), true))
	}
	r.ok(r.Replace(t.Context(), r.service("gateway-b", "exec sleep 1000"), false))
	if st, err := r.Status(t.Context(), "gateway-a"); err != nil || st.Want != "up" || st.State != supervise.Down || st.Reason == "" {
		t.Errorf("before its scanner starts, the status is %+v, %v", st, err)
	}
	var control *supervise.ControlError
	if err := r.Start(t.Context(), "gateway-a"); !errors.As(err, &control) || control.Code != exitNoSupervisor {
		t.Errorf("the error is %v", err)
	}
	r.start()
	r.eventually("it runs", func() bool { st, err := r.Status(t.Context(), "gateway-a"); return err == nil && st.Running() })
	r.eventually("the other one is looked after", func() bool {
		st, err := r.Status(t.Context(), "gateway-b")
		return err == nil && st.State == supervise.Down && st.Want == "down" && st.Reason == ""
	})
}

// Who was taking a slot away when it was killed has left it to the next one.
func TestWhatWasNotQuiteUnregisteredIsNoHindrance(t *testing.T) {
	r := newScanned(t)
	s := r.service("gateway-a", "exec sleep 1000")
	s.Log = filepath.Join(r.home, "log")
	for _, next := range []func() error{
		func() error { return r.Register(t.Context(), s, true) },
		func() error { return r.Unregister(t.Context(), s.Name) },
	} {
		r.ok(r.Replace(t.Context(), s, true))
		r.ok(os.Rename(filepath.Join(r.scan, "gateway-a"), filepath.Join(r.scan, ".gateway-a.gone")))
		r.ok(next())
		if !absent(filepath.Join(r.scan, ".gateway-a.gone")) {
			t.Error("it is there still")
		}
	}
}

// The pause after a failure is spent in the run script, and ends when somebody wants something else.
func TestAPauseInRunCanBeEnded(t *testing.T) {
	r := newScanned(t)
	ctx := t.Context()
	s := r.service("gateway-a", "[ -e once ] && echo >again && exec sleep 1000; echo >once; exit 1")
	s.Restart = supervise.Restarting{Min: time.Hour, Max: time.Hour}
	var pausing record
	pause := func() {
		r.ok(os.RemoveAll(filepath.Join(r.home, "once")))
		r.ok(r.Replace(ctx, s, true))
		r.eventually("run waits", func() bool {
			var n notes
			pausing, n, _ = r.read(s.Name)
			return pausing.runs() && n.pausing && pausing.ended.ExitStatus() == 1 && n.ended == 1
		})
		r.eventually("it sleeps", func() bool { return sleeps(pausing.pid) })
		if st, err := r.Status(ctx, s.Name); err != nil || st.State != supervise.Backoff || st.PID != 0 || time.Until(st.Next) < 30*time.Minute {
			t.Errorf("its status is %+v, %v", st, err)
		}
	}
	pause()
	r.ok(r.Start(ctx, s.Name))
	r.eventually("it runs", func() bool { return !absent(filepath.Join(r.home, "again")) })
	if st, err := r.Status(ctx, s.Name); err != nil || st.State != supervise.Ready {
		t.Errorf("its status is %+v, %v", st, err)
	}
	pause()
	r.ok(r.Stop(ctx, s.Name))
	r.eventually("it is down", func() bool { st, err := r.Status(ctx, s.Name); return err == nil && st.State == supervise.Down })
	// The pause's sleep is somebody else's child by then, who may take a moment to reap it.
	r.eventually("nothing of it waits", func() bool { return unix.Kill(-pausing.pid, 0) == unix.ESRCH })
}

// sleeps says whether a process waits for a sleep of its own.
func sleeps(pid int) bool {
	child, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	cmdline, _ := os.ReadFile(fmt.Sprintf("/proc/%s/cmdline", strings.TrimSpace(string(child))))
	return strings.HasPrefix(string(cmdline), "sleep\x00")
}

// A start that comes while finish still runs is not forgotten when that says that the service is to stay down.
func TestAStartDuringFinishCounts(t *testing.T) {
	r := newScanned(t)
	ctx := t.Context()
	s := r.service("gateway-a", "[ -e once ] && exec sleep 1000; echo >once; exit 0")
	r.ok(r.Register(ctx, s, false))
	finish := filepath.Join(r.scan, s.Name, "finish")
	r.ok(r.hand.Do(func() error {
		return errors.Join(os.Rename(finish, finish+".slow"), os.WriteFile(finish, []byte("#!/bin/sh\nsleep 1\nexec ./finish.slow \"$@\"\n"), 0o755))
	}))
	r.ok(r.Start(ctx, s.Name))
	r.eventually("finish runs", func() bool { rec, _, err := r.read(s.Name); return err == nil && rec.finishing })
	r.ok(r.Start(ctx, s.Name))
	r.eventually("it runs", func() bool { st, err := r.Status(ctx, s.Name); return err == nil && st.Running() })
}

// What is wanted outlives the supervisor, too.
func TestANewSupervisorWantsTheSame(t *testing.T) {
	r := newScanned(t)
	ctx := t.Context()
	r.ok(r.Register(ctx, r.service("gateway-up", "exec sleep 1000"), false))
	r.ok(r.Register(ctx, r.service("gateway-down", "exec sleep 1000"), true))
	r.ok(r.Start(ctx, "gateway-up"))
	r.ok(r.Stop(ctx, "gateway-down"))
	down := func() bool {
		st, err := r.Status(ctx, "gateway-down")
		return err == nil && st.State == supervise.Down && st.Want == "down" && st.Reason == ""
	}
	r.eventually("it is down", down)
	for _, name := range []string{"gateway-up", "gateway-down"} {
		pid := r.supervisor(name)
		r.ok(syscall.Kill(pid, syscall.SIGKILL))
		r.eventually(name+" has a new supervisor", func() bool { now := r.supervisor(name); return now != 0 && now != pid })
	}
	r.eventually("it runs", func() bool { st, err := r.Status(ctx, "gateway-up"); return err == nil && st.Running() })
	r.eventually("it is down", down)
}

// supervisor is the process that looks after a slot, or 0.
func (r *real) supervisor(name string) int {
	r.t.Helper()
	procs, err := filepath.Glob("/proc/[0-9]*/cmdline")
	r.ok(err)
	for _, proc := range procs {
		cmdline, _ := os.ReadFile(proc)
		cwd, _ := os.Readlink(filepath.Join(filepath.Dir(proc), "cwd"))
		if string(cmdline) == "s6-supervise\x00"+name+"\x00" && cwd == filepath.Join(r.scan, name) {
			var pid int
			fmt.Sscanf(proc, "/proc/%d/", &pid)
			return pid
		}
	}
	return 0
}
