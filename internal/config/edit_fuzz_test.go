package config

import (
	"strings"
	"testing"
)

// Whatever a file holds and whatever is asked for, a change is that change alone, or an error.
func FuzzEdit(f *testing.F) {
	for _, text := range []string{commented, "", "a:\n  b: 1\n", "{a: 1}", "a: &x 1\nb: *x\n", "? a\n: b\n", "- a\n", "a: |\n  x\n\n\nb: 2", "a: >-\n\n  x # y\nb:\t1\n", "a:\r\n  - 1\r\n", "---\n...\n", "\"a\": 'b'\n"} {
		f.Add(text, "a.b", "1")
		f.Add(text, "terminal.timeout", "[x, 'y # z']")
		f.Add(text, "text", "a: b")
	}
	f.Fuzz(func(t *testing.T, text, key, value string) {
		path, err := splitKey(key)
		if err != nil {
			return
		}
		value = oneLineValue(value)
		edited, err := edit(text, path, value)
		if err != nil {
			return
		}
		// What was a comment is still there.
		if strings.Count(edited, "#") < strings.Count(text, "#") && !strings.Contains(text, "|") && !strings.ContainsAny(text, `'">[{-`) {
			t.Fatalf("%q became %q", text, edited)
		}
		if again, err := edit(edited, path, value); err == nil && again != edited {
			t.Fatalf("a second time %q became %q", edited, again)
		}
	})
}
