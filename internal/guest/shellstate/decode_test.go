//go:build linux

package shellstate

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
)

// seal makes a report of sections.
func seal(kind string, parts ...string) string {
	return "\x00H" + kind + "1\x00" + strings.Join(parts, "\x00") + "\x00END\x00"
}

func TestTheLastCompleteReportCounts(t *testing.T) {
	one, two := seal("B", "declare -x A=\"1\"\n", "/one\n"), seal("B", "declare -x A=\"2\"\n", "/two\n", "declare -- L=\"1\"\n")
	posix := seal("P", "export A='3'\n", "/three\n")
	for name, c := range map[string]struct{ report, want string }{
		"one":               {one, "1/one"},
		"the second":        {one + two, "2/two"},
		"garbage around":    {"noise" + one + "noise", "1/one"},
		"cut off":           {one + two[:len(two)-1], "1/one"},
		"cut off in front":  {two[:20] + one, "1/one"},
		"only the magic":    {one + "\x00HB1\x00", "1/one"},
		"an end by itself":  {one + "\x00END\x00", "1/one"},
		"an end and more":   {one + "x\x00END\x00y\x00END\x00", "1/one"},
		"too many sections": {one + seal("B", "", "", "", ""), "1/one"},
		"another kind":      {one + posix, "3/three"},
		"unknown kind":      {one + seal("X", "", ""), "1/one"},
	} {
		st, err := Decode([]byte(c.report))
		if got := st.Env["A"] + st.Cwd; err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, c.want)
		}
	}
	for _, report := range []string{"", "\x00END\x00", "HB1\x00\x00\x00END\x00", one[:len(one)-2], strings.Repeat("\x00END\x00", 1000)} {
		if _, err := Decode([]byte(report)); !errors.Is(err, ErrNoReport) {
			t.Errorf("%q: %v", short(report), err)
		}
	}
	if _, err := Decode(make([]byte, MaxReport+1)); !errors.Is(err, ErrMalformed) {
		t.Errorf("too long: %v", err)
	}
}

func TestQuotingOfEveryShell(t *testing.T) {
	for text, want := range map[string]string{
		`"a b"`:                              "a b",
		`"\"\$\` + "`" + `\\"`:               "\"$`\\",
		`"a\nb"`:                             `a\nb`,
		"\"two\nlines\"":                     "two\nlines",
		`""`:                                 "",
		`$'\a\b\e\E\f\n\r\t\v\\\'\"\?'`:      "\a\b\x1b\x1b\f\n\r\t\v\\'\"?",
		`$'\1\001\0011\377\x41\xffg\x4'`:     "\x01\x01\x011\xffA\xffg\x04",
		`$'\u00e9\u20ac\U0001F600\uE9'`:      "é€😀é",
		`$'\q\xg\ug'`:                        `\q\xg\ug`,
		`'it'\''s'`:                          "it's",
		`'it'"'"'s'"''"`:                     "it's''",
		`bare/word-1.2`:                      "bare/word-1.2",
		`''`:                                 "",
		"'x\ny'":                             "x\ny",
		`$'a'"b"'c'\d`:                       "abcd",
		"\"" + strings.Repeat("é", 9) + "\"": strings.Repeat("é", 9),
	} {
		got, rest, ok := word(text + "\nnext")
		if got != want || rest != "\nnext" || !ok {
			t.Errorf("%s: %q, rest %q, %v, want %q", text, got, rest, ok, want)
		}
	}
	for _, text := range []string{`"open`, `'open`, `$'open`, `$'open\`, `"$x"`, "\"`x`\"", `$(x)`, "`x`", `a;b`, `a b`, `x"$y"`, "\\\n", ""} {
		if v, _, ok := word(text + "\n"); ok && text != "" {
			t.Errorf("%s was read as %q", text, v)
		}
	}
}

func TestMalformedReportsAreRefused(t *testing.T) {
	for _, state := range []string{
		"declare -x A=\"1\"", "declare -x A=1;rm\n", "declare -x 1A=\"1\"\n", "declare -x A-B=\"1\"\n",
		"declare -z A=\"1\"\n", "declare -x\n", "declare -\n", "declare x\n", "export A='1'\n", "noise\n", "\n",
		"declare -ax A=([0]=\"$(rm)\")\n", "declare -ax A=([0]=`rm`)\n", "declare -ax A=([0]=\"1\"); rm\n",
		"declare -ax A=([0]=\"1\"\n", "declare -ax A=(;rm)\n", "declare -ax A=([0]=\"1\"\nrm)\n", "declare -ax A=(\\\n)\n",
		"alias x\n", "alias x='1\n", "alias x='1';rm\n", "declare -x A=\"1\"\nrm\n",
		"declare -f f\n", "declare -f f\ng () \n{ \n}\n", "declare -f f\nrm\nf () \n{ \n}\n", "declare -f\n", "declare -f \nx\n",
		"declare -f f\ndeclare -f g\ng () \n{ \n}\nf () \n{ \n}\n", "f () \n{ \n}\n",
	} {
		if st, err := Decode([]byte(seal("B", state, "/\n"))); !errors.Is(err, ErrMalformed) {
			t.Errorf("%q: %+v, %v", state, st, err)
		}
	}
	for _, state := range []string{"export A='1", "export A=$x\n", "export 1A='1'\n", "export \n", "x\n"} {
		if st, err := Decode([]byte(seal("P", state, "/\n"))); !errors.Is(err, ErrMalformed) {
			t.Errorf("%q: %+v, %v", state, st, err)
		}
	}
	if _, err := Decode([]byte(seal("B", "", "/\n", "noise\n"))); !errors.Is(err, ErrMalformed) {
		t.Errorf("locals: %v", err)
	}
}

func TestADirectoryThatTheShellCannotTellIsNoChange(t *testing.T) {
	for _, dir := range []string{"", "\n", "relative\n", "/cut"} {
		if st, err := Decode([]byte(seal("B", "", dir))); err != nil || st.Cwd != "" {
			t.Errorf("%q: %q, %v", dir, st.Cwd, err)
		}
	}
}

func TestNothingOfOursIsDecoded(t *testing.T) {
	st, err := Decode([]byte(seal("B", "declare -x SHLVL=\"2\"\ndeclare -x _=\"x\"\ndeclare -x OLDPWD\ndeclare -ix __hermes_a=\"1\"\n"+
		"alias trap='__hermes_trap'\n"+
		"declare -f __hermes_f\ndeclare -f builtin\ndeclare -f f\ndeclare -f trap\n"+
		"__hermes_f () \n{ \n    :\n}\nbuiltin () \n{ \n    :\n}\nf () \n{ \n    :\n}\ntrap () \n{ \n    echo $__hermes_x\n}\n", "/\n")))
	if err != nil || len(st.Env)+len(st.Attrs)+len(st.Aliases) != 0 || !slices.Equal(slices.Collect(maps.Keys(st.Functions)), []string{"f"}) {
		t.Errorf("%+v, %v", st, err)
	}
}

// A here-document may hold what looks like the beginning of another function.
func TestFunctionsThatLookLikeOthersStayTogether(t *testing.T) {
	f := "f () \n{ \n    cat <<E\n}\ng () \n{ \nE\n\n}\n"
	g, h := "g () \n{ \n    echo g\n} 1>&2\n", "function if () \n{ \n    :\n}\ndeclare -fx if\n"
	all, ok := functions("declare -f f\ndeclare -f g\ndeclare -fx if\n" + f + g + h)
	want := map[string]string{"f": f + g, "g": "", "if": h}
	if !ok || !maps.Equal(all, want) {
		t.Errorf("%q, want %q", all, want)
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []*session{
		{t: f, shell: Bash, argv0: []string{"/bin/bash"}},
		{t: f, shell: Posix, argv0: []string{"/bin/dash"}},
		{t: f, shell: Posix, argv0: []string{"/bin/busybox", "sh"}},
	} {
		s.st = State{Env: map[string]string{"ALL": everyByte(), "PATH": basePath}, Cwd: "/"}
		for _, line := range []string{"alias a='it'\"'\"'s'; export B=\"it's\n\"; exit 3", "f() { cat <<E\n}\nE\n}; declare -ax A=(1 \"b c\"); declare -ix N=1; export -f f; g() { local x=1; exit; }; g", "true"} {
			inv := s.invoke(line, Options{})
			cmd, report := s.command(inv)
			_ = cmd.Run()
			f.Add([]byte(content(f, report)))
		}
	}
	f.Add([]byte(seal("B", "declare -x A=$'\\u00e9\\x41\\'\\101'\nalias -- -x='a'\\''b'\n", "/a\nb\n", "declare -- L=\"1\"\n")))
	f.Fuzz(func(t *testing.T, report []byte) {
		checkDecoded(t, report)
		inner := strings.ReplaceAll(string(report), "\x00", "\n")
		checkDecoded(t, []byte(seal("B", inner, "/\n")))
		checkDecoded(t, []byte(seal("P", inner, "/\n")))
	})
}

func checkDecoded(t *testing.T, report []byte) {
	st, err := Decode(report)
	if err != nil {
		if st.Env != nil {
			t.Error("an error comes with a state")
		}
		return
	}
	if st.Cwd != "" && st.Cwd[0] != '/' {
		t.Errorf("cwd %q", st.Cwd)
	}
	for n, v := range st.Attrs {
		if !strings.HasPrefix(v, "declare -") || !isIdentifier(n) {
			t.Errorf("%s has the declaration %q", n, v)
		}
	}
	var session State
	session.Apply(Delta(State{}, st))
	for _, m := range []map[string]string{session.Env, session.Attrs} {
		for n := range m {
			if !isKept(n) {
				t.Errorf("%s entered the session", n)
			}
		}
	}
	Invoke(Bash, "/bin/bash", "x", &session, Options{PreludeFD: 3, ReportFD: 4})
}
