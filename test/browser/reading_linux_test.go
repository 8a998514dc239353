package browser

import (
	"fmt"
	"strconv"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// A page is drawn anew whenever something changed, and leaves the focus and what is open where they are.
func TestFocusSurvivesAChange(t *testing.T) {
	h := newHouse(t)
	p := h.visit("/services")
	p.drawn("Services")
	before := h.service("gateway-default").PID
	p.sees(strconv.Itoa(before))
	ask[bool](p, "window.mine = [...document.querySelectorAll('main a')].find((a) => a.textContent === 'gateway-default'); mine.focus(); true")
	if err := syscall.Kill(before, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	p.until("another process is shown", func() bool {
		now := h.service("gateway-default").PID
		return now > 0 && now != before && p.shows(strconv.Itoa(now))
	})
	if !ask[bool](p, "mine.isConnected && document.activeElement === mine") {
		t.Errorf("the focus went to %s", ask[string](p, "document.activeElement.outerHTML"))
	}
}

// Who thinks better of a stop has stopped nothing, and is where he was.
func TestAStopIsAskedAboutFirst(t *testing.T) {
	h := newHouse(t)
	p := h.visit("/services/gateway-default")
	p.drawn("gateway-default")
	before := h.service("gateway-default").PID
	ask[bool](p, "[...document.querySelectorAll('main button')].find((b) => b.textContent === 'Stop').focus(); true")
	p.keys(kb.Enter)
	p.has("dialog", "Stop gateway-default?")
	p.keys(kb.Enter) // the button that has the focus does no harm
	p.holds("the question is gone", "!document.querySelector('dialog')")
	p.holds("the focus is where it was", "document.activeElement.textContent === 'Stop'")
	if now := h.service("gateway-default").PID; now != before {
		t.Errorf("the gateway was process %d and is %d", before, now)
	}
}

// The plots are read with keys, all at the same moment, and as a table.
func TestPlotsAreReadByKeyboard(t *testing.T) {
	h := newHouse(t)
	p := h.visit("/")
	p.drawn("Overview")
	p.holds("something was measured", "document.querySelectorAll('.plot .area, .plot .lone').length > 1")
	ask[bool](p, "document.querySelector('.plot-canvas').focus(); true")
	p.keys(kb.End)
	p.holds("the last value is told", "document.activeElement.getAttribute('aria-valuetext').includes('%')")
	p.keys(kb.Home)
	p.holds("what was not measured is not called nothing", "document.activeElement.getAttribute('aria-valuetext').includes('not known')")
	if n := ask[int](p, "document.querySelectorAll('.plot .cursor').length"); n != 3 {
		t.Errorf("%d of 3 plots show the moment", n)
	}
	p.keys(kb.Escape)
	p.holds("Escape goes back to now", "!document.querySelector('.plot .cursor')")
	ask[bool](p, "document.querySelector('.figures summary').click(); true")
	p.holds("there is a row for each five minutes", "document.querySelectorAll('.figures tbody tr').length === 12")
	p.holds("the newest has figures", "/%.*MB/.test(document.querySelector('.figures tbody tr').textContent)")
}

// A log that goes on does not pull away what somebody reads, and says how much came meanwhile.
func TestALogIsReadInPeace(t *testing.T) {
	h := newHouse(t)
	p := h.visit("/services/gateway-default")
	p.sees("listening")
	for i := range 200 {
		h.says("gateway-default", fmt.Sprintf("the line %d of before", i))
	}
	p.sees("the line 199 of before")
	p.holds("the end is shown", "((log) => log.scrollTop > 0 && log.scrollHeight - log.scrollTop - log.clientHeight < 4)(document.querySelector('.log'))")
	ask[bool](p, "document.querySelector('.log').focus(); true")
	p.keys(kb.Home)
	p.holds("its beginning is shown", "document.querySelector('.log').scrollTop === 0")
	lines := ask[int](p, "document.querySelector('.log').childElementCount")
	for i := range 20 {
		h.says("gateway-default", fmt.Sprintf("the line %d of later", i))
	}
	p.sees("20 new lines")
	if now := ask[int](p, "document.querySelector('.log').scrollTop"); now != 0 {
		t.Errorf("the log was moved by %d pixels", now)
	}
	if now := ask[int](p, "document.querySelector('.log').childElementCount"); now != lines {
		t.Errorf("there were %d lines and are %d", lines, now)
	}
	p.click("button", "Follow")
	p.sees("the line 19 of later")
	p.holds("the end is shown again", "((log) => log.scrollHeight - log.scrollTop - log.clientHeight < 4)(document.querySelector('.log'))")
}

// A page that nobody sees gives its connection back, and has missed nothing when it is looked at again.
func TestAHiddenPageHoldsNoConnection(t *testing.T) {
	h := newHouse(t)
	p := h.visit("/services")
	p.drawn("Services")
	before := h.service("gateway-default").PID
	p.sees(strconv.Itoa(before))
	const ended = "performance.getEntriesByType('resource').some((e) => new URL(e.name).pathname === '/api/events')"
	if ask[bool](p, ended) {
		t.Fatal("the stream of the page has ended before it was hidden")
	}
	hide := func(yes bool) {
		ask[bool](p, fmt.Sprintf("Object.defineProperty(document, 'hidden', { value: %t, configurable: true }); document.dispatchEvent(new Event('visibilitychange'))", yes))
	}
	hide(true)
	p.holds("its stream is ended", ended)
	if ask[bool](p, "!document.getElementById('banner').hidden") {
		t.Error("a page that let its connection go calls it lost")
	}
	h.hermes("gateway", "restart")
	hide(false)
	p.until("what happened meanwhile is shown", func() bool {
		now := h.service("gateway-default").PID
		return now > 0 && now != before && p.shows(strconv.Itoa(now))
	})
}
