package roster

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"hermes.example/hermes/internal/profile"
)

func TestGatewaysComeBackAsTheirOwnersLeftThem(t *testing.T) {
	b := newBench(t)
	b.put("gateway_state.json", `{"desired_state":"stopped","gateway_state":"running"}`)
	b.profile("running", `{"desired_state":"running","gateway_state":"startup_failed"}`)
	b.profile("stopped", `{"gateway_state":"stopped"}`)
	b.profile("drained", `{"gateway_state":"draining"}`)
	b.profile("new", "")
	b.put("profiles/half/gateway_state.json", `{"desired_state":"running"}`)
	outcomes := b.Reconcile(t.Context(), Boot{})
	if got := b.wants(); got != "default:down drained:up new:down running:up stopped:down" {
		t.Errorf("they are %s", got)
	}
	var order []string
	for _, o := range outcomes {
		order = append(order, o.Profile)
	}
	if got := strings.Join(order, " "); got != "default drained new running stopped" {
		t.Errorf("the order is %s", got)
	}
	want := regexp.MustCompile(`\A` +
		`\S+ profile=default prior_state=stopped action=registered prior_exit=clean\n` +
		`\S+ profile=drained prior_state=draining action=started prior_exit=clean\n` +
		`\S+ profile=new prior_state=None action=registered prior_exit=unknown\n` +
		`\S+ profile=running prior_state=running action=started prior_exit=clean\n` +
		`\S+ profile=stopped prior_state=stopped action=registered prior_exit=clean\n\z`)
	if got := b.audit(); !want.MatchString(got) {
		t.Errorf("the log of boots is\n%s", got)
	}
	if status, err := b.Wait(t.Context(), "gateway-running"); err != nil || !status.Running() {
		t.Errorf("%+v, %v", status, err)
	}
}

func TestTracesOfTheLastMachineAreGone(t *testing.T) {
	b := newBench(t)
	b.put("gateway.pid", "7")
	b.put("processes.json", "{}")
	b.profile("coder", `{"desired_state":"stopped"}`)
	b.put("profiles/coder/gateway.pid", "8")
	b.put("profiles/coder/processes.json", "{}")
	b.Reconcile(t.Context(), Boot{})
	for _, path := range []string{"gateway.pid", "processes.json", "profiles/coder/gateway.pid", "profiles/coder/processes.json"} {
		if _, err := os.Lstat(filepath.Join(b.root, path)); !os.IsNotExist(err) {
			t.Errorf("%s is there: %v", path, err)
		}
	}
	if got := b.audit(); strings.Count(got, "prior_exit=unclean") != 2 {
		t.Errorf("the log of boots is\n%s", got)
	}
}

// Nothing on the volume keeps the others from their gateways.
func TestOddThingsOnTheVolumeStopNobody(t *testing.T) {
	b := newBench(t)
	outside := t.TempDir()
	b.put("gateway_state.json", "[]")
	b.profile("huge", `{"desired_state":"running"}`+strings.Repeat(" ", 2<<20))
	b.profile("cut", `{"desired_state":"runni`)
	b.profile("Bad Name", `{"desired_state":"running"}`)
	b.profile("default", `{"desired_state":"running"}`)
	b.profile("marked", "\ufeff"+`{"desired_state":"running"}`)
	b.profile("zoe", `{"desired_state":"running"}`)
	b.put("profiles/file", "")
	if err := errors.Join(os.Symlink(outside, filepath.Join(b.root, "profiles", "linked")), os.MkdirAll(filepath.Join(b.root, "profiles/zoe/gateway.pid/x"), 0o755),
		os.WriteFile(filepath.Join(outside, "SOUL.md"), nil, 0o644), os.WriteFile(filepath.Join(outside, "gateway.pid"), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	b.Reconcile(t.Context(), Boot{})
	if got := b.wants(); got != "cut:down default:down huge:down marked:up zoe:up" {
		t.Errorf("they are %s", got)
	}
	for _, warning := range []string{"cut/gateway_state.json", "no JSON object", "larger than", "Bad Name", "profiles/default", "a link is there", "zoe/gateway.pid"} {
		if !strings.Contains(b.log.String(), warning) {
			t.Errorf("nobody was told of %q:\n%s", warning, b.log)
		}
	}
	if _, err := os.Stat(filepath.Join(outside, "gateway.pid")); err != nil {
		t.Errorf("a link was followed: %v", err)
	}
}

func TestOneThatCannotBeRegisteredStopsNobody(t *testing.T) {
	d := newFaulty()
	b := benchOf(t, t.TempDir(), d)
	d.fail["replace gateway-default"] = errors.New("no")
	d.fail["replace gateway-coder"] = errors.New("no")
	b.profile("coder", "")
	b.profile("zoe", `{"desired_state":"running"}`)
	outcomes := b.Reconcile(t.Context(), Boot{})
	if len(outcomes) != 3 || outcomes[0].Err == nil || outcomes[1].Err == nil || outcomes[2].Err != nil || b.wants() != "zoe:up" {
		t.Errorf("%+v, %s", outcomes, b.wants())
	}
	if got := b.audit(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "profile=zoe") {
		t.Errorf("the log of boots is %s", got)
	}
}

func TestADashboardsContainerHasNoGateways(t *testing.T) {
	for _, command := range [][]string{{"dashboard"}, {"dashboard", "--port", "1"}, {"hermes", "dashboard"}, {"/opt/hermes/bin/hermes", "dashboard"}} {
		d := newFaulty()
		b := benchOf(t, t.TempDir(), d)
		b.put("gateway_state.json", `{"desired_state":"running"}`)
		if outcomes := b.Reconcile(t.Context(), Boot{Command: command}); len(outcomes) > 0 || len(d.calls) > 0 {
			t.Errorf("%q: %v, %q", command, outcomes, d.calls)
		}
		if !strings.Contains(b.log.String(), "skipping the gateways") || b.audit() != "" {
			t.Errorf("%q: %s; %s", command, b.log, b.audit())
		}
		b.Watch(t.Context()) // it returns: there is nothing to keep in step
	}
}

func TestOneGatewayForAllProfiles(t *testing.T) {
	b := newBench(t)
	b.put("gateway_state.json", `{"desired_state":"running"}`)
	b.profile("coder", `{"desired_state":"running"}`)
	b.Reconcile(t.Context(), Boot{Multiplex: true})
	if got := b.wants(); got != "coder:down default:up" {
		t.Errorf("they are %s", got)
	}
	b.Reconcile(t.Context(), Boot{Multiplex: false})
	if got := b.wants(); got != "coder:up default:up" {
		t.Errorf("the next time they are %s", got)
	}
}

func TestWhoRanTheGatewayInTheForegroundHasItSupervised(t *testing.T) {
	for _, c := range []struct {
		boot Boot
		file string
		want string
	}{
		{Boot{Command: []string{"gateway", "run"}}, "", "default:up"},
		{Boot{Command: []string{"hermes", "gateway", "run", "--verbose"}}, "", "default:up"},
		{Boot{Command: []string{"gateway", "run", "--no-supervise"}}, "", "default:down"},
		{Boot{Command: []string{"gateway", "run"}, NoSupervise: true}, "", "default:down"},
		{Boot{Command: []string{"gateway", "run"}}, `{"desired_state":"stopped"}`, "default:down"},
		{Boot{Command: []string{"gateway", "run"}}, `[]`, "default:down"},
		{Boot{Command: []string{"gateway", "status"}}, "", "default:down"},
		{Boot{Command: []string{"-p", "coder", "gateway", "run"}}, "", "default:down"},
		{Boot{}, "", "default:down"},
	} {
		b := newBench(t)
		if c.file != "" {
			b.put("gateway_state.json", c.file)
		}
		b.Reconcile(t.Context(), c.boot)
		if got := b.wants(); got != c.want {
			t.Errorf("%+v on %q: %s", c.boot, c.file, got)
		}
		if c.want == "default:up" {
			if s := b.state(profile.Default); s.Desired != profile.Running || s.Gateway != profile.Running {
				t.Errorf("%+v: %+v is written down", c.boot, s)
			}
			if !strings.Contains(b.audit(), "action=started") {
				t.Errorf("the log of boots is %s", b.audit())
			}
		}
	}
}

// watch runs Watch until the test ends.
func (b *bench) watch() {
	ctx, cancel := context.WithCancel(b.t.Context())
	done := make(chan struct{})
	go func() { b.Watch(ctx); close(done) }()
	b.t.Cleanup(func() { cancel(); <-done })
}

func TestProfilesOfTheHostArePickedUp(t *testing.T) {
	b := newBench(t)
	b.Reconcile(t.Context(), Boot{})
	b.watch()
	b.profile("quiet", "") // the first one brings the directory of all
	b.profile("eager", `{"desired_state":"running"}`)
	b.put("profiles/half/config.yaml", "")
	b.eventually("they are known", func() bool { return b.wants() == "default:down eager:up quiet:down" })
	b.put("profiles/half/SOUL.md", "")
	b.eventually("a later mark is seen", func() bool { return b.wants() == "default:down eager:up half:down quiet:down" })
	if got := b.audit(); !strings.Contains(got, "profile=eager prior_state=running action=started prior_exit=unknown") {
		t.Errorf("the log of boots is\n%s", got)
	}
	if err := os.RemoveAll(filepath.Join(b.root, "profiles", "eager")); err != nil {
		t.Fatal(err)
	}
	if err := b.home.Delete("half"); err != nil {
		t.Fatal(err)
	}
	b.eventually("they are forgotten", func() bool { return b.wants() == "default:down quiet:down" })
}

func TestAChangeIsSeenBeforeItIsLookedFor(t *testing.T) {
	b := newBench(t)
	b.poll = time.Hour
	b.put("profiles/half/config.yaml", "")
	b.Reconcile(t.Context(), Boot{})
	b.watch()
	b.profile("coder", "")
	b.eventually("it is known", func() bool { return b.wants() == "coder:down default:down" })
	if err := os.RemoveAll(filepath.Join(b.root, "profiles", "coder")); err != nil {
		t.Fatal(err)
	}
	b.eventually("it is forgotten", func() bool { return b.wants() == "default:down" })
}

// A file that an editor replaces is away for a moment; the gateway must not notice.
func TestAProfileThatLostItsMarkKeepsItsGateway(t *testing.T) {
	b := newBench(t)
	b.profile("coder", `{"desired_state":"running"}`)
	b.Reconcile(t.Context(), Boot{})
	first, err := b.Wait(t.Context(), "gateway-coder")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(b.root, "profiles/coder/SOUL.md")); err != nil {
		t.Fatal(err)
	}
	missing := map[string]bool{}
	for range 4 {
		missing = b.look(t.Context(), missing)
	}
	if status, err := b.Service(t.Context(), "gateway-coder"); err != nil || status.PID != first.PID || len(missing) > 0 {
		t.Errorf("%+v was %+v, %v, %v", status, first, missing, err)
	}
}

func TestADirectoryThatIsAwayForAMomentEndsNothing(t *testing.T) {
	b := newBench(t)
	b.profile("coder", `{"desired_state":"running"}`)
	b.Reconcile(t.Context(), Boot{})
	profiles := filepath.Join(b.root, "profiles")
	if err := os.Rename(profiles, profiles+".away"); err != nil {
		t.Fatal(err)
	}
	missing := b.look(t.Context(), nil)
	if b.wants() != "coder:up default:down" || !missing["coder"] {
		t.Errorf("%s, %v", b.wants(), missing)
	}
	if err := os.Rename(profiles+".away", profiles); err != nil {
		t.Fatal(err)
	}
	if missing = b.look(t.Context(), missing); len(missing) > 0 || b.wants() != "coder:up default:down" {
		t.Errorf("%s, %v", b.wants(), missing)
	}
}

func TestNamedProfilesOfTheHostStayDownWhereOneGatewaySpeaksForAll(t *testing.T) {
	b := newBench(t)
	b.Reconcile(t.Context(), Boot{Multiplex: true})
	b.profile("eager", `{"desired_state":"running"}`)
	b.look(t.Context(), nil)
	if got := b.wants(); got != "default:down eager:down" {
		t.Errorf("they are %s", got)
	}
}
