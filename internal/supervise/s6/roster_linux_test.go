package s6

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hermes.example/hermes/internal/profile"
	"hermes.example/hermes/internal/roster"
	"hermes.example/hermes/internal/supervise"
)

// kept is a home whose gateways a real s6 keeps.
type kept struct {
	*real
	*roster.Roster
	root string
}

func newKept(t *testing.T) *kept {
	t.Helper()
	r := newReal(t)
	k := &kept{real: r, root: filepath.Join(r.home, "data")}
	k.put("logs/here", "")
	k.Roster = roster.New(roster.Options{Home: &profile.Home{Root: k.root, Hand: r.hand}, Driver: r.Driver, Gateway: func(name string) supervise.Service {
		s := r.service("", "exec sleep 1000")
		s.Log = filepath.Join(k.root, "logs/gateways", name)
		return s
	}})
	return k
}

// put writes a file of the user's.
func (k *kept) put(name, content string) {
	k.t.Helper()
	path := filepath.Join(k.root, name)
	k.ok(k.hand.Do(func() error {
		return errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644))
	}))
}

func (k *kept) content(name string) string {
	k.t.Helper()
	text, err := os.ReadFile(filepath.Join(k.root, name))
	k.ok(err)
	return string(text)
}

// profile makes one with a state, as somebody on the host does.
func (k *kept) profile(name, state string) {
	k.t.Helper()
	k.put("profiles/"+name+"/gateway_state.json", state)
	k.put("profiles/"+name+"/SOUL.md", "")
}

func (k *kept) until(name string, is func(supervise.Status) bool) (st supervise.Status) {
	k.t.Helper()
	k.eventually(name+" is as wanted", func() bool {
		var err error
		st, err = k.Service(k.t.Context(), name)
		return err == nil && is(st)
	})
	return st
}

func down(st supervise.Status) bool {
	return st.State == supervise.Down && st.Want == "down" && st.Reason == ""
}

// A boot lays out what its gateways' owners wanted; then the scanner starts.
func TestABootBringsBackWhatWasLeft(t *testing.T) {
	k := newKept(t)
	k.profile("idle", `{"desired_state":"stopped","gateway_state":"running"}`)
	k.profile("busy", `{"desired_state":"running","gateway_state":"startup_failed"}`)
	for _, o := range k.Reconcile(t.Context(), roster.Boot{}) {
		if o.Err != nil {
			t.Error(o.Err)
		}
	}
	for slot, isDown := range map[string]bool{"gateway-default": true, "gateway-idle": true, "gateway-busy": false} {
		if absent(filepath.Join(k.scan, slot, "run")) || absent(filepath.Join(k.scan, slot, "down")) == isDown {
			t.Errorf("%s is not as it was left", slot)
		}
	}
	if log := k.content("logs/container-boot.log"); !strings.Contains(log, "profile=busy prior_state=running action=started") ||
		!strings.Contains(log, "profile=idle prior_state=stopped action=registered") {
		t.Errorf("the log says\n%s", log)
	}
	k.start()
	k.until("gateway-busy", supervise.Status.Running)
	k.until("gateway-idle", down)
	k.until("gateway-default", down)
}

// What is asked of a gateway is done, and written down beside what else is known of it.
func TestWhatIsAskedIsWrittenDown(t *testing.T) {
	k := newKept(t)
	k.start()
	ctx := t.Context()
	k.profile("coder", `{"mine":1}`)
	k.ok(k.Roster.Register(ctx, "coder", false))
	state := func(desired string) {
		t.Helper()
		var now map[string]any
		k.ok(json.Unmarshal([]byte(k.content("profiles/coder/gateway_state.json")), &now))
		if now["desired_state"] != desired || now["mine"] != 1.0 {
			t.Errorf("the state is %v and not %s", now, desired)
		}
	}
	k.until("gateway-coder", down)
	k.ok(k.Roster.Start(ctx, "gateway-coder"))
	running := k.until("gateway-coder", supervise.Status.Running)
	state("running")
	k.ok(k.Roster.Stop(ctx, "gateway-coder"))
	k.until("gateway-coder", down)
	state("stopped")
	if marker := k.content("profiles/coder/.gateway-planned-stop.json"); !strings.HasPrefix(marker, fmt.Sprintf(`{"pid":%d,`, running.PID)) {
		t.Errorf("the marker is %s", marker)
	}
	k.ok(k.Roster.Restart(ctx, "gateway-coder"))
	k.until("gateway-coder", supervise.Status.Running)
	state("running")

	// Denied: nothing is written down that was not done.
	control := filepath.Join(k.scan, "gateway-coder", controlFIFO)
	k.ok(os.Chmod(control, 0))
	var denied *supervise.ControlError
	if err := k.Roster.Stop(ctx, "gateway-coder"); !errors.As(err, &denied) || denied.Code != exitSystem || !strings.Contains(denied.Stderr, "permission denied") {
		t.Errorf("the error is %v", err)
	}
	state("running")
	k.ok(os.Chmod(control, 0o660))
}

// Only a start makes the gateway of a profile that somebody made on the host, and only of a real one.
func TestAProfileOfTheHostIsStarted(t *testing.T) {
	k := newKept(t)
	k.start()
	ctx := t.Context()
	k.profile("real", `{}`)
	k.put("profiles/unreal/notes", "")
	for what, do := range map[string]func() error{
		"stop":              func() error { return k.Roster.Stop(ctx, "gateway-real") },
		"restart":           func() error { return k.Roster.Restart(ctx, "gateway-real") },
		"start of no soul":  func() error { return k.Roster.Start(ctx, "gateway-unreal") },
		"start of no place": func() error { return k.Roster.Start(ctx, "gateway-none") },
	} {
		if err := do(); !errors.Is(err, supervise.ErrNotRegistered) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if names := k.names(); len(names) > 0 {
		t.Errorf("there are %v", names)
	}
	k.ok(k.Roster.Start(ctx, "gateway-real"))
	k.until("gateway-real", supervise.Status.Running)
}
