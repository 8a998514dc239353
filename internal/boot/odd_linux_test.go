package boot

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/config"
)

// TestOddFilesDoNotStopTheBoot puts something else in the place of each file that the boot reads or writes.
func TestOddFilesDoNotStopTheBoot(t *testing.T) {
	for what, place := range map[string]func(at string) error{
		"a directory": func(at string) error { return os.Mkdir(at, 0o755) },
		"a pipe":      func(at string) error { return unix.Mkfifo(at, 0o644) },
		"a socket": func(at string) error {
			l, err := net.Listen("unix", at)
			if err == nil {
				l.(*net.UnixListener).SetUnlinkOnClose(false)
				err = l.Close()
			}
			return err
		},
		"a huge file": func(at string) error {
			if err := os.WriteFile(at, []byte("{"), 0o644); err != nil {
				return err
			}
			return os.Truncate(at, 1<<40)
		},
		"what nobody may read": func(at string) error { return os.WriteFile(at, []byte("[]"), 0) },
	} {
		t.Run(what, func(t *testing.T) {
			f := newFixture(t, "HERMES_GATEWAY_BOOTSTRAP_STATE=running", "HERMES_AUTH_JSON_BOOTSTRAP={}", "HERMES_AUTH_JSON_REBOOTSTRAP={}")
			f.write("opt/hermes/skills/x/SKILL.md", "")
			f.must(os.MkdirAll(f.at("opt/data/skills"), 0o755))
			files := []string{".env", "config.yaml", "SOUL.md", "auth.json", "gateway_state.json", ".install_method", "skills/.bundled_manifest"}
			for _, file := range files {
				f.must(place(f.at("opt/data/" + file)))
			}
			r := f.boot()
			if r.Lease == nil || f.owner("opt/data/logs/gateways") != hermes {
				t.Errorf("the boot did not get to its end: %q", r.Shortfalls)
			}
			for _, file := range []string{".env", "auth.json", "config.yaml"} {
				if got := f.owner("opt/data/" + file); got != hermes {
					t.Errorf("%s is %v's", file, got)
				}
			}
		})
	}
}

// TestTheSeedsOfTheImage boots with those that ship.
func TestTheSeedsOfTheImage(t *testing.T) {
	f := newFixture(t)
	for _, file := range []string{".env", "config.yaml", "SOUL.md"} {
		text, err := os.ReadFile(filepath.Join("../../image/seeds", file))
		f.must(err)
		f.write("opt/hermes/seeds/"+file, string(text))
	}
	if r := f.boot(); len(r.Shortfalls) > 0 {
		t.Errorf("%q", r.Shortfalls)
	}
	lookup := environment{"HERMES_HOME=" + f.at("opt/data")}.lookup
	if _, err := config.Load(lookup); err != nil {
		t.Error(err)
	}
	if f.read("opt/data/SOUL.md") == "" || strings.Count(f.read("opt/data/.env"), keyName+"=") != 1 {
		t.Error("the home has no soul, or not one key")
	}
}

// FuzzReseed seeds credentials into files that may hold anything: whatever comes of it is whole, and has every
// other provider as it was.
func FuzzReseed(f *testing.F) {
	f.Add(`{"providers":{"nous":{"last_auth_error":{"relogin_required":true}},"o":1}}`, `{"providers":{"nous":{"obtained_at":2}}}`)
	f.Add(`{"providers":{"nous":{"obtained_at":1}}}`, `{"providers":{"nous":{"obtained_at":1e400}}}`)
	f.Add("\ufeff[]", "null")
	f.Fuzz(func(t *testing.T, file, seed string) {
		then, err := reseed([]byte(file), []byte(seed))
		if err != nil || then == nil {
			return
		}
		before, after := providersOf(t, []byte(file)), providersOf(t, then)
		for name, entry := range before {
			if name != provider && !same(entry, after[name]) {
				t.Errorf("%s of %s became %s", entry, file, then)
			}
		}
		if len(before) != len(after) {
			t.Errorf("%s became %s", file, then)
		}
	})
}

func providersOf(t *testing.T, text []byte) map[string]json.RawMessage {
	t.Helper()
	whole, err := object(text)
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	providers, err := object(whole["providers"])
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return providers
}

// FuzzKey looks for the key in files that may hold anything: only lines that set it to nothing go.
func FuzzKey(f *testing.F) {
	f.Add("A=1\nAPI_SERVER_KEY=\n")
	f.Add("export API_SERVER_KEY='x' # y\r\nAPI_SERVER_KEY")
	f.Fuzz(func(t *testing.T, text string) {
		kept, key := withoutEmptyKey(text)
		left := slices.Collect(strings.Lines(kept))
		for line := range strings.Lines(text) {
			if value, sets := keyOf(line); sets && value == "" {
				continue
			}
			if len(left) == 0 || left[0] != line {
				t.Fatalf("%q became %q", text, kept)
			}
			left = left[1:]
		}
		if again, same := withoutEmptyKey(kept); again != kept || same != key || len(left) > 0 {
			t.Errorf("%q became %q, and then %q", text, kept, again)
		}
	})
}
