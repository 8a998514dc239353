package toolbox

import (
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// searchers are the ways to search that an image may have: each finds the same.
func searchers(t *testing.T) map[string][]finder {
	t.Helper()
	ways := map[string][]finder{"a walk": nil, "grep": {gnuGrep}, "find": {findGrep}, "what there is": finders}
	if _, err := exec.LookPath("rg"); err == nil {
		ways["ripgrep"] = []finder{ripgrep}
	} else {
		t.Log("no ripgrep here: it is not compared")
	}
	if _, err := exec.LookPath("busybox"); err == nil {
		ways["busybox"] = []finder{{argv: func(pattern string, anyCase bool, below []string) []string {
			argv := findGrep.argv(pattern, anyCase, below)
			return append([]string{"busybox"}, slices.Insert(argv, slices.Index(argv, "grep"), "busybox")...)
		}}}
	} else {
		t.Log("no busybox here: it is not compared")
	}
	return ways
}

// worksAlone sees to it that a finder answers by itself: where it does not, a search goes another way and finds the same.
func worksAlone(t *testing.T, b *Toolbox, way string, f finder) {
	t.Helper()
	_, err := b.inTree(t.Context(), func(x tree) error {
		s := &search{t: b, x: x, root: "/workspace", glob: &glob{}, re: regexp.MustCompile("func hidden")}
		names, ok, err := s.ask(t.Context(), f)
		if !ok || !slices.Equal(names, []string{".hidden/win.go"}) {
			t.Errorf("%s finds %q, %v", way, names, ok)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// summary is what was found, in a few words.
func summary(out SearchFilesOutput) string {
	var b strings.Builder
	for _, m := range out.Matches {
		fmt.Fprintf(&b, "%s:%d:%s|", strings.TrimPrefix(m.Path, "/workspace/"), m.Line, m.Text)
		if m.Before != nil || m.After != nil {
			fmt.Fprintf(&b, "%q%q|", m.Before, m.After)
		}
	}
	for _, f := range out.Files {
		fmt.Fprintf(&b, "%s:%d|", strings.TrimPrefix(f.Path, "/workspace/"), f.Count)
	}
	fmt.Fprintf(&b, "%d", out.Total)
	if !out.Complete {
		fmt.Fprintf(&b, "+ then %d", out.NextOffset)
	}
	return b.String()
}

func TestEverySearcherFindsTheSame(t *testing.T) {
	b, _ := newToolbox(t)
	sh(t, b, `mkdir -p /workspace/src/.git /workspace/.git /workspace/.hidden /workspace/a /workspace/closed; cd /workspace
		printf 'func main() {\n\treturn 1\n}\n' >src/main.go; printf 'def main():\n    return 1\n' >src/main.py; printf 'func main in git\n' >.git/x; cp .git/x src/.git/x
		printf 'func main\0\n' >binary; printf 'func hidden\r\nend\r\n' >.hidden/win.go; printf 'caf\303\251 x\303\251y\n' >unicode; printf 'caf\351\n' >latin
		printf 'a.b(c)[d]{e}+f*g?h^i$j|k\\l\n' >meta; : >empty; printf 'no end func' >open; ln -s src/main.go link; mkfifo a/pipe
		printf '1\n2\n3\nhit\n5\nhit\n7\n8\n' >a/context; printf 'hit\n' >a.b; printf 'name\n' >'new line
b'; printf 'Word word wordy\n' >words`)
	for way, with := range searchers(t) {
		b.finders = with
		if len(with) == 1 {
			worksAlone(t, b, way, with[0])
		}
		for _, c := range []struct {
			in   SearchFilesInput
			want string
		}{
			{SearchFilesInput{Pattern: "func"}, `.hidden/win.go:1:func hidden|open:1:no end func|src/main.go:1:func main() {|3`},
			{SearchFilesInput{Pattern: "func", FileGlob: "*.go"}, `.hidden/win.go:1:func hidden|src/main.go:1:func main() {|2`},
			{SearchFilesInput{Pattern: "func", FileGlob: "src/**/*.{go,py}"}, `src/main.go:1:func main() {|1`},
			{SearchFilesInput{Pattern: "func", Path: "src"}, `src/main.go:1:func main() {|1`},
			{SearchFilesInput{Pattern: "func", Path: "src/main.go"}, `src/main.go:1:func main() {|1`},
			{SearchFilesInput{Pattern: "func", Path: "link"}, `link:1:func main() {|1`},
			{SearchFilesInput{Pattern: `^func\s+\w+\(\) \{$`}, `src/main.go:1:func main() {|1`},
			{SearchFilesInput{Pattern: "hidden$"}, `.hidden/win.go:1:func hidden|1`},
			{SearchFilesInput{Pattern: "FUNC h", IgnoreCase: true}, `.hidden/win.go:1:func hidden|1`},
			{SearchFilesInput{Pattern: "(?i)FUNC H"}, `.hidden/win.go:1:func hidden|1`},
			{SearchFilesInput{Pattern: "caf. x.y"}, `unicode:1:café xéy|1`},
			{SearchFilesInput{Pattern: `caf[^a-z]`}, "latin:1:caf\uFFFD|unicode:1:café xéy|2"},
			{SearchFilesInput{Pattern: "é"}, `unicode:1:café xéy|1`},
			{SearchFilesInput{Pattern: `\bword\b`}, `words:1:Word word wordy|1`},
			{SearchFilesInput{Pattern: `a\.b\(c\)\[d\]\{e\}\+f\*g\?h\^i\$j\|k\\l`}, `meta:1:a.b(c)[d]{e}+f*g?h^i$j|k\l|1`},
			{SearchFilesInput{Pattern: `\Qa.b(c)[d]{e}+\E`}, `meta:1:a.b(c)[d]{e}+f*g?h^i$j|k\l|1`},
			{SearchFilesInput{Pattern: "(main|nothing)(\\(\\))?:?$"}, `src/main.py:1:def main():|1`},
			{SearchFilesInput{Pattern: "(|x)retu+rn{1}", Path: "src"}, "src/main.go:2:\treturn 1|src/main.py:2:    return 1|2"},
			{SearchFilesInput{Pattern: "hit", OutputMode: "count"}, `a.b:1|a/context:2|2`},
			{SearchFilesInput{Pattern: "hit", OutputMode: "files"}, `a.b:0|a/context:0|2`},
			{SearchFilesInput{Pattern: "hit", Path: "a", Context: 2}, `a/context:4:hit|["2" "3"]["5" "hit"]|a/context:6:hit|["hit" "5"]["7" "8"]|2`},
			{SearchFilesInput{Pattern: "hit", Limit: 2}, `a.b:1:hit|a/context:4:hit|3+ then 2`},
			{SearchFilesInput{Pattern: "hit", Limit: 2, Offset: 2}, `a/context:6:hit|3`},
			{SearchFilesInput{Pattern: "-e"}, `0`},
			{SearchFilesInput{Pattern: "zebra"}, `0`},
			{SearchFilesInput{Pattern: "^$", OutputMode: "count"}, `0`},
		} {
			out, err := b.SearchFiles(t.Context(), c.in)
			if got := summary(out); err != nil || got != c.want {
				t.Errorf("%s: %+v: %q, %v; want %q", way, c.in, got, err, c.want)
			}
		}
		if way == "busybox" || way == "find" {
			continue // separate names by line feeds only
		}
		if out, err := b.SearchFiles(t.Context(), SearchFilesInput{Pattern: "^name$"}); err != nil || len(out.Matches) != 1 || out.Matches[0].Path != "/workspace/new line\nb" {
			t.Errorf("%s: a name with a line feed: %+v, %v", way, out, err)
		}
	}
}

func TestFilesAreFoundByName(t *testing.T) {
	b, _ := newToolbox(t)
	sh(t, b, `mkdir -p /workspace/src/deep /workspace/.git; cd /workspace; : >src/a.go; : >src/deep/b.go; : >B.GO; : >src/c.py; : >.git/d.go; : >'we[i]rd.txt'; ln -s a.go src/link.go`)
	for pattern, want := range map[string]string{
		"*.go": "src/a.go:0|src/deep/b.go:0|src/link.go:0|3", "src/*.go": "src/a.go:0|src/link.go:0|2", "src/**": "src/a.go:0|src/c.py:0|src/deep/b.go:0|src/link.go:0|4",
		"**/b.go": "src/deep/b.go:0|1", "[ab].go": "src/a.go:0|src/deep/b.go:0|2", "[!a].go": "src/deep/b.go:0|1", "?.p?": "src/c.py:0|1", "we\\[i\\]rd.*": "we[i]rd.txt:0|1",
		"{a,c}.*": "src/a.go:0|src/c.py:0|2", "zebra": "0",
	} {
		out, err := b.SearchFiles(t.Context(), SearchFilesInput{Pattern: pattern, Target: "names"})
		if got := summary(out); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", pattern, got, err, want)
		}
	}
	if out, err := b.SearchFiles(t.Context(), SearchFilesInput{Pattern: "b.go", Target: "names", IgnoreCase: true}); err != nil || summary(out) != "B.GO:0|src/deep/b.go:0|2" {
		t.Errorf("%q, %v", summary(out), err)
	}
	for name, c := range map[string]struct {
		in   SearchFilesInput
		says string
	}{
		"nothing":         {SearchFilesInput{}, "pattern is empty"},
		"half a group":    {SearchFilesInput{Pattern: "main("}, "RE2"},
		"a backreference": {SearchFilesInput{Pattern: `(a)\1`}, "backreferences"},
		"half a bracket":  {SearchFilesInput{Pattern: "[a", Target: "names"}, "has no ]"},
		"half a brace":    {SearchFilesInput{Pattern: "a", FileGlob: "{a"}, "has no }"},
		"the whole path":  {SearchFilesInput{Pattern: "/x/*", Target: "names"}, "give the directory as path"},
		"another target":  {SearchFilesInput{Pattern: "a", Target: "both"}, "content or names"},
		"another mode":    {SearchFilesInput{Pattern: "a", OutputMode: "lines"}, "content, files or count"},
		"no directory":    {SearchFilesInput{Pattern: "a", Path: "source"}, "does not exist"},
	} {
		_, err := b.SearchFiles(t.Context(), c.in)
		refusedWith(t, name, err, c.says)
	}
}

func TestWhatASearchAnswersIsBounded(t *testing.T) {
	b, _ := newToolbox(t, func(o *Options) { o.Settings.MaxOutput = 2000 })
	sh(t, b, `cd /workspace; seq 1 5000 >many; { head -c 100000 /dev/zero | tr '\0' x; echo needle; } >long`)
	out, err := b.SearchFiles(t.Context(), SearchFilesInput{Pattern: "1", Limit: 1000})
	if err != nil || out.Complete || len(out.Matches) < 10 || len(out.Matches) > 60 || out.NextOffset != len(out.Matches) {
		t.Errorf("%d matches, then %d, %v", len(out.Matches), out.NextOffset, err)
	}
	next, err := b.SearchFiles(t.Context(), SearchFilesInput{Pattern: "1", Limit: 1, Offset: out.NextOffset})
	if last := out.Matches[len(out.Matches)-1]; err != nil || len(next.Matches) != 1 || next.Matches[0].Line <= last.Line {
		t.Errorf("after %+v comes %+v, %v", last, next.Matches, err)
	}
	out, err = b.SearchFiles(t.Context(), SearchFilesInput{Pattern: "needle"})
	if err != nil || len(out.Matches) != 1 || len(out.Matches[0].Text) > 700 || !strings.Contains(out.Matches[0].Text, "needle [of 100006 bytes]") {
		t.Errorf("%+v, %v", out, err)
	}
}

// Of a very long line only the beginning is searched, and that has no end.
func TestALineThatIsCutHasNoEnd(t *testing.T) {
	b, _ := newToolbox(t)
	sh(t, b, `cd /workspace; { head -c 1048575 /dev/zero | tr '\0' x; printf 'yz\n'; } >cut; { head -c 1048575 /dev/zero | tr '\0' x; printf 'y\r\n'; } >whole`)
	for pattern, want := range map[string]string{
		"y$": "whole:1|1", `y\z`: "whole:1|1", "(?m)y$": "whole:1|1", "y": "cut:1|whole:1|2", "y|z$": "cut:1|whole:1|2", "z": "0", "y+": "cut:1|whole:1|2", "^x+y$|nothing": "whole:1|1",
	} {
		out, err := b.SearchFiles(t.Context(), SearchFilesInput{Pattern: pattern, OutputMode: "count"})
		if got := summary(out); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", pattern, got, err, want)
		}
	}
}

// What the programs are asked for must never be less than what is meant.
func FuzzWider(f *testing.F) {
	for _, s := range []string{"func", `^a+b*c?d{2,3}$`, `(?i)straße|K`, `[^a-z]\d\W\bx`, `(|a)b`, `\x{1F600}.`, `a\]b\{`, "(a*)*", `\pL+`} {
		f.Add(s, "funcb aab straSSE \U0001F600x a]b{ 7\u212A")
	}
	for expression, line := range map[string]string{ // what may be missing is
		"colou?r": "color", "ab*c": "ac", "a{0,2}b": "b", "(x|y)?z": "z", "a(bc)*d": "ad", `^\s*$`: "", "a+b": "aab", "a{2,3}": "aa", "x(|y)z": "xz",
	} {
		f.Add(expression, line)
	}
	f.Fuzz(func(t *testing.T, expression, line string) {
		re, err := regexp.Compile(expression)
		if err != nil || strings.ContainsAny(line, "\n\r") {
			return
		}
		pattern, fold := wider(expression)
		if fold {
			pattern = "(?i)" + pattern
		}
		// Bytes are what the programs see; here they are characters that stand for them.
		wide, err := regexp.Compile(asBytes(pattern))
		if err != nil {
			t.Fatalf("%q became %q: %v", expression, pattern, err)
		}
		if fold && strings.ContainsAny(line, "\u212A\u017F") {
			return // the only two that are written in ASCII otherwise
		}
		if re.MatchString(line) && !wide.MatchString(asBytes(line)) {
			t.Fatalf("%q matches %q, and %q does not", expression, line, pattern)
		}
	})
}

// asBytes makes a character of each byte.
func asBytes(s string) string {
	runes := make([]rune, len(s))
	for i := range len(s) {
		runes[i] = rune(s[i])
	}
	return string(runes)
}
