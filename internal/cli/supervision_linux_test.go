package cli

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hermes.example/hermes/internal/supervise"
	"hermes.example/hermes/internal/supervise/control"
	"hermes.example/hermes/internal/survey"
)

// board is a supervisor of which only the answers exist.
type board struct {
	statuses map[string]supervise.Status
	fail     map[string]error // by the call, like "stop gateway-coder"
	calls    []string
	health   control.Health
}

func (b *board) call(verb, name string) error {
	b.calls = append(b.calls, verb+" "+name)
	if err := b.fail[verb+" "+name]; err != nil {
		return err
	}
	if _, known := b.statuses[name]; !known {
		return supervise.ErrNotRegistered
	}
	return nil
}

func (b *board) want(verb, name string, status supervise.Status) error {
	err := b.call(verb, name)
	if err == nil && b.statuses[name].State != supervise.Parked {
		status.Name, status.Since = name, time.Now()
		b.statuses[name] = status
	}
	return err
}

func (b *board) Start(_ context.Context, name string) error {
	return b.want("start", name, supervise.Status{Want: "up", State: supervise.Ready, PID: 7})
}

func (b *board) Stop(_ context.Context, name string) error {
	return b.want("stop", name, supervise.Status{Want: "down", State: supervise.Down})
}

func (b *board) Restart(_ context.Context, name string) error {
	return b.want("restart", name, supervise.Status{Want: "up", State: supervise.Ready, PID: 8})
}

func (b *board) Service(_ context.Context, name string) (supervise.Status, error) {
	return b.statuses[name], b.call("service", name)
}

// Wait waits, as it should, for one that hangs.
func (b *board) Wait(ctx context.Context, name string) (supervise.Status, error) {
	if s := b.statuses[name]; !s.Settled() {
		<-ctx.Done()
		return s, ctx.Err()
	}
	return b.statuses[name], b.call("wait", name)
}

func (b *board) Services(context.Context) (all []supervise.Status, err error) {
	for _, name := range sortedNames(b.statuses) {
		all = append(all, b.statuses[name])
	}
	return all, b.fail["services"]
}

func (b *board) Register(_ context.Context, profile string, start bool) error {
	b.calls = append(b.calls, "register "+profile)
	if b.statuses != nil {
		b.statuses["gateway-"+profile] = supervise.Status{Name: "gateway-" + profile, Want: "down", State: supervise.Down, Since: time.Now()}
	}
	return b.fail["register "+profile]
}

func (b *board) Unregister(_ context.Context, profile string) error {
	b.calls = append(b.calls, "unregister "+profile)
	delete(b.statuses, "gateway-"+profile)
	return b.fail["unregister "+profile]
}

func (b *board) Log(_ context.Context, name string, lines int, follow bool) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader("said\n")), b.call("log", name)
}

func (b *board) Health(context.Context) (control.Health, error) { return b.health, b.fail["health"] }

func newBoard(names ...string) *board {
	b := &board{statuses: map[string]supervise.Status{}, fail: map[string]error{}}
	for _, name := range names {
		b.statuses[name] = supervise.Status{Name: name, Want: "down", State: supervise.Down, Since: time.Now()}
	}
	return b
}

// supervisedApp is one with a home of its own and, unless it is nil, a supervisor.
func supervisedApp(t *testing.T, b *board) (run func(args ...string) (stdout, stderr string, status int), root string) {
	root = t.TempDir()
	return func(args ...string) (string, string, int) {
		a, stdout, stderr := testApp()
		a.lookup = lookupIn(map[string]string{"HERMES_HOME": root})
		if b != nil {
			a.services = b
		}
		status := a.run(t.Context(), args)
		return stdout.String(), stderr.String(), status
	}, root
}

func TestTheProfileMayBeNamedBeforeTheCommandOrAfterIt(t *testing.T) {
	b := newBoard("gateway-default", "gateway-coder")
	run, root := supervisedApp(t, b)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"gateway", "start"}, "start gateway-default"},
		{[]string{"-p", "coder", "gateway", "start"}, "start gateway-coder"},
		{[]string{"gateway", "-p", "coder", "stop"}, "stop gateway-coder"},
		{[]string{"gateway", "restart", "--profile=coder"}, "restart gateway-coder"},
		{[]string{"--profile", "coder", "gateway", "status"}, "service gateway-coder"},
		{[]string{"-p", "coder", "gateway", "logs"}, "log gateway-coder"},
	} {
		b.calls = nil
		if _, stderr, status := run(c.args...); status != 0 || b.calls[0] != c.want {
			t.Errorf("%q: %d, %q, %s", c.args, status, b.calls, stderr)
		}
	}
	a, _, _ := testApp()
	a.lookup = lookupIn(map[string]string{"HERMES_HOME": filepath.Join(root, "profiles", "coder")})
	if home, name, err := a.home(); err != nil || home.Root != root || name != "coder" {
		t.Errorf("of a profile's own home: %+v, %s, %v", home, name, err)
	}
	if path, err := parse(t, []string{"-p", "coder", "sandbox", "exec", "--", "true"}); err != nil || path != "hermes sandbox exec" {
		t.Errorf("a sandbox of a profile: %s, %v", path, err)
	}
	if _, stderr, status := run("-p", "Bad", "gateway", "start"); status != 2 || !strings.Contains(stderr, `cannot use "Bad"`) {
		t.Errorf("%d, %s", status, stderr)
	}
}

func TestAGatewayThatIsNotThereIsOneLineAndStatusOne(t *testing.T) {
	run, _ := supervisedApp(t, newBoard())
	for _, verb := range []string{"start", "stop", "restart", "status", "logs"} {
		stdout, stderr, status := run("-p", "nobody", "gateway", verb)
		if want := `no such gateway 'nobody'; create its profile with "hermes profile create nobody"`; status != 1 || stdout != "" ||
			!strings.Contains(stderr, want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: %d, %q, %q", verb, status, stdout, stderr)
		}
	}
}

func TestARefusalIsShownWithItsCode(t *testing.T) {
	b := newBoard("gateway-default")
	b.fail["start gateway-default"] = &supervise.ControlError{Service: "gateway-default", Action: "start", Code: 111, Stderr: "Permission denied"}
	run, _ := supervisedApp(t, b)
	if _, stderr, status := run("gateway", "start"); status != 1 || !strings.Contains(stderr, "rc=111: Permission denied") {
		t.Errorf("%d, %s", status, stderr)
	}
}

func TestAllGatewaysOneFailureStopsNone(t *testing.T) {
	b := newBoard("dashboard", "gateway-a", "gateway-default", "gateway-z")
	b.fail["stop gateway-a"] = errors.New("it is stuck")
	run, _ := supervisedApp(t, b)
	stdout, stderr, status := run("gateway", "stop", "--all")
	if status != 1 || !strings.Contains(stdout, "stopped default: down") || !strings.Contains(stdout, "stopped z: down") || !strings.Contains(stdout, "stopped 2 gateways\n") ||
		!strings.Contains(stderr, "cannot stop 1 of 3 gateways: ") || !strings.Contains(stderr, "it is stuck") {
		t.Errorf("%d\n%s\n%s", status, stdout, stderr)
	}
	if slices.Contains(b.calls, "stop dashboard") {
		t.Error("the dashboard is no gateway")
	}
	order := strings.Join(b.calls, ", ")
	if !strings.HasPrefix(order, "stop gateway-default, stop gateway-a, stop gateway-z, wait ") {
		t.Errorf("one waits for the other: %s", order)
	}
	b = newBoard("gateway-a")
	b.fail["stop gateway-a"] = errors.New("it is stuck")
	run, _ = supervisedApp(t, b)
	if stdout, stderr, status := run("gateway", "stop", "--all"); status != 1 || stdout != "stopped 0 gateways\n" || !strings.Contains(stderr, `the gateway of "a": it is stuck`) {
		t.Errorf("the only one: %d, %s, %s", status, stdout, stderr)
	}
	run, _ = supervisedApp(t, newBoard("dashboard"))
	if stdout, _, status := run("gateway", "restart", "--all"); status != 0 || stdout != "no gateway is registered\n" {
		t.Errorf("of none: %d, %s", status, stdout)
	}
	if _, _, status := run("gateway", "start", "--all"); status != 2 {
		t.Errorf("start --all: %d", status)
	}
}

func TestOnlyGatewaysAreListed(t *testing.T) {
	run, _ := supervisedApp(t, newBoard("dashboard", "gateway-a", "gateway-default", "s6rc-oneshot-runner"))
	stdout, _, status := run("gateway", "ls", "--json")
	var rows []gatewayRow
	if err := json.Unmarshal([]byte(stdout), &rows); err != nil || status != 0 || len(rows) != 2 || rows[0].Profile != "default" || rows[1].Profile != "a" || rows[1].Name != "gateway-a" {
		t.Errorf("%d, %s, %v", status, stdout, err)
	}
	run, _ = supervisedApp(t, newBoard())
	if stdout, _, status := run("gateway", "ls", "--json"); status != 0 || stdout != "[]\n" {
		t.Errorf("of none: %d, %s", status, stdout)
	}
}

func TestAParkedGatewayIsNotStarted(t *testing.T) {
	b := newBoard()
	b.statuses["gateway-default"] = supervise.Status{Name: "gateway-default", Want: "up", State: supervise.Parked, Reason: "exit 78: bad key"}
	run, _ := supervisedApp(t, b)
	if _, stderr, status := run("gateway", "start"); status != 1 || !strings.Contains(stderr, "it is parked: exit 78: bad key") {
		t.Errorf("%d, %s", status, stderr)
	}
	b.statuses["gateway-default"] = supervise.Status{Name: "gateway-default", Want: "up", State: supervise.Up, PID: 9, Since: time.Now()}
	b.fail["start gateway-default"] = nil
	stuck := &hanging{b}
	a, stdout, stderr := testApp()
	a.services, a.lookup = stuck, lookupIn(map[string]string{"HERMES_HOME": t.TempDir()})
	if status := a.run(t.Context(), []string{"gateway", "start", "--wait", "0.01"}); status != 0 || !strings.Contains(stdout.String(), "up (pid 9) 0s, not ready yet") {
		t.Errorf("one that takes longer: %d, %s, %s", status, stdout, stderr)
	}
}

// hanging is a board whose services never change.
type hanging struct{ *board }

func (h *hanging) Start(context.Context, string) error { return nil }

func TestTheLineOfAStatus(t *testing.T) {
	now := time.Unix(1700000000, 0)
	since := now.Add(-90 * time.Second)
	for want, s := range map[string]supervise.Status{
		"up (pid 12) 1m":                      {State: supervise.Ready, Want: "up", PID: 12},
		"up (pid 12) 1m, not ready yet":       {State: supervise.Up, Want: "up", PID: 12},
		"up (pid 12) 1m, stopping, want down": {State: supervise.Halting, Want: "down", PID: 12},
		"down 1m":                             {State: supervise.Down, Want: "down"},
		"down (exit 0) 1m":                    {State: supervise.Down, Want: "down", Last: &supervise.Exit{}},
		"down (signal SIGKILL) 1m, want up, again in 4s: it failed": {State: supervise.Backoff, Want: "up", Last: &supervise.Exit{Code: 137, Signal: "SIGKILL"},
			Next: now.Add(4 * time.Second), Reason: "it failed"},
		"down (exit 78) 1m, parked: no key; mend it": {State: supervise.Parked, Want: "up", Last: &supervise.Exit{Code: 78}, Reason: "no key\nmend it"},
	} {
		s.Since = since
		if got := survey.Sentence(s, now); got != want {
			t.Errorf("%+v: %s", s, got)
		}
	}
}

func TestAProfilesLife(t *testing.T) {
	b := newBoard("gateway-default")
	run, root := supervisedApp(t, b)
	if stdout, stderr, status := run("profile", "create", "coder"); status != 0 || !strings.HasPrefix(stdout, "created coder in "+root) || stderr != "" {
		t.Errorf("%d, %s, %s", status, stdout, stderr)
	}
	if !slices.Contains(b.calls, "register coder") || b.statuses["gateway-coder"].Want != "down" {
		t.Errorf("its gateway is not known: %q", b.calls)
	}
	if _, stderr, status := run("profile", "create", "coder"); status != 1 || !strings.Contains(stderr, "it exists already") {
		t.Errorf("twice: %d, %s", status, stderr)
	}
	for _, bad := range [][]string{{}, {"Bad"}, {"a", "b"}, {""}} {
		if _, _, status := run(append([]string{"profile", "create"}, bad...)...); status != 2 {
			t.Errorf("%q: %d", bad, status)
		}
	}
	state := filepath.Join(root, "profiles", "coder", "gateway_state.json")
	if err := os.WriteFile(state, []byte(`{"desired_state":"running","gateway_state":"stopped"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	stdout, _, _ := run("profile", "ls", "--json")
	var rows []profileRow
	if err := json.Unmarshal([]byte(stdout), &rows); err != nil || len(rows) != 2 || rows[0].Profile != "default" || rows[1].Desired != "running" || !rows[1].Autostart || rows[1].Status == nil {
		t.Errorf("%s, %v", stdout, err)
	}
	b.fail["services"] = errors.New("it does not answer")
	if stdout, stderr, status := run("profile", "ls"); status != 0 || !strings.Contains(stdout, "coder") || !strings.Contains(stderr, "it does not answer") {
		t.Errorf("%d, %s, %s", status, stdout, stderr)
	}
	delete(b.fail, "services")
	if stdout, _, status := run("profile", "show", "coder"); status != 0 || !strings.Contains(stdout, "starts at the next boot") || !strings.Contains(stdout, filepath.Dir(state)) {
		t.Errorf("%d, %s", status, stdout)
	}
	if _, stderr, status := run("profile", "show", "nobody"); status != 1 || !strings.Contains(stderr, "hermes profile ls") {
		t.Errorf("%d, %s", status, stderr)
	}
	if _, stderr, status := run("profile", "delete", "coder"); status != 2 || !strings.Contains(stderr, "add --yes") {
		t.Errorf("without a yes: %d, %s", status, stderr)
	}
	b.fail["unregister coder"] = errors.New("it is stuck")
	if _, stderr, status := run("profile", "delete", "--yes", "coder"); status != 1 || !strings.Contains(stderr, "its gateway does not end: it is stuck") {
		t.Errorf("with a stuck gateway: %d, %s", status, stderr)
	}
	if _, err := os.Stat(state); err != nil {
		t.Errorf("it was deleted all the same: %v", err)
	}
	delete(b.fail, "unregister coder")
	if stdout, stderr, status := run("profile", "delete", "--yes", "coder"); status != 0 || stdout != "deleted coder\n" {
		t.Errorf("%d, %s", status, stderr)
	}
	if _, err := os.Stat(filepath.Dir(state)); !os.IsNotExist(err) {
		t.Errorf("it is there: %v", err)
	}
	for _, name := range []string{"coder", "default"} {
		if _, _, status := run("profile", "delete", "--yes", name); status != 1 {
			t.Errorf("%s: %d", name, status)
		}
	}
}

func TestAProfileIsMadeWhateverItsSupervisorSays(t *testing.T) {
	b := newBoard()
	b.fail["register coder"] = errors.New("no room")
	run, _ := supervisedApp(t, b)
	if stdout, stderr, status := run("profile", "create", "coder"); status != 0 || !strings.HasPrefix(stdout, "created coder") || !strings.Contains(stderr, "no room") {
		t.Errorf("%d, %s, %s", status, stdout, stderr)
	}
	b.fail["register zoe"] = supervise.ErrRegistered // by who watches the profiles
	if _, stderr, status := run("profile", "create", "zoe"); status != 0 || stderr != "" {
		t.Errorf("%d, %s", status, stderr)
	}
}

func TestHealthIsZeroOrOneWithTheReason(t *testing.T) {
	b := newBoard()
	b.health = control.Health{Healthy: true}
	run, _ := supervisedApp(t, b)
	if stdout, _, status := run("health"); status != 0 || stdout != "healthy\n" {
		t.Errorf("%d, %s", status, stdout)
	}
	b.health = control.Health{Reasons: []string{"gateway-x is parked: no key", "dashboard is down, and not ready"}}
	if stdout, stderr, status := run("health"); status != 1 || stdout != "" || stderr != "hermes: cannot call it healthy: gateway-x is parked: no key; dashboard is down, and not ready\n" {
		t.Errorf("%d, %s, %s", status, stdout, stderr)
	}
	stdout, _, status := run("health", "--json")
	var answer control.Health
	if err := json.Unmarshal([]byte(stdout), &answer); err != nil || status != 1 || answer.Healthy || len(answer.Reasons) != 2 {
		t.Errorf("%d, %s, %v", status, stdout, err)
	}
	b.fail["health"] = errors.New("it does not answer")
	if _, stderr, status := run("health"); status != 1 || !strings.Contains(stderr, "it does not answer") {
		t.Errorf("%d, %s", status, stderr)
	}
}

func TestServicesByName(t *testing.T) {
	b := newBoard("dashboard", "gateway-default")
	run, _ := supervisedApp(t, b)
	if stdout, stderr, status := run("service", "start", "dashboard", "nobody"); status != 1 || !strings.HasPrefix(stdout, "started dashboard: up (pid 7)") ||
		!strings.Contains(stderr, `"nobody": there is no such service; "hermes service ls" lists those that there are`) {
		t.Errorf("%d, %s, %s", status, stdout, stderr)
	}
	if stdout, _, _ := run("service", "ls"); !strings.Contains(stdout, "dashboard        ready  up (pid 7)") || !strings.Contains(stdout, "gateway-default  down   down 0s") {
		t.Errorf("the list is\n%s", stdout)
	}
	if stdout, _, status := run("service", "status", "dashboard"); status != 0 || !strings.HasPrefix(stdout, "up (pid 7)") {
		t.Errorf("%d, %s", status, stdout)
	}
	if stdout, _, status := run("service", "logs", "-f", "dashboard"); status != 0 || stdout != "said\n" {
		t.Errorf("%d, %s", status, stdout)
	}
	if _, _, status := run("service", "stop"); status != 2 {
		t.Errorf("of none: %d", status)
	}
}

func TestWhereNobodySupervises(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	if _, err := control.Find(); err == nil || underS6(initName, t.TempDir()) {
		t.Skip("this machine has a supervisor")
	}
	run, root := supervisedApp(t, nil)
	for _, args := range [][]string{{"gateway", "start"}, {"gateway", "ls"}, {"service", "ls"}, {"health"}} {
		if _, stderr, status := run(args...); status != 1 || !strings.Contains(stderr, "no supervisor runs here; ") {
			t.Errorf("%q: %d, %s", args, status, stderr)
		}
	}
	if stdout, stderr, status := run("profile", "create", "coder"); status != 0 || stderr != "" {
		t.Errorf("%d, %s, %s", status, stdout, stderr)
	}
	logs := filepath.Join(root, "logs", "gateways", "coder")
	if err := errors.Join(os.MkdirAll(logs, 0o755), os.WriteFile(filepath.Join(logs, "current"), []byte("once\nsaid\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	if stdout, stderr, status := run("-p", "coder", "gateway", "logs", "--tail", "1"); status != 0 || stdout != "said\n" {
		t.Errorf("%d, %s, %s", status, stdout, stderr)
	}
}

func TestS6IsFoundByItsNameAndItsPlace(t *testing.T) {
	dir := t.TempDir()
	comm := filepath.Join(dir, "comm")
	write := func(text string) {
		if err := os.WriteFile(comm, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if underS6(comm, dir) {
		t.Error("found by a name that cannot be read")
	}
	write("hermes-init\n")
	if underS6(comm, dir) {
		t.Error("found under another name")
	}
	write("s6-svscan\n")
	if !underS6(comm, dir) || underS6(comm, filepath.Join(dir, "nowhere")) || underS6(comm, comm) {
		t.Error("not found by name and place")
	}
}

func TestNamesAreCompleted(t *testing.T) {
	b := newBoard("dashboard")
	run, root := supervisedApp(t, b)
	if err := errors.Join(os.MkdirAll(filepath.Join(root, "profiles", "coder"), 0o755), os.WriteFile(filepath.Join(root, "profiles", "coder", "SOUL.md"), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"gateway start -p ": "default\ncoder\n", "profile delete ": "default\ncoder\n", "service stop ": "dashboard\n",
	} {
		if stdout, _, _ := run(append([]string{"__complete"}, strings.Split(line, " ")...)...); !strings.HasPrefix(stdout, want) {
			t.Errorf("%s: %q", line, stdout)
		}
	}
}
