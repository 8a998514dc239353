package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func summarise(stream string) (string, bool) {
	var out strings.Builder
	s := newSummary(&out)
	s.read(strings.NewReader(stream))
	good := s.close()
	return out.String(), good
}

// stream writes events as "action test[: output]" lines of package p; a test named "-" is the package itself.
func stream(lines ...string) string {
	var b strings.Builder
	fmt.Fprintln(&b, `{"Action":"start","Package":"p"}`)
	for _, l := range lines {
		head, output, _ := strings.Cut(l, ": ")
		action, name, _ := strings.Cut(head, " ")
		if name == "-" {
			name = ""
		}
		fmt.Fprintf(&b, "{\"Action\":%q,\"Package\":\"p\",\"Test\":%q,\"Output\":%q}\n", action, name, output)
	}
	return b.String()
}

func TestCounts(t *testing.T) {
	for name, c := range map[string]struct {
		stream string
		last   string
		good   bool
		has    []string
	}{
		"all pass": {
			stream("run TestA", "pass TestA", "pass -"), "1 passed, 0 failed, 0 skipped", true, nil,
		},
		"a skip keeps its reason, shared by two": {
			stream("run TestA", "output TestA: === RUN\n", "output TestA:     a_test.go:3: no bwrap here\n", "skip TestA",
				"output TestB:     b_test.go:99: no bwrap here\n", "output TestB: --- SKIP: TestB (0.00s)\n", "skip TestB", "pass TestC", "pass -"),
			"1 passed, 0 failed, 2 skipped", true, []string{"2: no bwrap here", "p TestA", "p TestB"},
		},
		"a failure is printed in full": {
			stream("output TestA: a_test.go:3: got 1, want 2\n", "fail TestA", "fail -"),
			"0 passed, 1 failed, 0 skipped", false, []string{"got 1, want 2", "FAIL p TestA"},
		},
		"a parent is judged by its subtests": {
			stream("run TestA", "run TestA/x", "pass TestA/x", "run TestA/y/z", "fail TestA/y/z", "fail TestA", "fail -"),
			"1 passed, 1 failed, 0 skipped", false, nil,
		},
		"a parent that fails by itself counts": {
			stream("run TestA", "run TestA/x", "pass TestA/x", "fail TestA", "fail -"),
			"1 passed, 1 failed, 0 skipped", false, nil,
		},
		"a test that did not finish has failed": {
			stream("run TestA", "output TestA: panic: test timed out after 1s\n", "fail -"),
			"0 passed, 1 failed, 0 skipped", false, []string{"test timed out", "did not finish"},
		},
		"a package that did not finish has failed": {
			stream("run TestA", "pass TestA"), "1 passed, 1 failed, 0 skipped", false, []string{"the package did not finish"},
		},
		"a package that fails outside of its tests": {
			stream("run TestA", "pass TestA", "output -: exit status 3\n", "fail -"),
			"1 passed, 1 failed, 0 skipped", false, []string{"exit status 3"},
		},
		"skips alone are no run":    {stream("skip TestA", "pass -"), "0 passed, 0 failed, 1 skipped", false, []string{"no test ran", "no reason given"}},
		"no tests":                  {stream("skip -"), "0 passed, 0 failed, 0 skipped", false, []string{"no test ran"}},
		"nothing at all":            {"", "0 passed, 0 failed, 0 skipped", false, []string{"no test ran"}},
		"other lines are passed on": {"go: downloading x\n" + stream("pass TestA", "pass -"), "1 passed, 0 failed, 0 skipped", true, []string{"go: downloading x"}},
		"a build that fails": {
			`{"ImportPath":"p [p.test]","Action":"build-output","Output":"x.go:1: undefined: y\n"}` + "\n" +
				`{"ImportPath":"p [p.test]","Action":"build-fail"}` + "\n" +
				stream("output -: FAIL p [build failed]\n", "fail -"),
			"0 passed, 1 failed, 0 skipped", false, []string{"undefined: y", "does not build"},
		},
		"a build that fails in a cut stream": {
			`{"ImportPath":"p","Action":"build-fail"}` + "\n" + `{"Action":"pass","Package":"q","Test":"TestQ"}` + "\n" + `{"Action":"pass","Package":"q"}`,
			"1 passed, 1 failed, 0 skipped", false, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			out, good := summarise(c.stream)
			lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
			if last := lines[len(lines)-1]; last != c.last || good != c.good {
				t.Errorf("got %q good=%v, want %q good=%v in\n%s", last, good, c.last, c.good, out)
			}
			for _, want := range c.has {
				if !strings.Contains(out, want) {
					t.Errorf("%q is missing in\n%s", want, out)
				}
			}
		})
	}
}

// The shapes above are written by hand; these come from the toolchain itself.
func TestRealStreams(t *testing.T) {
	const pass = "package x\nimport \"testing\"\nfunc TestOne(t *testing.T) {}\n"
	for name, c := range map[string]struct {
		source string
		flags  []string
		last   string
		good   bool
		has    string
	}{
		"passes":         {pass, nil, "1 passed, 0 failed, 0 skipped", true, "ok   example.test/x"},
		"does not build": {"package x\nfunc f() { undefined() }\n", nil, "0 passed, 1 failed, 0 skipped", false, "undefined: undefined"},
		"times out": {
			pass + "func TestTwo(t *testing.T) { select {} }\nfunc init() { go func() { select {} }() }\n",
			[]string{"-timeout", "1s"}, "1 passed, 1 failed, 0 skipped", false, "timed out",
		},
		"skips": {
			pass + "func TestTwo(t *testing.T) { t.Skip(\"not on a Sunday\") }\n", nil,
			"1 passed, 0 failed, 1 skipped", true, "1: not on a Sunday",
		},
		"go refuses": {pass, []string{"-mod=nonsense"}, "0 passed, 0 failed, 0 skipped", false, "no test ran"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, filepath.Join(dir, "go.mod"), "module example.test/x\n\ngo 1.21\n")
			write(t, filepath.Join(dir, "x_test.go"), c.source)
			var out strings.Builder
			s := newSummary(&out)
			args := append([]string{"env", "GOWORK=off", "go", "test", "-C", dir, "-json"}, c.flags...)
			if err := runCommand(append(args, "./..."), s.read); err != nil {
				s.commandFailed(err)
			}
			good := s.close()
			if !strings.HasSuffix(out.String(), "\n"+c.last+"\n") || good != c.good || !strings.Contains(out.String(), c.has) {
				t.Errorf("good=%v, want %v, the last line %q and %q in\n%s", good, c.good, c.last, c.has, out.String())
			}
		})
	}
}

// A test that fails beside others and not alone is told apart from one that always fails.
func TestFailuresRunAgain(t *testing.T) {
	const imports = "package x\nimport (\"os\"; \"testing\")\n"
	// once fails at its first run in a directory.
	const once = "if _, err := os.Stat(\"ran-\"+t.Name()[:5]); err != nil { os.WriteFile(\"ran-\"+t.Name()[:5], nil, 0o644); t.Error(\"at first\") }"
	for name, c := range map[string]struct {
		source string
		last   string
		good   bool
		has    string
	}{
		"passes alone": {
			"func TestA(t *testing.T) { t.Run(\"b c+\", func(t *testing.T) {" + once + "}); t.Run(\"d\", func(t *testing.T) {}) }",
			"2 passed, 0 failed, 0 skipped", true, "to be looked into):\n  example.test/x TestA/b_c+\n",
		},
		"fails always": {"func TestA(t *testing.T) { t.Error(\"always\"); _ = os.Args }", "0 passed, 1 failed, 0 skipped", false, "failed:\n  example.test/x TestA\n"},
		"one of two": {
			"func TestAlways(t *testing.T) { t.Error(\"always\") }\nfunc TestOnce(t *testing.T) {" + once + "}",
			"1 passed, 1 failed, 0 skipped", false, "failed:\n  example.test/x TestAlways\n",
		},
		"skips then": {
			"func TestA(t *testing.T) { if _, err := os.Stat(\"ran\"); err == nil { t.Skip(\"not now\") }; os.WriteFile(\"ran\", nil, 0o644); t.Error(\"at first\") }",
			"0 passed, 1 failed, 0 skipped", false, "failed:\n",
		},
		"a race stands": {
			"func TestA(t *testing.T) { t.Log(\"WARNING: DATA RACE\");" + once + "}",
			"0 passed, 1 failed, 0 skipped", false, "failed:\n",
		},
		"a panic stands": {
			"func TestA(t *testing.T) { if _, err := os.Stat(\"ran\"); err == nil { return }; os.WriteFile(\"ran\", nil, 0o644); panic(1) }",
			"0 passed, 1 failed, 0 skipped", false, "failed:\n",
		},
		"many": {
			"func TestA(t *testing.T) { for _, name := range []string{\"a\", \"b\", \"c\", \"d\", \"e\", \"f\"} { t.Run(name, func(t *testing.T) { if _, err := os.Stat(name); err != nil { os.WriteFile(name, nil, 0o644); t.Error(1) } }) } }",
			"0 passed, 6 failed, 0 skipped", false, "failed:\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, filepath.Join(dir, "go.mod"), "module example.test/x\n\ngo 1.21\n")
			write(t, filepath.Join(dir, "x_test.go"), imports+c.source+"\n")
			var out strings.Builder
			s := newSummary(&out)
			command := []string{"env", "GOWORK=off", "go", "test", "-C", dir, "-json", "-count=1"}
			if err := runCommand(append(command[:len(command):len(command)], "./..."), s.read); err != nil {
				s.commandFailed(err)
			}
			s.again(command)
			good := s.close()
			if !strings.HasSuffix(out.String(), "\n"+c.last+"\n") || good != c.good || !strings.Contains(out.String(), c.has) {
				t.Errorf("good=%v, want %v, the last line %q and %q in\n%s", good, c.good, c.last, c.has, out.String())
			}
		})
	}
}

func TestACommandThatFailsWithoutAFailingTestIsAFailure(t *testing.T) {
	var out strings.Builder
	s := newSummary(&out)
	s.read(strings.NewReader(stream("pass TestA", "pass -")))
	s.commandFailed(&exec.ExitError{ProcessState: &os.ProcessState{}})
	if s.close() {
		t.Errorf("taken for good:\n%s", out.String())
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
