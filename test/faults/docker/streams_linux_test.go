package docker

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"hermes.example/hermes/sandbox"
)

// A stream through the container that is cut, again and again, loses nothing of what a
// command says, and the command is run once.
func TestD03AStreamThatIsCutRunsNothingTwice(t *testing.T) {
	t.Parallel()
	a, p := spoilt(t, true)
	box := a.ensure("t")
	const lines = 20_000
	var want strings.Builder
	for i := range lines {
		fmt.Fprintf(&want, "line %d of what must arrive\n", i)
	}
	cuts := 0
	for round := range size(3, 30) {
		out := &cutting{cut: func() { p.Cut(); cuts++ }, every: want.Len() / 4}
		res, err := box.Exec(a.context(), sandbox.Command{
			Line:   fmt.Sprintf("echo %d >> ran; i=0; while [ $i -lt %d ]; do echo line $i of what must arrive; i=$((i+1)); done; exit 3", round, lines),
			ID:     fmt.Sprintf("round-%d", round),
			Stdout: out,
		})
		if err != nil || res.Code != 3 || res.Reason != sandbox.Exited || res.Missed != 0 || out.String() != want.String() {
			t.Errorf("round %d: %+v %v, %d of %d bytes", round, res, err, out.Len(), want.Len())
		}
		if got := strings.Count(a.kept("t", "ran"), "\n"); got != round+1 {
			t.Errorf("%d commands ran %d times", round+1, got)
		}
	}
	if cuts < 3 {
		t.Errorf("the stream was cut %d times", cuts)
	}
}

// cutting cuts the line under whoever writes, every so many bytes.
type cutting struct {
	bytes.Buffer
	cut         func()
	every, next int
}

func (w *cutting) Write(p []byte) (int, error) {
	w.Buffer.Write(p)
	if w.Len() >= w.next+w.every {
		w.next = w.Len()
		w.cut()
	}
	return len(p), nil
}

// A caller that goes away for good takes its command with it, also where its stream
// passes through the daemon.
func TestACallerThatGoesAwayEndsItsCommandThroughTheContainer(t *testing.T) {
	t.Parallel()
	a, _ := spoilt(t, true)
	box := a.ensure("t")
	other := send(t, a.errand("t", "echo ready; sleep 1000"), nil)
	if said := make([]byte, 6); !reads(other, said) {
		t.Fatal("the other says nothing")
	}
	other.kill()
	began := time.Now()
	for {
		st, err := box.Status(a.context())
		if err != nil {
			t.Fatal(err)
		}
		if st.Commands == 0 && st.Processes == 0 {
			break
		}
		if time.Since(began) > bound {
			t.Fatalf("it goes on: %+v", st)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func reads(c *caller, p []byte) bool {
	n, err := c.out.Read(p)
	return err == nil && n > 0
}
