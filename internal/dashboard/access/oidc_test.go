package access

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"hermes.example/hermes/internal/config"
)

func TestAnAccountThatIsAllowedComesIn(t *testing.T) {
	l := newLiar(t)
	s := trusting(t, l, "me@here.example")
	j := begin(t, s, l, "/services/x?a=1")
	q := j.to.Query()
	if j.to.Path != "/authorize" || q.Get("redirect_uri") != "http://localhost:9119/auth/callback" || q.Get("code_challenge_method") != "S256" ||
		q.Get("scope") != "openid email" || q.Get("response_type") != "code" || len(q.Get("state")) < 20 || len(q.Get("nonce")) < 20 {
		t.Errorf("sent to %s", j.to)
	}
	if c := j.cookies[0]; c.Name != "hermes_login" || c.SameSite != http.SameSiteLaxMode || !c.HttpOnly || c.Path != callbackPath || c.MaxAge != 600 {
		t.Errorf("the cookie of a login: %+v", c)
	}
	r := j.end(nil)
	page, _ := io.ReadAll(r.Body)
	if r.StatusCode != 200 || !strings.Contains(string(page), `content="0; url=/services/x?a=1"`) || !strings.Contains(string(page), `<link rel="icon" href="/assets/icon.svg">`) {
		t.Errorf("%d %s", r.StatusCode, page)
	}
	in := sessions(r)
	if len(in) != 1 || in[0].SameSite != http.SameSiteStrictMode {
		t.Fatalf("cookies %v", r.Cookies())
	}
	for _, c := range r.Cookies() {
		if c.Name == "hermes_session_rt" {
			t.Error("the session renews itself without the issuer")
		}
		if c.Name == "hermes_login" && c.MaxAge >= 0 {
			t.Error("the login can be used again")
		}
	}
	if me := bodyOf(t, s.ask("GET", "/api/auth/me", withCookies(in))); me["user"] != "me@here.example" {
		t.Errorf("me: %v", me)
	}
	if l.secret != "of-the-client" || strings.Contains(s.log.String(), "of-the-client") {
		t.Errorf("the issuer was shown %q, the log has %s", l.secret, s.log)
	}
}

func TestWhoIsAllowed(t *testing.T) {
	verified := map[string]any{"sub": "17", "email": "Me@Here.example", "email_verified": true}
	for name, test := range map[string]struct {
		allow   []string
		claims  map[string]any
		info    map[string]any
		allowed bool
	}{
		"an address":                      {[]string{"me@HERE.example"}, verified, nil, true},
		"another address":                 {[]string{"you@here.example"}, verified, nil, false},
		"an address nobody has verified":  {[]string{"me@here.example"}, map[string]any{"email_verified": false}, nil, false},
		"an address nobody speaks about":  {[]string{"me@here.example"}, map[string]any{"email_verified": nil}, nil, false},
		"verified in words":               {[]string{"me@here.example"}, map[string]any{"email_verified": "true"}, nil, true},
		"a subject":                       {[]string{"sub:17"}, verified, nil, true},
		"another subject":                 {[]string{"sub:1", "sub:170"}, verified, nil, false},
		"a group":                         {[]string{"group:admins"}, map[string]any{"groups": []any{"users", "admins"}}, nil, true},
		"a group that stands alone":       {[]string{"group:admins"}, map[string]any{"groups": "admins"}, nil, true},
		"another group":                   {[]string{"group:admins"}, map[string]any{"groups": []any{"admin", 7, nil}}, nil, false},
		"a group named like an address":   {[]string{"me2@here.example"}, map[string]any{"groups": []any{"me2@here.example"}}, nil, false},
		"a subject named like everybody":  {[]string{"sub:1"}, map[string]any{"sub": "*"}, nil, false},
		"everybody":                       {[]string{"*"}, map[string]any{"email": nil}, nil, true},
		"an address that is asked for":    {[]string{"me@here.example"}, map[string]any{"email": nil, "email_verified": nil}, map[string]any{"sub": "17", "email": "me@here.example", "email_verified": true}, true},
		"a group that is asked for":       {[]string{"group:admins"}, nil, map[string]any{"sub": "17", "groups": []any{"admins"}}, true},
		"what is said of another account": {[]string{"group:admins"}, nil, map[string]any{"sub": "18", "groups": []any{"admins"}}, false},
		"what is said of nobody":          {[]string{"group:admins"}, nil, map[string]any{"groups": []any{"admins"}}, false},
		"half here and half there":        {[]string{"me@here.example"}, map[string]any{"email_verified": true, "email": "x@here.example"}, map[string]any{"sub": "17", "email": "me@here.example"}, false},
	} {
		l := newLiar(t)
		l.info = test.info
		s := trusting(t, l, test.allow...)
		j := begin(t, s, l, "/")
		for claim, value := range test.claims {
			if l.claims[claim] = value; value == nil {
				delete(l.claims, claim)
			}
		}
		r := j.end(nil)
		if in := len(sessions(r)) == 1; in != test.allowed || !in && r.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %d %v\n%s", name, r.StatusCode, bodyOf(t, r), s.log)
		}
	}
}

func TestWhatAnIssuerSaysMustBeBelievable(t *testing.T) {
	claim := func(name string, value any) func(*liar, *journey) {
		return func(l *liar, _ *journey) { l.claims[name] = value }
	}
	for name, lie := range map[string]func(*liar, *journey){
		"another nonce":             claim("nonce", "AAAA"),
		"no nonce":                  claim("nonce", nil),
		"for another program":       claim("aud", "other"),
		"for two, and made for one": func(l *liar, _ *journey) { l.claims["aud"], l.claims["azp"] = []any{"hermes", "other"}, "other" },
		"of another issuer":         claim("iss", "https://other.example"),
		"old":                       func(l *liar, j *journey) { l.claims["exp"] = j.s.clock.at.Add(-time.Second).Unix() },
		"about nobody":              claim("sub", ""),
		"another key":               func(l *liar, _ *journey) { l.signs = testKeys[1] },
		"no signature":              func(l *liar, _ *journey) { l.alg = "none" },
		"a signature of anybody's":  func(l *liar, _ *journey) { l.alg = "HS256" },
		"another verifier":          func(l *liar, _ *journey) { l.challenge = "of another login" },
	} {
		l := newLiar(t)
		s := trusting(t, l, "*")
		j := begin(t, s, l, "/")
		lie(l, j)
		if r := j.end(nil); r.StatusCode != http.StatusForbidden || len(sessions(r)) != 0 || bodyOf(t, r)["error"] != disbelieved.says {
			t.Errorf("%s: %d, %v", name, r.StatusCode, r.Cookies())
		}
		if !strings.Contains(s.log.String(), "a login was refused") {
			t.Errorf("%s: the log says nothing:\n%s", name, s.log)
		}
	}
}

func TestOnlyALoginThatWasBegunHereEndsHere(t *testing.T) {
	l := newLiar(t)
	s := trusting(t, l, "*")
	mine, other := begin(t, s, l, "/"), begin(t, s, l, "/")
	token, _ := s.a.signer.issue(access, of("me"), time.Hour)
	for name, test := range map[string]struct {
		j      *journey
		change func(url.Values)
	}{
		"no cookie":              {&journey{s, mine.to, nil}, nil},
		"the cookie of another":  {&journey{s, mine.to, other.cookies}, nil},
		"a cookie of a session":  {&journey{s, mine.to, []*http.Cookie{{Name: "hermes_login", Value: token}}}, nil},
		"a cookie that is none":  {&journey{s, mine.to, []*http.Cookie{{Name: "hermes_login", Value: "x"}}}, nil},
		"no state":               {mine, func(v url.Values) { v.Del("state") }},
		"another state":          {mine, func(v url.Values) { v.Set("state", "x") }},
		"the state of the other": {mine, func(v url.Values) { v.Set("state", other.to.Query().Get("state")) }},
	} {
		if r := test.j.end(test.change); r.StatusCode != http.StatusBadRequest || len(sessions(r)) != 0 {
			t.Errorf("%s: %d", name, r.StatusCode)
		}
	}
	if s.ask("GET", "/api/auth/me", func(r *http.Request) {
		r.AddCookie(&http.Cookie{Name: "hermes_session_at", Value: other.cookies[0].Value})
	}).StatusCode != 401 {
		t.Error("a login that has begun is a session")
	}
	if r := other.end(func(v url.Values) { v.Set("iss", "https://other.example") }); r.StatusCode != http.StatusForbidden || len(sessions(r)) != 0 {
		t.Errorf("another issuer's answer: %d", r.StatusCode)
	}
	if r := other.end(func(v url.Values) { v.Set("error", "access_denied") }); r.StatusCode != http.StatusForbidden || bodyOf(t, r)["error"] != denied.says || len(sessions(r)) != 0 {
		t.Errorf("denied: %d", r.StatusCode)
	}
	s.clock.at = s.clock.at.Add(loginTime)
	if r := other.end(nil); r.StatusCode != http.StatusBadRequest || len(sessions(r)) != 0 {
		t.Errorf("too late: %d", r.StatusCode)
	}
}

// However the page is named that is to come after a login, it is one of this dashboard, and nothing but an address.
func TestALoginByAnIssuerLeadsNowhereElse(t *testing.T) {
	l := newLiar(t)
	s := trusting(t, l, "*")
	for next, want := range map[string]string{"//evil.example": "/", "https://evil.example/": "/", "/\\evil.example": "/", "/auth/once?token=x": "/",
		`/services?x="><script>&y='`: "/services?x=&#34;&gt;&lt;script&gt;&amp;y=&#39;", "/services/x": "/services/x"} {
		page, _ := io.ReadAll(begin(t, s, l, next).end(nil).Body)
		if !strings.Contains(string(page), `content="0; url=`+want+`"`) || strings.Contains(string(page), "<script") {
			t.Errorf("%s: %s", next, page)
		}
	}
}

func TestLoginsByAnIssuerAreLimitedToo(t *testing.T) {
	l := newLiar(t)
	s := trusting(t, l, "*")
	j := begin(t, s, l, "/")
	for i := range tries {
		if r := j.end(func(v url.Values) { v.Set("code", "a guess") }); r.StatusCode != http.StatusForbidden {
			t.Fatalf("try %d: %d", i, r.StatusCode)
		}
	}
	if r := j.end(nil); r.StatusCode != http.StatusTooManyRequests {
		t.Errorf("%d", r.StatusCode)
	}
}

// A person is shown the page of the login, with a sentence of ours and of nobody else.
func TestAPersonIsToldWhyALoginFailed(t *testing.T) {
	l := newLiar(t)
	s := trusting(t, l, "sub:1")
	html := func(r *http.Request) { r.Header.Set("Accept", "text/html,application/xhtml+xml") }
	j := begin(t, s, l, "/")
	for path, word := range map[string]string{
		oauthPath + "?provider=none": "unknown",
		callbackPath + "?state=x":    "stale",
		oncePath + "?token=x":        "once",
		callbackPath + "?code=the+code&state=" + j.to.Query().Get("state"): "stranger",
	} {
		r := s.ask("GET", path, func(r *http.Request) { html(r); withCookies(j.cookies)(r) })
		if r.StatusCode != http.StatusSeeOther || r.Header.Get("Location") != "/login?error="+word {
			t.Errorf("%s: %d to %s", path, r.StatusCode, r.Header.Get("Location"))
		}
		if says := bodyOf(t, s.ask("GET", "/api/auth/providers?error="+word, nil))["error"]; says == nil || says != sentence(word) {
			t.Errorf("%s means %v", word, says)
		}
	}
	if says := bodyOf(t, s.ask("GET", "/api/auth/providers?error=call+this+number", nil))["error"]; says != nil {
		t.Errorf("somebody else's words are shown: %v", says)
	}
	if !strings.Contains(s.log.String(), "sub=17") {
		t.Errorf("who runs this does not learn whom to allow:\n%s", s.log)
	}
}

func TestWhatIsMissingIsSaidWhereOneLogsIn(t *testing.T) {
	whole := config.OpenID{Issuer: "https://i.example", ClientID: "id", Allow: []string{"me@here.example"}}
	for name, test := range map[string]struct {
		change func(*config.Dashboard)
		says   string
	}{
		"nothing":           {func(d *config.Dashboard) {}, ""},
		"a list":            {func(d *config.Dashboard) { d.OIDC.Allow = nil }, "set HERMES_DASHBOARD_OIDC_ALLOW"},
		"a list of sense":   {func(d *config.Dashboard) { d.OIDC.Allow = []string{"alice", "@", "group:", "sub:"} }, "set HERMES_DASHBOARD_OIDC_ALLOW"},
		"privacy":           {func(d *config.Dashboard) { d.OIDC.Issuer = "http://i.example" }, "HERMES_DASHBOARD_OIDC_ISSUER is no https address"},
		"an address":        {func(d *config.Dashboard) { d.Host, d.PublicURL = "0.0.0.0", "" }, "set HERMES_DASHBOARD_PUBLIC_URL"},
		"no address needed": {func(d *config.Dashboard) { d.PublicURL = "" }, ""},
	} {
		s := newSite(t, func(d *config.Dashboard) {
			noLogin(d)
			d.OIDC, d.PublicURL = whole, "https://me.example"
			test.change(d)
		})
		listed := bodyOf(t, s.ask("GET", "/api/auth/providers", nil))["providers"].([]any)[0].(map[string]any)
		problem, _ := listed["problem"].(string)
		if listed["name"] != "oidc" || (test.says == "") != (problem == "") || !strings.Contains(problem, test.says) {
			t.Errorf("%s: %v", name, listed)
		}
		if test.says == "" {
			continue
		}
		if r := s.ask("GET", oauthPath+"?provider=oidc", nil); r.StatusCode != http.StatusServiceUnavailable || !strings.Contains(bodyOf(t, r)["error"].(string), test.says) {
			t.Errorf("%s: %d", name, r.StatusCode)
		}
		if !strings.Contains(s.log.String(), test.says) {
			t.Errorf("%s: the log: %s", name, s.log)
		}
	}
}

func TestAnIssuerThatIsNone(t *testing.T) {
	for name, change := range map[string]func(*liar){
		"gone":               func(l *liar) { l.Close() },
		"another one":        func(l *liar) { l.change = func(d map[string]any) { d["issuer"] = "https://other.example" } },
		"one that is open":   func(l *liar) { l.change = func(d map[string]any) { d["token_endpoint"] = "http://i.example/token" } },
		"one of open keys":   func(l *liar) { l.change = func(d map[string]any) { d["jwks_uri"] = "http://i.example/keys" } },
		"one that tells all": func(l *liar) { l.change = func(d map[string]any) { d["userinfo_endpoint"] = "http://i.example/me" } },
		"one without a door": func(l *liar) { l.change = func(d map[string]any) { delete(d, "authorization_endpoint") } },
		"one of many words":  func(l *liar) { l.change = func(d map[string]any) { d["x"] = strings.Repeat("x", 2*longestReply) } },
	} {
		l := newLiar(t)
		s := trusting(t, l, "*")
		change(l)
		r := s.ask("GET", oauthPath+"?provider=oidc", nil)
		if r.StatusCode != http.StatusBadGateway || len(r.Cookies()) != 0 {
			t.Errorf("%s: %d", name, r.StatusCode)
		}
	}
}

// An issuer that does not answer is not asked by everybody who tries, and again when it may have come back.
func TestAnIssuerIsAskedAgain(t *testing.T) {
	l := newLiar(t)
	l.change = func(d map[string]any) { delete(d, "token_endpoint") }
	s := trusting(t, l, "*")
	for range 5 {
		s.ask("GET", oauthPath+"?provider=oidc", nil)
	}
	if l.asked != 1 {
		t.Errorf("it was asked %d times", l.asked)
	}
	l.change = func(map[string]any) {}
	s.clock.at = s.clock.at.Add(askAgain)
	for range 2 {
		begin(t, s, l, "/")
	}
	if l.asked != 2 {
		t.Errorf("it was asked %d times", l.asked)
	}
}

// Another list of who may come in ends the sessions of who came in by the old one.
func TestAnotherListEndsSessions(t *testing.T) {
	l := newLiar(t)
	secret := func(s *config.Dashboard) { s.Basic.Secret = config.NewSecret("a secret that is long enough") }
	made := func(allow ...string) *site {
		return newSite(t, func(d *config.Dashboard) {
			noLogin(d)
			secret(d)
			d.PublicURL, d.OIDC = "http://localhost:9119", config.OpenID{Issuer: l.URL, ClientID: "hermes", Allow: allow}
		})
	}
	first := made("me@here.example")
	in := sessions(begin(t, first, l, "/").end(nil))
	for want, s := range map[int]*site{200: made("me@here.example"), 401: made("you@here.example")} {
		if got := s.ask("GET", "/api/auth/me", withCookies(in)).StatusCode; got != want {
			t.Errorf("after a restart: %d instead of %d", got, want)
		}
	}
}
