package e2e

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestWrongUsageIsOneLineAndStatus2(t *testing.T) {
	w := newWorld(t, nil)
	w.write("bad.env", "OK=1\nnot a variable\n")
	for _, c := range []struct{ args, says string }{
		{"nosuch", `cannot find the command "nosuch"`},
		{"nosuch -c true", `cannot find the command "nosuch"`},
		{"sandox", `did you mean "hermes sandbox"?`},
		{"sandbox exce -- true", `did you mean "hermes sandbox exec"?`},
		{"help nosuch", `cannot find the command "nosuch"`},
		{"--nope", "there is no flag --nope"},
		{"sandbox exec --nope=secret-value -- true", "there is no flag --nope;"},
		{"sandbox exec -xsecret-value -- true", "there is no flag -x;"},
		{"sandbox exec --task", "needs an argument"},
		{"sandbox exec --here=maybe -- true", "invalid argument"},
		{"sandbox exec", "cannot run nothing"},
		{"sandbox exec --", "cannot run nothing"},
		{"sandbox exec -c ls -- ls", "cannot run both"},
		{"sandbox exec --engine moon -- true", "this hermes has "},
		{"sandbox exec --timeout -1 -- true", "it is negative"},
		{"sandbox exec --timeout soon -- true", "give seconds"},
		{"sandbox exec --memory lots -- true", "give a size"},
		{"sandbox exec --cpus 0 -- true", "give a number"},
		{"sandbox exec --pids -5 -- true", "give a number"},
		{"sandbox exec --network carrier -- true", `unknown network "carrier"`},
		{"sandbox exec --user root -- true", "give numbers"},
		{"sandbox exec --require magic -- true", `cannot require "magic"`},
		{"sandbox exec --mount nothing -- true", "source and a target"},
		{`sandbox exec --mount C:\x:/y -- true`, "Windows"},
		{"sandbox exec --mount .:/proc/x -- true", "belongs to the sandbox itself"},
		{"sandbox exec --mount .:relative -- true", "is not absolute"},
		{"sandbox exec --mount .:/x --mount .:/x -- true", "two mounts at /x"},
		{"sandbox exec --here --mount .:/workspace -- true", "two mounts at /workspace"},
		{"sandbox exec --env 1=secret-value -- true", "--env number 1"},
		{"sandbox exec --env-file bad.env -- true", "line 2 is not NAME=VALUE"},
		{"sandbox exec --max-output 5 -- true", "without --json"},
		{"sandbox exec --json --max-output x -- true", "number of characters"},
		{"sandbox exec -t -- true", "standard input is not one"},
		{"sandbox exec -it --json -- true", "cannot use --json with a terminal"},
		{"sandbox shell", "standard input is not a terminal"},
		{"sandbox shell x", "takes no arguments"},
		{"sandbox ls x", "takes no arguments"},
		{"sandbox inspect a b", "more than one"},
		{"sandbox inspect a --task b", "more than one"},
		{"sandbox rm", "name the task"},
		{"sandbox prune x", "takes no arguments"},
		{"version x", "takes no arguments"},
		{"doctor x", "takes no arguments"},
		{"completion", "give one of bash, fish"},
		{"completion tcsh", "give one of bash, fish"},
		{"run --task x -- true", "there is no flag --task"},
		{"run", "cannot run nothing"},
		{"bench --rounds 0", "give a positive number"},
	} {
		r := w.hermes(strings.Fields(c.args)...)
		if r.code != 2 || r.stdout != "" || !oneLine(r.stderr) || !strings.Contains(r.stderr, c.says) {
			t.Errorf("hermes %s: %v\nwant %q", c.args, r, c.says)
		}
		if strings.Contains(r.stderr, "secret-value") {
			t.Errorf("hermes %s: shows the value", c.args)
		}
	}
	if left := append(w.tree(w.home), w.tree(w.run)...); len(left) > 1 { // the run directory may be made
		t.Errorf("wrong usage left %q", left)
	}
}

func TestABadSettingIsNamed(t *testing.T) {
	w := newWorld(t, nil)
	w.env = append(w.env, "TERMINAL_LIFETIME_SECONDS=long")
	for args, code := range map[string]int{"sandbox exec -- true": 125, "run -- true": 125, "sandbox ls": 1} {
		r := w.hermes(strings.Fields(args)...)
		if r.code != code || !oneLine(r.stderr) || !strings.Contains(r.stderr, `TERMINAL_LIFETIME_SECONDS="long": expected a whole number of seconds`) {
			t.Errorf("hermes %s: %v", args, r)
		}
	}
	if r := w.hermes("version"); r.code != 0 {
		t.Errorf("version reads settings: %v", r)
	}
	w.env = w.env[:len(w.env)-1]
}

func TestTheSandboxDirectoryCanBeElsewhere(t *testing.T) {
	w := newWorld(t, nil)
	boxes := filepath.Join(w.dir, "boxes")
	w.env = append(w.env, "TERMINAL_SANDBOX_DIR="+boxes)
	w.must("sandbox", "exec", "-c", "touch f")
	if !slices.Contains(w.tree(boxes), "native/default/workspace/f") || len(w.tree(w.home)) > 0 {
		t.Errorf("%q and %q", w.tree(boxes), w.tree(w.home))
	}
}

func TestAHomeThatCannotBeMadeIsOneLine(t *testing.T) {
	w := newWorld(t, nil)
	file := w.write("file", "")
	w.env = append(w.env, "HERMES_HOME="+filepath.Join(file, "home"))
	if r := w.hermes("sandbox", "exec", "--", "true"); r.code != 125 || !oneLine(r.stderr) || !strings.Contains(r.stderr, "not a directory") {
		t.Errorf("%v", r)
	}
	w.env = w.env[:len(w.env)-1]
}

func TestVersion(t *testing.T) {
	w := newWorld(t, nil)
	if got := w.must("version"); !strings.HasPrefix(got, "hermes ") || strings.Count(got, "\n") != 1 {
		t.Errorf("got %q", got)
	}
	got := decode[map[string]string](t, w.must("version", "--json"))
	for _, key := range []string{"version", "commit", "date", "go", "platform"} {
		if got[key] == "" {
			t.Errorf("no %s in %v", key, got)
		}
	}
	if left := append(w.tree(w.home), w.tree(w.run)...); len(left) > 0 {
		t.Errorf("version opened something: %q", left)
	}
}

func TestCompletion(t *testing.T) {
	w := newWorld(t, nil)
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		script := w.must("completion", shell)
		if !strings.Contains(script, "__complete") {
			t.Errorf("%s: %.200q", shell, script)
		}
		if _, err := exec.LookPath(shell); err == nil && shell != "powershell" {
			check := exec.Command(shell, "-n")
			check.Stdin = strings.NewReader(script)
			if out, err := check.CombinedOutput(); err != nil {
				t.Errorf("%s: %v: %s", shell, err, out)
			}
		}
	}
	w.must("sandbox", "exec", "--task", "first", "--", "true")
	w.must("sandbox", "exec", "--task", "second", "--", "true")
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"sandbox", "exec", "--task", ""}, []string{"first", "second"}},
		{[]string{"sandbox", "shell", "--task", "f"}, []string{"first"}},
		{[]string{"sandbox", "rm", ""}, []string{"first", "second"}},
		{[]string{"sandbox", "inspect", "s"}, []string{"second"}},
		{[]string{"sandbox", "exec", "--network", ""}, []string{"none", "host", "bridge"}},
		{[]string{"sandbox", "exec", "--engine", ""}, []string{"docker", "local", "native", "podman"}},
		{[]string{"completion", "f"}, []string{"fish"}},
		{[]string{"sandbox", "pr"}, []string{"prune"}},
	} {
		var got []string
		for line := range strings.SplitSeq(w.must(append([]string{"__complete"}, c.args...)...), "\n") {
			if name, _, _ := strings.Cut(line, "\t"); name != "" && name[0] != ':' && strings.HasPrefix(name, c.args[len(c.args)-1]) {
				got = append(got, name)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.args, got, c.want)
		}
	}
}

func TestHelpIsAResult(t *testing.T) {
	w := newWorld(t, nil)
	direct := w.must("sandbox", "exec", "--help")
	if got := w.must("help", "sandbox", "exec"); got != direct || !strings.Contains(got, "Exit codes:") {
		t.Errorf("got %q", got)
	}
	for _, args := range [][]string{{"help"}, {"sandbox"}} {
		if got := w.must(args...); !strings.Contains(got, "Commands:\n") {
			t.Errorf("%q: %q", args, got)
		}
	}
}

// Alone hermes tells what there is, on a terminal in colours, with three commands that are worth typing.
func TestHermesAloneTellsWhatThereIs(t *testing.T) {
	asEveryone(t, func(t *testing.T, w *world) {
		w.must("sandbox", "exec", "--task", "build", "--", "true")
		plain := w.must()
		for _, want := range []string{"home       " + w.home + "\n", "engine     native (the default)\n", "native 1 running", "\nNext\n  hermes sandbox ls "} {
			if !strings.Contains(plain, want) || strings.Contains(plain, "\x1b") {
				t.Errorf("%q is missing, or there are colours:\n%s", want, plain)
			}
		}
		s := w.onScreen(24, 80)
		s.exit(0)
		if got := s.text(); !strings.Contains(got, "\x1b[1mhome\x1b[0m") || strings.Count(got, "\n") > 20 {
			t.Errorf("on a terminal it is\n%q", got)
		}
	})
}
