package logdir

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The directory is the service user's, and whoever reads it has the one hand that all services' logs are written with.
func TestAFileWithoutEndKeepsNobodyWaiting(t *testing.T) {
	for _, name := range []string{current, archiveName(noon)} {
		for _, lines := range []int{1, 100_000, -1} {
			w := writer(t)
			w.Write(noon, []byte("first\n"))
			w.Release()
			file := filepath.Join(w.Place.Dir, name)
			if err := os.Truncate(filepath.Join(w.Place.Dir, current), 0); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, nil, 0o644); err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(file, 1<<40); err != nil {
				t.Skipf("the file system has no holes: %v", err)
			}
			began := time.Now()
			r, err := w.Place.Read(t.Context(), lines, false)
			if err != nil {
				t.Fatal(err)
			}
			r.Close()
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("the last %d lines of a terabyte of nothing in %s took %v", lines, name, took)
			}
		}
	}
}

func TestOnlySoManyFilesAreLookedAt(t *testing.T) {
	w := writer(t)
	w.Write(noon, []byte("kept\n"))
	for i := range 3 * mostNames {
		if err := os.WriteFile(filepath.Join(w.Place.Dir, fmt.Sprintf("@%024x.s", i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	dir, err := w.Place.open(false)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if found, err := archives(dir); err != nil || len(found) > mostNames {
		t.Errorf("%d, %v", len(found), err)
	}
	if got := all(t, w.Place, -1); !strings.HasSuffix(got, " kept\n") {
		t.Errorf("the log is %q", got)
	}
}
