package pyruntime_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// process is a Python process that does a line at a time.
type process struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func (s *store) start() *process {
	s.Helper()
	p := &process{Cmd: s.command("-c", "import sys\nfor line in sys.stdin:\n    exec(line)\n    sys.stdout.flush()")}
	p.Stderr = os.Stderr
	in, err := p.StdinPipe()
	if err == nil {
		p.in = in
		var out io.ReadCloser
		out, err = p.StdoutPipe()
		p.out = bufio.NewReader(out)
	}
	if err == nil {
		err = p.Start()
	}
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { p.end() })
	return p
}

// do runs a line that prints one.
func (p *process) do(t testing.TB, line string) string {
	t.Helper()
	fmt.Fprintln(p.in, line)
	said, err := p.out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(said)
}

func (p *process) end() {
	p.in.Close()
	_ = p.Wait()
}

// removable says whether garbage collection could have the generation.
func (s *store) removable(digest string) bool {
	s.Helper()
	f := s.lockForRemoval(digest)
	if f == nil {
		return false
	}
	f.Close()
	return true
}

func (s *store) lockForRemoval(digest string) *os.File {
	s.Helper()
	f, err := os.Open(filepath.Join(s.generation(digest), "lock"))
	if err != nil {
		s.Fatal(err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err != nil {
		f.Close()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			s.Fatal(err)
		}
		return nil
	}
	return f
}

func TestAGenerationInUseStays(t *testing.T) {
	s := newStore(t)
	old := s.publish(map[string]string{"first.py": "who = 'old'", "second.py": "who = 'old'"})
	p := s.start()
	if got := p.do(t, "import first; print(first.who)"); got != "old" {
		t.Fatal(got)
	}
	latest := s.publish(map[string]string{"first.py": "who = 'new'", "second.py": "who = 'new'"})
	if s.removable(old) {
		t.Error("a process uses it, and it could be removed")
	}
	if got := p.do(t, "import second; print(second.who)"); got != "old" {
		t.Errorf("a process that runs finds the %s one", got)
	}
	const child = "import subprocess; print(subprocess.check_output([sys.executable, '-c', 'import second; print(second.who)'], text=True).strip())"
	if got := p.do(t, child); got != "old" {
		t.Errorf("its child finds the %s one", got)
	}
	if held := programHolds(t, p, s.generation(old)); held != "" {
		t.Errorf("a program that is not Python's has inherited %s", held)
	}
	p.end()
	if !s.removable(old) {
		t.Error("no process uses it, and it cannot be removed")
	}
	if s.last() != s.site(latest) {
		t.Error("a new process does not find the new one")
	}
}

// programHolds lets the process start another program with all of its descriptors, and returns one of these that is in
// the directory.
func programHolds(t *testing.T, p *process, dir string) string {
	t.Helper()
	pid := p.do(t, "x = subprocess.Popen(['sleep', '60'], close_fds=False); print(x.pid)")
	defer p.do(t, "x.kill(); x.wait(); print()")
	fds, err := os.ReadDir(filepath.Join("/proc", pid, "fd"))
	if err != nil || len(fds) < 3 {
		t.Fatalf("its descriptors are %v, %v", fds, err)
	}
	for _, fd := range fds {
		if to, _ := os.Readlink(filepath.Join("/proc", pid, "fd", fd.Name())); strings.HasPrefix(to, dir) {
			return to
		}
	}
	return ""
}

func TestAGenerationThatIsHandedDownIsCheckedLikeAnyOther(t *testing.T) {
	s := newStore(t)
	old := s.publish(map[string]string{"addon.py": "who = 'old'"})
	latest := s.publish(map[string]string{"addon.py": "who = 'new'"})
	s.write(filepath.Join(s.abi(), old[3:], "site-packages", "addon.py"), "")
	s.write(filepath.Join(s.abi(), old[3:], "lock"), "")
	env := s.env
	for value, want := range map[string]string{
		old: old, latest: latest, "": latest, "x": latest, strings.ToUpper(old): latest, old[1:]: latest, old + "0": latest,
		"../" + old[3:]: latest, strings.Repeat("0", 64): latest, strings.Repeat("/", 64): latest, old + "\n": latest,
	} {
		s.env = append(env[:len(env):len(env)], "HERMES_ADDON_GENERATION="+value)
		if got := s.last(); got != s.site(want) {
			t.Errorf("asked for %q the path ends with %s", value, got)
		}
	}
	chmod(t, s.generation(old), 0o777)
	s.env = append(env[:len(env):len(env)], "HERMES_ADDON_GENERATION="+old)
	if got := s.last(); got != s.site(latest) {
		t.Errorf("with a handed-down one that others can write the path ends with %s", got)
	}
	if got := s.python("-c", "import os; print(os.environ['HERMES_ADDON_GENERATION'])"); got != latest {
		t.Errorf("children are told %s", got)
	}
}

func TestAGenerationThatIsBeingRemovedIsNotUsed(t *testing.T) {
	s := newStore(t)
	old := s.publish(map[string]string{"addon.py": "who = 'old'"})
	latest := s.publish(map[string]string{"addon.py": "who = 'new'"})
	s.env = append(s.env, "HERMES_ADDON_GENERATION="+old)
	held := s.lockForRemoval(old)
	defer held.Close()
	if got := s.last(); got != s.site(latest) {
		t.Errorf("the path ends with %s", got)
	}
	current := s.lockForRemoval(latest)
	defer current.Close()
	s.wantNothing("nothing that stays")
}

// Generations come and go while processes start: each has one that stays.
func TestStartsWhileGenerationsComeAndGo(t *testing.T) {
	s := newStore(t)
	number := 0
	next := func() string {
		number++
		return s.publish(map[string]string{"addon.py": fmt.Sprintf("number = %d", number), "later.py": fmt.Sprintf("number = %d", number)})
	}
	next()
	stop, gone, kept := make(chan struct{}), 0, 0
	var collector sync.WaitGroup
	collector.Go(func() {
		old := next()
		for {
			select {
			case <-stop:
				return
			default:
			}
			latest := next()
			if f := s.lockForRemoval(old); f != nil {
				trash := filepath.Join(s.abi(), "trash")
				if err := os.Rename(s.generation(old), trash); err != nil {
					t.Error(err)
				}
				f.Close()
				os.RemoveAll(trash)
				gone++
			} else {
				kept++
			}
			old = latest
		}
	})
	const line = "import sys, time, addon; time.sleep(0.02); import later; print(addon.number == later.number)"
	var starters sync.WaitGroup
	for range 4 {
		starters.Go(func() {
			for range 10 {
				cmd := s.command("-c", line)
				if out, err := cmd.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != "True" {
					t.Errorf("%v: %s", err, out)
				}
			}
		})
	}
	starters.Wait()
	close(stop)
	collector.Wait()
	t.Logf("%d generations were removed meanwhile, %d were in use", gone, kept)
	if gone == 0 {
		t.Error("none was removed: this shows nothing")
	}
}

// The two moments at which a generation can go that was just looked up: before its lock is opened, and before it is taken.
func TestARemovalInBetweenIsNoticed(t *testing.T) {
	s := newStore(t)
	for _, moment := range []string{"os.readlink", "fcntl.flock"} {
		old := s.publish(map[string]string{"addon.py": "who = " + quote(moment)})
		latest := s.publish(map[string]string{"addon.py": "who = 'latest " + moment + "'"})
		s.point("generations/" + old)
		got := s.python("-S", "-c", `
import fcntl, os, sys
sys.path.append(sys.argv[1])
abi, old, latest = sys.argv[2:]
real = `+moment+`
def between(*args, **how):
    `+moment+` = real
    before = real(*args, **how) if real is os.readlink else None
    os.rename(f"{abi}/generations/{old}", f"{abi}/{old}.gone")
    os.symlink(f"generations/{latest}", f"{abi}/next")
    os.rename(f"{abi}/next", f"{abi}/current")
    return before or real(*args, **how)
`+moment+` = between
import hermes_addons
print(sys.path[-1])`, s.runtime.Site(), s.abi(), old, latest)
		if got != s.site(latest) {
			t.Errorf("gone at %s: the path ends with %s", moment, got)
		}
	}
}

// A file system without locks, as some network file systems are, is no reason to do without add-ons.
func TestAStoreWithoutLocks(t *testing.T) {
	s := newStore(t)
	site := s.site(s.publish(map[string]string{"addon.py": ""}))
	got := s.python("-S", "-c", `
import errno, fcntl, sys
def flock(fd, how):
    raise OSError(errno.ENOLCK, "no locks")
fcntl.flock = flock
sys.path.append(sys.argv[1])
import hermes_addons
print(sys.path[-1])`, s.runtime.Site())
	if got != site {
		t.Errorf("the path ends with %s", got)
	}
}
