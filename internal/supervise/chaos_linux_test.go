package supervise

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// soak is how long chaos lasts.
func soak() time.Duration {
	if os.Getenv("HERMES_SOAK") != "" {
		return 2 * time.Minute
	}
	return 4 * time.Second
}

// seed is that of a random test, given back by HERMES_TEST_SEED.
func seed(t *testing.T) *rand.Rand {
	n := rand.Uint64()
	if text := os.Getenv("HERMES_TEST_SEED"); text != "" {
		n, _ = strconv.ParseUint(text, 10, 64)
	}
	t.Logf("HERMES_TEST_SEED=%d", n)
	return rand.New(rand.NewPCG(n, 0))
}

// tally reads what counters say, line by line, and knows what is missing.
type tally struct {
	t     *testing.T
	mu    sync.Mutex
	next  map[string]int // service and process → the number that it says next
	total int
}

func (y *tally) Write(p []byte) (int, error) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if !strings.HasSuffix(string(p), "\n") {
		y.t.Errorf("half a line: %q", p[max(0, len(p)-100):])
	}
	for line := range strings.Lines(string(p)) {
		f := strings.Fields(line)
		// The last line of one that was killed may be half of it: it is the last then.
		if len(f) < 3 {
			continue
		}
		key := f[0] + " " + f[1]
		n, err := strconv.Atoi(f[2])
		if err != nil || y.next[key] < 0 {
			y.t.Errorf("after the %d of %s: %q", y.next[key], key, line)
			continue
		}
		if n != y.next[key] {
			if len(f) == 4 {
				y.t.Errorf("%s says %d instead of %d", key, n, y.next[key])
			}
			n = -2 // a number that was cut off
		}
		y.next[key] = n + 1
		y.total++
	}
	return len(p), nil
}

func TestRandomKillsLoseNothing(t *testing.T) {
	for _, way := range ways {
		t.Run(way, func(t *testing.T) {
			random := seed(t)
			counted := &tally{t: t, next: make(map[string]int)}
			b := newBench(t, counted)
			b.way(way)
			const count = 8
			var logs []string
			for i := range count {
				s := b.helper("counter-"+strconv.Itoa(i), "counter")
				s.Restart = Restarting{Min: time.Millisecond, Max: time.Millisecond, Burst: 1 << 30}
				if i == 0 {
					s.Log = filepath.Join(b.dir, "log")
					logs = append(logs, s.Name)
				}
				b.run(s)
			}
			kills := 0
			for end := time.Now().Add(soak()); time.Now().Before(end); {
				name := "counter-" + strconv.Itoa(random.IntN(count))
				if st, err := b.Status(t.Context(), name); err == nil && st.PID > 0 && syscall.Kill(st.PID, syscall.SIGKILL) == nil {
					kills++
				}
				time.Sleep(time.Duration(random.IntN(10)) * time.Millisecond)
			}
			for i := range count {
				b.until("counter-"+strconv.Itoa(i), in(Ready))
			}
			ctx, cancel := context.WithTimeout(context.Background(), bound)
			defer cancel()
			if left := b.Shutdown(ctx); left != nil {
				t.Errorf("survivors: %v", left)
			}
			eventually(t, "no zombie is left", func() bool { return zombies(t) == 0 })
			if kills < 50 || counted.total < 1_000 {
				t.Errorf("only %d kills and %d lines", kills, counted.total)
			}
			t.Logf("%d kills, %d processes, %d lines", kills, len(counted.next), counted.total)
			checkLog(t, logs[0], filepath.Join(b.dir, "log"))
		})
	}
}

// checkLog reads a counter's log, which says what its output said.
func checkLog(t *testing.T, name, dir string) {
	y := &tally{t: t, next: make(map[string]int)}
	f, err := os.Open(filepath.Join(dir, "current"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	scanner := bufio.NewScanner(f)
	for scanner.Scan() {
		_, rest, _ := strings.Cut(scanner.Text(), " ")
		if y.total == 0 {
			// It may begin in the middle: the beginning is in an archive.
			if f := strings.Fields(rest); len(f) > 2 {
				y.next[f[0]+" "+f[1]], _ = strconv.Atoi(f[2])
			}
		}
		if _, err := y.Write([]byte(rest + "\n")); err != nil {
			t.Fatal(err)
		}
	}
	if y.total == 0 {
		t.Errorf("the log of %s is empty", name)
	}
}

func TestTenThousandOrphansAreReaped(t *testing.T) {
	b := newBench(t, nil)
	b.run(b.shell("beside", "exec sleep 1000"))
	before := b.until("beside", in(Ready))
	for i := range 10 {
		b.run(b.helper("orphans-"+strconv.Itoa(i), "orphans"))
	}
	for i := range 10 {
		if st := b.until("orphans-"+strconv.Itoa(i), in(Parked, Backoff)); st.State != Parked {
			t.Errorf("%+v; %s", st, b.out)
		}
	}
	eventually(t, "all are reaped", func() bool { return zombies(t) == 0 })
	if after := b.until("beside", in(Ready)); after.PID != before.PID {
		t.Errorf("the one beside them was restarted: %+v", after)
	}
}

func TestManyAtTheSameTime(t *testing.T) {
	random := seed(t)
	b := newBench(t, nil)
	var wg sync.WaitGroup
	for i := range 50 {
		r := rand.New(rand.NewPCG(random.Uint64(), 0))
		wg.Go(func() {
			name := "shared-" + strconv.Itoa(i%10)
			s := b.shell(name, "trap 'exit 0' TERM; sleep 1000 & wait")
			s.Stop.Grace = 50 * time.Millisecond
			s.Restart.Min = time.Millisecond
			ctx := t.Context()
			for range 20 {
				switch r.IntN(7) {
				case 0, 1:
					_ = b.Register(ctx, s, r.IntN(2) == 0)
				case 2:
					_ = b.Start(ctx, name)
				case 3:
					_ = b.Stop(ctx, name)
				case 4:
					_ = b.Restart(ctx, name)
				case 5:
					if err := b.Replace(ctx, s, true); err != nil {
						t.Error(err)
					}
				case 6:
					if err := b.Unregister(ctx, name); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(2 * bound):
		t.Fatal("it hangs")
	}
	for i := range 10 {
		name := "shared-" + strconv.Itoa(i)
		if err := b.Replace(t.Context(), b.shell(name, "exec sleep 1000"), true); err != nil {
			t.Error(err)
		}
		b.until(name, in(Ready))
	}
	for i := range 10 {
		if err := b.Unregister(t.Context(), "shared-"+strconv.Itoa(i)); err != nil {
			t.Error(err)
		}
	}
	if left, err := b.List(t.Context()); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
	eventually(t, "no zombie is left", func() bool { return zombies(t) == 0 })
}

func TestAThousandServicesAreCheap(t *testing.T) {
	b := newBench(t, nil)
	before := memory()
	for i := range 1_000 {
		s := b.shell(fmt.Sprintf("many-%d", i), "")
		s.Argv = []string{"/bin/sleep", "1000"}
		s.Log = filepath.Join(b.dir, "logs", s.Name)
		b.run(s)
	}
	for i := range 1_000 {
		b.until(fmt.Sprintf("many-%d", i), in(Ready))
	}
	const most = 60 << 20
	grown := memory() - before
	t.Logf("they cost %d MB", grown>>20)
	if grown > most {
		t.Error("that is too much")
	}
	if n := runtime.NumGoroutine(); n > 2_100 {
		t.Errorf("there are %d goroutines", n)
	}
}
