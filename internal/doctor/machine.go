package doctor

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/internal/version"
)

// machine is what the checks see. Tests put other facts into it.
type machine struct {
	root   string // before the paths of system files; empty but in tests
	config config.Config
	lookup config.Lookup
	inside []string

	uid        int    // whose rights count
	user       string // that user's name, empty for one without
	now, built time.Time

	find func(program string) (path string, err error)
	run  func(ctx context.Context, program string, args ...string) (output string, err error)
}

// oldest is before every build: for one that does not know its own date.
var oldest = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func thisMachine(o Options) *machine {
	m := &machine{config: o.Config, lookup: o.Lookup, inside: o.Inside, uid: os.Geteuid(), now: time.Now(), built: oldest, find: exec.LookPath, run: run}
	if u, err := user.LookupId(strconv.Itoa(m.uid)); err == nil {
		m.user = u.Username
	}
	if built, err := time.Parse(time.RFC3339, version.Current().Date); err == nil {
		m.built = built
	}
	return m
}

// run runs a program, with all that it starts, for a bounded time, and returns
// what it says.
func run(ctx context.Context, program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, programBound)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.WaitDelay = 50 * time.Millisecond
	endWholeTree(cmd)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if ctx.Err() != nil {
		return "", errHangs
	}
	if line := firstLine(stderr.String()); err != nil && line != "" {
		err = errors.New(line)
	}
	return strings.TrimSpace(stdout.String()), err
}

var errHangs = errors.New("it does not answer")

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return strings.TrimSpace(line)
}

// read returns the content of a system file, without the last line's end.
func (m *machine) read(path string) (string, error) {
	data, err := os.ReadFile(m.path(path))
	return strings.TrimSpace(string(data)), err
}

func (m *machine) path(path string) string { return filepath.Join(m.root, path) }

func (m *machine) exists(path string) bool {
	_, err := os.Stat(m.path(path))
	return err == nil
}

func (m *machine) has(program string) bool {
	_, err := m.find(program)
	return err == nil
}

// hasAdmin looks for a program of root's, which ordinary users do not have on their
// PATH.
func (m *machine) hasAdmin(program string) bool {
	return m.has(program) || m.exists("/usr/sbin/"+program) || m.exists("/sbin/"+program)
}

func (m *machine) env(name string) string {
	value, _ := m.lookup(name)
	return value
}

// inContainer says whether we are in a container of Docker's or Podman's.
func (m *machine) inContainer() bool {
	return m.exists("/.dockerenv") || m.exists("/run/.containerenv")
}

func (m *machine) hasSystemd() bool { return m.exists("/run/systemd/system") }

// who names the user in a command.
func (m *machine) who() string {
	if m.user != "" {
		return m.user
	}
	return strconv.Itoa(m.uid)
}
