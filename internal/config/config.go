// Package config holds the one typed configuration of Hermes. Every reader of a
// setting takes it from here, so that a name has one meaning and one default.
//
// Settings come from environment variables and from config.yaml in the home, by
// the names that the Hermes agent's users know. A key is added when something
// reads it, and not before. It changes nothing but that file, and only when it is
// asked to.
package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Config is what can be set from outside.
type Config struct {
	// Home is the data directory (HERMES_HOME, else .hermes in the caller's home).
	Home string
	// Engine is what makes sandboxes (TERMINAL_ENV, in the file "backend"). Whether there is one of that
	// name is for who makes engines to say.
	Engine string
	// EngineFrom is the setting that chose Engine; empty where it is the default.
	EngineFrom string
	// SharedKey, where there is one, names containers that profiles share
	// (TERMINAL_DOCKER_SHARED_CONTAINER_KEY).
	SharedKey string
	// SandboxRoot is where sandboxes keep their files (TERMINAL_SANDBOX_DIR,
	// else "sandboxes" in Home).
	SandboxRoot string
	// Timeout ends a command (TERMINAL_TIMEOUT, in seconds); zero means never.
	Timeout time.Duration
	// Lifetime is how long an unused sandbox is kept (TERMINAL_LIFETIME_SECONDS);
	// it is reaped after twice that.
	Lifetime time.Duration
	// OrphanReaper allows the reaping (TERMINAL_DOCKER_ORPHAN_REAPER).
	OrphanReaper bool
	// Persistent lets sandboxes keep the files of their home and workspace
	// (TERMINAL_CONTAINER_PERSISTENT).
	Persistent bool

	settings *settings
}

// The engines that are used where none is named: on a host, and in our image, where
// the container is the boundary. It is never another one because this one cannot work
// here: that is an error.
const (
	DefaultEngine = "native"
	ImageEngine   = "local"
)

// installMark is a file of our image's sealed tree, which says how Hermes came there.
const installMark = "/opt/hermes/.install_method"

func defaultEngine(mark string) string {
	if inImage(mark) {
		return ImageEngine
	}
	return DefaultEngine
}

// inImage says whether this is a container of our image.
func inImage(mark string) bool {
	how, err := os.ReadFile(mark)
	return err == nil && strings.TrimSpace(string(how)) == "docker"
}

// synonyms are backends that have another name here.
var synonyms = map[string]string{"bubblewrap": DefaultEngine}

// The defaults of what is a number or a switch.
const (
	DefaultTimeout      = 180 * time.Second
	DefaultLifetime     = 300 * time.Second
	DefaultOrphanReaper = true
	DefaultPersistent   = true
)

// Lookup finds a variable, as os.LookupEnv does.
type Lookup func(name string) (value string, found bool)

// Load reads the configuration. The error names the first setting that has a
// value of the wrong kind. What only matters to sandboxes with mounts is read by
// Mounts, and what only matters to containers by Container.
func Load(lookup Lookup) (Config, error) {
	var c Config
	if err := c.readHome(lookup); err != nil {
		return Config{}, err
	}
	file, err := readFile(c.File())
	if err != nil {
		return Config{}, err
	}
	return load(lookup, c.Home, file)
}

func load(lookup Lookup, home string, file file) (Config, error) {
	c := Config{Home: home, Engine: defaultEngine(installMark), Timeout: DefaultTimeout, Lifetime: DefaultLifetime, OrphanReaper: DefaultOrphanReaper, Persistent: DefaultPersistent}
	c.settings = &settings{lookup: lookup, file: file}
	if err := c.readSandboxRoot(lookup); err != nil {
		return Config{}, err
	}
	if err := c.settings.seconds("timeout", &c.Timeout); err != nil {
		return Config{}, err
	}
	if err := c.settings.seconds("lifetime_seconds", &c.Lifetime); err != nil {
		return Config{}, err
	}
	if chosen := c.settings.find("backend"); chosen.value != nil {
		c.Engine, c.EngineFrom = chosen.text(), chosen.name+chosen.where
	}
	c.Engine = strings.ToLower(c.Engine)
	if name, ok := synonyms[c.Engine]; ok {
		c.Engine = name
	}
	c.settings.text("docker_shared_container_key", &c.SharedKey)
	c.settings.boolean("docker_orphan_reaper", &c.OrphanReaper)
	c.settings.boolean("container_persistent", &c.Persistent)
	return c, nil
}

// Home is the data directory, for those who need nothing else of the configuration.
func Home(lookup Lookup) (string, error) {
	var c Config
	err := c.readHome(lookup)
	return c.Home, err
}

// RootHome is the home of all profiles: a named one's own is in it, in "profiles".
func (c Config) RootHome() string {
	if profiles := filepath.Dir(c.Home); filepath.Base(profiles) == "profiles" {
		return filepath.Dir(profiles)
	}
	return c.Home
}

// File is where the home's configuration file is, if there is one.
func (c Config) File() string { return File(c.Home) }

// File is where a home's configuration file is, if there is one.
func File(home string) string { return filepath.Join(home, fileName) }

func (c *Config) readHome(lookup Lookup) (err error) {
	c.Home = get(lookup, "HERMES_HOME")
	if c.Home == "" {
		c.Home = "~/.hermes"
	}
	c.Home, err = absolute(lookup, "HERMES_HOME", c.Home)
	return err
}

func (c *Config) readSandboxRoot(lookup Lookup) (err error) {
	c.SandboxRoot = get(lookup, "TERMINAL_SANDBOX_DIR")
	if c.SandboxRoot == "" {
		c.SandboxRoot = filepath.Join(c.Home, "sandboxes")
	}
	c.SandboxRoot, err = absolute(lookup, "TERMINAL_SANDBOX_DIR", c.SandboxRoot)
	return err
}

// get treats an empty value as absent: compose files hand empty ones down.
func get(lookup Lookup, name string) string {
	value, _ := lookup(name)
	return strings.TrimSpace(value)
}

func absolute(lookup Lookup, name, path string) (string, error) {
	path, err := ExpandHome(lookup, path)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return "", fmt.Errorf("cannot find the directory of %s: %w", name, err)
	}
	return path, nil
}

// ExpandHome replaces a leading "~" by the caller's home directory.
func ExpandHome(lookup Lookup, path string) (string, error) {
	if path != "~" && !strings.HasPrefix(path, "~/") {
		return path, nil
	}
	variable := "HOME"
	if runtime.GOOS == "windows" {
		variable = "USERPROFILE"
	}
	home := get(lookup, variable)
	if home == "" {
		return "", errors.New(variable + " is not set")
	}
	return filepath.Join(home, path[1:]), nil
}
