package subid

import (
	"os"
	"path/filepath"
	"testing"
)

func write(t *testing.T, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "subuid")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestTheFirstGoodRangeOfAUserIsTaken(t *testing.T) {
	file := write(t, "other:1:1\n:7:7\nann:x:5\nann:0:5\nann:200000:65536\nann:300000:9\n1000:400000:3\n")
	for _, c := range []struct {
		uid  int
		name string
		want Range
	}{
		{1, "ann", Range{200000, 65536}},
		{1000, "", Range{400000, 3}},
		{1000, "ann", Range{200000, 65536}},
	} {
		if got, err := Of(file, c.uid, c.name); err != nil || got != c.want {
			t.Errorf("%d %q: %v, %v", c.uid, c.name, got, err)
		}
	}
	if got, err := Of(file, 5, ""); err == nil {
		t.Errorf("a user without a range has %v", got)
	}
	if _, err := Of(file+"x", 1, "ann"); !os.IsNotExist(err) {
		t.Error(err)
	}
}

func TestAFreeRangeIsNobodys(t *testing.T) {
	if got := Free(65536, filepath.Join(t.TempDir(), "none")); got != 100000 {
		t.Errorf("in no file: %d", got)
	}
	a, b := write(t, "x:165536:65536\nx:100000:65536\n"), write(t, "y:231072:10\n")
	if got := Free(65536, a, b); got != 231082 {
		t.Errorf("got %d", got)
	}
}
