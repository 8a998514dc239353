package cli

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/internal/profile"
)

func TestEveryNewProfileHasADoorOfItsOwn(t *testing.T) {
	home := &profile.Home{Root: t.TempDir()}
	write := func(dir, text string) {
		t.Helper()
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, ".env"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(home.Dir("kept"), "API_SERVER_PORT=9000\nAPI_SERVER_KEY=written-by-a-person\n")
	ports, keys := make(map[int]string), make(map[string]string)
	for _, name := range []string{"kept", "a", "b", "c"} {
		if err := home.Create(name); err != nil {
			t.Fatal(err)
		}
		port, err := giveDoor(home, name)
		if err != nil {
			t.Fatal(err)
		}
		door, _ := doorOf(home.Dir(name))
		key := door.Key.Reveal()
		if other := ports[port]; other != "" || port == config.DefaultGatewayPort || door.Port != port {
			t.Errorf("%s has port %d like %q, and its files say %d", name, port, other, door.Port)
		}
		if len(key) < 16 || keys[key] != "" {
			t.Errorf("the key of %s has %d characters, or is another's", name, len(key))
		}
		ports[port], keys[key] = name, name
	}
	if ports[9000] != "kept" || keys["written-by-a-person"] != "kept" {
		t.Errorf("what a person wrote is gone: %v", ports)
	}
	if again, err := giveDoor(home, "a"); err != nil || ports[again] != "a" {
		t.Errorf("a second time it has %d: %v", again, err)
	}
}

// A profile that somebody made by hand has a soul and nothing else.
func TestAProfileOfTheHostGetsADoorWhenItsGatewayStarts(t *testing.T) {
	home := &profile.Home{Root: t.TempDir()}
	if err := os.MkdirAll(home.Dir("zoe"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home.Dir("zoe"), "SOUL.md"), []byte("I am Zoe.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	hermes(t, home.Root, []string{"API_SERVER_HOST=0.0.0.0"}, "-p", "zoe", "gateway", "run").says("listening", "0.0.0.0")
	door, _ := doorOf(home.Dir("zoe"))
	if len(door.Key.Reveal()) < 16 || door.Port != config.DefaultGatewayPort+1 {
		t.Errorf("it has port %d and a key of %d characters", door.Port, len(door.Key.Reveal()))
	}
	hermes(t, home.Root, []string{"API_SERVER_HOST=0.0.0.0", "API_SERVER_KEY=0123456789abcdef"}, "gateway", "run").says("listening", "0.0.0.0")
	if _, err := os.Stat(filepath.Join(home.Root, ".env")); err == nil {
		t.Error("the default profile, whose key the operator gave, was given one")
	}
}

// Profiles that came with a volume are started together, and each gateway gives its own the door.
func TestDoorsThatAreGivenAtOnceDiffer(t *testing.T) {
	home := &profile.Home{Root: t.TempDir()}
	names := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	for _, name := range names {
		if err := os.MkdirAll(home.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home.Dir(name), "SOUL.md"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var giving sync.WaitGroup
	for _, name := range names {
		giving.Go(func() {
			if _, err := giveDoor(home, name); err != nil {
				t.Error(err)
			}
		})
	}
	giving.Wait()
	owner := make(map[int]string)
	for _, name := range names {
		door, _ := doorOf(home.Dir(name))
		port := door.Port
		if other, taken := owner[port]; taken {
			t.Errorf("%s and %s have port %d", other, name, port)
		}
		owner[port] = name
	}
}
