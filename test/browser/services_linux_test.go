package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// A gateway that is killed is seen to go and to come back, by a page that nobody loads again.
func TestACrashIsSeenLive(t *testing.T) {
	h := newHouse(t)
	p := h.visit("/services/gateway-default")
	p.drawn("gateway-default")
	ask[bool](p, "window.stays = true")
	before := h.service("gateway-default").PID
	p.sees(strconv.Itoa(before))
	if err := syscall.Kill(before, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	p.until("another process is shown", func() bool {
		now := h.service("gateway-default").PID
		return now > 0 && now != before && p.shows(strconv.Itoa(now)) && !p.shows(strconv.Itoa(before))
	})
	p.holds("the page was not loaded again", "window.stays")
	p.shot("again")
}

// One service is stopped, started and restarted by its buttons, and the page says each time what became of it.
func TestAServiceIsStoppedStartedAndRestarted(t *testing.T) {
	h := newHouse(t)
	p := h.visit("/services/gateway-default")
	p.drawn("gateway-default")
	first := h.service("gateway-default").PID
	p.click("button", "Restart")
	p.until("another process runs", func() bool {
		now := h.service("gateway-default").PID
		return now > 0 && now != first && p.shows(strconv.Itoa(now))
	})
	p.click("button", "Stop")
	p.confirm("Stop gateway-default?", "Stop")
	p.sees("down")
	p.until("it is stopped", func() bool { return h.service("gateway-default").PID == 0 })
	p.has("button", "Start")
	p.click("button", "Start")
	p.until("it runs again", func() bool {
		now := h.service("gateway-default").PID
		return now > 0 && p.shows(strconv.Itoa(now))
	})
}

// A gateway that cannot run is parked, and its page says why.
func TestThePageSaysWhyAServiceIsParked(t *testing.T) {
	h := newHouse(t)
	h.hermes("profile", "create", "outside")
	settings := filepath.Join(h.home, "profiles", "outside", ".env")
	if err := os.WriteFile(settings, []byte("API_SERVER_HOST=0.0.0.0\nAPI_SERVER_KEY=short\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if ordinary != nil {
		os.Chown(settings, ordinary.UID, ordinary.GID)
	}
	p := h.visit("/services/gateway-outside")
	p.drawn("gateway-outside")
	p.click("button", "Start")
	p.sees("parked")
	p.holds("the page says how it ended, and what to do", "/^(?=.*78).*Mend the cause, then start it/.test(document.querySelector('.note')?.textContent)")
	p.sees("API_SERVER_KEY") // as the log has it
	p.image("parked")
}

// The log of a service goes on while it is looked at, and can be searched.
func TestTheLogIsLive(t *testing.T) {
	h := newHouse(t)
	p := h.visit("/services/gateway-default")
	p.sees("listening")
	h.says("gateway-default", "a line that was written now")
	p.sees("a line that was written now")
	for i := range 50 {
		h.says("gateway-default", fmt.Sprintf("number %d of many", i))
	}
	p.sees("number 49 of many")
	p.fill("searchbox", "Search in the log", "number 17")
	p.holds("what is looked for is marked", "document.querySelector('mark')?.textContent === 'number 17'")
	p.holds("the other lines are not there", "!document.querySelector('.log').textContent.includes('number 18')")
}

// says adds a line to the log of a gateway, as its supervisor does.
func (h *house) says(service, line string) {
	h.t.Helper()
	file, err := os.OpenFile(filepath.Join(h.home, "logs", "gateways", service[len("gateway-"):], "current"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		h.t.Fatal(err)
	}
	defer file.Close()
	if _, err := fmt.Fprintf(file, "2026-01-01 00:00:00.000000000  %s\n", line); err != nil {
		h.t.Fatal(err)
	}
}
