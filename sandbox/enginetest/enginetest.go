// Package enginetest is the one conformance suite that every engine passes. It
// uses nothing but the public sandbox package and the wire, so what it shows of
// one engine it shows of all.
//
// An engine's test package calls Main from TestMain, because the suite starts
// the test binary again as other processes, and Run from one test per way in
// which the engine can be had:
//
//	func TestMain(m *testing.M)   { enginetest.Main(m, newEngine) }
//	func TestNative(t *testing.T) { enginetest.Run(t, enginetest.Config{New: …}) }
//
// It must never be used outside of tests.
package enginetest

import (
	"slices"
	"strings"
	"testing"

	"hermes.example/hermes/sandbox"
)

// Config is one way to have an engine.
type Config struct {
	// New returns the engine and a home of its own for it, which is removed
	// with the test. Tests that look at a whole home ask for another one.
	New func(t testing.TB) (engine sandbox.Engine, home string)
	// Spec is what all sandboxes of the suite begin with: an image, for one.
	Spec sandbox.Spec
	// Without holds what this engine or machine cannot do, and why. Tests that
	// need it are skipped with the reason; all other tests must pass.
	Without map[Ability]string
	// Themes are those of the suite that are run; nil means all of them. It is for a
	// second way to have an engine that differs from the first in a part only.
	Themes []string
	// Place is where a sandbox has the home, the workspace or the directory for
	// temporary files that the tests name; nil where it has a root of its own.
	Place func(id sandbox.Identity, spec sandbox.Spec, name string) string
	// Traces lists what the given sandboxes have left on the machine:
	// processes, cgroups, sockets, mounts, directories. It may be nil.
	Traces func(t testing.TB, home string, ids []sandbox.Identity) []string
}

// Ability is something that not every engine can do everywhere.
type Ability string

// The abilities.
const (
	// ManyIDs: commands can run as, and become, other users.
	ManyIDs Ability = "many ids"
	// MemoryLimit and PidsLimit: that limit of a spec is enforced.
	MemoryLimit Ability = "memory limit"
	PidsLimit   Ability = "pids limit"
	// HostMounts: a mount's source is a path of the machine that the tests run on.
	HostMounts Ability = "host mounts"
	// OwnNetwork: a sandbox can be without the host's network.
	OwnNetwork Ability = "own network"
	// ReadOnlyRoot: what the sandbox was not given cannot be written.
	ReadOnlyRoot Ability = "read-only root"
	// OwnIDs: root of a sandbox does not have the number of the machine's root.
	OwnIDs Ability = "own ids"
	// HiddenDoor: nothing inside sees where callers come in.
	HiddenDoor Ability = "hidden door"
	// DirectLines: every command can have a connection of its own.
	DirectLines Ability = "direct lines"
	// Announcements: a new guest can be told that sessions of an earlier one come.
	Announcements Ability = "announcements"
	// OwnRoot: a sandbox has files, processes and a host name of its own.
	OwnRoot Ability = "own root"
)

// test is one behaviour. Its name is "theme/behaviour", which is how it is
// selected on the command line and named in docs/status.md.
type test struct {
	name string
	run  func(t *testing.T, s *suite)
}

func (t test) theme() string {
	theme, _, _ := strings.Cut(t.name, "/")
	return theme
}

func tests() []test {
	return slices.Concat(
		commandTests, timeoutTests, streamTests, terminalTests, environmentTests,
		sessionTests, sessionEnvTests, sessionEndTests, sessionParallelTests, sessionPrivateTests, sessionHandoverTests, shellTests,
		replayTests, followTests, lossTests,
		reuseTests, nameTests, driftTests, requireTests, lifeTests, ephemeralTests, reaperTests,
		backgroundTests, backgroundEndTests, backgroundInputTests, backgroundLogTests, backgroundEventTests,
		postureTests, mountTests, networkTests, userTests, limitTests,
		fileTests, fileCopyTests, ruleTests,
	)
}

// choose returns the tests of the themes.
func choose(t *testing.T, themes []string) (chosen []test) {
	if themes == nil {
		return tests()
	}
	for _, theme := range themes {
		before := len(chosen)
		for _, test := range tests() {
			if test.theme() == theme {
				chosen = append(chosen, test)
			}
		}
		if len(chosen) == before {
			t.Fatalf("the suite has no tests about %q", theme)
		}
	}
	return chosen
}

// Run runs the suite.
func Run(t *testing.T, config Config) {
	chosen := choose(t, config.Themes)
	s := newSuite(t, config)
	for _, test := range chosen {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, s)
		})
	}
}
