package toolbox

import (
	"strings"
	"testing"
)

func TestAPassageIsReplaced(t *testing.T) {
	b, _ := newToolbox(t)
	ctx := t.Context()
	sh(t, b, `cd /workspace; printf 'one\ntwo\nthree\n' >plain; printf 'one\r\ntwo\r\n' >windows; printf 'x\nx\n' >twice; printf '\tif a {\n\t\tb()\n\t}\n' >code; chmod 640 plain; printf 'a\0b' >binary; ln -s plain link`)
	out, err := b.Patch(ctx, PatchInput{Path: "plain", OldString: "two", NewString: "2"})
	if err != nil || len(out.Files) != 1 || out.Files[0] != (PatchedFile{Path: "/workspace/plain", Change: "changed", Added: 1, Removed: 1}) ||
		out.Diff != "--- /workspace/plain\n+++ /workspace/plain\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n" {
		t.Errorf("%+v, %v", out, err)
	}
	if _, err := b.Patch(ctx, PatchInput{Path: "link", OldString: "three", NewString: "3"}); err != nil {
		t.Error(err)
	}
	if _, err := b.Patch(ctx, PatchInput{Path: "windows", OldString: "one\ntwo", NewString: "1\n1.5\n2"}); err != nil {
		t.Error(err)
	}
	out, err = b.Patch(ctx, PatchInput{Path: "code", OldString: "if a {\n\tb()", NewString: "if a {\n\tc()"})
	if err != nil {
		t.Error(err)
	}
	noted(t, "code", out.Notes, "indentation")
	out, err = b.Patch(ctx, PatchInput{Path: "twice", OldString: "x", NewString: "y", ReplaceAll: true})
	if err != nil {
		t.Error(err)
	}
	noted(t, "twice", out.Notes, "2 places")
	if got := sh(t, b, "stat -c %a plain; cat plain windows code twice; test -L link"); got != "640\none\n2\n3\n1\r\n1.5\r\n2\r\n\tif a {\n\t\tc()\n\t}\ny\ny\n" {
		t.Errorf("%q", got)
	}
	for name, c := range map[string]struct {
		in   PatchInput
		says []string
	}{
		"nothing":     {PatchInput{}, []string{"give path with old_string"}},
		"both":        {PatchInput{Path: "plain", Patch: "x"}, []string{"not both"}},
		"ambiguous":   {PatchInput{Path: "twice", OldString: "y", NewString: "z"}, []string{"lines 1, 2", "replace_all"}},
		"missing":     {PatchInput{Path: "code", OldString: "if b {", NewString: "z"}, []string{"not there", "1|\tif a {"}},
		"no file":     {PatchInput{Path: "plan", OldString: "a", NewString: "b"}, []string{"/workspace/plain"}},
		"a directory": {PatchInput{Path: "/workspace", OldString: "a", NewString: "b"}, []string{"directory"}},
		"binary":      {PatchInput{Path: "binary", OldString: "a", NewString: "b"}, []string{"binary"}},
		"no words":    {PatchInput{Path: "plain", NewString: "b"}, []string{"old_string is empty"}},
	} {
		_, err := b.Patch(ctx, c.in)
		refusedWith(t, name, err, c.says...)
	}
}

func TestAPatchOfManyFilesIsAppliedWholeOrNotAtAll(t *testing.T) {
	b, _ := newToolbox(t)
	ctx := t.Context()
	state := func() string {
		return sh(t, b, `cd /workspace; find . -type f -o -type d | sort | while read f; do [ -d "$f" ] && echo "$f" || echo "$f $(stat -c %a "$f") $(cat "$f" | tr '\n' ' ')"; done`)
	}
	sh(t, b, `cd /workspace; printf 'a\nb\n' >one; printf 'c\n' >two; chmod 600 two; printf 'd\n' >gone; printf 'e\nf\n' >from; : >spare; : >taken`)
	before := state()
	good := "*** Begin Patch\n*** Update File: one\n@@\n-a\n+A\n*** Update File: two\n@@\n-c\n+C\n*** Delete File: gone\n*** Add File: new/dir/file\n+n\n*** Update File: from\n*** Move to: moved/to\n@@\n-f\n+F\n"
	for name, c := range map[string]struct {
		more string
		says []string
	}{
		"a passage that is not there": {"*** Update File: three\n@@\n-x\n+y\n", []string{"three", "does not exist"}},
		"a file that exists":          {"*** Add File: one/../two\n+x\n", []string{"exists already", "nothing was changed"}},
		"a new name that exists":      {"*** Update File: spare\n*** Move to: taken\n", []string{"/workspace/taken", "exists already"}},
		"one file under two names":    {"*** Update File: ./from\n@@\n-e\n+E\n", []string{"twice"}},
		"another content":             {"*** Update File: other\n@@\n-zzz\n+E\n", []string{"not there", "nothing was changed"}},
	} {
		if name == "another content" {
			sh(t, b, "echo other >/workspace/other")
			before = state()
		}
		_, err := b.Patch(ctx, PatchInput{Patch: good + c.more + "*** End Patch\n"})
		refusedWith(t, name, err, c.says...)
		if got := state(); got != before {
			t.Errorf("%s changed something:\n%s", name, got)
		}
	}
	// What only shows while it is written is undone: a file that nobody may replace comes last.
	sh(t, b, "cd /workspace; rm -f other spare taken; mkdir closed; echo x >closed/file")
	before = state()
	_, err := b.Patch(ctx, PatchInput{Patch: good + "*** Add File: /usr/share/new\n+x\n*** End Patch\n"})
	refusedWith(t, "a read-only place", err, "/usr/share/new", "file 6 of 6 of the patch, and nothing is changed")
	if got := state(); got != before {
		t.Errorf("it was not undone:\n%s\nwas\n%s", got, before)
	}

	out, err := b.Patch(ctx, PatchInput{Patch: good + "*** End Patch\n"})
	if err != nil {
		t.Fatal(err)
	}
	want := []PatchedFile{{"/workspace/one", "changed", "", 1, 1}, {"/workspace/two", "changed", "", 1, 1}, {"/workspace/gone", "deleted", "", 0, 1},
		{"/workspace/new/dir/file", "created", "", 1, 0}, {"/workspace/from", "renamed", "/workspace/moved/to", 1, 1}}
	for i, f := range out.Files {
		if i >= len(want) || f != want[i] {
			t.Errorf("%d is %+v", i, f)
		}
	}
	if !strings.Contains(out.Diff, "--- /workspace/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-d\n") || !strings.Contains(out.Diff, "--- /dev/null\n+++ /workspace/new/dir/file\n") {
		t.Errorf("%s", out.Diff)
	}
	if got := state(); got != ".\n./closed\n./closed/file 644 x \n./moved\n./moved/to 644 e F \n./new\n./new/dir\n./new/dir/file 644 n \n./one 644 A b \n./two 600 C \n" {
		t.Errorf("%s", got)
	}
	// What was answered is a patch that others read.
	sh(t, b, "cd /workspace; rm -r moved new; printf 'a\\nb\\n' >one; printf 'c\\n' >two; printf 'd\\n' >gone; printf 'e\\nf\\n' >from")
	if _, err := b.Patch(ctx, PatchInput{Patch: out.Diff}); err != nil {
		t.Errorf("the answer applied: %v", err)
	}
	if got := sh(t, b, "cd /workspace; cat one two moved/to new/dir/file; ls"); got != "A\nb\nC\ne\nF\nn\nclosed\nmoved\nnew\none\ntwo\n" {
		t.Errorf("%q", got)
	}
}
