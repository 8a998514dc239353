// Package layers holds the rules of who may import whom, as code: imports point downwards only. Its test
// applies them to the module as it is; nothing else calls it. The linter repeats the rules for editors.
package layers

import (
	"fmt"
	"slices"
	"strings"
)

const module = "hermes.example/hermes/"

// Package is what the rules look at: the imports of the program proper, not of its tests.
type Package struct {
	ImportPath string
	Imports    []string
	Deps       []string // all that it imports, however far away
}

// The height of a part of the tree; the longest matching path decides. What stands nowhere here is a
// foundation: it may use other foundations and nothing above.
const (
	foundation = iota
	wire
	guest
	core
	shared // by engines
	engine
	wanted // above the engines: what a configuration makes of them
	tools  // what a model is given, above it
	door
	page     // above the doors: it shows what they open
	measures // the doors
	cli
	program
)

var heights = map[string]int{
	"internal/wire":                 wire,
	"internal/guest":                guest,
	"cmd/hermes-guest":              core, // above the guest, beside the sandbox
	"sandbox":                       core,
	"internal/addon":                core,
	"internal/addon/backend":        shared, // above the add-ons and the sandboxes that they run in
	"internal/addon/choice":         engine, // above the backends
	"internal/addon/keeper":         engine, // the same
	"internal/supervise":            core,
	"internal/profile":              core,
	"internal/roster":               shared, // above what supervises and the profiles
	"internal/mainprog":             shared, // above what supervises
	"sandbox/engine/internal":       shared,
	"sandbox/engine":                engine,
	"sandbox/enginetest":            engine,
	"internal/boot":                 engine,
	"internal/mounts":               engine, // beside the engines, which do not know it
	"internal/containerargs":        engine, // the same
	"client":                        engine, // what the gateway answers with, and public
	"internal/configured":           wanted,
	"internal/toolbox":              tools,
	"internal/survey":               tools, // beside it: what there is, for people
	"internal/bench":                measures,
	"internal/doctor":               door,
	"internal/gateway":              door,
	"internal/dashboard":            page,
	"internal/initd":                door, // joins boot and supervision
	"internal/upkeep":               door, // joins profiles and supervision
	"internal/cli":                  cli,
	"cmd":                           program,
	"image":                         program, // what builds the image
	"test":                          program,
	"internal/supervise/drivertest": engine,
}

// Programs that must stay small, with all that they draw in.
var small = []string{"cmd/hermes-guest", "cmd/hermes-init", "cmd/hermes-shim", "internal/guest", "internal/wire"}

var heavy = []string{
	"github.com/spf13/cobra",
	"github.com/moby/", "github.com/docker/",
	"github.com/google/go-containerregistry",
	"github.com/klauspost/compress",
	"github.com/modelcontextprotocol/",
	"github.com/goccy/",
	"k8s.io/",
}

// What other programs import, so that they import nothing for which they have no use.
var public = []string{"client", "sandbox"}

// Programs with a reaper, and what they are made of: in them os/exec would wait for a child that is the reaper's.
var reaping = []string{"cmd/hermes-init", "internal/boot", "internal/supervise", "internal/supervise/reaper", "internal/supervise/tree",
	"internal/supervise/logdir", "internal/supervise/control", "internal/upkeep"}

// Modules with one home each.
var homes = map[string][]string{
	"github.com/spf13/cobra":                 {"internal/cli", "cmd/hermes"},
	"github.com/moby/profiles/seccomp":       {"internal/seccomp/gen"},
	"github.com/elastic/go-seccomp":          {"internal/seccomp/gen"},
	"github.com/google/go-containerregistry": {"internal/image"},
	"github.com/klauspost/compress":          {"internal/image/packed"},
	"github.com/goccy/go-yaml":               {"internal/config"},
	"github.com/modelcontextprotocol/":       {"internal/addon/backend", "internal/gateway", "internal/bench"},
	"github.com/BurntSushi/toml":             {"internal/addon/install"},
	"golang.org/x/crypto":                    {"internal/dashboard"},
	"golang.org/x/oauth2":                    {"internal/dashboard"},
	"github.com/coreos/go-oidc":              {"internal/dashboard"},
	"github.com/CycloneDX/":                  {"internal/addon/sbom", "image/describe"},
	"github.com/spf13/pflag":                 {"internal/cli", "internal/containerargs"},
	"github.com/docker/go-units":             {"internal/containerargs"},
	"github.com/coder/websocket":             {"internal/gateway", "client", "test"},
	"github.com/chromedp/":                   {"test"},
	"github.com/prometheus/":                 {"internal/gateway"},
	"github.com/google/jsonschema-go":        {"internal/gateway"},
	"github.com/moby/moby":                   {"internal/daemon", "sandbox/engine/docker", "internal/bench", "test"},
}

// Violations lists every import that breaks a rule, one line each.
func Violations(pkgs []Package) []string {
	var found []string
	for _, p := range pkgs {
		from, ours := strings.CutPrefix(p.ImportPath, module)
		if !ours {
			continue
		}
		for _, path := range p.Imports {
			if why := direct(from, path); why != "" {
				found = append(found, fmt.Sprintf("%s imports %s: %s", from, strings.TrimPrefix(path, module), why))
			}
		}
		if slices.Contains(reaping, from) && slices.Contains(p.Deps, "os/exec") {
			found = append(found, from+" draws in os/exec: its reaper waits for every child")
		}
		if slices.Contains(public, from) {
			for _, path := range p.Deps {
				if slices.ContainsFunc(heavy, func(h string) bool { return strings.HasPrefix(path, h) }) {
					found = append(found, fmt.Sprintf("%s draws in %s: who imports it has no use for that", from, path))
				}
			}
		}
		if slices.ContainsFunc(small, func(s string) bool { return within(from, s) }) {
			for _, path := range p.Deps {
				if slices.ContainsFunc(heavy, func(h string) bool { return strings.HasPrefix(path, h) }) {
					found = append(found, fmt.Sprintf("%s draws in %s: it must stay small", from, path))
				}
			}
		}
	}
	return found
}

// direct judges one import and answers with the reason against it.
func direct(from, path string) string {
	for m, home := range homes {
		if strings.HasPrefix(path, m) && !slices.ContainsFunc(home, func(h string) bool { return within(from, h) }) {
			return "only " + strings.Join(home, " and ") + " may"
		}
	}
	to, ours := strings.CutPrefix(path, module)
	if !ours || part(from) == part(to) {
		return ""
	}
	switch {
	case within(to, "sandbox/enginetest"), within(to, "internal/supervise/drivertest"), within(to, "internal/treetest"):
		return "it is for tests"
	case within(to, "cmd"), within(to, "test") && !within(from, "test"):
		return "nothing imports programs and tests"
	case height(from) == foundation && height(to) == foundation:
		return ""
	case height(to) >= height(from):
		return "imports point downwards only"
	}
	return ""
}

// part is the piece of the tree within which imports are free: an engine, a program, a named layer.
func part(path string) string {
	for _, children := range []string{"sandbox/engine/", "cmd/"} {
		if rest, ok := strings.CutPrefix(path, children); ok {
			name, _, _ := strings.Cut(rest, "/")
			return children + name
		}
	}
	if home := longest(path); home != "" {
		return home
	}
	return path
}

func height(path string) int { return heights[longest(path)] }

func longest(path string) string {
	best := ""
	for home := range heights {
		if within(path, home) && len(home) > len(best) {
			best = home
		}
	}
	return best
}

func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, dir+"/")
}
