package cli

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/ready"
)

func TestWhatTheJournalReadsIsKnown(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	defer write.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(write.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		set  map[string]string
		want bool
	}{
		"a terminal":           {nil, false},
		"a service that tells": {map[string]string{ready.SystemdVariable: "/run/notify"}, true},
		"any other service":    {map[string]string{"JOURNAL_STREAM": fmt.Sprintf("%d:%d", st.Dev, st.Ino)}, true},
		"a desktop's terminal": {map[string]string{"JOURNAL_STREAM": fmt.Sprintf("%d:%d", st.Dev, st.Ino+1)}, false},
		"what is no stream":    {map[string]string{"JOURNAL_STREAM": "x"}, false},
	} {
		a := &app{stdout: write, lookup: lookupIn(test.set)}
		if got := a.journaled(); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
