package access

import (
	"net"
	"strings"
	"testing"

	"hermes.example/hermes/internal/config"
)

// The address that works once is there where nobody could come in otherwise, and only on loopback. It is that of the
// dashboard itself, for the one that people know may lead here by a proxy only.
func TestWhatIsPrintedToBeOpened(t *testing.T) {
	usable := config.OpenID{Issuer: "https://i.example", ClientID: "id", Allow: []string{"me@here.example"}}
	for name, test := range map[string]struct {
		change func(*config.Dashboard)
		open   string
		once   bool
	}{
		"no login":                      {noLogin, "http://127.0.0.1:9119/auth/once?token=", true},
		"no login, and known elsewhere": {func(d *config.Dashboard) { noLogin(d); d.PublicURL = "https://me.example" }, "http://127.0.0.1:9119/auth/once?token=", true},
		"a password":                    {func(*config.Dashboard) {}, "http://127.0.0.1:9119/", false},
		"a password, known elsewhere":   {func(d *config.Dashboard) { d.PublicURL = "https://me.example" }, "https://me.example", false},
		"an issuer":                     {func(d *config.Dashboard) { noLogin(d); d.OIDC = usable }, "http://127.0.0.1:9119/", false},
		"an issuer that allows nobody":  {func(d *config.Dashboard) { noLogin(d); d.OIDC = usable; d.OIDC.Allow = nil }, "http://127.0.0.1:9119/auth/once?token=", true},
		"that, beyond loopback":         {func(d *config.Dashboard) { noLogin(d); d.OIDC = usable; d.OIDC.Allow, d.Host = nil, "0.0.0.0" }, "http://127.0.0.1:9119/", false},
	} {
		s := newSite(t, test.change)
		open := s.a.Open(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9119})
		if (s.a.once != nil) != test.once || !strings.HasPrefix(open, test.open) || !test.once && open != test.open {
			t.Errorf("%s: %s, once: %v", name, open, s.a.once != nil)
		}
	}
}

func TestWhatIsPassedOverIsInTheLog(t *testing.T) {
	s := newSite(t, func(d *config.Dashboard) {
		d.Ignored = []string{"a proxy that is none"}
		d.OIDC = config.OpenID{Issuer: "https://i.example", ClientID: "id", Allow: []string{"alice", "*"}}
	})
	for _, line := range []string{"a proxy that is none", `HERMES_DASHBOARD_OIDC_ALLOW has \"alice\"`, "everybody who has an account there may come in"} {
		if !strings.Contains(s.log.String(), line) {
			t.Errorf("it does not say %s:\n%s", line, s.log)
		}
	}
}

// How an account is called is shown on pages and written into the log: nobody passes for another by it.
func TestHowAnAccountIsCalled(t *testing.T) {
	for name, test := range map[string]struct {
		a    account
		want string
	}{
		"by its address":                 {account{Subject: "17", Email: "Me@Here.example", Verified: true, Name: "me"}, "me@here.example"},
		"not by one that nobody checked": {account{Subject: "17", Email: "boss@here.example", Name: "me"}, "me"},
		"by its subject":                 {account{Subject: "17"}, "17"},
		"by nothing":                     {account{}, "somebody"},
		"in one line":                    {account{Name: "me\nlevel=INFO\tmsg=x\x00\u0085"}, "melevel=INFOmsg=x"},
		"from left to right":             {account{Name: "\u202eme\u2066"}, "me"},
		"in so many letters":             {account{Name: strings.Repeat("é", 100)}, strings.Repeat("é", 64)},
		"in whole letters":               {account{Name: "x" + strings.Repeat("é", 100)}, "x" + strings.Repeat("é", 63)},
		"by more than spaces":            {account{Name: " \t ", Subject: " a  b "}, "a b"},
	} {
		if got := test.a.shown(); got != test.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
