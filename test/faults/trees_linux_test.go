package faults

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"hermes.example/hermes/sandbox"
)

const treeGrace = 100 * time.Millisecond

// Ways of a process to get away from its command, alone and together. "uid" is
// left out where there is only one user.
var treeFlags = []string{"setsid", "clear", "uid", "sibling", "ignore", "stop", "chain", "thread", "hide", "limits", "close", "main"}

var treeMixes = []string{
	"plain",
	"setsid,clear",
	"setsid,clear,ignore",
	"setsid,clear,ignore,main",
	"setsid,clear,hide,uid",
	"setsid,clear,hide,uid,ignore,limits",
	"sibling,setsid,clear",
	"sibling,setsid,clear,ignore,hide,limits",
	"setsid,clear,chain,ignore",
	"setsid,clear,chain,ignore,uid,hide,limits",
	"setsid,clear,thread,ignore",
	"setsid,clear,thread,hide,uid",
	"sibling,setsid,clear,thread,ignore",
	"setsid,clear,stop,ignore",
	"setsid,clear,stop,close,hide",
	"sibling,setsid,clear,chain,ignore,main",
}

// treeBox is a sandbox with the tree program in it.
func treeBox(a *arena, spec sandbox.Spec) *sandbox.Sandbox {
	a.Helper()
	spec.Mounts = append(spec.Mounts, sandbox.Mount{Source: program(a, "tree"), Target: "/tools/tree", ReadOnly: true})
	box := a.ensure("trees", spec)
	a.Logf("%s; ids %s", a.fact(box, sandbox.FactTreeKill).Value, a.fact(box, sandbox.FactIDs).Value)
	return box
}

func mixes(a *arena, box *sandbox.Sandbox) []string {
	single := strings.HasPrefix(a.fact(box, sandbox.FactIDs).Value, "single")
	all := slices.Concat(treeFlags, treeMixes)
	if !single {
		return all
	}
	var possible []string
	for _, mix := range all {
		flags := slices.DeleteFunc(strings.Split(mix, ","), func(f string) bool { return f == "uid" })
		if len(flags) > 0 {
			possible = append(possible, strings.Join(flags, ","))
		}
	}
	return possible
}

var marks struct {
	sync.Mutex
	next int
}

// mark is a name that no other process of the machine has.
func mark(t testing.TB) string {
	marks.Lock()
	defer marks.Unlock()
	marks.next++
	return fmt.Sprintf("f%x.%d", os.Getpid(), marks.next)
}

// bystanders are background processes of other commands: one from before, one
// from while the tree grew, with nothing that says whose they are.
type bystanders []string

func (b *bystanders) add(a *arena, box *sandbox.Sandbox, flags string) {
	a.Helper()
	name := mark(a)
	o := a.try(box, sandbox.Command{Argv: []string{"/tools/tree", name, flags + ",return"}})
	if o.err != nil || o.Code != 0 {
		a.Fatalf("cannot start a bystander: %+v %v\n%s", o.Result, o.err, o.out)
	}
	*b = append(*b, name)
}

func (b bystanders) check(a *arena) {
	a.Helper()
	for _, name := range b {
		if len(named(name)) != 1 {
			a.Errorf("the bystander %s is gone", name)
		}
	}
}

// watcher is an output that tells when the tree is ready.
type watcher struct {
	mu    sync.Mutex
	all   bytes.Buffer
	ready chan struct{}
	once  sync.Once
}

func newWatcher() *watcher { return &watcher{ready: make(chan struct{})} }

func (w *watcher) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all.Write(p)
	if strings.Contains(w.all.String(), "ready") {
		w.once.Do(func() { close(w.ready) })
	}
	return len(p), nil
}

func (w *watcher) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all.String()
}

// await returns when the output says that it is ready.
func (w *watcher) await(t testing.TB, running <-chan outcome) {
	t.Helper()
	select {
	case <-w.ready:
	case o := <-running:
		t.Fatalf("it ended before it was ready: %+v %v\n%s", o.Result, o.err, w)
	case <-time.After(bound):
		t.Fatalf("it is not ready:\n%s", w)
	}
}

// remains returns what still lives after half a second. What is ending has that
// time; that nothing is there takes twenty looks, because one look can miss a
// process that forks.
func remains(name string) []int {
	var found []int
	empty := 0
	for end := time.Now().Add(500 * time.Millisecond); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if found = named(name); len(found) > 0 {
			empty = 0
		} else if empty++; empty == 20 {
			return nil
		}
	}
	return found
}

// growAndEnd runs one tree and ends it; it returns what went wrong.
func growAndEnd(a *arena, box *sandbox.Sandbox, flags string, timeout time.Duration) string {
	name := mark(a)
	a.Logf("%s: %s", name, flags)
	ctx, cancel := context.WithTimeout(a.Context(), bound)
	defer cancel()
	out := newWatcher()
	if timeout == 0 {
		go func() {
			select {
			case <-out.ready:
				cancel()
			case <-ctx.Done():
			}
		}()
	}
	res, err := box.Exec(ctx, sandbox.Command{Argv: []string{"/tools/tree", name, flags}, Stdout: out, Timeout: timeout, Grace: treeGrace})
	reason := sandbox.Interrupted
	if timeout > 0 {
		reason = sandbox.TimedOut
	}
	left := remains(name)
	defer func() {
		for _, pid := range left {
			signal(pid, 9)
		}
	}()
	switch {
	case err != nil || res.Reason != reason:
		return fmt.Sprintf("ended with %+v %v\n%s", res, err, out)
	case !strings.Contains(out.String(), "ready"):
		return fmt.Sprintf("ended before it was ready: %+v\n%s", res, out)
	case len(res.Survivors) > 0:
		return fmt.Sprintf("survivors reported: %v", res.Survivors)
	case len(left) > 0:
		return fmt.Sprintf("left running: %v", left)
	}
	return ""
}

// enoughFaults is when a test gives up: what survives takes the machine's time.
const enoughFaults = 3

// eachTree grows a tree of every kind, one after the other, among processes that have nothing to do with it, and
// has it ended; end returns what went wrong.
func eachTree(t *testing.T, end func(a *arena, box *sandbox.Sandbox, flags string) string) {
	everyone(t, func(t *testing.T) {
		a := newArena(t)
		box := treeBox(a, sandbox.Spec{})
		var others bystanders
		others.add(a, box, "setsid,clear,close")
		faults := 0
		for _, flags := range mixes(a, box) {
			others.add(a, box, "clear,close")
			if fault := end(a, box, flags); fault != "" {
				t.Errorf("%s: %s", flags, fault)
				if faults++; faults == enoughFaults {
					return
				}
			}
		}
		others.check(a)
		alone(a, box, len(others))
	})
}

func TestD01InterruptEndsTheWholeTree(t *testing.T) {
	eachTree(t, func(a *arena, box *sandbox.Sandbox, flags string) string { return growAndEnd(a, box, flags, 0) })
}

func TestD01TimeoutEndsTheWholeTree(t *testing.T) {
	everyone(t, func(t *testing.T) {
		a := newArena(t)
		box := treeBox(a, sandbox.Spec{})
		var others bystanders
		others.add(a, box, "setsid,clear,close")
		// Some at a time: each has to leave the others alone.
		gate := make(chan struct{}, 6)
		var wg sync.WaitGroup
		var faults atomic.Int32
		for _, flags := range mixes(a, box) {
			wg.Add(1)
			go func() {
				defer wg.Done()
				gate <- struct{}{}
				defer func() { <-gate }()
				if faults.Load() >= enoughFaults {
					return
				}
				if fault := growAndEnd(a, box, flags, 1500*time.Millisecond); fault != "" {
					t.Errorf("%s: %s", flags, fault)
					faults.Add(1)
				}
			}()
		}
		wg.Wait()
		others.check(a)
		alone(a, box, len(others))
	})
}

// alone asks inside, too, that nothing but the bystanders is there.
func alone(a *arena, box *sandbox.Sandbox, others int) {
	a.Helper()
	out := a.must(box, `for p in /proc/[0-9]*; do read -r c < $p/comm && s=$(grep State $p/status) && echo "${p#/proc/} $c $s"; done 2>/dev/null; true`)
	// One that forks all the time may be in no list, but uses up process ids.
	first, _ := strconv.Atoi(a.must(box, "echo $$"))
	time.Sleep(100 * time.Millisecond)
	if second, _ := strconv.Atoi(a.must(box, "echo $$")); second-first > 40 {
		a.Errorf("%d processes were started meanwhile", second-first)
	}
	lines := strings.Split(out, "\n")
	if want := others + 2; len(lines) != want { // the guest, and the shell itself
		a.Errorf("%d processes inside instead of %d:\n%s", len(lines), want, out)
	}
}
