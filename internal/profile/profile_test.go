package profile

import (
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	for _, good := range []string{"a", "0", "coder", "a-b_c", "9lives", strings.Repeat("a", LongestName)} {
		if err := Check(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"", "Coder", "foo/bar", "../e", "-x", "_x", "a b", "a.b", ".", "..", "a\n", "ä", strings.Repeat("a", LongestName+1)} {
		if err := Check(bad); err == nil || !strings.HasPrefix(err.Error(), "cannot use ") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestAHomeKnowsItsProfile(t *testing.T) {
	for home, want := range map[string][2]string{
		"/opt/data":                 {"/opt/data", Default},
		"/opt/data/":                {"/opt/data", Default},
		"/opt/data/profiles/coder":  {"/opt/data", "coder"},
		"/opt/data/profiles/coder/": {"/opt/data", "coder"},
		"/opt/data/profiles":        {"/opt/data/profiles", Default},
		"/profiles/x":               {"/", "x"},
	} {
		root, name := Split(home)
		if root != want[0] || name != want[1] {
			t.Errorf("%s: %s, %s", home, root, name)
		}
		if back := Dir(root, name); name != Default && back != strings.TrimSuffix(home, "/") {
			t.Errorf("%s: its directory is %s", home, back)
		}
	}
}

func TestWhatComesBackByItself(t *testing.T) {
	for file, want := range map[string]bool{
		`{"desired_state":"running"}`:                                  true,
		`{"gateway_state":"running"}`:                                  true,
		`{"gateway_state":"draining"}`:                                 true,
		`{"gateway_state":"degraded"}`:                                 true,
		`{"desired_state":"running","gateway_state":"startup_failed"}`: true,
		`{"desired_state":null,"gateway_state":"running"}`:             true,
		`{"desired_state":"stopped","gateway_state":"running"}`:        false,
		`{"desired_state":"draining"}`:                                 false,
		`{"desired_state":"","gateway_state":"running"}`:               false,
		`{"desired_state":1,"gateway_state":"running"}`:                false,
		`{"gateway_state":"stopped"}`:                                  false,
		`{"gateway_state":"starting"}`:                                 false,
		`{"gateway_state":"startup_failed"}`:                           false,
		`{"gateway_state":["running"]}`:                                false,
		`{"gateway_state":"on fire"}`:                                  false,
		`{}`:                                                           false,
	} {
		f, err := parse([]byte(file))
		if err != nil {
			t.Fatal(err)
		}
		if got := f.state().Autostart(); got != want {
			t.Errorf("%s: %v", file, got)
		}
	}
}

// FuzzState shows that no content of a state file is more than a warning, and that what was understood stays
// understood when it is written back.
func FuzzState(f *testing.F) {
	for _, seed := range []string{`{"desired_state":"running","pid":12,"x":[1,{"y":null}]}`, "\ufeff{}", "[]", "null", "", `{"pid":1e999}`, `{"desired_state":[{}]}`, `{"a":1,"a":2}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		first, err := parse(content)
		if err != nil {
			if first != nil {
				t.Errorf("%q is an error and a state", content)
			}
			return
		}
		state := first.state()
		if state.PID < 0 {
			t.Errorf("%q: pid %d", content, state.PID)
		}
		written, err := first.bytes()
		if err != nil {
			t.Fatalf("%q cannot be written: %v", content, err)
		}
		again, err := parse(written)
		if err != nil || len(again) != len(first) || again.state() != state {
			t.Errorf("%q became %q: %v", content, written, err)
		}
	})
}
