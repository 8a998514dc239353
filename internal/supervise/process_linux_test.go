package supervise

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

var helpers = map[string]func(){
	"stopped once":     stopsItself(1),
	"stopped for ever": stopsItself(1 << 30),
	// orphans leaves a thousand children behind.
	"orphans": func() {
		for range 1_000 {
			if _, err := syscall.ForkExec("/bin/true", []string{"true"}, nil); err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
		}
	},
	// counter says numbers as fast as it can.
	"counter": func() {
		for i := 0; ; i++ {
			fmt.Printf("%s %d %d %s\n", os.Args[1], os.Getpid(), i, strings.Repeat("x", i%200))
			if i%100 == 0 {
				time.Sleep(time.Millisecond)
			}
		}
	},
}

func TestAllExitCodes(t *testing.T) {
	b := newBench(t, nil)
	for code := range 256 {
		s := b.shell("code-"+strconv.Itoa(code), "exit $1", strconv.Itoa(code))
		s.Restart.Min = time.Hour
		b.run(s)
	}
	for code := range 256 {
		st := b.until("code-"+strconv.Itoa(code), in(Parked, Backoff))
		want := Backoff
		if slices.Contains([]int{0, 78, 125}, code) {
			want = Parked
		}
		if st.State != want || st.Last == nil || st.Last.Code != code || st.Last.Signal != "" || !strings.Contains(st.Reason, fmt.Sprintf("exit %d", code)) {
			t.Errorf("exit %d: %+v", code, st)
		}
	}
}

func TestAllFatalSignals(t *testing.T) {
	harmless := []syscall.Signal{unix.SIGCHLD, unix.SIGCONT, unix.SIGURG, unix.SIGWINCH, unix.SIGSTOP, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU}
	b := newBench(t, nil)
	var fatal []int
	for n := 1; n <= 64; n++ {
		if !slices.Contains(harmless, syscall.Signal(n)) {
			fatal = append(fatal, n)
			s := b.shell("signal-"+strconv.Itoa(n), "")
			s.Argv = []string{"/bin/sleep", "1000"}
			s.Restart.Min = time.Hour
			b.run(s)
		}
	}
	for _, n := range fatal {
		if err := syscall.Kill(b.until("signal-"+strconv.Itoa(n), in(Ready)).PID, syscall.Signal(n)); err != nil {
			t.Fatal(err)
		}
		st := b.until("signal-"+strconv.Itoa(n), in(Backoff))
		if st.Last == nil || st.Last.Code != 128+n || st.Reason != "killed by "+signalName(syscall.Signal(n)) {
			t.Errorf("signal %d: %+v", n, st)
		}
	}
}

func TestWhatAServiceIsBornWith(t *testing.T) {
	inherited, err := unix.Dup(0) // as a careless parent leaves them
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(inherited)
	b := newBench(t, nil)
	s := b.shell("born", `
id -u; id -g; id -G; pwd; umask
ls /proc/self/fd | tr '\n' ' '; echo
readlink /proc/self/fd/0
cut -d' ' -f1,5,6 /proc/$$/stat | tr ' ' '\n' | uniq | wc -l
grep -E 'SigBlk|SigIgn|SigCgt' /proc/$$/status | cut -f2
ulimit -n; ulimit -c; ulimit -p
echo "$A"
echo "$HERMES_NOTIFY_FD"; echo >&5
exec sleep 1000`)
	var procs unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &procs); err != nil {
		t.Fatal(err)
	}
	s.Limits = append(s.Limits, Limit{Resource: unix.RLIMIT_NPROC, Soft: 500, Max: 1000}, Limit{Resource: unix.RLIMIT_NOFILE, Soft: 77, Max: 1 << 40})
	s.Ready = Readiness{Notify: 5, Within: bound}
	b.run(s)
	b.until("born", in(Ready))
	eventually(t, "all is said", func() bool { return strings.Count(b.out.String(), "\n") >= 16 })
	user, groups := strconv.Itoa(os.Getuid()), ""
	if os.Geteuid() == 0 {
		user, groups = "54321", "54321 54322"
	}
	got := strings.Split(b.out.String(), "\n")
	for i, want := range []string{user, user, groups, b.dir, "0022", "0 1 2 3 5 ", "/dev/null", "1", "0000000000000000", "*", "*", "77", "0", "500", "b c", "5"} {
		if want != "*" && want != "" && got[i] != want {
			t.Errorf("line %d is %q, not %q", i, got[i], want)
		}
	}
	// The third one is those that the shell itself ignores or handles.
	if ignored, err := strconv.ParseUint(got[9], 16, 64); err != nil || ignored != 0 {
		t.Errorf("signals %x are ignored", ignored)
	}
}

func TestWhatCannotBeExecuted(t *testing.T) {
	b := newBench(t, nil)
	plain := filepath.Join(b.dir, "plain")
	if err := os.WriteFile(plain, []byte("no program"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		spoil func(*Service)
		says  string
	}{
		"missing":    {func(s *Service) { s.Argv[0] = "/no/such" }, "no such file or directory"},
		"forbidden":  {func(s *Service) { s.Argv[0] = plain }, "permission denied"},
		"nowhere":    {func(s *Service) { s.Dir = "/no/such" }, "chdir: no such file or directory"},
		"nul":        {func(s *Service) { s.Env = []string{"A=\x00"} }, "NUL"},
		"too-long":   {func(s *Service) { s.Env = []string{"A=" + strings.Repeat("x", 1<<20)} }, "argument list too long"},
		"not-a-file": {func(s *Service) { s.Argv[0] = b.dir }, "permission denied"},
	} {
		s := b.shell(name, "")
		c.spoil(&s)
		b.run(s)
		if st := b.until(name, in(Backoff)); !strings.Contains(st.Reason, c.says) || !strings.HasPrefix(st.Reason, "cannot run "+s.Argv[0]+": ") {
			t.Errorf("%s: the reason is %q", name, st.Reason)
		}
	}
}

func TestTheWholeTreeEnds(t *testing.T) {
	for _, way := range ways {
		t.Run(way, func(t *testing.T) {
			b := newBench(t, nil)
			b.way(way)
			s := b.shell("tree", `
(trap '' TERM; echo $(exec sh -c 'echo $PPID') >deaf; while :; do sleep 1000; done) &
setsid sh -c 'echo $$ >session; exec sleep 1000' &
(setsid sh -c 'echo $$ >orphan; exec sleep 1000' &)
wait_for() { while [ ! -s $1 ]; do sleep 0.01; done; }
wait_for deaf; wait_for session; wait_for orphan
echo $$ >main
exec sleep 1000`)
			s.Stop.Grace = 10 * time.Second
			b.run(s)
			var pids []int
			for _, f := range []string{"main", "deaf", "session", "orphan"} {
				pids = append(pids, b.pid(f))
			}
			begin := time.Now()
			if err := b.Stop(t.Context(), "tree"); err != nil {
				t.Fatal(err)
			}
			b.until("tree", in(Down))
			for _, pid := range pids {
				if alive(pid) {
					t.Errorf("%d of %v lives", pid, pids)
				}
			}
			if took := time.Since(begin); took > 9*time.Second {
				t.Errorf("the grace of one that ended was waited for: %v", took)
			}
		})
	}
}

// A crash must not leave the old tree beside the new one.
func TestWhatACrashLeavesIsEnded(t *testing.T) {
	for _, way := range ways {
		t.Run(way, func(t *testing.T) {
			b := newBench(t, nil)
			b.way(way)
			s := b.shell("crash", `[ -s child ] && exec sleep 1000; setsid sh -c 'echo $$ >child; exec sleep 1000' & while [ ! -s child ]; do sleep 0.01; done; exit 1`)
			s.Restart.Min = time.Millisecond
			b.run(s)
			st := b.until("crash", func(st Status) bool { return st.State == Ready && st.Restarts == 1 })
			if pid := b.pid("child"); alive(pid) || !alive(st.PID) {
				t.Errorf("child %d lives: %v", pid, alive(pid))
			}
		})
	}
}

func TestTheDeafAreKilled(t *testing.T) {
	b := newBench(t, nil)
	s := b.shell("deaf", `trap '' TERM INT HUP; echo $$ >pid; while :; do sleep 1000; done`)
	s.Stop.Grace = 100 * time.Millisecond
	b.run(s)
	pid := b.pid("pid")
	if err := b.Unregister(t.Context(), "deaf"); err != nil {
		t.Fatal(err)
	}
	if alive(pid) {
		t.Error("it lives")
	}
}

func TestStoppedServicesEndToo(t *testing.T) {
	b := newBench(t, nil)
	s := b.shell("stopped", `echo $$ >pid; exec sleep 1000`)
	s.Stop.Grace = 100 * time.Millisecond
	b.run(s)
	if err := syscall.Kill(b.pid("pid"), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := b.Unregister(t.Context(), "stopped"); err != nil {
		t.Fatal(err)
	}
}

func TestReadinessByHTTPAndHealth(t *testing.T) {
	var answer atomic.Int32
	answer.Store(http.StatusServiceUnavailable)
	asked := make(chan struct{}, 1000)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		w.WriteHeader(int(answer.Load()))
	}))
	defer server.Close()
	b := newBench(t, nil)
	s := b.shell("web", "exec sleep 1000")
	s.Ready = Readiness{HTTP: server.URL, Within: bound}
	s.Health = &Health{HTTP: server.URL, Every: time.Millisecond, Failures: 3}
	s.Restart.Min = time.Hour
	b.run(s)
	for range 2 {
		<-asked
	}
	if st, _ := b.Status(t.Context(), "web"); st.State != Up {
		t.Errorf("it is %+v", st)
	}
	answer.Store(http.StatusNoContent)
	b.until("web", in(Ready))
	for range 5 {
		<-asked
	}
	answer.Store(http.StatusFound)
	if st := b.until("web", in(Backoff)); !strings.HasPrefix(st.Reason, "not well, 3 times in a row: "+server.URL+" answers 302") {
		t.Errorf("the reason is %q", st.Reason)
	}
}

func TestACrashLoopParksAndFillsNoDisk(t *testing.T) {
	b := newBench(t, nil)
	s := b.shell("loop", `head -c 3000000 /dev/zero | tr '\0' x | fold -w 100; exit 1`)
	s.Log = filepath.Join(b.dir, "log")
	s.Restart = Restarting{Min: time.Millisecond, Max: time.Millisecond, Burst: 5}
	b.run(s)
	if st := b.until("loop", in(Parked)); !strings.HasPrefix(st.Reason, "failed 5 times within 15m; last: exit 1") {
		t.Errorf("the reason is %q", st.Reason)
	}
	var size int64
	entries, err := os.ReadDir(s.Log)
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			size += info.Size()
		}
	}
	if err != nil || size < 9_000_000 || size > 11_000_000 {
		t.Errorf("%d bytes are kept, %v", size, err)
	}
}
