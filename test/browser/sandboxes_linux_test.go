package browser

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes.example/hermes/test/program"
	"hermes.example/hermes/test/sealed"
	"hermes.example/hermes/test/wheels"
)

// What is enforced on a sandbox can be read, and one that has the host's network says so first.
func TestThePostureIsASheet(t *testing.T) {
	h := workshop(t)
	h.hermes("sandbox", "exec", "--task", "open", "--network", "host", "--", "true")
	p := h.visit("/sandboxes/default/work")
	p.sees("What is enforced")
	p.sees("System calls")
	p.sees("enforced")
	p.sees("Nothing: it has no network.")
	p.image("sandbox")
	p.open(h.url + "/sandboxes/default/open")
	p.sees("weaker than the default")
	p.sees("Everything that this machine reaches")
	p.shot("host-network")
}

// A background process is seen to come, to write, and to end.
func TestABackgroundProcessWithItsLog(t *testing.T) {
	h := workshop(t)
	p := h.visit("/sandboxes/default/work")
	p.sees("What is enforced")
	h.hermes("sandbox", "start", "--task", "work", "--name", "counter", "--", "sh", "-c", "i=0; while :; do i=$((i+1)); echo count $i.; sleep 0.2; done")
	p.sees("counter")
	p.click("button", "Log of counter")
	p.sees("count 3.")
	p.sees("count 9.")
	p.shot("log")
	p.click("button", "End counter")
	p.confirm("End counter?", "End it")
	p.until("it has ended", func() bool {
		return !strings.Contains(h.hermes("sandbox", "ps", "--task", "work"), "running")
	})
}

// A sandbox is made and removed on the page of all of them, whatever it is called.
func TestASandboxIsMadeAndRemoved(t *testing.T) {
	h := newHouse(t)
	const name = "build & test/2 #1 50%?"
	p := h.visit("/sandboxes")
	p.sees("No sandbox has been made.")
	p.click("button", "New sandbox")
	p.fill("textbox", "Task", name)
	p.click("button", "Make it")
	p.drawn(name)
	p.sees("What is enforced")
	p.open(ask[string](p, "location.href"))
	p.drawn(name)
	p.sees("What is enforced")
	p.open(h.url + "/sandboxes")
	p.sees(name)
	p.click("button", "Remove "+name)
	p.has("dialog", "")
	p.click("button", "Remove")
	p.sees("No sandbox has been made.")
	if left := h.hermes("sandbox", "ls", "--json"); strings.Contains(left, "build") {
		t.Errorf("there still is %s", left)
	}
}

// A page of a sandbox that is open somewhere does not keep it in use: the time after which an unused one is removed goes on.
func TestWhoLooksAtASandboxDoesNotUseIt(t *testing.T) {
	h := workshop(t)
	p := h.visit("/sandboxes/default/work")
	p.sees("Nothing runs in the background.")
	p.sees("Nothing has happened.")
	p.holds("it is unused all the while", "Number(/idle for (\\d+) s/.exec(document.body.innerText)?.[1]) >= 5")
}

// Text that looks like a script is text, wherever it comes from.
func TestNamesAreNoMarkup(t *testing.T) {
	h := newHouse(t)
	const name = `<img src=x onerror=alert(1)>`
	h.hermes("sandbox", "exec", "--task", name, "--", "true")
	h.says("gateway-default", "<script>alert(2)</script><b>bold</b>")
	p := h.visit("/sandboxes")
	p.sees(name)
	p.click("link", name)
	p.drawn(name)
	p.open(h.url + "/services/gateway-default")
	p.sees("<script>alert(2)</script><b>bold</b>")
}

// An add-on is installed by a button, and how far it is can be seen.
func TestAnAddonIsInstalled(t *testing.T) {
	uv := wheels.UV(t)
	runtime := sealed.New(t)
	index := wheels.Serve(t,
		wheels.Wheel{Name: "exa-py", Version: "2.10.2", Requires: []string{"exa-part"}, Files: map[string]string{"exa_py/__init__.py": "import exa_part\n"}},
		wheels.Wheel{Name: "exa-part", Version: "1.0", Files: map[string]string{"exa_part.py": ""}},
		wheels.Wheel{Name: "edge-tts", Version: "7.2.7", Files: map[string]string{"edge_tts/__init__.py": "", "json.py": ""}})
	index.Break("exa-part-1.0-py3-none-any.whl", wheels.Fault{Delay: 3 * time.Second}) // so that there is a progress to be seen
	h := newHouse(t, "HERMES_RUNTIME="+runtime.Root, "UV_DEFAULT_INDEX="+index.URL, "UV_HTTP_RETRIES=0", "PATH="+filepath.Dir(uv)+":"+binDir+":/usr/bin:/bin:/usr/sbin:/sbin")
	t.Cleanup(func() { sealed.Remove(filepath.Join(h.home, "lazy-packages")) })
	p := h.visit("/addons")
	p.click("button", "Install search.exa")
	p.sees("installing")
	p.has("progressbar", "")
	p.image("addons")
	p.holds("it is installed", `[...document.querySelectorAll("li")].some((li) => li.textContent.includes("search.exa") && li.textContent.includes("installed"))`)
	if out := h.hermes("tools", "--installed"); !strings.Contains(out, "search.exa") {
		t.Errorf("installed is %s", out)
	}
	p.click("button", "Install tts.edge")
	p.sees("json.py")
	p.has("button", "Try again tts.edge")
}

// A gateway that is killed takes nothing of the pages with it: they use sandboxes themselves.
func TestAKilledGatewayBehindThePage(t *testing.T) {
	h := workshop(t)
	p := h.visit("/")
	p.terminal(h.url)
	p.types("echo one")
	h.hermes("service", "stop", "gateway-default")
	p.types("echo $((20+3))")
	p.prints("23")
	h.hermes("service", "start", "gateway-default")
	if err := syscall.Kill(h.service("gateway-default").PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	p.types("echo $((30+4))")
	p.prints("34")
}

// A dashboard that is killed comes back under the same address, and the pages that are open go on by themselves.
func TestAKilledDashboardIsNoticedAndForgotten(t *testing.T) {
	h := newHouse(t, append(withLogin, "HERMES_DASHBOARD_BASIC_AUTH_SECRET=0123456789abcdef0123456789abcdef", "HERMES_DASHBOARD_PORT="+program.FreePort(t))...)
	p := h.visit("/services")
	p.sees("gateway-default")
	ask[bool](p, "window.stays = true")
	p.expects("(?i)ERR_|Failed to load|network")
	if err := syscall.Kill(h.service("dashboard").PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	p.sees("Connection lost")
	p.shot("lost")
	p.within(time.Minute, "the connection is back", func() bool { return !p.shows("Connection lost") })
	h.hermes("service", "stop", "gateway-default")
	p.sees("down")
	p.holds("the page was not loaded again", "window.stays")
}
