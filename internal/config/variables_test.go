package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestVariablesOfAFile(t *testing.T) {
	text := "\ufeff# secrets\nPLAIN=a b # comment\r\n\nexport KEY = 'it''s' \nKEY='single $x \\n # kept'\nDOUBLE=\"a\\n\\\"b\\\" \\$x \\q\" # c\n" +
		"EMPTY=\nHASH=scrypt$16384$8$1$c2FsdA==$a+b/=\nSHARP=a#b\nMANY=\"one\ntwo\"\nLAST=1\nLAST=2\nTAB=\t\tx\nCERT='-----\nBEGIN'"
	want := map[string]string{
		"PLAIN": "a b", "KEY": `single $x \n # kept`, "DOUBLE": "a\n\"b\" $x \\q", "EMPTY": "", "HASH": "scrypt$16384$8$1$c2FsdA==$a+b/=",
		"SHARP": "a#b", "MANY": "one\ntwo", "LAST": "2", "TAB": "x", "CERT": "-----\nBEGIN",
	}
	got, ignored := ParseVariables(text)
	if len(got) != len(want) {
		t.Errorf("%d variables, want %d", len(got), len(want))
	}
	for name, value := range want {
		if got[name].Reveal() != value {
			t.Errorf("%s is %q, want %q", name, got[name].Reveal(), value)
		}
	}
	if len(ignored) != 1 || !strings.HasPrefix(ignored[0], "line 4 ") {
		t.Errorf("ignored %q", ignored)
	}
}

func TestWhatIsNoVariableIsNamedAndNotShown(t *testing.T) {
	text := "hunter2\nA-B=hunter2\n=hunter2\nGOOD=1\nOPEN=\"hunter2\nNEXT=2\n"
	got, ignored := ParseVariables(text)
	if len(got) != 2 || got["GOOD"].Reveal() != "1" || got["NEXT"].Reveal() != "2" {
		t.Errorf("variables: %d", len(got))
	}
	if len(ignored) != 4 || strings.Contains(strings.Join(ignored, ""), "hunter2") {
		t.Errorf("ignored %q", ignored)
	}
	for i, number := range []string{"line 1 ", "line 2 ", "line 3 ", "line 5 "} {
		if i < len(ignored) && !strings.HasPrefix(ignored[i], number) {
			t.Errorf("%q should be about %s", ignored[i], number)
		}
	}
}

func TestTheEnvironmentWinsOverTheFileOfVariables(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, ".env"), []byte("A=file\nB=file\nC=file\nnonsense\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	lookup, ignored, err := WithEnvFile(from(map[string]string{"HERMES_HOME": home, "A": "container", "B": " ", "D": "container"}))
	if err != nil || len(ignored) != 1 || !strings.Contains(ignored[0], ".env") {
		t.Fatalf("%q, %v", ignored, err)
	}
	for name, want := range map[string]string{"A": "container", "B": "file", "C": "file", "D": "container", "E": ""} {
		if got, _ := lookup(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestAVariableIsSetInItsPlace(t *testing.T) {
	for name, test := range map[string]struct{ text, value, want string }{
		"a new file":    {"", "x", "THE_KEY=x\n"},
		"a new line":    {"# mine\nA=1", "x", "# mine\nA=1\nTHE_KEY=x\n"},
		"in its place":  {"A=1\nexport THE_KEY='a\nb' # old\nB=2\n", "x y", "A=1\nTHE_KEY='x y'\nB=2\n"},
		"twice":         {"THE_KEY=1\nA=1\nTHE_KEY=2\n", "3", "THE_KEY=3\nA=1\n"},
		"with a quote":  {"", "it's \"$5\"\n", "THE_KEY=\"it's \\\"\\$5\\\"\\n\"\n"},
		"with nonsense": {"nonsense\n", "1", "nonsense\nTHE_KEY=1\n"},
	} {
		got, ok := setVariable(test.text, "THE_KEY", test.value)
		if !ok || got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
		if vars, _ := ParseVariables(got); vars["THE_KEY"].Reveal() != test.value {
			t.Errorf("%s: reads as %q", name, vars["THE_KEY"].Reveal())
		}
	}
	if _, ok := setVariable("A=\"\n", "THE_KEY", "it's \""); ok {
		t.Error("a quote that was open swallowed it")
	}
	home := t.TempDir()
	if err := SetVariable(home, "THE_KEY", "x"); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(EnvFile(home)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if value, found, err := GetVariable(home, "THE_KEY"); err != nil || !found || value.Reveal() != "x" {
		t.Errorf("found %v, %v", found, err)
	}
}

// Whatever a file holds, reading it ends, and a variable that is set in it is there afterwards with the others.
func FuzzVariables(f *testing.F) {
	for _, seed := range []string{"A=1\n", "export A='x' # y\nB=\"\\n\"", "A=\"open\nB=1", "\ufeffA=1\r\nB='a\r\nb'", "=\n#\n"} {
		f.Add(seed, "value")
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		before, ignored := ParseVariables(text)
		if len(ignored) > strings.Count(text, "\n")+1 {
			t.Fatalf("%d complaints about %q", len(ignored), text)
		}
		if strings.ContainsRune(value, 0) || strings.ToValidUTF8(value, "") != value {
			return
		}
		changed, ok := setVariable(text, "THE_KEY", value)
		if !ok {
			return
		}
		after, _ := ParseVariables(changed)
		if after["THE_KEY"].Reveal() != value {
			t.Fatalf("%q became %q in %q", value, after["THE_KEY"].Reveal(), text)
		}
		for name, secret := range before {
			if name != "THE_KEY" && after[name] != secret {
				t.Fatalf("%s was %q and is %q", name, secret.Reveal(), after[name].Reveal())
			}
		}
	})
}
