package boot

import (
	"os"
	"strings"
	"testing"
)

func TestCredentialsAreSeededOnce(t *testing.T) {
	const seed, file = `{"providers":{"nous":{"token":"s3cret"}}}`, "opt/data/auth.json"
	f := newFixture(t, "HERMES_AUTH_JSON_BOOTSTRAP="+seed)
	r := f.boot()
	if f.read(file) != seed || f.mode(file) != 0o600 || f.owner(file) != hermes {
		t.Errorf("%s %v %v", f.read(file), f.mode(file), f.owner(file))
	}
	if strings.Contains(strings.Join(r.Environ(), "\n"), "s3cret") || strings.Contains(f.log.String(), "s3cret") {
		t.Error("the secret is handed on")
	}
	f.must(os.WriteFile(f.at(file), []byte("mine"), 0o600))
	if f.again(r); f.read(file) != "mine" {
		t.Error("it was seeded again")
	}
	for _, bad := range []string{"s3cret", "[]", "null", `{"a":`, `"x"`} {
		f := newFixture(t, "HERMES_AUTH_JSON_BOOTSTRAP="+bad)
		if r := f.boot(); len(r.Shortfalls) != 1 || f.exists(file) || strings.Contains(f.log.String(), "s3cret") {
			t.Errorf("%q: %q", bad, r.Shortfalls)
		}
	}
}

func TestASessionThatEndedIsSeededAgain(t *testing.T) {
	seed := func(at string) string { return `{"providers":{"nous":{"token":"new","obtained_at":` + at + `}}}` }
	old := func(rest string) string {
		return `{"version":12345678901234567890,"providers":{"other":{"token":"o"},"nous":{"token":"old"` + rest + `}}}`
	}
	for what, c := range map[string]struct {
		file, seed string
		replaced   bool
		failed     bool
	}{
		"dead":                     {old(`,"last_auth_error":{"relogin_required":true}`), seed("1"), true, false},
		"alive":                    {old(`,"obtained_at":5`), seed("5"), false, false},
		"older":                    {old(`,"obtained_at":5`), seed("5.5"), true, false},
		"older, as text":           {old(`,"obtained_at":"2026-01-01T00:00:00Z"`), seed(`"2026-01-01T00:00:00.5+00:00"`), true, false},
		"later":                    {old(`,"obtained_at":"2026-01-01T00:00:00Z"`), seed(`"2025-01-01T00:00:00Z"`), false, false},
		"of unlike times":          {old(`,"obtained_at":"yesterday"`), seed("99999999999"), false, false},
		"not dead":                 {old(`,"last_auth_error":{"relogin_required":false}`), seed("1"), false, false},
		"without an entry":         {`{"providers":{}}`, seed("1"), false, false},
		"not of that provider":     {old(`,"last_auth_error":{"relogin_required":true}`), `{"providers":{"other":{"token":"x"}}}`, false, false},
		"a file that is a list":    {`[]`, seed("1"), false, true},
		"a file that is nothing":   {``, seed("1"), false, true},
		"a file with a mark":       {"\ufeff" + old(`,"last_auth_error":{"relogin_required":true}`), seed("1"), true, false},
		"a seed that is no object": {old(""), `7`, false, true},
		"a huge file":              {old(`,"last_auth_error":{"relogin_required":true}`) + strings.Repeat(" ", largest), seed("1"), false, true},
	} {
		f := newFixture(t, "HERMES_AUTH_JSON_REBOOTSTRAP="+c.seed)
		f.write("opt/data/auth.json", c.file)
		r := f.boot()
		got := f.read("opt/data/auth.json")
		if !c.replaced && got != c.file {
			t.Errorf("%s: changed to %.300q", what, got)
		}
		if c.replaced && (!strings.Contains(got, `"token":"new"`) || !strings.Contains(got, `"version":12345678901234567890`) ||
			!strings.Contains(got, `"token":"o"`) || strings.Contains(got, "old") || f.mode("opt/data/auth.json") != 0o600) {
			t.Errorf("%s: it is %s", what, got)
		}
		if c.failed != (len(r.Shortfalls) == 1) {
			t.Errorf("%s: %q", what, r.Shortfalls)
		}
	}
	f := newFixture(t, "HERMES_AUTH_JSON_REBOOTSTRAP="+seed("1"))
	if f.boot(); f.exists("opt/data/auth.json") {
		t.Error("a second seed made the file")
	}
}

func TestCredentialsInARootOfTheirOwn(t *testing.T) {
	const seed = "HERMES_AUTH_JSON_BOOTSTRAP={}"
	f := newFixture(t, seed, "HERMES_AUTH_HOME=/opt/auth", "HERMES_HOME=/opt/data/profiles/office")
	f.boot()
	const file = "opt/auth/profiles/office/auth.json"
	if f.read(file) != "{}" || f.owner(file) != hermes || f.mode(file) != 0o600 || f.owner("opt/auth") != hermes {
		t.Errorf("%v %v", f.owner(file), f.mode(file))
	}
	if f.exists("opt/data/profiles/office/auth.json") || f.exists("opt/data/auth.json") || f.owner("opt") != [2]int{0, 0} {
		t.Error("it is in the home, too")
	}
	f = newFixture(t, seed, "HERMES_AUTH_HOME=/opt/auth")
	if f.boot(); f.owner("opt/auth/auth.json") != hermes || f.exists("opt/data/auth.json") {
		t.Error("the default profile's are elsewhere")
	}
}

func TestBadRootsOfCredentials(t *testing.T) {
	for _, dir := range []string{"", "  ", "auth", "./auth", "~/a", " /opt/auth", "/opt/auth ", "/opt/auth\n", "/opt/a\nuth", "/", "//", "/etc", "/opt", "/opt/x/..", "/link", "/opt/hermes/x"} {
		f := newFixture(t, "HERMES_AUTH_JSON_BOOTSTRAP={}", "HERMES_AUTH_HOME="+dir)
		f.must(os.Symlink("/etc", f.at("link")))
		r := f.boot()
		if len(r.Shortfalls) != 1 || f.exists("opt/data/auth.json") || f.exists("auth.json") || f.exists("opt/auth") || f.exists("etc/auth.json") ||
			f.exists("opt/x") || f.exists("opt/hermes/x") {
			t.Errorf("%q: %q", dir, r.Shortfalls)
		}
		if f.owner("") != [2]int{0, 0} || f.mode("") != 0o755 || f.owner("opt") != [2]int{0, 0} || f.owner("etc") != [2]int{0, 0} {
			t.Errorf("%q: something was given away", dir)
		}
	}
}

func TestADeepFileOfCredentialsDoesNotGrow(t *testing.T) {
	deep := strings.Repeat("[", 4000) + "0" + strings.Repeat(",0", 4000) + strings.Repeat("]", 4000)
	file := `{"notes":` + deep + `,"providers":{"nous":{"last_auth_error":{"relogin_required":true}}}}`
	then, err := reseed([]byte(file), []byte(`{"providers":{"nous":{"token":"new"}}}`))
	if err != nil || len(then) > 2*len(file) || !strings.Contains(string(then), deep) {
		t.Errorf("%d bytes became %d, %v", len(file), len(then), err)
	}
}
