package forward

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"hermes.example/hermes/internal/config"
)

// read forwards with a process's variables and a home's file of them.
func read(t *testing.T, k config.Container, vars map[string]string, stored string) (map[string]string, []string) {
	t.Helper()
	home := t.TempDir()
	if stored != "" {
		if err := os.WriteFile(filepath.Join(home, ".env"), []byte(stored), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	values, warnings := Read(config.Config{Home: home}, k, in(vars))
	return values.Under(nil), warnings
}

func in(vars map[string]string) config.Lookup {
	return func(name string) (string, bool) {
		value, ok := vars[name]
		return value, ok
	}
}

func TestWhereAValueComesFrom(t *testing.T) {
	k := config.Container{ForwardEnv: []string{"TOKEN"}, EnvPassthrough: []string{"OTHER", "TOKEN"}}
	for name, test := range map[string]struct {
		vars   map[string]string
		stored string
		want   map[string]string
	}{
		"the process":              {map[string]string{"TOKEN": "process"}, "TOKEN=file\n", map[string]string{"TOKEN": "process"}},
		"the file":                 {nil, "TOKEN=file\n", map[string]string{"TOKEN": "file"}},
		"an empty one":             {map[string]string{"TOKEN": ""}, "TOKEN=file\n", map[string]string{"TOKEN": "file"}},
		"neither":                  {map[string]string{"ELSE": "x"}, "ELSE=x\n", nil},
		"no file":                  {nil, "", nil},
		"empty everywhere":         {map[string]string{"TOKEN": ""}, "TOKEN=\n", nil},
		"one of the file is empty": {nil, "TOKEN=\nOTHER=o\n", map[string]string{"OTHER": "o"}},
		"the last line wins":       {nil, "TOKEN=first\nTOKEN=second\n", map[string]string{"TOKEN": "second"}},
		"a line within quotes":     {nil, "TOKEN=\"t\nOTHER=x\"\n", map[string]string{"TOKEN": "t\nOTHER=x"}},
		"both":                     {map[string]string{"OTHER": "o"}, "TOKEN=t\nOTHER=x\n", map[string]string{"TOKEN": "t", "OTHER": "o"}},
	} {
		got, warnings := read(t, k, test.vars, test.stored)
		if !maps.Equal(got, test.want) || warnings != nil {
			t.Errorf("%s: %q, %q; want %q", name, got, warnings, test.want)
		}
	}
}

// Only what somebody named goes out if it is Hermes' own.
func TestHermesOwnVariablesAreNotPassedThrough(t *testing.T) {
	const secret = "hunter2"
	all := []string{"OPENAI_API_KEY", "AUXILIARY_VISION_API_KEY", "Telegram_Bot_Token", "MINE"}
	vars := make(map[string]string)
	for _, name := range all {
		vars[name] = secret
	}
	got, warnings := read(t, config.Container{EnvPassthrough: all}, vars, "")
	if !maps.Equal(got, map[string]string{"MINE": secret}) {
		t.Errorf("passed through: %q", slices.Sorted(maps.Keys(got)))
	}
	if len(warnings) != 3 || !strings.Contains(warnings[0], "OPENAI_API_KEY") || !strings.Contains(warnings[0], "docker_forward_env") || strings.Contains(strings.Join(warnings, " "), secret) {
		t.Errorf("warnings: %q", warnings)
	}
	if got, warnings = read(t, config.Container{ForwardEnv: all, EnvPassthrough: all}, vars, ""); !maps.Equal(got, vars) || warnings != nil {
		t.Errorf("forwarded by name: %q, %q", slices.Sorted(maps.Keys(got)), warnings)
	}
}

func TestWhichVariablesAreHermesOwn(t *testing.T) {
	for name, want := range map[string]bool{
		"OPENAI_API_KEY": true, "openai_api_key": true, "Anthropic_Base_Url": true, "GOOGLE_APPLICATION_CREDENTIALS": true, "GH_TOKEN": true, "GITHUB_APP_ID": true,
		"MODAL_TOKEN_SECRET": true, "DAYTONA_API_KEY": true, "VERCEL_TOKEN": true, "EMAIL_PASSWORD": true, "HASS_TOKEN": true, "SUDO_PASSWORD": true, "API_SERVER_KEY": true,
		"TELEGRAM_BOT_TOKEN": true, "SLACK_ANYTHING_NEW": true, "HERMES_DASHBOARD_SESSION_TOKEN": true,
		"AUXILIARY_VISION_API_KEY": true, "AUXILIARY_X_BASE_URL": true, "auxiliary_x_api_key": true, "AUXILIARY_VISION_MODEL": false, "AUXILIARY": false,
		"GATEWAY_RELAY_A_SECRET": true, "GATEWAY_RELAY_KEY": true, "GATEWAY_RELAY_B_TOKEN": true, "GATEWAY_RELAY_ID": true, "GATEWAY_RELAY_URL": false,
		"CLAUDE_CODE_OAUTH_TOKEN": false, "NOTION_API_KEY": false, "AWS_SECRET_ACCESS_KEY": false, "PATH": false, "MY_OPENAI_API_KEY": false, "EMAIL": false,
	} {
		if Own(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
	for _, name := range own {
		if !config.IsName(name) || strings.ToUpper(name) != name {
			t.Errorf("%q can never be met", name)
		}
	}
}

func TestValuesLieUnderWhatIsGiven(t *testing.T) {
	values := Values{"A": config.NewSecret("forwarded"), "B": config.NewSecret("forwarded")}
	given := map[string]string{"B": "given", "C": "given"}
	if got := values.Under(given); !maps.Equal(got, map[string]string{"A": "forwarded", "B": "given", "C": "given"}) || len(given) != 2 {
		t.Errorf("got %q", got)
	}
	if shown := fmt.Sprintf("%v %+v %#v %s", values, values, values, values); strings.Contains(shown, "forwarded") {
		t.Errorf("shown: %s", shown)
	}
}

func TestFileOfVariables(t *testing.T) {
	for text, want := range map[string]string{
		"A=x":                               "x",
		"A=x\r\nB=y\r\n":                    "x",
		"\ufeffA=x":                         "x",
		" export  A=x":                      "x",
		"export\tA=x":                       "x",
		"export A B=x":                      "",
		"A = two words  ":                   "two words",
		"A=x # comment":                     "x",
		"A=x#y":                             "x#y",
		"A=#y":                              "",
		"#A=x":                              "",
		"A=a=b":                             "a=b",
		"A=$B${C}`d`\\n":                    "$B${C}`d`\\n",
		"A='as $it \\n stands' # c":         "as $it \\n stands",
		`A="with \"quotes\" \\ \n\t\$x \q"`: "with \"quotes\" \\ \n\t$x \\q",
		"A=\"two\nlines\"\nB=y":             "two\nlines",
		"A='it''s'":                         "", // wrong
		"A=\"\"":                            "",
		"A=it's":                            "it's",
		"A=\"ä\\ö\"":                        "ä\\ö",
		"A":                                 "",
		"AA=x\nB=\nA=z":                     "z",
	} {
		if got, _ := read(t, config.Container{ForwardEnv: []string{"A"}}, nil, text); got["A"] != want {
			t.Errorf("%q: %q, want %q", text, got["A"], want)
		}
	}
}

func TestWhatIsWrongWithTheFileIsSaidWithoutValues(t *testing.T) {
	const secret = "hunter2"
	for text, why := range map[string]string{
		"\n\nA=\"" + secret + "\nB=b\n":                      "line 3 of",
		"A='" + secret + "\nB='b'\n":                         "line 1 of",
		"A=\"" + secret + "\" more\nB=b\n":                   "behind its closing quote",
		"X=\"1\n2\n3\"\nA=\"x" + secret + "\x00\"\nB=b\n":    "line 4 of",
		"A=" + secret + "\x00\nB=b\n":                        "NUL",
		strings.Repeat("#", storedLimit) + "\nA=x\nB=b\n":    "more than 1048576 bytes",
		"C=\"" + secret + "\nA=x\nB=b\n":                     "", // nobody asked for it
		"A=x\n" + secret + "\nB=b\n- A=" + secret + "\x00\n": "",
	} {
		got, warnings := read(t, config.Container{ForwardEnv: []string{"A", "B"}}, nil, text)
		said := strings.Join(warnings, "\n")
		if (said == "") != (why == "") || !strings.Contains(said, why) || strings.Contains(said, secret) {
			t.Errorf("%.30q: %q", text, said)
		}
		if !strings.Contains(why, "bytes") && got["B"] != "b" {
			t.Errorf("%.30q: what follows is lost: %q", text, got)
		}
	}
}

func TestTheFileIsTheHomesOwn(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "env")
	if err := os.WriteFile(outside, []byte("A=outside\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		make func(home string) error
		want string
		why  string
	}{
		"a link out":       {func(home string) error { return os.Symlink(outside, filepath.Join(home, ".env")) }, "", "leads out of the home"},
		"a link to itself": {func(home string) error { return os.Symlink(".env", filepath.Join(home, ".env")) }, "", "cannot read"},
		"a directory":      {func(home string) error { return os.Mkdir(filepath.Join(home, ".env"), 0o700) }, "", "not a regular file"},
		"a link inside": {func(home string) error {
			if err := os.WriteFile(filepath.Join(home, "secrets"), []byte("A=inside\n"), 0o600); err != nil {
				return err
			}
			return os.Symlink(filepath.Join(home, "secrets"), filepath.Join(home, ".env"))
		}, "inside", ""},
		"a link to nothing": {func(home string) error { return os.Symlink("gone", filepath.Join(home, ".env")) }, "", ""},
	} {
		if runtime.GOOS == "windows" {
			t.Skip("links need rights there that a test does not have")
		}
		home := t.TempDir()
		if err := test.make(home); err != nil {
			t.Fatal(err)
		}
		values, warnings := Read(config.Config{Home: home}, config.Container{ForwardEnv: []string{"A"}}, in(nil))
		if said := strings.Join(warnings, " "); values["A"].Reveal() != test.want || (said == "") != (test.why == "") || !strings.Contains(said, test.why) {
			t.Errorf("%s: %q, %q", name, values["A"].Reveal(), said)
		}
	}
}

// Whatever a file holds, reading it ends, and each line is found where it is.
func FuzzFileOfVariables(f *testing.F) {
	for _, seed := range []string{"A=x\n", "export A='x\ny'\n#\nB=\"\\\"", "A=\"", "=\n=\n", "A='\r\n'", "\ufeffA=\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		last := 0
		for a := range assignments(text) {
			if !config.IsName(a.name) || a.line <= last && last != 0 {
				t.Errorf("%q: %q in line %d after %d", text, a.name, a.line, last)
			}
			last = a.line
		}
	})
}
