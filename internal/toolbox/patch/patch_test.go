package patch

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestReplaceFindsWhatIsMeant(t *testing.T) {
	for name, c := range map[string]struct {
		content, old, new string
		all               bool
		want              string
		how               Tolerance
	}{
		"exactly":                         {"a\nb\nc\n", "b", "x", false, "a\nx\nc\n", Exact},
		"over lines":                      {"a\nb\nc\n", "a\nb", "x\ny\nz", false, "x\ny\nz\nc\n", Exact},
		"removed":                         {"a\nb\nc\n", "b\n", "", false, "a\nc\n", Exact},
		"everywhere":                      {"a b a\na\n", "a", "xx", true, "xx b xx\nxx\n", Exact},
		"lines of Windows":                {"a\r\nb\r\nc\r\n", "a\nb", "x\ny", false, "x\r\ny\r\nc\r\n", LineEndings},
		"a new line among those":          {"a\r\nb\r\n", "b", "x\ny", false, "a\r\nx\r\ny\r\n", Exact},
		"everywhere in lines of Windows":  {"a\r\nb\r\na\r\nb\r\n", "a\nb", "x", true, "x\r\nx\r\n", LineEndings},
		"lines of Windows were asked for": {"a\nb\nc\n", "a\r\nb", "x\ny", false, "x\ny\nc\n", LineEndings},
		"behind a byte order mark":        {mark + "a\nb\n", "a", "x", false, mark + "x\nb\n", Exact},
		"no end of the last line":         {"a\nb", "b", "x", false, "a\nx", Exact},
		"other quotes":                    {"say(\u201chi\u201d) \u2014 now\n", `say("hi") -`, `tell("hi") -`, false, "tell(\"hi\") - now\n", Typography},
		"spaces at the ends":              {"a  \nb\t\nc\n", "a\nb", "x\ny", false, "x\ny\nc\n", TrailingSpace},
		"indentation":                     {"\tif a {\n\t\tb()\n\t}\n", "if a {\n\tb()\n}", "if c {\n\tb()\n\td()\n}", false, "\tif c {\n\t\tb()\n\t\td()\n\t}\n", Indentation},
		"indentation by other means":      {"\tif a:\n\t\tb()\n", "    if a:\n        b()", "    if a:\n        c()\n        b()", false, "\tif a:\n\t\tc()\n\t\tb()\n", Indentation},
		"spaces, and no end of the line":  {"a \nb ", "a\nb", "x", false, "x", TrailingSpace},
		"spaces in lines of Windows":      {"a \r\nb\r\nc\r\n", "a\nb\n", "x\ny\n", false, "x\r\ny\r\nc\r\n", TrailingSpace},
		"spaces behind a byte order mark": {mark + "a \nb\n", "a\nb", "x\ny", false, mark + "x\ny\n", TrailingSpace},
	} {
		got, err := Replacement{c.old, c.new, c.all}.Apply(c.content)
		if err != nil || got.Text != c.want || got.Tolerance != c.how {
			t.Errorf("%s: %q by %d, %v; want %q by %d", name, got.Text, got.Tolerance, err, c.want, c.how)
		}
	}
}

func TestReplaceNeverGuesses(t *testing.T) {
	for name, c := range map[string]struct {
		content, old, new string
		says              []string
	}{
		"twice":                    {"a\nb\na\n", "a", "x", []string{"2 times", "lines 1, 3"}},
		"twice in one line":        {"q\na a\n", "a", "x", []string{"2 times", "lines 2, 2"}},
		"twice but for spaces":     {"a \nb\nz\na  \nb\n", "a\nb", "x", []string{"2 times", "lines 1, 4"}},
		"twice but for depth":      {" a()\n b()\n\n   a()\n   b()\n", "a()\nb()", "x", []string{"2 times", "1, 4"}},
		"at two depths":            {"  a()\n    b()\n", "a()\nb()", "x", []string{"not there"}},
		"nowhere, nearly":          {"one\ntwo\nfunc main() {\n\treturn 1\n}\n", "func main() {\n\treturn 2\n}", "x", []string{"not there", "\n3|func main() {", "4|\treturn 1"}},
		"nowhere, a bit":           {"alpha\nthe quick brown fox\nomega\n", "the quick brown cat", "x", []string{"not there", "2|the quick brown fox"}},
		"nowhere":                  {"a\nb\n", "something else", "x", []string{"not there", "nothing like it"}},
		"nothing":                  {"a\n", "", "x", []string{"old_string is empty"}},
		"the same":                 {"a\n", "a", "a", []string{"nothing would change"}},
		"what is there already":    {"a\r\n", "a\n", "a\r\n", []string{"nothing would change"}},
		"blank lines at any depth": {"a\n  \n\t\nb\n", "x\n", "y\n", []string{"not there"}},
	} {
		got, err := Replacement{Old: c.old, New: c.new}.Apply(c.content)
		var p *Problem
		if !errors.As(err, &p) {
			t.Errorf("%s: %q, %v", name, got.Text, err)
			continue
		}
		for _, says := range c.says {
			if !strings.Contains(p.Text, says) {
				t.Errorf("%s: %q does not say %q", name, p.Text, says)
			}
		}
	}
	if _, err := (Replacement{Old: "a\nb", New: "x", All: true}).Apply("a \nb\n\na \nb\n"); err == nil {
		t.Error("everywhere was replaced what was only similar")
	}
}

const source = "package main\n\nfunc a() {\n\tone()\n\ttwo()\n}\n\nfunc b() {\n\tone()\n\ttwo()\n}\n"

func TestPatchesOfBothFormsApply(t *testing.T) {
	for name, c := range map[string]struct{ patch, content, want string }{
		"unified": {"--- a/f.go\n+++ b/f.go\n@@ -3,3 +3,4 @@ package main\n func a() {\n-\tone()\n+\tthree()\n+\tfour()\n \ttwo()\n", source,
			strings.Replace(source, "one()", "three()\n\tfour()", 1)},
		"unified, with a wrong count": {"--- f\n+++ f\n@@ -3,9 +3,9 @@\n func a() {\n-\tone()\n+\tthree()\n \ttwo()\n", source, strings.Replace(source, "one()", "three()", 1)},
		"unified, at a wrong line":    {"--- f\n+++ f\n@@ -90,2 +90,2 @@\n func b() {\n-\tone()\n+\tthree()\n", source, source[:len(source)-len("\tone()\n\ttwo()\n}\n")] + "\tthree()\n\ttwo()\n}\n"},
		"unified, by its line alone":  {"--- f\n+++ f\n@@ -9 +9 @@\n-\tone()\n+\tthree()\n", source, source[:len(source)-len("\tone()\n\ttwo()\n}\n")] + "\tthree()\n\ttwo()\n}\n"},
		"unified, without lines":      {"--- f\n+++ f\n@@ func b() {\n-\tone()\n+\tthree()\n", source, source[:len(source)-len("\tone()\n\ttwo()\n}\n")] + "\tthree()\n\ttwo()\n}\n"},
		"unified, blank lines bare":   {"--- f\n+++ f\n@@ -1,4 +1,4 @@\n-package main\n+package other\n\n func a() {\n \tone()\n", source, strings.Replace(source, "main", "other", 1)},
		"unified, a line of dashes":   {"--- f\n+++ f\n@@ -1,2 +1,2 @@\n--- a\n+++ b\n c\n", "-- a\nc\n", "++ b\nc\n"},
		"unified, the end appears":    {"--- f\n+++ f\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n", "a", "a\n"},
		"unified, the end goes":       {"--- f\n+++ f\n@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n", "a\n", "a"},
		"unified, no word of the end": {"--- f\n+++ f\n@@ -1,2 +1,2 @@\n a\n-b\n+x\n", "a\nb", "a\nx"},
		"unified, lines of Windows":   {"--- f\n+++ f\n@@ -1,2 +1,3 @@\n a\n-b\n+x\n+y\n", mark + "a\r\nb\r\n", mark + "a\r\nx\r\ny\r\n"},
		"unified, in a fence":         {"```diff\n--- f\n+++ f\n@@ -1 +1 @@\n-a\n+b\n```\n", "a\n", "b\n"},
		"sections": {"*** Begin Patch\n*** Update File: f.go\n@@ func b() {\n \tone()\n-\ttwo()\n+\tthree()\n*** End Patch", source,
			source[:len(source)-len("\ttwo()\n}\n")] + "\tthree()\n}\n"},
		"sections, two hunks":      {"*** Begin Patch\n*** Update File: f\n@@\n a\n-b\n+x\n@@\n c\n+y\n*** End Patch\n", "a\nb\nc\nd\n", "a\nx\nc\ny\nd\n"},
		"sections, at the end":     {"*** Begin Patch\n*** Update File: f\n@@\n a\n+b\n*** End of File\n*** End Patch\n", "a\nz\na\n", "a\nz\na\nb\n"},
		"sections, only new lines": {"*** Begin Patch\n*** Update File: f\n@@\n+z\n*** End Patch\n", "a\n", "a\nz\n"},
		"sections, other spaces":   {"*** Begin Patch\n*** Update File: f\n@@\n if x:\n-    y()\n+    z()\n*** End Patch\n", "\tif x:\n\t    y()\n", "\tif x:\n\t    z()\n"},
	} {
		changes, err := Parse(c.patch)
		if err != nil || len(changes) != 1 {
			t.Errorf("%s: %d changes, %v", name, len(changes), err)
			continue
		}
		if got, err := changes[0].Apply(c.content); err != nil || got.Text != c.want {
			t.Errorf("%s: %q, %v; want %q", name, got.Text, err, c.want)
		}
	}
}

func TestPatchesOfManyFilesAreRead(t *testing.T) {
	unified := "Here it is:\n\ndiff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n" +
		"diff --git a/old b/new\nsimilarity index 100%\nrename from old\nrename to new\n" +
		"diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n" +
		"--- /dev/null\n+++ b/fresh\n@@ -0,0 +1,2 @@\n+a\n+b\n--- p/q\t2020-01-01\n+++ p/r\n@@ -1 +1 @@\n-a\n+b\n"
	sections := "*** Begin Patch\n*** Update File: x\n@@\n-a\n+b\n\n*** Update File: old\n*** Move to: new\n*** Delete File: gone\n*** Add File: fresh\n+a\n+b\n" +
		"*** Update File: p/q\n*** Move to: p/r\n@@\n-a\n+b\n*** End Patch\n"
	for name, patch := range map[string]string{"unified": unified, "sections": sections} {
		changes, err := Parse(patch)
		if err != nil || len(changes) != 5 {
			t.Errorf("%s: %+v, %v", name, changes, err)
			continue
		}
		for i, want := range []Change{{Op: Update, Path: "x"}, {Op: Update, Path: "old", To: "new"}, {Op: Delete, Path: "gone"}, {Op: Create, Path: "fresh"}, {Op: Update, Path: "p/q", To: "p/r"}} {
			if got := changes[i]; got.Op != want.Op || got.Path != want.Path || got.To != want.To {
				t.Errorf("%s: %d is %+v", name, i, got)
			}
		}
		if got, err := changes[3].Apply(""); err != nil || got.Text != "a\nb\n" {
			t.Errorf("%s: the new file is %q, %v", name, got.Text, err)
		}
	}
}

func TestPatchesThatCannotBeMeantAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ patch, content, says string }{
		"nothing":                 {"", "", "changes no file"},
		"prose":                   {"please change a to b", "", "changes no file"},
		"no file":                 {"@@ -1 +1 @@\n-a\n+b\n", "", "of which file"},
		"no end":                  {"*** Begin Patch\n*** Update File: f\n@@\n-a\n+b\n", "", "does not end with"},
		"junk between":            {"*** Begin Patch\nhello\n*** End Patch\n", "", `"hello"`},
		"a line of a new file":    {"*** Begin Patch\n*** Add File: f\nhello\n*** End Patch\n", "", "begins with +"},
		"twice the same file":     {"*** Begin Patch\n*** Delete File: f\n*** Add File: f\n+a\n*** End Patch\n", "", "twice"},
		"no change":               {"*** Begin Patch\n*** Update File: f\n*** End Patch\n", "", "does not say what to change"},
		"an empty hunk":           {"--- f\n+++ f\n@@ -1 +1 @@\n", "", "no lines below"},
		"binary":                  {"diff --git a/f b/f\nBinary files a/f and b/f differ\n", "", "binary"},
		"no name":                 {"--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n", "", "without a name"},
		"two places":              {"*** Begin Patch\n*** Update File: f\n@@\n-a\n+b\n*** End Patch\n", "a\nb\na\n", "lines 1, 3"},
		"an anchor that is not":   {"*** Begin Patch\n*** Update File: f\n@@ func z\n-a\n+b\n*** End Patch\n", "a\n", `"func z"`},
		"the second of two parts": {"*** Begin Patch\n*** Update File: f\n@@\n-a\n+b\n@@\n-zebra\n+b\n*** End Patch\n", "a\n", "part 2 of 2"},
		"not in its order":        {"*** Begin Patch\n*** Update File: f\n@@\n-b\n+x\n@@\n-a\n+y\n*** End Patch\n", "a\nb\n", "part 2 of 2"},
	} {
		changes, err := Parse(c.patch)
		if err == nil {
			_, err = changes[0].Apply(c.content)
		}
		var p *Problem
		if !errors.As(err, &p) || !strings.Contains(p.Text, c.says) {
			t.Errorf("%s: %v does not say %q", name, err, c.says)
		}
	}
}

func TestDiffsAreAsOthersMakeThem(t *testing.T) {
	for name, c := range map[string]struct{ a, b, want string }{
		"a line":       {"1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nx\n6\n7\n8\n9\n", "--- f\n+++ f\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n"},
		"an end":       {"1\n2", "1\n2\n", "--- f\n+++ f\n@@ -1,2 +1,2 @@\n 1\n-2\n\\ No newline at end of file\n+2\n"},
		"from nothing": {"", "1\n", "--- f\n+++ f\n@@ -0,0 +1 @@\n+1\n"},
		"two places":   {"1\n2\n3\n4\n5\n6\n7\n8\n9\n", "0\n1\n2\n3\n4\n5\n6\n7\n8\n", "--- f\n+++ f\n@@ -1,3 +1,4 @@\n+0\n 1\n 2\n 3\n@@ -6,4 +7,3 @@\n 6\n 7\n 8\n-9\n"},
		"nothing":      {"1\n", "1\n", ""},
	} {
		if got := Diff("f", "f", c.a, c.b); got.Unified != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got.Unified, c.want)
		}
	}
	if d := Diff("", "f", "", "a\nb\n"); d.Added != 2 || d.Removed != 0 || !strings.HasPrefix(d.Unified, "--- /dev/null\n+++ f\n") {
		t.Errorf("%+v", d)
	}
	big := strings.Repeat("a\n", 3000)
	if d := Diff("f", "f", big, strings.Repeat("b\n", 3000)); d.Added != 3000 || d.Removed != 3000 {
		t.Errorf("%d, %d", d.Added, d.Removed)
	}
}

// Lines that are all alike, of which the last one is missing, are compared in no time.
func TestLinesThatAreAllAlikeTakeNoLonger(t *testing.T) {
	content, old := strings.Repeat("a\n", 1<<20), strings.Repeat("a\n", 1<<19)+"b"
	begun := time.Now()
	if _, err := (Replacement{Old: old, New: "x"}).Apply(content); err == nil {
		t.Error("it was found")
	}
	if took := time.Since(begun); took > time.Minute {
		t.Errorf("it took %s", took)
	}
	if got := occurrences([]string{"a", "b", "a", "b", "a", "c"}, []string{"a", "b", "a"}, 0); !slices.Equal(got, []int{0, 2}) {
		t.Errorf("found at %v", got)
	}
}

// FuzzPatch applies whatever comes to whatever comes. What is made of two texts makes the second of the first, and
// nothing panics or grows beyond its bound.
func FuzzPatch(f *testing.F) {
	f.Add("a\nb\nc\n", "a\nx\nc\n", "--- f\n+++ f\n@@ -1 +1 @@\n-a\n+b\n")
	f.Add("a\r\nb\r\nc", "a\r\nb\nc\n", "*** Begin Patch\n*** Update File: f\n@@ a\n b\n-c\n+d\n*** End of File\n*** End Patch\n")
	f.Add(mark+"a\n", "a\n", "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n")
	f.Add("", "\n", "@@ @@\n")
	f.Add("-- a\n++ b\n", "\\ x\n--- a\n+++ b\n@@\n", "diff --git a/f b/f\nrename from f\nrename to g\n")
	f.Add("  if a:\n    b\n", "\tif a:\n\t\tb\n", "*** Begin Patch\n*** Update File: f\n@@\n if a:\n+  c\n   b\n*** End Patch\n")
	f.Add("\u201cx\u201d \xff\xfe\n", "\"x\"", "*** Begin Patch\n*** Add File: f\n+\u201cx\n*** Delete File: g\n*** End Patch\n")
	f.Fuzz(func(t *testing.T, a, b, patch string) {
		d := Diff("f", "f", a, b)
		if (d.Unified == "") != (a == b) {
			t.Fatalf("the diff of %q and %q is %q", a, b, d.Unified)
		}
		if a != b {
			changes, err := Parse(d.Unified)
			if err != nil || len(changes) != 1 {
				t.Fatalf("%q: %d changes, %v", d.Unified, len(changes), err)
			}
			if got, err := changes[0].Apply(a); err != nil || got.Text != b {
				t.Fatalf("%q applied to %q is %q, %v; want %q", d.Unified, a, got.Text, err, b)
			}
		}
		if changes, err := Parse(patch); err == nil {
			for _, c := range changes {
				if got, err := c.Apply(a); err == nil && len(got.Text) > Most {
					t.Fatalf("%d bytes", len(got.Text))
				}
			}
		}
		for _, all := range []bool{false, true} {
			if got, err := (Replacement{Old: b, New: patch, All: all}).Apply(a); err == nil && len(got.Text) > Most {
				t.Fatalf("%d bytes", len(got.Text))
			}
		}
	})
}
