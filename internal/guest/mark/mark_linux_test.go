package mark

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// Both ways to read a mark agree.
func TestOf(t *testing.T) {
	want, ok := Of(os.Getpid())
	var locks unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_LOCKS, &locks); err != nil || !ok || want.Up != locks.Max {
		t.Fatalf("the mark is %+v, the limit %d: %v", want, locks.Max, err)
	}
	text, err := os.ReadFile("/proc/self/limits")
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := parse(text); !ok || got != want {
		t.Errorf("the table says %+v, the kernel %+v", got, want)
	}
	for _, broken := range []string{"", "Max file locks", "Max file locks 1 x locks\n", "Max file locks 1 2 locks\n"} {
		if _, ok := parse([]byte(broken)); ok {
			t.Errorf("%q is taken for a table", broken)
		}
	}
}
