package access

import (
	"net/http"
	"testing"
	"time"

	"hermes.example/hermes/internal/config"
)

// markOf is the mark that a page reads which has these cookies.
func markOf(t *testing.T, s *site, cookies []*http.Cookie) string {
	t.Helper()
	mark, _ := bodyOf(t, s.ask("GET", "/api/auth/me", withCookies(cookies)))["csrf"].(string)
	if mark == "" {
		t.Fatal("there is no mark")
	}
	return mark
}

func TestAChangeNeedsTheMarkOfItsSession(t *testing.T) {
	s := newSite(t, nil)
	mine, others := s.login("me", "pw", nil).Cookies(), s.login("me", "pw", nil).Cookies()
	mark := markOf(t, s, mine)
	for name, test := range map[string]struct {
		mark    string
		allowed bool
	}{
		"its own": {mark, true}, "none": {"", false}, "that of another login": {markOf(t, s, others), false},
		"a part": {mark[:len(mark)-1], false}, "the session itself": {mine[1].Value, false},
	} {
		for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "BREW"} {
			for _, path := range []string{"/api/services/x/stop", "/api/profiles/default/v1/sandboxes", "/anything", logoutPath} {
				if path == logoutPath && method != "POST" {
					continue
				}
				r := s.ask(method, path, func(r *http.Request) { withCookies(mine)(r); r.Header.Set(markHeader, test.mark) })
				if (r.StatusCode == http.StatusForbidden) == test.allowed {
					t.Errorf("%s %s with %s: %d", method, path, name, r.StatusCode)
				}
			}
		}
		if r := s.ask("GET", "/api/overview", func(r *http.Request) { withCookies(mine)(r); r.Header.Set(markHeader, test.mark) }); r.StatusCode != http.StatusTeapot {
			t.Errorf("a look with %s: %d", name, r.StatusCode)
		}
	}
}

// A page that is open while another one renews the session goes on with the mark that it has.
func TestAMarkOutlastsItsSession(t *testing.T) {
	s := newSite(t, func(d *config.Dashboard) { d.Basic.TTL = time.Hour })
	given := s.login("me", "pw", nil).Cookies()
	mark := markOf(t, s, given)
	s.clock.at = s.clock.at.Add(2 * time.Hour)
	renewed := s.ask("POST", refreshPath, withCookies(given))
	if got := bodyOf(t, renewed)["csrf"]; got != mark {
		t.Errorf("the new session has another mark: %v", got)
	}
	r := s.ask("POST", "/api/services/x/stop", func(r *http.Request) { withCookies(renewed.Cookies())(r); r.Header.Set(markHeader, mark) })
	if r.StatusCode != http.StatusTeapot {
		t.Errorf("%d", r.StatusCode)
	}
}
