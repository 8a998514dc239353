package image

import (
	"regexp"
	"strings"
	"testing"
)

var version = regexp.MustCompile(`\d+\.\d+`)

// Every tool is asked as an agent would call it: by its name, as the service user.
func TestEveryToolSaysItsVersion(t *testing.T) {
	t.Parallel()
	for target, image := range targets(t) {
		var script strings.Builder
		tools := toolsOf(t, target)
		for _, tool := range tools {
			script.WriteString("echo '=== '; (" + tool + ") 2>&1 || echo failed\n")
		}
		said := strings.Split(inside(t, image, "sh", "-c", script.String()), "=== \n")[1:]
		if len(said) != len(tools) {
			t.Fatalf("%d tools, %d answers", len(tools), len(said))
		}
		for i, tool := range tools {
			if answer := strings.TrimSpace(said[i]); !version.MatchString(answer) || strings.HasSuffix(answer, "failed") {
				t.Errorf("%s: %s says %q", image, tool, answer)
			} else {
				first, _, _ := strings.Cut(answer, "\n")
				t.Logf("%s: %s", target, first)
			}
		}
	}
}

// toolsOf is what a target has: full has what slim has, and more.
func toolsOf(t *testing.T, target string) []string {
	tools := table(t).Tools
	if target == "slim" {
		return tools["slim"]
	}
	return append(tools["slim"], tools[target]...)
}

func TestSlimHasNoneOfTheLargeTools(t *testing.T) {
	t.Parallel()
	need(t)
	said := inside(t, image, "sh", "-c", "for name in chromium ffmpeg node npm gcc cc g++ make dockerd; do command -v $name; done; ls -d /usr/share/perl /usr/lib/*/perl/5.*; echo end")
	if said != "end\n" {
		t.Errorf("it has\n%s", said)
	}
}

// Git has no Perl behind it; what people do with it every day needs none.
func TestGitWorksWithoutPerl(t *testing.T) {
	t.Parallel()
	need(t)
	said := inside(t, image, "sh", "-ec", `cd /tmp && git init -q r && cd r && git config --global user.email a@example.org && git config --global user.name a
		echo 1 >f && git add f && git commit -qm one && echo 2 >>f && echo y | git add -p >/dev/null && git commit -qm two
		git clone -q /tmp/r /tmp/s && cd /tmp/s && git -c protocol.file.allow=always submodule --quiet add /tmp/r r && git commit -qm three
		echo 3 >>f && git stash -q && git rebase -q HEAD~1 && git bisect start -q >/dev/null && git log --format=%s`)
	if said != "three\ntwo\none\n" {
		t.Errorf("git says %q", said)
	}
}
