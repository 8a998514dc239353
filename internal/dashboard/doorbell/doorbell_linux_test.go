package doorbell

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"
)

// hung is a bell that hands out numbers, until the test ends.
func hung(t *testing.T, home string) {
	t.Helper()
	b, err := Hang(home)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var answering sync.WaitGroup
	n := 0
	answering.Go(func() { b.Answer(ctx, func() string { n++; return "http://localhost/" + strconv.Itoa(n) }) })
	t.Cleanup(func() { cancel(); answering.Wait(); b.Close() })
}

func TestEveryRingGetsAnAddressOfItsOwn(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	hung(t, "/home/a")
	for _, want := range []string{"http://localhost/1", "http://localhost/2"} {
		if got, err := Ring(t.Context(), "/home/a"); err != nil || got != want {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
	if got, err := Ring(t.Context(), "/home/b"); !errors.Is(err, ErrNobody) {
		t.Errorf("the bell of another home answers %q, %v", got, err)
	}
}

// A bell that is there is not taken away, one that a killed dashboard left is no hindrance, and none is left behind.
func TestABellHangsOnce(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", dir)
	t.Run("while it answers", func(t *testing.T) {
		hung(t, "/home/a")
		if b, err := Hang("/home/a"); err == nil {
			b.Close()
			t.Error("a second one was hung up")
		}
		if _, err := Ring(t.Context(), "/home/a"); err != nil {
			t.Errorf("the first one is silent: %v", err)
		}
	})
	left, _ := filepath.Glob(filepath.Join(dir, "hermes", "*"))
	if len(left) > 0 {
		t.Errorf("left is %v", left)
	}
	t.Run("after a kill", func(t *testing.T) {
		b, err := Hang("/home/a")
		if err != nil {
			t.Fatal(err)
		}
		b.socket.SetUnlinkOnClose(false) // as a kill does
		b.Close()
		if _, err := Ring(t.Context(), "/home/a"); !errors.Is(err, ErrNobody) {
			t.Errorf("a dead one answers: %v", err)
		}
		hung(t, "/home/a")
		if _, err := Ring(t.Context(), "/home/a"); err != nil {
			t.Error(err)
		}
	})
}

// Who rings and does not listen keeps nobody waiting for long, and a dashboard that is stuck is not waited for.
func TestWhoDoesNotListen(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	b, err := Hang("/home/a") // nobody answers it
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := Ring(ctx, "/home/a"); err == nil || time.Since(began) > 3*time.Second {
		t.Errorf("a stuck one: %v after %v", err, time.Since(began))
	}
	var silent *Bell
	done, end := context.WithCancel(t.Context())
	end()
	silent.Answer(done, func() string { t.Error("nobody rang"); return "" })
	silent.Close()
	if _, err := os.Stat(b.socket.Addr().String()); err != nil {
		t.Error(err)
	}
}

// What answers may be another user's program, and root's terminal shows what it says.
func TestWhatIsNoAddressIsNotShown(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	for i, said := range []string{"\x1b]0;mine\a http://localhost/", "http://localhost/\x1b[2J", "javascript:alert(1)", "rm -rf /"} {
		home := "/home/" + strconv.Itoa(i)
		b, err := Hang(home)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var answering sync.WaitGroup
		answering.Go(func() { b.Answer(ctx, func() string { return said }) })
		if got, err := Ring(t.Context(), home); err == nil {
			t.Errorf("%q is shown", got)
		}
		cancel()
		answering.Wait()
	}
}
