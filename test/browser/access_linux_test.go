package browser

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"hermes.example/hermes/test/program"
)

// Who knows the password comes to the page that was asked for, and who does not is told so and stays.
func TestLogin(t *testing.T) {
	h := newHouse(t, withLogin...)
	p := newTab(t)
	p.open(h.url + "/services")
	p.arrives("/login")
	p.image("login")
	p.expects("status of 401")
	p.login("wrong")
	p.sees("wrong")
	if at := p.path(); at != "/login" {
		t.Errorf("a wrong password leads to %s", at)
	}
	if focused := ask[string](p, "document.activeElement.type"); focused != "password" {
		t.Errorf("after a wrong password the focus is on %q", focused)
	}
	p.login(password)
	p.arrives("/services")
	p.sees("gateway-default")
	p.sees(userName)
	p.click("button", "Log out")
	p.arrives("/login")
	p.open(h.url + "/services")
	p.arrives("/login")
}

// The page that comes after the login is one of this dashboard, however an address of another site is written down.
func TestTheLoginLeadsNowhereElse(t *testing.T) {
	h := newHouse(t, withLogin...)
	p := newTab(t)
	p.expects("status of 401") // of what the page still asked for when its session ended
	for _, next := range []string{"//127.0.0.2/", "/\\127.0.0.2/", "/..//127.0.0.2/", "/.//127.0.0.2/", "/a/%2e%2e//127.0.0.2/", "http://127.0.0.2/", "javascript:0"} {
		p.open(h.url + "/login?next=" + url.QueryEscape(next))
		p.login(password)
		p.arrives("/")
		if at := ask[string](p, "location.origin"); at != h.url {
			t.Errorf("after the login %q leads to %s", next, at)
		}
		p.click("button", "Log out")
		p.arrives("/login")
	}
}

// A session that has ended is renewed where the page stands. Where it cannot be, the page leads to the login, and the
// login back to the page.
func TestTheEndOfASession(t *testing.T) {
	h := newHouse(t, withLogin...)
	p := h.visit("/services/gateway-default?x=1")
	p.drawn("gateway-default")
	p.expects("status of 401")
	p.forget("hermes_session_at")
	p.click("link", "Add-ons")
	p.sees("search.exa")
	if !ask[bool](p, "fetch('/api/auth/me').then((answer) => answer.ok)") {
		t.Error("the session was not renewed")
	}
	p.open(h.url + "/services/gateway-default?x=1")
	p.drawn("gateway-default")
	p.forget("hermes_session_at", "hermes_session_rt")
	p.click("button", "Restart")
	p.arrives("/login")
	p.login(password)
	p.arrives("/services/gateway-default")
	p.holds("the query is kept too", "location.search === '?x=1'")
}

// A session whose time is over while its page is open is renewed: nobody notices, and what happens is seen as before.
func TestASessionThatRunsOutIsRenewed(t *testing.T) {
	h := newHouse(t, append(withLogin, "HERMES_DASHBOARD_BASIC_AUTH_TTL_SECONDS=60")...) // it cannot be shorter
	p := h.visit("/services")
	p.sees("gateway-default")
	p.expects("status of 401")
	ask[bool](p, "window.stays = true")
	expires := func() int { // 0 is one that is over, or could not be asked for
		return ask[int](p, "fetch('/api/auth/me').then((answer) => answer.json()).then((me) => me.expires ?? 0).catch(() => 0)")
	}
	first := 0
	p.until("there is a session", func() bool { first = expires(); return first > 0 })
	p.within(2*time.Minute, "there is another session", func() bool { return expires() > first })
	h.hermes("service", "stop", "gateway-default")
	p.sees("down")
	p.holds("the page was not loaded again", "window.stays")
}

// Sessions that a dashboard does not know any more, because another password or key counts, lead to the login.
func TestASessionThatIsNotKnownAnyMoreLeadsToTheLogin(t *testing.T) {
	h := newHouse(t, append(withLogin, "HERMES_DASHBOARD_PORT="+program.FreePort(t))...) // without a secret each start has a key of its own
	p := h.visit("/services/gateway-default")
	p.sees("listening")
	p.expects("(?i)status of 401|ERR_|Failed to load|network")
	h.hermes("service", "restart", "dashboard")
	p.arrives("/login")
	p.login(password)
	p.arrives("/services/gateway-default")
	p.sees("listening")
}

// forget takes cookies away, as the end of their time does. Their names have the dashboard's port, which is none of the
// usual ones here.
func (p *tab) forget(names ...string) {
	p.t.Helper()
	for i, name := range names {
		name += "_" + ask[string](p, "location.port")
		names[i] = name
		for _, path := range []string{"/", "/auth/refresh"} {
			if _, err := chromedp.Call(p.ctx, network.DeleteCookies, network.DeleteCookiesParams{Name: name, URL: ask[string](p, "location.origin") + path, Path: path}); err != nil {
				p.t.Fatal(err)
			}
		}
	}
	origin := ask[string](p, "location.origin")
	left, err := chromedp.Call(p.ctx, network.GetCookies, network.GetCookiesParams{URLs: []string{origin + "/", origin + "/auth/refresh"}})
	if err != nil {
		p.t.Fatal(err)
	}
	for _, c := range left.Cookies {
		for _, name := range names {
			if c.Name == name {
				p.t.Fatalf("the cookie %s of %s is still there", c.Name, c.Path)
			}
		}
	}
}

// Nobody but the first who opens the printed address comes in by it, and its token is nowhere on the page.
func TestTheAddressThatIsPrintedWorksOnce(t *testing.T) {
	h := newHouse(t)
	once := strings.TrimSpace(h.hermes("dashboard", "url"))
	p := newTab(t)
	p.open(once)
	p.drawn("Overview")
	if ask[string](p, "location.search") != "" {
		t.Error("the token is in the address of the page")
	}
	second := newTab(t)
	second.expects("status of 401")
	second.open(once)
	second.sees("does not work")
	second.open(h.url + "/")
	second.arrives("/login")
}

// What was read by scripts of the page is no key: cookies are not among it, and no page elsewhere may show this one.
func TestAPageOfAnotherOriginHasNoUseOfTheSession(t *testing.T) {
	h := newHouse(t)
	p := h.visit("/")
	if cookies := ask[string](p, "document.cookie"); cookies != "" {
		t.Errorf("scripts read the cookies %q", cookies)
	}
	answer, err := http.Get(h.url + "/login")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	other := elsewhere(t, h.url)
	p.expects("(?i)cross-origin|CORS|frame-ancestors|Content Security Policy|status of 4|Failed to load resource|WebSocket")
	p.open(other)
	p.sees("done")
	for _, line := range []string{"read: refused", "change: refused", "frame: empty", "socket: refused"} {
		if !p.shows(line) {
			t.Errorf("a page of another origin: %s; it saw\n%s", line, ask[string](p, "document.body.innerText"))
		}
	}
}
