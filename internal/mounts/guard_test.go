//go:build unix

package mounts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hermes.example/hermes/sandbox"
)

func TestParse(t *testing.T) {
	w := newWorld(t)
	if err := os.Symlink(w.cwd, filepath.Join(w.cwd, "link")); err != nil {
		t.Fatal(err)
	}
	h := w.host()
	for text, want := range map[string]sandbox.Mount{
		"/src:/dst":        {Source: "/src", Target: "/dst"},
		"/src:/dst:ro":     {Source: "/src", Target: "/dst", ReadOnly: true},
		"/src:/dst:rw":     {Source: "/src", Target: "/dst"},
		"~/x:/dst":         {Source: w.user + "/x", Target: "/dst"},
		"~:/dst":           {Source: w.user, Target: "/dst"},
		"rel/x:/dst":       {Source: w.cwd + "/rel/x", Target: "/dst"},
		".:/dst:ro":        {Source: w.cwd, Target: "/dst", ReadOnly: true},
		"link/sub:/dst":    {Source: w.cwd + "/sub", Target: "/dst"},
		"/with space:/d d": {Source: "/with space", Target: "/d d"},
		"c:/dst":           {Source: w.cwd + "/c", Target: "/dst"},
	} {
		if got, err := h.Parse(text); err != nil || got != want {
			t.Errorf("%q: got %+v, %v; want %+v", text, got, err, want)
		}
	}
	for text, why := range map[string]string{
		"":               "source and a target",
		"/src":           "source and a target",
		":/dst":          "source and a target",
		"/src:":          "source and a target",
		"/src:/dst:":     "last part",
		"/src:/dst:wr":   "last part",
		"/src:/dst:ro,z": "last part",
		"/a:/b:/c:ro":    "source and a target",
		`C:\src:/dst`:    "Windows",
		`C:/src:/dst`:    "Windows",
		`C:\src:/dst:ro`: "Windows",
		`\\host\x:/dst`:  "Windows",
	} {
		if got, err := h.Parse(text); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: got %+v, %v; want a reason about %q", text, got, err, why)
		}
	}
}

// Commands can put links into what is mounted writable. None of them may decide what
// the next sandbox sees.
func TestNoLinkOfASandboxDecidesWhatIsMounted(t *testing.T) {
	w := newWorld(t)
	secret := filepath.Dir(w.write(w.user+"/.ssh/id", "secret"))
	w.write(w.cwd+"/inner/file", "")
	for name, to := range map[string]string{"data": secret, "up": "../.ssh", "inside": "inner"} {
		if err := os.Symlink(to, filepath.Join(w.cwd, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(w.cwd, w.user+"/alias"); err != nil {
		t.Fatal(err)
	}
	w.write("config.yaml", "terminal:\n  credential_files: [cache/key]\nskills:\n  external_dirs: ['"+w.cwd+"/data']\n")
	w.write("token", "")
	w.write("cache/web/page", "")
	w.link("../token", "cache/key")
	w.link(secret, "cache/documents")
	project, cache := w.cwd+":/workspace", "$HOME/cache:/cache"
	w.set("TERMINAL_DOCKER_VOLUMES", []string{w.cwd + "/data:/a", "~/alias/up/id:/b", w.cwd + "/inside:/c", "~/alias/inner:/d", "~/project:/workspace", w.home + "/cache:/cache"})
	w.expects([]string{w.cwd + "/inner:/c", w.cwd + "/inner:/d", project, cache, "$HOME/cache/web:/root/.hermes/cache/web:ro"},
		[]string{"/a: a link leads out", "/b: a link leads out", `"cache/key": a link leads out`, "project/data: a link leads out", `"documents": a link leads out`})
	// Where sandboxes cannot write, links are their owner's.
	w.set("TERMINAL_DOCKER_VOLUMES", []string{w.cwd + "/data:/a", "~/alias/up/id:/b", "~/project:/workspace:ro"})
	w.expects([]string{secret + ":/a", secret + "/id:/b", project + ":ro", "$HOME/token:/root/.hermes/cache/key:ro",
		secret + ":/root/.hermes/external_skills/0:ro", secret + ":/root/.hermes/cache/documents:ro", "$HOME/cache/web:/root/.hermes/cache/web:ro"}, nil)
}

func TestHermesOwnFilesAreNotMounted(t *testing.T) {
	w := newWorld(t)
	base := filepath.Dir(w.user)
	if err := os.Symlink(w.user, filepath.Join(base, "link")); err != nil {
		t.Fatal(err)
	}
	w.set("HERMES_HOME", filepath.Join(base, "link", ".hermes"))
	// The configuration decides what is mounted: whoever can write it, wherever
	// it is, can mount anything next time.
	w.write(base+"/dotfiles/hermes.yaml", "")
	w.link(base+"/dotfiles/hermes.yaml", "config.yaml")
	h := w.host()
	for text, allowed := range map[string]bool{
		"user/project:/x":                            true,
		"user:/x":                                    false,
		"user:/x:ro":                                 true,
		"user/.hermes:/x":                            false,
		"user/.hermes/config.yaml:/x":                false,
		"user/.hermes/skills:/x":                     true,
		"dotfiles:/x":                                false,
		"dotfiles:/x:ro":                             true,
		"dotfiles/hermes.yaml:/x":                    false,
		"user/.hermes/sandboxes/native/a/work:/x":    false,
		"user/.hermes/sandboxes/native/a/work:/x:ro": true,
		"run:/x":                                     false,
		"run:/x:ro":                                  false,
		"run/hermes/x:/x":                            false,
		"run/somebody:/x":                            true,
		"user/.hermesx:/x":                           true,
	} {
		m, err := h.Parse(filepath.Join(base, text))
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Allowed(m); (err == nil) != allowed {
			t.Errorf("%s: allowed should be %v, got %v", text, allowed, err)
		}
	}
	w.set("TERMINAL_DOCKER_VOLUMES", []string{base + "/run:/x:ro", base + "/dotfiles:/y", w.user + "/project:/z"})
	w.expects([]string{w.cwd + ":/z"}, []string{"sockets", "own files"})
	// Those of all profiles are in one home, and none may write what another believes.
	w.set("HERMES_HOME", filepath.Join(base, "link", ".hermes", "profiles", "coder"))
	h = w.host()
	for text, allowed := range map[string]bool{
		"user/.hermes:/x":                            false,
		"user/.hermes/config.yaml:/x":                false,
		"dotfiles:/x":                                false,
		"user/.hermes/profiles/coder/config.yaml:/x": false,
		"user/.hermes/profiles/coder/skills:/x":      true,
		"user/project:/x":                            true,
	} {
		m, err := h.Parse(filepath.Join(base, text))
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Allowed(m); (err == nil) != allowed {
			t.Errorf("%s of a named profile: allowed should be %v, got %v", text, allowed, err)
		}
	}
}

// Mounts of other settings are held to the same: what cannot be is an error.
func TestExtraMounts(t *testing.T) {
	w := newWorld(t)
	secret := filepath.Dir(w.write(w.user+"/.ssh/id", "secret"))
	w.write(w.user+"/shared/file", "")
	for name, to := range map[string]string{w.user + "/alias": w.user + "/shared", w.cwd + "/out": secret} {
		if err := os.Symlink(to, name); err != nil {
			t.Fatal(err)
		}
	}
	h := w.host()
	beside := []sandbox.Mount{{Source: w.cwd, Target: sandbox.Workspace}}
	got, err := h.Extra([]sandbox.Mount{{Source: w.user + "/alias", Target: "/a", Origin: sandbox.ByConfig}}, beside)
	if want := (sandbox.Mount{Source: w.user + "/shared", Target: "/a", Origin: sandbox.ByConfig}); err != nil || len(got) != 1 || got[0] != want {
		t.Errorf("got %+v, %v", got, err)
	}
	for source, why := range map[string]string{
		w.cwd + "/out": "a link leads out",
		w.user + "/no": "it does not exist",
		w.home:         "Hermes' own files",
		"/":            "sockets",
		h.run:          "sockets",
		w.user:         "Hermes' own files",
	} {
		asked := []sandbox.Mount{{Source: source, Target: "/a"}}
		if got, err := h.Extra(asked, beside); err == nil || !strings.Contains(err.Error(), why) || !strings.HasPrefix(err.Error(), "cannot mount ") {
			t.Errorf("%s: got %+v, %v, not about %q", source, got, err, why)
		}
	}
}
