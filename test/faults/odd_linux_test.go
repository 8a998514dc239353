package faults

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"hermes.example/hermes/sandbox"
)

func TestBinaryOutputArrivesUnchanged(t *testing.T) {
	everyone(t, func(t *testing.T) {
		a := newArena(t)
		r := random(t)
		sent := make([]byte, 3<<20)
		for i := range sent {
			sent[i] = byte(r.Uint32())
		}
		var out, errs bytes.Buffer
		o := a.try(a.ensure("t", sandbox.Spec{}), sandbox.Command{Line: "tee /dev/stderr", Stdin: bytes.NewReader(sent), Stdout: &out, Stderr: &errs})
		if o.err != nil || o.Code != 0 || !bytes.Equal(out.Bytes(), sent) || !bytes.Equal(errs.Bytes(), sent) {
			t.Errorf("%+v %v: %d and %d of %d bytes", o.Result, o.err, out.Len(), errs.Len(), len(sent))
		}
	})
}

func TestShellMayCloseItsDescriptors(t *testing.T) {
	everyone(t, func(t *testing.T) {
		a := newArena(t)
		box := a.ensure("t", sandbox.Spec{})
		const line = "exec 0<&- 1>&- 2>&-; sleep 0.2; exit 5"
		if o := a.try(box, sandbox.Command{Line: line}); o.err != nil || o.Code != 5 {
			t.Errorf("%+v %v", o.Result, o.err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), bound)
		defer cancel()
		s := box.Session("s")
		all := "export A=1; cd /tmp; for fd in /proc/self/fd/*; do n=${fd##*/}; eval \"exec $n>&-\"; done; exit 6"
		if res, err := s.Exec(ctx, sandbox.Command{Line: all}); err != nil || res.Code != 6 {
			t.Errorf("%+v %v", res, err)
		}
		if res, err := s.Exec(ctx, sandbox.Command{Line: "exit 7"}); err != nil || res.Code != 7 {
			t.Errorf("after it: %+v %v", res, err)
		}
	})
}

// counter counts, slowly if it is told to.
type counter struct {
	n     int64
	delay time.Duration
	block chan struct{}
}

func (c *counter) Write(p []byte) (int, error) {
	if c.block != nil {
		<-c.block
	}
	time.Sleep(c.delay)
	c.n += int64(len(p))
	return len(p), nil
}

func TestMuchOutputAndAnImmediateEnd(t *testing.T) {
	everyone(t, func(t *testing.T) {
		a := newArena(t)
		box := a.ensure("t", sandbox.Spec{})
		const size = 100 << 20
		var out counter
		o := a.try(box, sandbox.Command{Line: fmt.Sprintf("head -c %d /dev/zero; exit 3", size), Stdout: &out})
		if o.err != nil || o.Code != 3 || out.n != size {
			t.Errorf("%+v %v: %d of %d bytes", o.Result, o.err, out.n, size)
		}
	})
}

func TestBackgroundWriterDoesNotHoldTheResult(t *testing.T) {
	everyone(t, func(t *testing.T) {
		a := newArena(t)
		box := a.ensure("t", sandbox.Spec{})
		for range 2 {
			began := time.Now()
			var out counter
			o := a.try(box, sandbox.Command{Line: "yes & sleep 0.1; exit 4", Stdout: &out})
			if o.err != nil || o.Code != 4 || time.Since(began) > 20*time.Second {
				t.Fatalf("%+v %v after %s and %d bytes", o.Result, o.err, time.Since(began), out.n)
			}
			a.must(box, `for p in /proc/[0-9]*; do read -r c < $p/comm; [ "$c" = yes ] && kill -9 ${p#/proc/}; done 2>/dev/null; true`)
		}
	})
}

func TestCallerThatStopsReadingHarmsNobodyElse(t *testing.T) {
	everyone(t, func(t *testing.T) {
		a := newArena(t)
		box := a.ensure("t", sandbox.Spec{})
		blocked := &counter{block: make(chan struct{})}
		stalled := make(chan outcome, 1)
		go func() {
			stalled <- a.try(box, sandbox.Command{Line: "yes", Stdout: blocked, Timeout: time.Second, Grace: treeGrace, Window: 1 << 20})
		}()
		for range 20 {
			a.must(box, "head -c 300000 /dev/zero | wc -c")
		}
		select {
		case o := <-stalled:
			t.Errorf("it ended without its caller: %+v %v", o.Result, o.err)
		case <-time.After(2 * time.Second):
		}
		// The tree is gone at its time, also when nobody reads.
		if out := a.must(box, "cat /proc/[0-9]*/comm 2>/dev/null; true"); strings.Contains(out, "yes") {
			t.Errorf("the command lives on:\n%s", out)
		}
		close(blocked.block)
		if o := <-stalled; o.err != nil || o.Reason != sandbox.TimedOut {
			t.Errorf("%+v %v", o.Result, o.err)
		}
	})
}

// endless never ends and never blocks.
type endless struct{ n int64 }

func (e *endless) Read(p []byte) (int, error) {
	e.n += int64(len(p))
	return len(p), nil
}

func TestInputThatNobodyReads(t *testing.T) {
	everyone(t, func(t *testing.T) {
		a := newArena(t)
		box := a.ensure("t", sandbox.Spec{})
		if o := a.try(box, sandbox.Command{Line: "sleep 0.3; exit 8", Stdin: new(endless)}); o.err != nil || o.Code != 8 {
			t.Errorf("%+v %v", o.Result, o.err)
		}
		if o := a.try(box, sandbox.Command{Line: "sleep 100", Stdin: new(endless), Timeout: 300 * time.Millisecond, Grace: treeGrace}); o.err != nil || o.Code != 124 {
			t.Errorf("%+v %v", o.Result, o.err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if res, err := box.Exec(ctx, sandbox.Command{Line: "sleep 100", Stdin: new(endless), Grace: treeGrace}); err != nil || res.Code != 130 {
			t.Errorf("%+v %v", res, err)
		}
		a.must(box, "true")
	})
}

// A caller that dies while its command does not read takes its command along.
func TestCallerKilledWhileItsCommandDoesNotRead(t *testing.T) {
	everyone(t, func(t *testing.T) {
		a := newArena(t)
		box := treeBox(a, sandbox.Spec{})
		name := mark(t)
		p := startRole(t, "caller", map[string]string{"home": a.home, "task": "trees", "line": "/tools/tree " + name + " plain", "stdin": "endless",
			"mount": program(t, "tree"), "target": "/tools/tree"})
		if !eventually(func() bool { return len(named(name)) == 1 }) {
			t.Fatal("the command does not run")
		}
		time.Sleep(200 * time.Millisecond) // until the pipe is full
		p.kill()
		if !eventually(func() bool { return len(named(name)) == 0 }) {
			t.Error("the command lives on")
		}
		if !eventually(func() bool {
			st, err := box.Status(t.Context())
			return err == nil && st.Connections == 0 && st.Commands == 0
		}) {
			st, err := box.Status(t.Context())
			t.Errorf("its lease is still held: %+v %v", st, err)
		}
	})
}

func TestManyArgumentsAndLargeEnvironment(t *testing.T) {
	everyone(t, func(t *testing.T) {
		a := newArena(t)
		box := a.ensure("t", sandbox.Spec{})
		args := append([]string{"/bin/sh", "-c", "echo $#", "sh"}, slices.Repeat([]string{"x"}, 100_000)...)
		if o := a.try(box, sandbox.Command{Argv: args}); o.err != nil || o.Code != 0 || strings.TrimSpace(o.out) != "100000" {
			t.Errorf("100,000 arguments: %+v %v %.100s", o.Result, o.err, o.out)
		}
		env := make(map[string]string)
		for i := range 15 {
			env["LARGE"+strconv.Itoa(i)] = strings.Repeat("v", 100_000)
		}
		if o := a.try(box, sandbox.Command{Line: "echo ${#LARGE14}", Env: env}); o.err != nil || strings.TrimSpace(o.out) != "100000" {
			t.Errorf("1.5 MB of environment: %+v %v %.100s", o.Result, o.err, o.out)
		}
		// What is too large for the kernel is the command's problem, and says so.
		for i := range 60 {
			env["LARGE"+strconv.Itoa(i)] = strings.Repeat("v", 100_000)
		}
		o := a.try(box, sandbox.Command{Line: "true", Env: env})
		if text := fmt.Sprint(o.err, o.Message); errors.Is(o.err, sandbox.ErrGone) || o.err == nil && o.Code != 126 || strings.Contains(text, "ended") {
			t.Errorf("6 MB of environment: %+v %v", o.Result, o.err)
		}
		line := "echo '" + strings.Repeat("long ", 60_000) + "' | wc -c"
		if o := a.try(box, sandbox.Command{Line: line}); o.err != nil || strings.TrimSpace(o.out) != "300001" {
			t.Errorf("a line of 300 KB: %+v %v %.100s", o.Result, o.err, o.out)
		}
		a.must(box, "true")
		large := a.ensure("large", sandbox.Spec{Env: map[string]string{"SPECLARGE": strings.Repeat("s", 120_000)}})
		if out := a.must(large, "echo ${#SPECLARGE}"); out != "120000" {
			t.Errorf("a large variable of the sandbox: %s", out)
		}
	})
}

func TestManyMounts(t *testing.T) {
	everyone(t, func(t *testing.T) {
		a := newArena(t)
		for _, n := range []int{50, 300} {
			var spec sandbox.Spec
			dir := scratch(t)
			for i := range n {
				source := filepath.Join(dir, strconv.Itoa(i))
				if err := os.WriteFile(source, []byte(strconv.Itoa(i)), 0o644); err != nil {
					t.Fatal(err)
				}
				spec.Mounts = append(spec.Mounts, sandbox.Mount{Source: source, Target: fmt.Sprintf("/mounts/%d/%d", i%7, i), ReadOnly: i%2 == 0})
			}
			ctx, cancel := context.WithTimeout(t.Context(), bound)
			box, err := a.manager.Ensure(ctx, a.id("mounts"+strconv.Itoa(n)), spec)
			cancel()
			if err != nil {
				if n <= 50 || strings.Count(err.Error(), "\n") > 0 || !strings.Contains(err.Error(), "mount") {
					t.Errorf("%d mounts: %v", n, err)
				}
				continue
			}
			if out := a.must(box, "cat /mounts/*/* | wc -c; cat /mounts/*/"+strconv.Itoa(n-1)); !strings.HasSuffix(out, "\n"+strconv.Itoa(n-1)) {
				t.Errorf("%d mounts: %s", n, out)
			}
		}
	})
}

func TestCommandInheritsNoOtherDescriptors(t *testing.T) {
	everyone(t, func(t *testing.T) {
		a := newArena(t)
		box := a.ensure("t", sandbox.Spec{})
		o := a.try(box, sandbox.Command{Argv: []string{"/bin/ls", "/proc/self/fd"}, Stderr: io.Discard})
		if got := strings.Fields(o.out); !slices.Equal(got, []string{"0", "1", "2", "3"}) { // 3 is ls's own
			t.Errorf("descriptors %v", got)
		}
	})
}
