package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// pages are those whose commands have to be true.
func pages(t *testing.T) []string {
	t.Helper()
	root := filepath.Join("..", "..")
	docs, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(docs) == 0 {
		t.Fatal(docs, err)
	}
	return append(docs, filepath.Join(root, "README.md"), filepath.Join(root, "SECURITY.md"), filepath.Join(root, "CONTRIBUTING.md"))
}

// step is a command of a page with what it should say.
type step struct {
	command string
	output  []string
	status  int
}

var (
	fence      = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")
	inlineCode = regexp.MustCompile("`(hermes(?: [^`]*)?)`")
	exitLine   = regexp.MustCompile(`^\[exit status (\d+)\]$`)
)

// transcript reads a block of commands after "$ ", each with its output.
func transcript(block string) []step {
	var steps []step
	for line := range strings.SplitSeq(strings.TrimSuffix(block, "\n"), "\n") {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			steps = append(steps, step{command: command})
			continue
		}
		last := &steps[len(steps)-1]
		if m := exitLine.FindStringSubmatch(line); m != nil {
			last.status = atoi(m[1])
			continue
		}
		last.output = append(last.output, line)
	}
	return steps
}

// pattern matches an output in which "…" stands for anything within a line.
func (s step) pattern() *regexp.Regexp {
	var b strings.Builder
	for _, line := range s.output {
		b.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".*") + "\n")
	}
	return regexp.MustCompile("^" + b.String() + "$")
}

// shell runs a line of a page as a person would, and returns both streams as a
// terminal would show them.
func (w *world) shell(line string) (string, int) {
	w.t.Helper()
	hermes := w.command()
	ctx, cancel := context.WithTimeout(w.t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = hermes.Dir, hermes.Env, hermes.SysProcAttr
	out, _ := cmd.CombinedOutput()
	return string(out), cmd.ProcessState.ExitCode()
}

// Every block of the pages that shows commands with their output is run, in order,
// in a directory with a small Go project, and has to say what the page says.
func TestREADMECommandsRun(t *testing.T) {
	found := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(page) == apiPage {
			continue // its commands need a gateway, and have a test of their own
		}
		for _, m := range fence.FindAllStringSubmatch(string(text), -1) {
			kind, block := m[1], m[2]
			if kind != "console" {
				if regexp.MustCompile(`(?m)^\s*(\$ )?hermes `).MatchString(block) {
					t.Errorf("%s: a block with hermes commands is not marked console:\n%s", page, block)
				}
				continue
			}
			found++
			t.Run(filepath.Base(page), func(t *testing.T) { runTranscript(t, transcript(block)) })
		}
	}
	if found < 4 {
		t.Errorf("only %d blocks were found", found)
	}
}

func runTranscript(t *testing.T, steps []step) {
	w := newWorld(t, nil)
	w.write("go.mod", "module example\n\ngo 1.21\n")
	w.write("example_test.go", "package example\n\nimport \"testing\"\n\nfunc TestNothing(t *testing.T) {}\n")
	for _, s := range steps {
		if strings.Contains(s.command, "go test") && !w.canTestGo() {
			t.Logf("left out, because there is no Go inside or the tests are to be short: %s", s.command)
			continue
		}
		out, status := w.shell(s.command)
		if status != s.status || !s.pattern().MatchString(out) {
			t.Errorf("%s\nsays (status %d)\n%s\nthe page says (status %d)\n%s", s.command, status, out, s.status, strings.Join(s.output, "\n"))
		}
	}
}

// canTestGo says whether a Go project can be tested inside, which needs a Go in
// the system's directories and half a minute to compile its library.
func (w *world) canTestGo() bool {
	return !testing.Short() && w.hermes("run", "--", "go", "version").code == 0
}

// Commands within the text of the pages exist, with the flags that are named.
func TestCommandsInTheTextExist(t *testing.T) {
	w := newWorld(t, nil)
	found := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		now, _, _ := strings.Cut(fence.ReplaceAllString(string(text), ""), "## Not there yet")
		for _, m := range inlineCode.FindAllStringSubmatch(now, -1) {
			for _, command := range alternatives(m[1]) {
				found++
				w.checkExists(page, command)
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d commands were found", found)
	}
}

// alternatives turns "a b|c d" into "a b d" and "a c d".
func alternatives(command string) []string {
	words := strings.Fields(command)
	for i, word := range words {
		if names := strings.Split(word, "|"); len(names) > 1 {
			var all []string
			for _, name := range names {
				words[i] = name
				all = append(all, strings.Join(words, " "))
			}
			return all
		}
	}
	return []string{command}
}

func (w *world) checkExists(page, command string) {
	w.t.Helper()
	var path, flags []string
	for _, word := range strings.Fields(command)[1:] {
		switch {
		case strings.HasPrefix(word, "-"):
			name, _, _ := strings.Cut(word, "=")
			flags = append(flags, name)
		case len(flags) == 0 && strings.ToLower(word) == word:
			path = append(path, word)
		}
	}
	// Names that are not commands, like those of tasks, end the path.
	for ; len(path) > 0; path = path[:len(path)-1] {
		if w.hermes(append([]string{"help"}, path...)...).code == 0 {
			break
		}
	}
	if words := strings.Fields(command); len(path) == 0 && len(words) > 1 && words[1] != "COMMAND" {
		w.t.Errorf("%s: there is no command %q", page, command)
		return
	}
	help := w.must(append([]string{"help"}, path...)...)
	for _, flag := range flags {
		if flag != "--" && !regexp.MustCompile(`(?m)[ ,]`+regexp.QuoteMeta(flag)+`\b`).MatchString(help) {
			w.t.Errorf("%s: %q: there is no flag %s", page, command, flag)
		}
	}
}
