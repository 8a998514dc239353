package browser

import (
	_ "embed"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

//go:embed testdata/look.js
var looking string

// sight is by what one knows that a page is there: its heading, and something that it has to fetch.
type sight struct{ heading, words string }

// pages are all pages of a house that has a sandbox of the task "work".
var pages = map[string]sight{
	"/":                                {"Overview", "gateway-default"},
	"/services":                        {"Services", "gateway-default"},
	"/services/gateway-default":        {"gateway-default", "listening"},
	"/sandboxes":                       {"Sandboxes", "work"},
	"/sandboxes/default/work":          {"work", "What is enforced"},
	"/sandboxes/default/work/terminal": {"Terminal", "connected"},
	"/addons":                          {"Add-ons", "search.exa"},
	"/profiles":                        {"Profiles", "default"},
}

// furnished is a house in which there is something to see on every page, and somebody who looks at it.
func furnished(t *testing.T) (*house, *tab) {
	t.Helper()
	h := newHouse(t)
	h.hermes("sandbox", "exec", "--task", "work", "--", "true")
	h.hermes("sandbox", "start", "--task", "work", "--", "sh", "-c", "echo it began; sleep 1000")
	return h, h.visit("/")
}

// goes opens a page and waits until it is drawn.
func (p *tab) goes(h *house, path string) {
	p.t.Helper()
	p.open(h.url + path)
	p.drawn(pages[path].heading)
	p.sees(pages[path].words)
}

// drawn waits for a page with a heading.
func (p *tab) drawn(heading string) {
	p.t.Helper()
	p.holds("the page has the heading "+heading, "document.querySelector('h1')?.textContent.includes("+quoted(heading)+") && !document.querySelector('[aria-busy=true]')")
}

// On the narrowest screen that phones have, no page has to be moved sideways, and what is pressed is as large as a finger needs.
func TestPagesFitANarrowScreen(t *testing.T) {
	h, p := furnished(t)
	p.size(360, 740)
	for path := range pages {
		p.goes(h, path)
		if wide := ask[string](p, looking+"; overflowing()"); wide != "" {
			t.Errorf("%s is wider than the screen: %s", path, wide)
		}
		if small := ask[string](p, looking+"; tooSmall()"); small != "" {
			t.Errorf("%s has what is too small to be pressed: %s", path, small)
		}
		p.shot("narrow" + strings.ReplaceAll(path, "/", "-"))
	}
	p.click("button", "Log out")
	p.arrives("/login")
	if wide := ask[string](p, looking+"; overflowing()"); wide != "" {
		t.Errorf("the login is wider than the screen: %s", wide)
	}
}

// In both themes every text can be read: the contrast is what WCAG 2.1 asks for at level AA.
func TestBothThemesCanBeRead(t *testing.T) {
	h, p := furnished(t)
	backgrounds := make(map[string]string)
	for _, theme := range []string{"light", "dark"} {
		p.prefers("prefers-color-scheme", theme)
		for path := range pages {
			p.goes(h, path)
			if faint := ask[string](p, looking+"; faint()"); faint != "" {
				t.Errorf("%s in %s: %s", path, theme, faint)
			}
			p.shot(theme + strings.ReplaceAll(path, "/", "-"))
		}
		backgrounds[theme] = ask[string](p, "getComputedStyle(document.body).backgroundColor")
	}
	if backgrounds["light"] == backgrounds["dark"] {
		t.Errorf("both themes are %s", backgrounds["light"])
	}
	p.goes(h, "/")
	p.click("button", "Light or dark")
	p.holds("the switch chooses the other one", "getComputedStyle(document.body).backgroundColor === "+quoted(backgrounds["light"]))
	p.goes(h, "/services")
	p.holds("the choice is kept", "getComputedStyle(document.body).backgroundColor === "+quoted(backgrounds["light"]))
}

// Tab reaches everything that a mouse can press, and shows where one is.
func TestEverythingIsReachedByKeyboard(t *testing.T) {
	h, p := furnished(t)
	for path := range pages {
		if strings.HasSuffix(path, "/terminal") {
			continue // there Tab is the shell's: TestTheTerminalCanBeLeftByKeyboard
		}
		p.goes(h, path)
		ask[bool](p, looking+"; document.activeElement.blur(); window.reached = new Set(); true")
		for pressed := 0; pressed < ask[int](p, looking+"; pressable().length")+5; pressed++ { // more may come while we go
			p.keys(kb.Tab)
			if hidden := ask[string](p, looking+"; focused()"); hidden != "" {
				t.Errorf("%s: nobody sees that the focus is on %s", path, hidden)
			}
		}
		if left := ask[string](p, looking+"; unreached()"); left != "" {
			t.Errorf("%s: Tab does not reach %s", path, left)
		}
	}
}

// Links and buttons do by Enter what they do by a click, and the focus moves to what was opened.
func TestEnterFollowsLinks(t *testing.T) {
	h, p := furnished(t)
	p.goes(h, "/")
	p.keys(kb.Tab)
	if first := ask[string](p, "document.activeElement.textContent"); first != "Skip to the content" {
		t.Errorf("Tab first reaches %q", first)
	}
	p.keys(kb.Enter)
	p.holds("the focus skips the navigation", "document.activeElement.id === 'main'")
	p.goes(h, "/")
	for range 20 {
		p.keys(kb.Tab)
		if ask[string](p, "document.activeElement.getAttribute('href') ?? ''") == "/services" {
			break
		}
	}
	p.keys(kb.Enter)
	p.drawn("Services")
	p.holds("the heading has the focus", "document.activeElement === document.querySelector('h1')")
	p.keys("g")
	p.keys("b")
	p.drawn("Sandboxes")
	p.keys("?", chromedp.ModifierShift)
	p.has("dialog", "Keys")
	p.keys(kb.Escape)
	p.holds("Escape closes it", "!document.querySelector('dialog')")
	p.do(chromedp.NavigateBack())
	p.drawn("Services")
}

// The same document in two sizes has one heading, a language, and names for everything that can be pressed.
func TestEverythingHasAName(t *testing.T) {
	h, p := furnished(t)
	for path := range pages {
		p.goes(h, path)
		if n := ask[int](p, "document.querySelectorAll('h1').length"); n != 1 {
			t.Errorf("%s has %d headings of the first level", path, n)
		}
		for _, role := range []string{"button", "link", "textbox", "searchbox", "combobox", "checkbox", "img"} {
			for _, e := range p.look(role, "") {
				if e.name == "" {
					t.Errorf("%s: a %s has no name: %s", path, role, fmt.Sprint(e.node.Properties))
				}
			}
		}
	}
}

// An address that leads nowhere is told by a page, from which one comes to the others.
func TestAWrongAddressIsTold(t *testing.T) {
	h := newHouse(t)
	p := h.visit("/")
	p.expects("404")
	p.open(h.url + "/servcies")
	p.drawn("There is no such page")
	p.click("link", "Go to the overview")
	p.drawn("Overview")
	p.open(h.url + "/services/")
	p.drawn("Services")
	p.sees("gateway-default")
}
