package up

import (
	"encoding/json"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes.example/hermes/test/program"
)

// On a machine without a home there is one afterwards, with a dashboard that the printed address opens, once, and a
// gateway; another process sees and drives both; and Ctrl-C leaves nothing but the home.
func TestTheWholeHomeFromNothing(t *testing.T) {
	asEveryone(t, func(t *testing.T, w *world) {
		p := w.up()
		said := p.there()
		open := oneTime.FindString(said)
		if open == "" || !strings.Contains(said, w.home) || !strings.Contains(said, "http://127.0.0.1:"+w.gateway) || !strings.Contains(said, filepath.Join(w.home, ".env")) {
			t.Fatalf("it says %s", said)
		}
		if key := w.key(); len(key) != 64 || strings.Contains(said+p.err.String(), key) {
			t.Errorf("the key %q is short, or printed", key)
		}
		if info, err := os.Stat(filepath.Join(w.home, ".env")); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the file with the key: %v, %v", info.Mode(), err)
		}

		person := browser()
		if code, body := get(t, person, open); code != 200 || !strings.Contains(body, "<!doctype html>") {
			t.Errorf("the address that was printed: %d %s", code, body)
		} else {
			loads(t, person, open, body)
		}
		if code, body := get(t, person, open[:strings.Index(open, "/auth")]+"/api/auth/me"); code != 200 {
			t.Errorf("who was let in is not known: %d %s", code, body)
		}
		if code, _ := get(t, browser(), open); code == 200 {
			t.Error("it opens twice")
		}
		again := strings.TrimSpace(w.must("dashboard", "url"))
		if code, _ := get(t, browser(), again); again == open || code != 200 {
			t.Errorf("another address, %s: %d", again, code)
		}
		if code, _ := w.call("GET", "/v1/status", ""); code != 200 {
			t.Errorf("the gateway answers %d", code)
		}

		var status struct{ Profiles, Services []struct{ Up bool } }
		if err := json.Unmarshal([]byte(w.must("status", "--json")), &status); err != nil || len(status.Profiles) != 1 || !status.Profiles[0].Up || len(status.Services) != 1 || !status.Services[0].Up {
			t.Errorf("from another process: %+v, %v", status, err)
		}
		w.must("gateway", "restart")
		w.must("service", "restart", "dashboard")
		if out := w.must("health"); !strings.Contains(out, "healthy") {
			t.Errorf("after two restarts: %s", out)
		}

		p.signal(syscall.SIGINT)
		if code := p.status(); code != 0 {
			t.Errorf("it ends with %d: %s", code, p.err.String())
		}
		w.clean()
		noTicket(t, w.home)
	})
}

// loads fetches what a page names.
func loads(t *testing.T, c *http.Client, open, page string) {
	t.Helper()
	assets := asset.FindAllStringSubmatch(page, -1)
	if len(assets) == 0 {
		t.Errorf("the page names nothing that it loads: %s", page)
	}
	for _, a := range assets {
		if code, body := get(t, c, open[:strings.Index(open, "/auth")]+a[1]); code != 200 || body == "" {
			t.Errorf("%s: %d", a[1], code)
		}
	}
}

var asset = regexp.MustCompile(`(?:src|href)="(/assets/[^"]+)"`)

// noTicket fails the test if an address that logs in is in a file of the home.
func noTicket(t *testing.T, home string) {
	t.Helper()
	logs := 0
	filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		text, _ := os.ReadFile(path)
		if strings.Contains(string(text), "token=") {
			t.Errorf("%s has an address that logs in", path)
		}
		if strings.Contains(path, "/logs/dashboard/") {
			logs++
		}
		return nil
	})
	if logs == 0 {
		t.Error("the dashboard keeps no log: nothing was looked at")
	}
}

func TestASecondUpIsRefusedAndNamesTheFirst(t *testing.T) {
	w := newWorld(t, nil)
	p := w.up()
	p.there()
	out, code := w.hermes("up")
	if want := "process " + itoa(p.cmd.Process.Pid) + " on host"; code != 78 || strings.Count(out, "\n") != 1 || !strings.Contains(out, want) {
		t.Errorf("%d: %s", code, out)
	}
	if code, _ := w.call("GET", "/health", ""); code != 200 {
		t.Errorf("the first one's gateway answers %d", code)
	}
}

// Whatever kills it, its services end too, and nothing keeps the next one from coming up at the same ports.
func TestAKilledUpTakesItsServicesWithIt(t *testing.T) {
	asEveryone(t, func(t *testing.T, w *world) {
		port := program.FreePort(t)
		p := w.start("up", "--port", port)
		p.there()
		p.signal(syscall.SIGKILL)
		p.status()
		eventually(t, "the services end", func() bool { return len(w.leftovers()) == 0 })
		next := w.start("up", "--port", port)
		if said := next.there(); strings.Contains(said, "cannot") || !strings.Contains(said, ":"+port+"/auth/once") {
			t.Errorf("the next one says %s", said)
		}
	})
}

// A port that is taken is told of at once with what to do, and keeps nothing else from running. When it is free the
// dashboard comes, and its address is told.
func TestAPortThatIsTaken(t *testing.T) {
	w := newWorld(t, nil)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, port, _ := net.SplitHostPort(taken.Addr().String())
	p := w.start("up", "--port", port)
	said := p.there()
	line := lineOf(said, "dashboard")
	if !strings.Contains(line, port) || !strings.Contains(line, "in use") || !strings.Contains(line, "--port") || strings.Contains(said, "token=") {
		t.Errorf("it says %s", said)
	}
	if code, _ := w.call("GET", "/health", ""); code != 200 {
		t.Errorf("the gateway answers %d", code)
	}
	taken.Close()
	eventually(t, "the dashboard comes", func() bool { return oneTime.MatchString(p.err.String()) })
	if code, _ := get(t, browser(), oneTime.FindString(p.err.String())); code != 200 {
		t.Errorf("its address: %d", code)
	}
}

func lineOf(text, begin string) string {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, begin) {
			return line
		}
	}
	return ""
}

// A dashboard that was killed is back with an address of its own, since the sessions ended with it.
func TestACrashIsToldOf(t *testing.T) {
	w := newWorld(t, nil)
	p := w.up()
	first := oneTime.FindString(p.there())
	var status struct{ PID int }
	if err := json.Unmarshal([]byte(w.must("service", "status", "--json", "dashboard")), &status); err != nil || status.PID == 0 {
		t.Fatalf("%+v, %v", status, err)
	}
	syscall.Kill(status.PID, syscall.SIGKILL)
	eventually(t, "it is told of", func() bool { return strings.Contains(p.err.String(), "dashboard failed: ") })
	eventually(t, "it is there again", func() bool { return strings.Contains(p.err.String(), "dashboard is there again: http://") })
	if again := oneTime.FindString(p.err.String()); again == first {
		t.Error("the address is that of the dead one")
	} else if code, _ := get(t, browser(), again); code != 200 {
		t.Errorf("%s: %d", again, code)
	}
}

// What its owner stopped stays down at the next up, as at every boot.
func TestAGatewayThatItsOwnerStoppedStaysDown(t *testing.T) {
	w := newWorld(t, nil)
	p := w.up()
	p.there()
	w.must("profile", "create", "coder")
	w.must("-p", "coder", "gateway", "start", "--wait", "0")
	w.must("gateway", "stop")
	p.signal(syscall.SIGTERM)
	p.status()
	next := w.up()
	said := next.there()
	if !strings.Contains(lineOf(said, "gateway  "), "stopped by its owner") {
		t.Errorf("it says %s", said)
	}
	if lineOf(said, "gateway coder") == "" {
		t.Errorf("the gateway that was left running is not among %s", said)
	}
	w.must("gateway", "start")
	if code, _ := w.call("GET", "/health", ""); code != 200 {
		t.Errorf("the gateway answers %d", code)
	}
}

// A service that does not end is waited for; a second signal waits for nobody.
func TestASecondSignalKills(t *testing.T) {
	w := newWorld(t, nil)
	p := w.up()
	p.there()
	var status struct{ PID int }
	json.Unmarshal([]byte(w.must("service", "status", "--json", "gateway-default")), &status)
	syscall.Kill(status.PID, syscall.SIGSTOP)
	p.signal(syscall.SIGINT)
	eventually(t, "it has begun to end", func() bool { return strings.Contains(p.err.String(), "stopping") })
	if p.hasEnded() {
		t.Fatal("it did not wait for a service that does not end")
	}
	began := time.Now()
	p.signal(syscall.SIGINT)
	p.status()
	if took := time.Since(began); took > 4*time.Second { // its grace alone is longer
		t.Errorf("the second signal was obeyed after %v", took)
	}
	w.clean()
}

// Sandboxes that were made under it end with it, and their files stay; one that somebody made by hand lives on.
func TestSandboxesMadeUnderItEndWithIt(t *testing.T) {
	w := newWorld(t, nil)
	p := w.up()
	p.there()
	if code, body := w.call("POST", "/v1/sandboxes/under/exec", `{"line": "echo kept >~/file"}`); code != 200 {
		t.Fatalf("%d %s", code, body)
	}
	w.must("sandbox", "exec", "--task", "byhand", "-c", "true")
	p.signal(syscall.SIGINT)
	p.status()
	var list []struct {
		Identity struct{ Task string }
		State    string
	}
	text := w.must("sandbox", "ls", "--json")
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	states := map[string]string{}
	for _, s := range list {
		states[s.Identity.Task] = s.State
	}
	if states["under"] == "running" || states["byhand"] != "running" {
		t.Errorf("afterwards: %v", states)
	}
	if out := w.must("sandbox", "exec", "--task", "under", "-c", "cat ~/file"); out != "kept\n" {
		t.Errorf("its file has %q", out)
	}
}

func TestTheAddressesForPrograms(t *testing.T) {
	w := newWorld(t, nil)
	p := w.up("--json")
	var found struct {
		Home      string
		PID       int
		Dashboard struct{ URL, State string }
		Gateways  []struct{ Profile, URL, State string }
	}
	eventually(t, "it prints them", func() bool { return json.Unmarshal([]byte(p.stdout.String()), &found) == nil })
	if found.Home != w.home || found.PID != p.cmd.Process.Pid || len(found.Gateways) != 1 || found.Gateways[0].URL != "http://127.0.0.1:"+w.gateway || found.Gateways[0].State != "ready" {
		t.Errorf("%+v", found)
	}
	if code, _ := get(t, browser(), found.Dashboard.URL); code != 200 {
		t.Errorf("%s: %d", found.Dashboard.URL, code)
	}
}

// systemd is told when all is there, and not before.
func TestSystemdIsTold(t *testing.T) {
	w := newWorld(t, nil)
	path := filepath.Join(w.run, "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	defer os.Remove(path)
	w.env = append(w.env, "NOTIFY_SOCKET="+path)
	p := w.up()
	socket.SetReadDeadline(time.Now().Add(bound))
	said := make([]byte, 100)
	n, err := socket.Read(said)
	if err != nil || string(said[:n]) != "READY=1\n" {
		t.Fatalf("%q, %v", said[:n], err)
	}
	if answer, err := http.Get("http://127.0.0.1:" + w.gateway + "/health"); err != nil || answer.StatusCode != 200 {
		t.Errorf("it is told before the gateway answers: %v", err)
	}
	// What it prints is in the journal, which others read.
	if said := p.there(); strings.Contains(said, "token=") || !strings.Contains(lineOf(said, "dashboard"), "http://127.0.0.1:") || !strings.Contains(said, "hermes dashboard url") {
		t.Errorf("it says %s", said)
	}
	w.must("service", "restart", "dashboard")
	if open := w.must("dashboard", "url"); !oneTime.MatchString(open) {
		t.Errorf("who asks is given %s", open)
	}
}

func TestBadUse(t *testing.T) {
	w := newWorld(t, nil)
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"up", "--port", "many"}, 2, "--port"},
		{[]string{"up", "now"}, 2, "takes no arguments"},
		{[]string{"-p", "coder", "up"}, 2, "--profile"},
		{[]string{"dashboard", "url"}, 1, "hermes up"},
	} {
		if out, code := w.hermes(c.args...); code != c.code || strings.Count(out, "\n") != 1 || !strings.Contains(out, c.says) {
			t.Errorf("%q: %d %s", c.args, code, out)
		}
	}
	if _, err := os.Stat(w.home); err == nil {
		t.Error("it made a home")
	}
}
