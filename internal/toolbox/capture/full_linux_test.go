package capture

import (
	"bufio"
	"os"
	"strings"
	"testing"
)

// A disk that is full costs the file and not the answer, and is told of once.
func TestAFullDiskIsToldOfOnce(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	s := &spill{file: full, w: bufio.NewWriter(full)}
	for range 100 {
		s.write([]byte(strings.Repeat("much ", 1000)))
	}
	if got := s.finish(); strings.Count(got, "no space left") != 1 || !strings.HasPrefix(got, "the file with the output is not whole: ") || strings.Contains(got, "\n") {
		t.Errorf("%q", got)
	}
}
