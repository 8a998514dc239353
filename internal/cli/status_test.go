package cli

import (
	"bytes"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/internal/configured"
	"hermes.example/hermes/internal/survey"
)

// statusOf runs hermes in a home, with more variables than that, and wants it to succeed.
func statusOf(t *testing.T, home string, vars map[string]string, args ...string) (stdout, stderr string) {
	t.Helper()
	all := map[string]string{"HERMES_HOME": home, "HERMES_RUNTIME": filepath.Join(home, "none"), "DOCKER_HOST": "unix://" + filepath.Join(home, "none.sock")}
	for name, value := range vars {
		all[name] = value
	}
	var out, errs bytes.Buffer
	a := &app{stdin: os.Stdin, stdout: &out, stderr: &errs, lookup: lookupIn(all)}
	if status := a.run(t.Context(), args); status != 0 {
		t.Errorf("%q ended with %d: %s", args, status, errs.String())
	}
	return out.String(), errs.String()
}

func TestHermesAloneIsItsStatus(t *testing.T) {
	home := t.TempDir()
	bare, said := statusOf(t, home, nil)
	named, _ := statusOf(t, home, nil, "status")
	if bare != named || said != "" {
		t.Errorf("alone it says\n%s\nand on standard error %q; status says\n%s", bare, said, named)
	}
	for _, want := range []string{"home       " + home, "profile    default: gateway", "engine     native (the default)", "sandboxes  none", "add-ons    none", "\nNext\n"} {
		if !strings.Contains(bare, want) {
			t.Errorf("%q is missing:\n%s", want, bare)
		}
	}
	if strings.Contains(bare, "\x1b") {
		t.Errorf("colours without a terminal: %q", bare)
	}
	if n := strings.Count(bare[strings.Index(bare, "Next"):], "\n  hermes "); n != suggestions {
		t.Errorf("%d commands come next:\n%s", n, bare)
	}
	if made, err := os.ReadDir(home); err != nil || len(made) > 0 {
		t.Errorf("looking made %v, %v", made, err)
	}
}

func TestTheStatusAsJSON(t *testing.T) {
	out, _ := statusOf(t, t.TempDir(), map[string]string{"TERMINAL_ENV": "local"}, "status", "--json")
	var o overview
	if err := json.Unmarshal([]byte(out), &o); err != nil {
		t.Fatal(err)
	}
	if o.Engine != (survey.Engine{Name: "local", Why: "TERMINAL_ENV says so"}) || len(o.Sandboxes) != len(configured.EngineNames()) || len(o.Next) != suggestions || o.Addons.Features == 0 {
		t.Errorf("got %s", out)
	}
}

func TestABrokenConfigurationIsPartOfTheStatus(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(config.File(home), []byte("terminal:\n  timeout: soon\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, _ := statusOf(t, home, nil)
	if !strings.Contains(out, `settings  cannot use terminal.timeout="soon"`) || !strings.Contains(out, "hermes config path") {
		t.Errorf("it says\n%s", out)
	}
}

// A daemon that takes the call and never answers costs its time and nothing else.
func TestAHungDaemonDoesNotHoldTheStatus(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "docker.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	began := time.Now()
	out, _ := statusOf(t, t.TempDir(), map[string]string{"DOCKER_HOST": "unix://" + socket, "TERMINAL_ENV": "docker"})
	if !strings.Contains(out, "engine     docker (TERMINAL_ENV says so) cannot be used: ") || !strings.Contains(out, "hermes doctor ") {
		t.Errorf("it says\n%s", out)
	}
	if took := time.Since(began); took > 5*overviewBound {
		t.Errorf("it took %s", took)
	}
}

func TestAnUnknownEngineIsSaid(t *testing.T) {
	out, _ := statusOf(t, t.TempDir(), map[string]string{"TERMINAL_ENV": "moon"})
	if !strings.Contains(out, "moon (TERMINAL_ENV says so) cannot be used: this hermes has docker, local") {
		t.Errorf("it says\n%s", out)
	}
}

// Whatever is found, three commands come next, and they exist.
func TestWhatComesNextCanBeTyped(t *testing.T) {
	native := survey.Engine{Name: "native"}
	supervised, up, failing := condition{Supervised: true}, condition{Supervised: true, Up: true}, condition{Supervised: true, Failing: true}
	for _, c := range []struct {
		found overview
		first string
	}{
		{overview{}, "hermes addon ls"},
		{overview{Problem: "bad"}, "hermes config path"},
		{overview{Engine: native}, "hermes run --here"},
		{overview{Engine: survey.Engine{Name: "local"}}, "hermes sandbox shell"},
		{overview{Engine: native, Sandboxes: []engineCount{{Engine: "docker", Running: 1}}}, "hermes sandbox ls"},
		{overview{Engine: survey.Engine{Name: "docker", Problem: "it hangs"}}, "hermes doctor"},
		{overview{Engine: native, Agents: []agentState{{"default", "down", supervised}}}, "hermes gateway start"},
		{overview{Engine: native, Agents: []agentState{{"default", "up", up}, {"coder", "down, parked", failing}}}, "hermes -p coder gateway logs"},
		{overview{Engine: native, Services: []serviceState{{"dashboard", "down, parked", failing}}}, "hermes service logs dashboard"},
		{overview{Engine: native, Addons: survey.Addons{Installed: []string{"x"}}}, "hermes run --here"},
	} {
		next := c.found.next()
		if len(next) != suggestions || !strings.HasPrefix(next[0].Command, c.first) {
			t.Errorf("%+v: %v, want first %q", c.found, next, c.first)
		}
		for _, s := range next {
			if _, err := parse(t, hermesWords(s.Command)); err != nil {
				t.Errorf("%s: %v", s.Command, err)
			}
		}
	}
}

func TestWhatFailsIsShownFirstAndNotEverything(t *testing.T) {
	var o overview
	for range screenful {
		o.Agents = append(o.Agents, agentState{Profile: "fine"})
	}
	o.Agents = append(o.Agents, agentState{"broken", "down, parked", condition{Failing: true}})
	rows := o.rows()
	if first := rows[2][1].text; first != "broken: gateway down, parked" {
		t.Errorf("first is %q", first)
	}
	if more := rows[2+screenful][1].text; more != "and 1 more: hermes profile ls" {
		t.Errorf("then %q", more)
	}
}
