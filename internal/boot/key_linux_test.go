package boot

import (
	"errors"
	"regexp"
	"strings"
	"testing"
)

func TestAHomeGetsAKey(t *testing.T) {
	made := regexp.MustCompile(`(?m)^API_SERVER_KEY=[0-9a-f]{64}\n\z`)
	for before, kept := range map[string]string{
		"":                              "",
		"A=1":                           "A=1\n",
		"A=1\nAPI_SERVER_KEY=\nB=2\n":   "A=1\nB=2\n",
		"export API_SERVER_KEY=\"\"\n":  "",
		"API_SERVER_KEY = '' # later\n": "",
		"API_SERVER_KEY= # later\r\n":   "",
		"#API_SERVER_KEY=abc\n":         "#API_SERVER_KEY=abc\n",
		"API_SERVER_KEY_2=abc\n":        "API_SERVER_KEY_2=abc\n",
	} {
		f := newFixture(t)
		f.write("opt/data/.env", before)
		r := f.boot()
		got := f.read("opt/data/.env")
		if rest := made.ReplaceAllString(got, ""); rest == got || rest != kept {
			t.Errorf("%q became %q", before, got)
		}
		if len(r.Shortfalls) > 0 || f.mode("opt/data/.env") != 0o600 || f.owner("opt/data/.env") != hermes {
			t.Errorf("%q: %q, mode %v", before, r.Shortfalls, f.mode("opt/data/.env"))
		}
		if key := strings.TrimSpace(strings.TrimPrefix(got, kept+"API_SERVER_KEY=")); strings.Contains(f.log.String(), key) {
			t.Error("the key is in the log")
		}
	}
}

func TestAKeyThatIsThereIsKept(t *testing.T) {
	const short, long = "tooshort123", "longenough-0123456789"
	for what, c := range map[string]struct {
		file, operators, want string
		weak                  bool
	}{
		"the home's":               {"API_SERVER_KEY=" + long + "\n", "", "API_SERVER_KEY=" + long + "\n", false},
		"the home's, short":        {"API_SERVER_KEY='" + short + "'", "", "API_SERVER_KEY='" + short + "'", true},
		"the operator's":           {"A=1\n", long, "A=1\n", false},
		"the operator's, short":    {"A=1\n", short, "A=1\n", true},
		"the operator's, hidden":   {"API_SERVER_KEY=\nA=1", long, "A=1", false},
		"the operator's is empty":  {"API_SERVER_KEY=" + long, " ", "API_SERVER_KEY=" + long, false},
		"of several the last":      {"API_SERVER_KEY=x\nAPI_SERVER_KEY=" + long, "", "API_SERVER_KEY=x\nAPI_SERVER_KEY=" + long, false},
		"an empty one beside it":   {"API_SERVER_KEY=" + long + "\nAPI_SERVER_KEY=", "", "API_SERVER_KEY=" + long + "\n", false},
		"with a byte order mark":   {"\ufeffAPI_SERVER_KEY=" + long, "", "\ufeffAPI_SERVER_KEY=" + long, false},
		"in the operator's words":  {"", long, "", false},
		"with a hash in its value": {"API_SERVER_KEY=0123456789abcdef#x", "", "API_SERVER_KEY=0123456789abcdef#x", false},
	} {
		f := newFixture(t, "API_SERVER_KEY="+c.operators)
		f.write("opt/data/.env", c.file)
		r := f.boot()
		if got := f.read("opt/data/.env"); got != c.want {
			t.Errorf("%s: %q", what, got)
		}
		if (len(r.Shortfalls) == 1) != c.weak {
			t.Errorf("%s: %q", what, r.Shortfalls)
		}
		if strings.Contains(f.log.String(), short) || strings.Contains(f.log.String(), long) {
			t.Errorf("%s: the key is in the log: %s", what, f.log.String())
		}
	}
}

func TestWithoutRandomnessThereIsNoKey(t *testing.T) {
	f := newFixture(t)
	f.Random = broken{}
	if r := f.boot(); len(r.Shortfalls) != 1 || strings.Contains(f.read("opt/data/.env"), keyName) {
		t.Errorf("%q %q", r.Shortfalls, f.read("opt/data/.env"))
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("broken") }
