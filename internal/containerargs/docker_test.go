package containerargs

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"testing"
)

// option is a line of docker's help: letter, name, kind of its value.
var option = regexp.MustCompile(`(?m)^ +(?:-(\w), )?--([a-z0-9-]+)(?: (\w[\w-]*))?  `)

// Whatever docker run has is known here by its name, letter and kind: as a part of a
// spec, without effect, or refused with a reason of its own.
func TestEveryFlagOfDockerRunIsKnown(t *testing.T) {
	docker, err := exec.LookPath("docker")
	if err != nil {
		t.Skip("there is no docker command here")
	}
	help, err := exec.Command(docker, "run", "--help").Output()
	if err != nil {
		t.Skipf("docker run --help: %v", err)
	}
	var p parser
	known := make(map[string]flag)
	for _, list := range [][]flag{p.flags(), refusals(), p.effectless()} {
		for _, f := range list {
			if _, twice := known[f.name]; twice {
				t.Errorf("--%s is there twice", f.name)
			}
			known[f.name] = f
		}
	}
	found := option.FindAllStringSubmatch(string(help), -1)
	if len(found) < 90 {
		t.Fatalf("only %d flags found in\n%s", len(found), help)
	}
	for _, o := range found {
		f, ok := known[o[2]]
		if !ok {
			t.Errorf("--%s is not known", o[2])
		} else if f.short != o[1] || f.boolean != (o[3] == "") {
			t.Errorf("--%s is %q with a value %v; docker says %q", o[2], f.short, !f.boolean, o[0])
		}
	}
}

// The page in docs has a place for every flag, and for none that does not exist.
func TestThePageNamesEveryFlag(t *testing.T) {
	page, err := os.ReadFile("../../docs/extra-arguments.md")
	if err != nil {
		t.Fatal(err)
	}
	named := make(map[string]bool)
	for _, found := range regexp.MustCompile("(?m)`--([a-z0-9-]+)").FindAllStringSubmatch(string(page), -1) {
		named[found[1]] = true
	}
	var p parser
	for _, f := range slices.Concat(p.flags(), refusals(), p.effectless()) {
		if !named[f.name] {
			t.Errorf("--%s is not on the page", f.name)
		}
		delete(named, f.name)
	}
	for name := range renamed {
		delete(named, name)
	}
	delete(named, "flag")    // the word
	delete(named, "require") // hermes' own
	for name := range named {
		t.Errorf("the page has --%s, which is not known", name)
	}
}
