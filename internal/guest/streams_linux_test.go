package guest

import (
	"bytes"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// On a busy machine the pump may not have its turn for longer than a silence lasts: what a command has said before it
// ended is waited for all the same.
func TestWhatIsStillInThePipeIsNoSilence(t *testing.T) {
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	if _, err := unix.Write(ends[1], []byte("said")); err != nil {
		t.Fatal(err)
	}
	var passed bytes.Buffer
	p := newPump(ourEnd(ends[0]), &passed)
	p.waiting.Store(true) // it has seen that there was nothing, and now there is
	drained := make(chan struct{})
	go func() { p.drain(bootTime()); close(drained) }()
	select {
	case <-drained:
		t.Error("the output counts as complete, and nobody has read it")
	case <-time.After(3 * drainSilence):
	}
	go p.run()
	<-drained // a child in the background holds the pipe open
	if passed.String() != "said" {
		t.Errorf("passed is %q", passed.String())
	}
	unix.Close(ends[1])
	<-p.ended
}
