package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Whoever owns the home can put a pipe that nobody writes to, or a device without an end, where a file is read.
func TestWhatIsNoFileIsNeitherWaitedForNorReadToItsEnd(t *testing.T) {
	reads := map[string]func(home string, lookup Lookup) error{
		"config.yaml, loaded":      func(_ string, lookup Lookup) error { _, err := Load(lookup); return err },
		"config.yaml, multiplexed": func(_ string, lookup Lookup) error { _, err := MultiplexProfiles(lookup); return err },
		"config.yaml, changed":     func(home string, _ Lookup) error { _, _, err := readText(File(home)); return err },
		"config.yaml, backed up":   func(home string, _ Lookup) error { return backUp(File(home), time.Now()) },
		".env, one variable":       func(home string, _ Lookup) error { _, _, err := GetVariable(home, "A_B"); return err },
		".env, changed":            func(home string, _ Lookup) error { return SetVariable(home, "A_B", "c") },
		".env, all":                func(_ string, lookup Lookup) error { _, _, err := WithEnvFile(lookup); return err },
		"password": func(home string, lookup Lookup) error {
			_, err := readSecret(setting{name: "PASSWORD_FILE", value: filepath.Join(home, "password")})
			return err
		},
	}
	for kind, put := range map[string]func(path string) error{
		"a pipe":   func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a device": func(path string) error { return os.Symlink("/dev/full", path) },
	} {
		for name, read := range reads {
			t.Run(kind+" as "+name, func(t *testing.T) {
				home := t.TempDir()
				file, _, _ := strings.Cut(name, ",")
				if err := put(filepath.Join(home, file)); err != nil {
					t.Fatal(err)
				}
				ended := make(chan error, 1)
				go func() {
					ended <- read(home, atHome(home))
				}()
				select {
				case err := <-ended:
					if err == nil || !strings.Contains(err.Error(), "it is not a file") {
						t.Error(err)
					}
				case <-time.After(5 * time.Second):
					t.Error("it waits")
				}
			})
		}
	}
}

// People mount the null device where a file is to be hidden.
func TestTheNullDeviceIsAnEmptyFile(t *testing.T) {
	home := t.TempDir()
	lookup := atHome(home)
	for _, name := range []string{"config.yaml", ".env"} {
		if err := os.Symlink(os.DevNull, filepath.Join(home, name)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Load(lookup); err != nil {
		t.Error(err)
	}
	if _, _, err := WithEnvFile(lookup); err != nil {
		t.Error(err)
	}
}

func atHome(home string) Lookup {
	return func(name string) (string, bool) {
		if name == "HERMES_HOME" {
			return home, true
		}
		return "", false
	}
}

// Root may be led by nobody's link to a file that is not theirs.
func TestALinkOfAnotherUserIsNotFollowed(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a link away")
	}
	home, elsewhere := t.TempDir(), t.TempDir()
	for _, name := range []string{"config.yaml", ".env"} {
		if err := os.WriteFile(filepath.Join(elsewhere, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		link := filepath.Join(home, name)
		if err := errors.Join(os.Symlink(filepath.Join(elsewhere, name), link), os.Lchown(link, 54321, 54321)); err != nil {
			t.Fatal(err)
		}
	}
	// One that is root's and leads to his is no better.
	chain := t.TempDir()
	for _, name := range []string{"config.yaml", ".env"} {
		if err := os.Symlink(filepath.Join(home, name), filepath.Join(chain, name)); err != nil {
			t.Fatal(err)
		}
	}
	for what, err := range map[string]error{"a key": Set(chain, "a", "2"), "a variable": SetVariable(chain, "A_B", "2")} {
		if err == nil || !strings.Contains(err.Error(), "a link that another user has made") {
			t.Errorf("%s, by two links: %v", what, err)
		}
	}
	old := []Migration{{"all", func(string) (string, error) { return "a: 2\n", nil }}}
	_, migrating := Migrate(home, old, time.Now())
	for what, err := range map[string]error{"a key": Set(home, "a", "2"), "a variable": SetVariable(home, "A_B", "2"), "a migration": migrating} {
		if err == nil || !strings.Contains(err.Error(), "a link that another user has made") {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, name := range []string{"config.yaml", ".env"} {
		if got, err := os.ReadFile(filepath.Join(elsewhere, name)); len(got) > 0 || err != nil {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
}
