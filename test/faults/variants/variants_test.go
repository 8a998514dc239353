package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A variant whose text is no longer there would break nothing.
func TestEveryVariantStillApplies(t *testing.T) {
	tests, err := filepath.Glob("../*_test.go")
	if err != nil || len(tests) == 0 {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range tests {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(source)
	}
	for _, v := range variants {
		source, err := os.ReadFile(filepath.Join("..", "..", "..", v.file))
		if err != nil {
			t.Error(err)
		}
		if n := strings.Count(string(source), v.old); n != 1 {
			t.Errorf("%s: %s has its text %d times", v.name, v.file, n)
		}
		if !strings.Contains(all.String(), "func "+v.test+"(") {
			t.Errorf("%s: there is no %s", v.name, v.test)
		}
	}
}
