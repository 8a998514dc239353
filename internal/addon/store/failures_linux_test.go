package store

import (
	"os"
	"strings"
	"testing"
	"time"
)

// TestD45AFailureIsRememberedForAWhile and by other processes; a clock that jumps never keeps a feature away.
func TestD45AFailureIsRememberedForAWhile(t *testing.T) {
	target := t.TempDir()
	noon := time.Date(2030, 6, 1, 12, 0, 0, 0, time.UTC)
	now := noon
	at := func() *Store {
		s, err := Open(target, abi311, tag311, Options{Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if _, ok := at().Failure("a.one"); ok {
		t.Error("an empty store remembers a failure")
	}
	w := writer(t, at())
	if err := w.Remember("a.one", "no such host", 10*time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := w.Remember("b.two", strings.Repeat("x", 1<<20)+"end", 1000*time.Hour); err != nil {
		t.Fatal(err)
	}
	w.Close()
	for name, c := range map[string]struct {
		later    time.Duration
		one, two bool
	}{
		"at once":                {0, true, true},
		"almost over":            {10*time.Minute - 1, true, true},
		"over":                   {10 * time.Minute, false, true},
		"never longer than this": {longestMemory, false, false},
		"years later":            {10 * 365 * 24 * time.Hour, false, false},
		"a clock that went back": {-time.Second, false, false},
		"a clock without a year": {-60 * 365 * 24 * time.Hour, false, false},
	} {
		now = noon.Add(c.later)
		f, one := at().Failure("a.one")
		long, two := at().Failure("b.two")
		if one != c.one || two != c.two {
			t.Errorf("%s: %v %v", name, one, two)
		}
		if one && f.Reason != "no such host" || two && (len(long.Reason) > longestReason || !strings.HasSuffix(long.Reason, "end")) {
			t.Errorf("%s: %q %.20q", name, f.Reason, long.Reason)
		}
	}
	now = noon
	w = writer(t, at())
	if err := w.Forget("a.one", "never.failed"); err != nil {
		t.Error(err)
	}
	w.Close()
	_, one := at().Failure("a.one")
	if _, two := at().Failure("b.two"); one || !two {
		t.Errorf("on request: %v %v", one, two)
	}
	if err := os.WriteFile(at().failures(), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	w = writer(t, at())
	defer w.Close()
	if err := w.Remember("a.one", "again", time.Minute); err != nil {
		t.Error(err)
	}
	if _, ok := at().Failure("a.one"); !ok {
		t.Error("a file that cannot be read stays so")
	}
}
