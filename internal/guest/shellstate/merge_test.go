//go:build linux

package shellstate

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestMergeLoginPath(t *testing.T) {
	for _, c := range [][3]string{
		{"/image:/usr/bin:/bin", "/usr/local/bin:/usr/bin:/bin", "/usr/local/bin:/image:/usr/bin:/bin"},
		{"/image:/bin", "/home/x/bin:/image:/bin", "/home/x/bin:/image:/bin"},
		{"/image:/bin", "/bin:/image", "/image:/bin"},
		{"/image", "/a::/b:/a:/image:", "/a:/b:/image"},
		{"/image", "", "/image"},
		{"", "/a", "/a"},
		{"/a:/a", "/b", "/b:/a:/a"},
	} {
		if got := MergeLoginPath(c[0], c[1]); got != c[2] {
			t.Errorf("image %s, profile %s: %s, want %s", c[0], c[1], got, c[2])
		}
	}
}

func TestDeltaTakesDifferencesOnly(t *testing.T) {
	start := State{
		Env:       map[string]string{"SAME": "1", "CHANGED": "1", "GONE": "1", "foo.bar": "1", "PAGER": "cat", "HERMES_RPC_A": "1", "BASH_FUNC_f%%": "() { :; }"},
		Attrs:     map[string]string{"N": "declare -ix N"},
		Functions: map[string]string{"f": "1", "g": "1"}, Aliases: map[string]string{"a": "1"}, Cwd: "/same",
	}
	end := State{
		Env:   map[string]string{"SAME": "1", "CHANGED": "2", "NEW": "", "PAGER": "cat", "SHLVL": "3", "HERMES_SESSION_X": "1", "HERMES_CRON_AUTO_DELIVER_X": "1", "HERMES_BROWSER_CONTROL_X": "1", "HERMES_UI_SESSION_ID": "1", "HIDDEN": "1"},
		Attrs: map[string]string{}, Functions: map[string]string{"f": "2", "h": "1"}, Aliases: map[string]string{"a": "1"}, Cwd: "/same",
		shadowed: []string{"HIDDEN"},
	}
	want := Change{
		Env:       Edit{Set: map[string]string{"CHANGED": "2", "NEW": ""}, Unset: []string{"GONE", "BASH_FUNC_f%%"}},
		Attrs:     Edit{Unset: []string{"N"}},
		Functions: Edit{Set: map[string]string{"f": "2", "h": "1"}, Unset: []string{"g"}},
	}
	if got := Delta(start, end); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	end.Functions, end.Aliases, end.Attrs, end.Cwd = nil, nil, nil, "/new"
	got := Delta(start, end)
	if len(got.Functions.Unset)+len(got.Aliases.Unset)+len(got.Attrs.Unset) > 0 || got.Cwd != "/new" || slices.Contains(got.Env.Unset, "BASH_FUNC_f%%") {
		t.Errorf("what a shell cannot tell was removed: %+v", got)
	}
}

func TestCloneSharesNothing(t *testing.T) {
	a := State{Env: map[string]string{"A": "1"}, Attrs: map[string]string{}, Functions: map[string]string{}, Aliases: map[string]string{}}
	b := a.Clone()
	b.Apply(Change{Env: Edit{Set: map[string]string{"A": "2"}}, Attrs: Edit{Set: map[string]string{"A": "2"}}, Functions: Edit{Set: map[string]string{"A": "2"}}, Aliases: Edit{Set: map[string]string{"A": "2"}}})
	if a.Env["A"] != "1" || len(a.Attrs)+len(a.Functions)+len(a.Aliases) > 0 {
		t.Errorf("%+v", a)
	}
}

func TestInvocationIsDeterministicAndComplete(t *testing.T) {
	st := State{Env: map[string]string{"B": "2", "A": "1", "LANG": "C", "SHELLOPTS": "xtrace", "BASHOPTS": "x", "SHLVL": "9", "PWD": "/x", "_": "x", "NUL": "a\x00b", "X=Y": "1", "": "1"}, Aliases: map[string]string{"x": "y"}}
	first := Invoke(Bash, "/bin/bash", "true", &st, Options{PreludeFD: 3, ReportFD: 4})
	want := "A=1 AI_AGENT=hermes B=2 BASH_ENV=/proc/self/fd/3 GIT_PAGER=cat HERMES_AGENT=1 LANG=C PAGER=cat SHLVL=1"
	if got := strings.Join(first.Env, " "); got != want {
		t.Errorf("env %s, want %s", got, want)
	}
	for range 20 {
		if again := Invoke(Bash, "/bin/bash", "true", &st, Options{PreludeFD: 3, ReportFD: 4}); !reflect.DeepEqual(first, again) {
			t.Fatal("two invocations differ")
		}
	}
	if !slices.Equal(first.Argv, []string{"/bin/bash", "-c", "true"}) {
		t.Errorf("argv %q", first.Argv)
	}
	if len(st.Env) != 11 {
		t.Errorf("the session changed: %q", st.Env)
	}
}

// However a line comes to a function that it does not name, the function is there.
func TestFunctionsReachedByOtherWays(t *testing.T) {
	s := bash(t)
	s.want("foo() { echo foo; }; bar() { echo bar; }; export -f bar; alias al=foo; foofoo() { foo; }", "")
	script := filepath.Join(s.st.Env["HOME"], "script")
	for _, line := range []string{
		"x=foo; $x", "f\"oo\"", "'fo'o", "fo\\o", "`echo foo`", "{foo,}", "eval 'fo''o'", ". ./script", "source ./script", "al", "foofoo",
		"# 'tis\n$(echo foo) 'x'", "cat <<E >/dev/null\n'\nE\n$(echo foo) '\n'", "trap 'fo''o' USR1; kill -USR1 $$", "foo 'a b' \"c d\"", "echo x >/dev/null; foo | cat", "\"foo\" x",
	} {
		s.st.Cwd = s.st.Env["HOME"]
		if err := os.WriteFile(script, []byte("foo\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		s.want(line, "foo\n")
	}
	if err := os.WriteFile(script, []byte("bar\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.want("bash script", "bar\n")
	s.want("command_not_found_handle() { echo \"no $1\"; foo; }", "")
	s.want("nosuch", "no nosuch\nfoo\n")
}

// A plain line must leave the functions and aliases of its session alone, and a
// line that changes them must not pass for one.
func TestPlainLines(t *testing.T) {
	s := bash(t)
	s.want("foo() { echo foo; }; alias al='echo al'", "")
	for line, plain := range map[string]bool{
		"ls -la /": true, "grep -rn 'a$b' src | head -5": true, "cd /tmp && make \"all targets\" 2>&1": true, "foo": true, "A=1": true, "awk '{print $1}' f": true, "(cd /; ls)": true,
		"echo $x": false, "bar() { :; }": false, "bar ( ) { :; }": false, "function bar { :; }": false, "unset -f foo": false, "unalias al": false, "alias b=c": false,
		"export X=1": false, ". ./x": false, "echo \"`x`\"": false, "a'b'": false, "'a'b": false, "cat <<E\nE": false, "a # b": false, "echo 'open": false, "[ \"$x\" ]": false,
	} {
		if got := reach(line, &s.st).plain; got != plain {
			t.Errorf("%q is plain: %v", line, got)
		}
	}
	s.want("ls -d /", "/\n")
	s.want("foo", "foo\n")
	s.want("al x", "al x\n")
	s.want("A=1; cd /usr; echo \"x y\"", "x y\n")
	if len(s.st.Functions) != 1 || len(s.st.Aliases) != 1 || s.st.Cwd != "/usr" {
		t.Errorf("%+v", s.st)
	}
	s.want("foo | cat; al", "foo\nal\n")
}
