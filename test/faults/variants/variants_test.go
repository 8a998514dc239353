package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A variant whose text is no longer there would break nothing.
func TestEveryVariantStillApplies(t *testing.T) {
	for _, v := range variants {
		source, err := os.ReadFile(filepath.Join("..", "..", "..", v.file))
		if err != nil {
			t.Error(err)
		}
		if n := strings.Count(string(source), v.old); n != 1 {
			t.Errorf("%s: %s has its text %d times", v.name, v.file, n)
		}
		if !strings.Contains(testsOf(t, v.pkg()), "func "+v.test+"(") {
			t.Errorf("%s: there is no %s in %s", v.name, v.test, v.pkg())
		}
	}
}

// testsOf is the text of a package's tests.
func testsOf(t *testing.T, pkg string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "..", pkg, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no tests: %v", pkg, err)
	}
	var all strings.Builder
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(source)
	}
	return all.String()
}
