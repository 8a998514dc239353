package capability

import (
	"slices"
	"testing"
)

func TestNamesAreInTheKernelsOrder(t *testing.T) {
	if len(names) != 41 {
		t.Errorf("%d names; Linux 5.9 and later have 41", len(names))
	}
	got := Names(1<<0 | 1<<7 | 1<<21 | 1<<40 | 1<<63)
	if want := []string{"CHOWN", "SETUID", "SYS_ADMIN", "CHECKPOINT_RESTORE", "63"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := Names(0); len(got) != 0 {
		t.Errorf("an empty set has %q", got)
	}
}
