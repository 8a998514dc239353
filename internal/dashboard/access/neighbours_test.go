package access

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"strings"
	"testing"

	"hermes.example/hermes/internal/config"
)

// Browsers keep the cookies of a host together, whatever the port: who logs in at one dashboard of a machine, or out of
// it, stays logged in at the others.
func TestTwoDashboardsOfOneHostKnowTheirOwnSessions(t *testing.T) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	status := func(method, address, body string, change func(*http.Request)) (int, string) {
		t.Helper()
		r, err := http.NewRequest(method, address, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		if change != nil {
			change(r)
		}
		got, err := browser.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer got.Body.Close()
		text, _ := io.ReadAll(got.Body)
		return got.StatusCode, string(text)
	}
	var at []string
	for _, name := range []string{"one", "two"} {
		s := newSite(t, func(d *config.Dashboard) { d.Basic = cheap(name, "pw", "") })
		server := httptest.NewServer(s.handler)
		t.Cleanup(server.Close)
		at = append(at, server.URL)
		if got, text := status("POST", server.URL+passwordPath, `{"username":"`+name+`","password":"pw"}`, nil); got != http.StatusOK {
			t.Fatalf("%d %s", got, text)
		}
	}
	for i, name := range []string{"one", "two"} {
		if got, text := status("GET", at[i]+"/api/auth/me", "", nil); got != http.StatusOK || !strings.Contains(text, `"user":"`+name+`"`) {
			t.Errorf("after a login at both, %s: %d %s", name, got, text)
		}
		if got, text := status("POST", at[i]+refreshPath, "", nil); got != http.StatusOK {
			t.Errorf("the session of %s is not renewed: %d %s", name, got, text)
		}
	}
	_, me := status("GET", at[0]+"/api/auth/me", "", nil)
	_, mark, _ := strings.Cut(me, `"csrf":"`)
	mark, _, _ = strings.Cut(mark, `"`)
	if got, text := status("POST", at[0]+logoutPath, "", func(r *http.Request) { r.Header.Set(markHeader, mark) }); got != http.StatusOK {
		t.Fatalf("logging out: %d %s", got, text)
	}
	for i, want := range []int{http.StatusUnauthorized, http.StatusOK} {
		if got, text := status("GET", at[i]+"/api/auth/me", "", nil); got != want {
			t.Errorf("after logging out of the first, the %d: %d %s", i, got, text)
		}
	}
}

func TestTheNamesOfCookies(t *testing.T) {
	for from, want := range map[caller]string{
		{host: "localhost:9119"}:              "hermes_session_at",
		{host: "localhost"}:                   "hermes_session_at",
		{host: "[::1]"}:                       "hermes_session_at",
		{host: "[::1]:9200"}:                  "hermes_session_at_9200",
		{host: "localhost:9200"}:              "hermes_session_at_9200",
		{host: "me.example", https: true}:     "__Host-hermes_session_at",
		{host: "me.example:81", https: true}:  "__Host-hermes_session_at_81",
		{host: "localhost:a=b"}:               "hermes_session_at",
		{host: "localhost:99999999999999999"}: "hermes_session_at",
	} {
		if got := accessCookie.name(from); got != want {
			t.Errorf("%+v: %s", from, got)
		}
	}
}
