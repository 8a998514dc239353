package boot

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestOneEnvironmentForAllChildren(t *testing.T) {
	f := newFixture(t, "HERMES_HOME=/srv/home", "LANG=C", "HOME=/root", "LANG=second", "EMPTY=", "API_SERVER_KEY=0123456789abcdef")
	got := f.boot().Environ()
	want := []string{"HERMES_HOME=/srv/home", "LANG=C", "HOME=/opt/data", "LANG=second", "EMPTY=", "API_SERVER_KEY=0123456789abcdef", "PATH=" + imagePath}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	for real, want := range map[string]string{"/srv/real": "/srv/real", "relative": "/opt/data", "": "/opt/data"} {
		f := newFixture(t, "HERMES_REAL_HOME="+real, "PATH=/bin")
		r := f.boot()
		if e := environment(r.Environ()); e.get("HOME") != want || r.User.Home != want || e.get("PATH") != "/bin" || e.get("HERMES_HOME") != DefaultHome {
			t.Errorf("%q: %q", real, e)
		}
	}
}

func TestSwitches(t *testing.T) {
	for value, want := range map[string]bool{"1": true, "true": true, "TRUE": true, "True": true, "yes": true, "YES": true, "Yes": true,
		"on": false, "0": false, "": false, "tRue": false, "y": false, " 1": false} {
		f := newFixture(t, "HERMES_DASHBOARD="+value, "HERMES_GATEWAY_NO_SUPERVISE="+value)
		r := f.boot()
		if r.Dashboard != want || r.NoSupervise != (want || value == "tRue") {
			t.Errorf("%q: dashboard %v, no supervise %v", value, r.Dashboard, r.NoSupervise)
		}
	}
}

// asked makes the program of a machine answer.
func (f *fixture) asked(answer string, err error) *Command {
	var seen Command
	f.Program = "/opt/hermes/.venv/bin/hermes"
	f.Run = func(ctx context.Context, c Command) ([]byte, error) {
		seen = c
		if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) > configTime {
			f.t.Error("it is not bounded")
		}
		return []byte(answer), err
	}
	return &seen
}

func TestTheConfigurationIsAskedForAsTheServiceUser(t *testing.T) {
	f := newFixture(t)
	seen := f.asked(`{"multiplex_profiles":true,"other":[]}`, nil)
	r := f.boot()
	if !r.Multiplex || len(r.Shortfalls) > 0 {
		t.Errorf("%+v", r)
	}
	if strings.Join(seen.Argv, " ") != "/opt/hermes/.venv/bin/hermes config boot" || seen.User == nil || seen.User.UID != 10000 || !seen.Capture ||
		!slices.Contains(seen.Env, "HERMES_HOME=/opt/data") || !slices.Contains(seen.Env, "HOME=/opt/data") {
		t.Errorf("%+v", seen)
	}
}

func TestWhatIsWrongWithTheConfigurationIsSaid(t *testing.T) {
	f := newFixture(t)
	const wrong = "cannot understand /opt/data/config.yaml: it is no YAML"
	f.asked(`{"multiplex_profiles":false,"migrated":["old became new"],"warnings":["`+wrong+`"]}`, nil)
	r := f.boot()
	if !slices.Equal(r.Shortfalls, []string{wrong}) || !strings.Contains(f.log.String(), wrong) || !strings.Contains(f.log.String(), "old became new") {
		t.Errorf("%q: %s", r.Shortfalls, f.log.String())
	}
}

func TestTheEnvironmentDecidesOverTheConfiguration(t *testing.T) {
	for _, c := range []struct {
		answer string
		err    error
		env    string
		want   bool
	}{
		{`{"multiplex_profiles":true}`, nil, "", true},
		{`{"multiplex_profiles":true}`, nil, "false", false},
		{`{"multiplex_profiles":true}`, nil, "0", false},
		{`{"multiplex_profiles":true}`, nil, "maybe", true},
		{`{"multiplex_profiles":false}`, nil, "true", true},
		{``, errors.New("exit status 78"), "true", true},
		{``, errors.New("exit status 78"), "", false},
		{`[]`, nil, "1", true},
		{`nonsense`, nil, "", false},
	} {
		f := newFixture(t, "GATEWAY_MULTIPLEX_PROFILES="+c.env)
		f.asked(c.answer, c.err)
		r := f.boot()
		if r.Multiplex != c.want {
			t.Errorf("%+v: %v", c, r.Multiplex)
		}
		if bad := c.answer[:min(1, len(c.answer))] != "{"; bad != (len(r.Shortfalls) == 1) {
			t.Errorf("%+v: %q", c, r.Shortfalls)
		}
	}
}

func TestTheBrowserIsFoundByItsName(t *testing.T) {
	program := func(f *fixture, file string, mode os.FileMode) {
		f.write(file, "")
		f.must(os.Chmod(f.at(file), mode))
	}
	published := "run/s6/container_environment/" + browserVariable

	f := newFixture(t, "PATH=/usr/bin:relative")
	program(f, "opt/hermes/.playwright/chromium-1/chrome-linux/libchrome.so", 0o755)
	program(f, "opt/hermes/.playwright/chromium-1/chrome-linux/chrome-wrapper", 0o755)
	program(f, "opt/hermes/.playwright/chromium-1/chrome-linux/chrome", 0o755)
	program(f, "opt/hermes/.playwright/a/headless_shell", 0o755)
	program(f, "usr/bin/chromium", 0o755)
	r := f.boot()
	const want = "/opt/hermes/.playwright/chromium-1/chrome-linux/chrome"
	if got := environment(r.Environ()).get(browserVariable); got != want || f.read(published) != want {
		t.Errorf("found %q", got)
	}

	f = newFixture(t, "PATH=/usr/bin", "PLAYWRIGHT_BROWSERS_PATH=/none")
	program(f, "usr/bin/chromium", 0o755)
	program(f, "usr/bin/chrome", 0o644)
	if got := environment(f.boot().Environ()).get(browserVariable); got != "/usr/bin/chromium" {
		t.Errorf("on the path it is %q", got)
	}

	f = newFixture(t, browserVariable+"=/mine")
	program(f, "opt/hermes/.playwright/chrome", 0o755)
	if got := environment(f.boot().Environ()).get(browserVariable); got != "/mine" {
		t.Errorf("the operator's became %q", got)
	}

	f = newFixture(t)
	if r := f.boot(); environment(r.Environ()).get(browserVariable) != "" || f.exists(published) || len(r.Shortfalls) > 0 {
		t.Errorf("found where there is none: %q", r.Environ())
	}
	if f.read("run/s6/container_environment/HERMES_HOME") != "/opt/data" {
		t.Error("the home is not published")
	}
}

func TestTheScratchDirectory(t *testing.T) {
	f := newFixture(t)
	f.must(os.Mkdir(f.at("tmp/hermes-files"), 0o777))
	f.write("tmp/hermes-files/of-root", "")
	if r := f.boot(); f.owner("tmp/hermes-files") != hermes || f.mode("tmp/hermes-files") != 0o700 || len(r.Shortfalls) > 0 {
		t.Errorf("%v %v %q", f.owner("tmp/hermes-files"), f.mode("tmp/hermes-files"), r.Shortfalls)
	}
	if f.owner("tmp/hermes-files/of-root") != [2]int{0, 0} {
		t.Error("what is in it was given away")
	}
	for what, place := range map[string]func(f *fixture) error{
		"a link": func(f *fixture) error { return os.Symlink(f.at("etc"), f.at("tmp/hermes-files")) },
		"a file": func(f *fixture) error { return os.WriteFile(f.at("tmp/hermes-files"), nil, 0o644) },
	} {
		f := newFixture(t)
		f.must(place(f))
		if f.boot(); !f.refused("/tmp/hermes-files") || f.owner("etc") != [2]int{0, 0} || f.mode("etc") != 0o755 || f.owner("tmp/hermes-files") != [2]int{0, 0} {
			t.Errorf("%s: %s", what, f.log.String())
		}
	}
}

// A boot that is given up gives up what it holds.
func TestABootThatIsEnded(t *testing.T) {
	f := newFixture(t)
	ctx, cancel := context.WithCancel(t.Context())
	f.asked("{}", nil)
	answer := f.Run
	f.Run = func(ctx context.Context, c Command) ([]byte, error) {
		cancel()
		return answer(ctx, c)
	}
	if _, err := Run(ctx, f.Machine); !errors.Is(err, context.Canceled) {
		t.Fatalf("the error is %v", err)
	}
	if strings.Contains(f.log.String(), `step="gateway state"`) {
		t.Error("it went on")
	}
	f.Run = answer
	if r := f.boot(); r.Lease == nil || r.Holder != nil {
		t.Errorf("the lease is still held: %v", r.Holder)
	}
}
