package unavailable

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"testing"
)

var specs = []string{"pkg[a,b]>=1,<2", "other==1.0"}

// The words of the contract, which programs and people search for.
func TestEveryReasonHasItsWords(t *testing.T) {
	for name, test := range map[string]struct {
		err    *Error
		kind   Kind
		reason string
	}{
		"unknown":            {NotListed("search.ex", []string{"search.exa"}), Unknown, `not in .*allowlist`},
		"platform":           {OnPlatform("windows"), Unsupported, `^unsupported on windows$`},
		"managed":            {OnManaged("homebrew"), Unsupported, `^unsupported on homebrew-managed installs`},
		"bad spec":           {UnsafeSpec(errors.New("why")), Unsafe, `^refusing to install unsafe spec: why$`},
		"gate":               {DisabledBy("THE_SWITCH", "next"), Disabled, `^lazy installs disabled by THE_SWITCH$`},
		"declined":           {DeclinedAtPrompt(), Declined, `^user declined install at prompt$`},
		"failed":             {InstallerFailed("words", "", nil), Failed, `^pip install failed: words$`},
		"target":             {NotWritable("/store", fs.ErrPermission), Target, `^lazy install target /store is not writable: permission denied$`},
		"no pip":             {NoPip(nil), NoInstaller, `^pip not available and ensurepip failed$`},
		"no pip, and why":    {NoPip(errors.New("why")), NoInstaller, `^pip not available and ensurepip failed: why$`},
		"not there":          {StillMissing(nil), Incomplete, `^install reported success but packages still not importable \(may require restart\)$`},
		"not there, and why": {StillMissing(errors.New("why")), Incomplete, `^install reported success but packages still not importable \(may require restart\): why$`},
		"backend":            {BackendFailed("it ended", "", nil), Backend, `^it ended$`},
		"backend's words":    {BackendFailed("it ended", "words\n", nil), Backend, `^it ended; it said last: words$`},
		"another":            {Because(Conflict, fs.ErrExist, ""), Conflict, `^file already exists$`},
	} {
		err := test.err
		if !regexp.MustCompile(test.reason).MatchString(err.Reason) || err.Kind != test.kind {
			t.Errorf("%s: %s, %q", name, err.Kind, err.Reason)
		}
		if test.kind != Unknown {
			err = err.For("ns.name", specs)
		}
		line := err.Error()
		if !strings.Contains(line, err.Feature) || !strings.Contains(line, "unavailable: "+err.Reason) || !strings.Contains(line, err.Next) || strings.Contains(line, "\n") {
			t.Errorf("%s: %q", name, line)
		}
	}
}

func TestTheWholeLine(t *testing.T) {
	err := DisabledBy("HERMES_DISABLE_LAZY_INSTALLS", "set the target").For("ns.name", specs)
	const uv, pip = `uv pip install "pkg[a,b]>=1,<2" "other==1.0"`, `python3 -m pip install "pkg[a,b]>=1,<2" "other==1.0"`
	want := `feature "ns.name" is unavailable: lazy installs disabled by HERMES_DISABLE_LAZY_INSTALLS; set the target; to install it by hand: ` + uv + ` (or: ` + pip + `)`
	if err.Error() != want {
		t.Errorf("%s\nwant\n%s", err, want)
	}
	want = `feature "ns.name" is unavailable: lazy installs disabled by HERMES_DISABLE_LAZY_INSTALLS
What to do: set the target
To install it by hand, into an environment of your own:
  ` + uv + `
  ` + pip + `
`
	if err.Text() != want {
		t.Errorf("%s\nwant\n%s", err.Text(), want)
	}
}

func TestAnUnknownFeatureNamesTheClosestAndNoCommand(t *testing.T) {
	err := NotListed("search.ex", []string{"search.exa", "search.ddgs"})
	if line := err.Error(); !strings.Contains(line, `perhaps "search.exa" or "search.ddgs" was meant`) || !strings.Contains(line, "hermes tools") || strings.Contains(line, "pip install") || len(err.Missing) > 0 {
		t.Errorf("%s", line)
	}
	if line := NotListed("x", nil).Error(); strings.Contains(line, "perhaps") {
		t.Errorf("%s", line)
	}
}

// What is shown to be copied must not hold what nobody checked.
func TestAnUnsafeSpecIsInNoCommand(t *testing.T) {
	err := UnsafeSpec(errors.New("why")).For("ns.name", []string{"good==1", `x"; rm -rf / #`})
	for _, text := range []string{err.Error(), err.Text()} {
		if strings.Contains(text, "pip install") || strings.Contains(text, "rm -rf") {
			t.Errorf("%s", text)
		}
	}
}

func TestTheLastWordsOfAnInstaller(t *testing.T) {
	long := strings.Repeat("ä", 5000) + "the end"
	for name, test := range map[string]struct{ stderr, stdout, want string }{
		"stderr first": {"bad\n", "good", "bad"},
		"else stdout":  {" \n", "out\n", "out"},
		"else nothing": {"", "\t", "no error output"},
		"the last":     {long, "", strings.Repeat("ä", 1993) + "the end"},
		"of stdout":    {"", long, strings.Repeat("ä", 1993) + "the end"},
	} {
		if got := InstallerFailed(test.stderr, test.stdout, nil).Reason; got != "pip install failed: "+test.want {
			t.Errorf("%s: %.80q of %d", name, got, len([]rune(got)))
		}
	}
}

func TestNothingReachesATerminalButText(t *testing.T) {
	err := InstallerFailed("\x1b[1;31merror\x1b[0m: no\r\n\x1b]0;title\x07such\t\x1b[2Jthing\u202e\x00\xff", "", nil).For("a\nb", nil)
	const reason = "pip install failed: error: no \n]0;titlesuch thing\ufffd"
	if got, want := err.Error(), `feature "a b" is unavailable: pip install failed: error: no ]0;titlesuch thing`+"\ufffd"; got != want {
		t.Errorf("%q\nwant\n%q", got, want)
	}
	if got, want := err.Text(), `feature "a b" is unavailable: `+reason+"\n"; got != want {
		t.Errorf("%q\nwant\n%q", got, want)
	}
	data, _ := json.Marshal(err)
	if strings.Contains(string(data), "u001b") || strings.Contains(string(data), "u202e") {
		t.Errorf("%s", data)
	}
}

func TestErrorsAreFoundByKindAndCause(t *testing.T) {
	err := fmt.Errorf("wrapped: %w", NotWritable("/store", fs.ErrPermission).For("ns.name", specs))
	var found *Error
	if !errors.As(err, &found) || found.Feature != "ns.name" {
		t.Errorf("%+v", found)
	}
	if !errors.Is(err, Target) || errors.Is(err, Disabled) || !errors.Is(err, fs.ErrPermission) {
		t.Errorf("%v is of another kind", err)
	}
}

func TestJSON(t *testing.T) {
	for want, err := range map[string]*Error{
		`{"feature":"ns.name","kind":"disabled","missing":["a==1"],"reason":"lazy installs disabled by X","next":"do","by_hand":{"uv":"uv pip install \"a==1\"","pip":"python3 -m pip install \"a==1\""}}`: DisabledBy("X", "do").For("ns.name", []string{"a==1"}),
		`{"feature":"","kind":"runtime","missing":[],"reason":"there is none"}`: Because(NoRuntime, errors.New("there is none"), ""),
	} {
		data, marshalErr := json.Marshal(err)
		if string(data) != want || marshalErr != nil {
			t.Errorf("%s, %v\nwant\n%s", data, marshalErr, want)
		}
	}
}
