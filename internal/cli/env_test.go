package cli

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func lookupIn(vars map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := vars[name]
		return v, ok
	}
}

func writeFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.env")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestEnvironment(t *testing.T) {
	first := writeFile(t, "# a comment\n\n  # another\nA=1\r\nB=two words # not a comment\n SPACED =  kept  \nQUOTED=\"$A\"\nEMPTY=\nX=a=b")
	second := writeFile(t, "A=from the second\n")
	env, err := environment(lookupIn(map[string]string{"GIVEN": "by the caller", "NONE": ""}), []string{first, second},
		[]string{"B=flag", "GIVEN", "ABSENT", "NONE", "E="})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"A": "from the second", "B": "flag", "SPACED": "  kept  ", "QUOTED": `"$A"`, "EMPTY": "", "X": "a=b",
		"GIVEN": "by the caller", "NONE": "", "E": ""}
	if !maps.Equal(env, want) {
		t.Errorf("got %q\nwant %q", env, want)
	}
}

func TestErrorsAboutVariablesHaveNoValues(t *testing.T) {
	const secret = "sw0rdfish"
	for _, flag := range []string{"=" + secret, "a b=" + secret, "1A=" + secret, "sk-" + secret, "É=" + secret, "A=" + secret + "\x00"} {
		_, err := environment(lookupIn(nil), nil, []string{"OK=1", flag})
		if err == nil || !isA[*usageError](err) || !strings.Contains(err.Error(), "number 2") {
			t.Errorf("%q: %v", flag, err)
		} else if strings.Contains(err.Error(), secret) {
			t.Errorf("%q: the error shows the value: %v", flag, err)
		}
	}
	for _, line := range []string{secret, "export A=" + secret, "=" + secret, "A-B=" + secret, "A=" + secret + "\x00"} {
		_, err := environment(lookupIn(nil), []string{writeFile(t, "# first\nOK=1\n"+line+"\n")}, nil)
		if err == nil || !strings.Contains(err.Error(), "line 3") {
			t.Errorf("%q: %v", line, err)
		} else if strings.Contains(err.Error(), secret) {
			t.Errorf("%q: the error shows the value: %v", line, err)
		}
	}
	if _, err := environment(lookupIn(nil), []string{"/no/such/file"}, nil); err == nil || !strings.HasPrefix(err.Error(), "cannot read --env-file") {
		t.Errorf("got %v", err)
	}
}
