//go:build unix

package mounts

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/sandbox"
)

// world is a machine of the test's own: a caller's home with a Hermes home in it,
// and the directory that the caller is in.
type world struct {
	t         *testing.T
	user, cwd string
	home      string
	vars      map[string]string
	named     bool // the engine keeps volumes by name
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, user: filepath.Join(dir, "user"), cwd: filepath.Join(dir, "user", "project"), home: filepath.Join(dir, "user", ".hermes")}
	w.vars = map[string]string{"HOME": w.user, "HERMES_HOME": w.home}
	for _, d := range []string{w.cwd, w.home, filepath.Join(dir, "run")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("XDG_RUNTIME_DIR", filepath.Join(dir, "run"))
	t.Chdir(w.cwd)
	return w
}

// write makes a file, by its path in the home unless it is absolute.
func (w *world) write(path, content string) string {
	w.t.Helper()
	if !filepath.IsAbs(path) {
		path = filepath.Join(w.home, path)
	}
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(content), 0o640)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return path
}

func (w *world) link(to, path string) {
	w.t.Helper()
	if err := os.Symlink(to, filepath.Join(w.home, path)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) set(name string, value any) {
	w.t.Helper()
	text, ok := value.(string)
	if !ok {
		data, err := json.Marshal(value)
		if err != nil {
			w.t.Fatal(err)
		}
		text = string(data)
	}
	w.vars[name] = text
}

func (w *world) host() *Host {
	w.t.Helper()
	lookup := func(name string) (string, bool) { v, ok := w.vars[name]; return v, ok }
	c, err := config.Load(lookup)
	if err != nil {
		w.t.Fatal(err)
	}
	h, err := New(c, lookup)
	if err != nil {
		w.t.Fatal(err)
	}
	return h
}

// configured returns the mounts as SOURCE:TARGET[:ro], with the world's own
// directories in short.
func (w *world) configured() (list, warnings []string) {
	w.t.Helper()
	found, err := w.host().Configured(context.Background(), w.named)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, v := range found.Volumes {
		list = append(list, fmt.Sprintf("%s:%s:%v,%v", v.Name, v.Target, v.ReadOnly, v.NoCopy))
	}
	for _, m := range found.Mounts {
		text := m.Source + ":" + m.Target
		if m.ReadOnly {
			text += ":ro"
		}
		if m.Origin == sandbox.ByCaller {
			w.t.Errorf("%s has the origin of a caller's mount", text)
		}
		list = append(list, strings.ReplaceAll(text, w.home, "$HOME"))
	}
	for _, warning := range found.Warnings {
		if strings.Contains(warning, "\n") || !strings.HasPrefix(warning, "cannot ") {
			w.t.Errorf("not a line of ours: %q", warning)
		}
	}
	return list, found.Warnings
}

// expects compares with what is configured; each warning must contain its text.
func (w *world) expects(list, warnings []string) {
	w.t.Helper()
	gotList, gotWarnings := w.configured()
	if !slices.Equal(gotList, list) {
		w.t.Errorf("got  %q\nwant %q", gotList, list)
	}
	if len(gotWarnings) != len(warnings) {
		w.t.Errorf("the warnings are %q, and should be about %q", gotWarnings, warnings)
		return
	}
	for i, text := range warnings {
		if !strings.Contains(gotWarnings[i], text) {
			w.t.Errorf("the warning %q is not about %q", gotWarnings[i], text)
		}
	}
}

func TestNothingIsMountedUnlessItIsConfigured(t *testing.T) {
	newWorld(t).expects(nil, nil)
}

func TestTheOrderIsDirectoryVolumesCredentialsSkillsCaches(t *testing.T) {
	w := newWorld(t)
	w.write("config.yaml", "terminal:\n  credential_files: [token]\nskills:\n  external_dirs: [more]\n")
	for _, file := range []string{"token", "skills/a/SKILL.md", "more/b/SKILL.md", "cache/web/page", "cache/documents/letter", "cache/private/x"} {
		w.write(file, "")
	}
	w.set("TERMINAL_DOCKER_VOLUMES", []string{w.user + "/project:/data"})
	w.set("TERMINAL_DOCKER_MOUNT_CWD_TO_WORKSPACE", "true")
	profile := []string{
		"$HOME/token:/root/.hermes/token:ro",
		"$HOME/skills:/root/.hermes/skills:ro", "$HOME/more:/root/.hermes/external_skills/0:ro",
		"$HOME/cache/documents:/root/.hermes/cache/documents:ro", "$HOME/cache/web:/root/.hermes/cache/web:ro",
	}
	named := []string{w.cwd + ":/workspace", w.cwd + ":/data"}
	w.expects(slices.Concat(named, profile), nil)
	w.set("HERMES_DOCKER_BACKEND_SKIP_PROFILE_MOUNTS", "1")
	w.expects(named, nil)
}

func TestVolumes(t *testing.T) {
	w := newWorld(t)
	src := filepath.Dir(w.write(w.user+"/src/file", ""))
	if err := os.Symlink(src, w.user+"/link"); err != nil {
		t.Fatal(err)
	}
	for text, test := range map[string]struct{ mount, warning string }{
		src + ":/b":              {mount: src + ":/b"},
		" " + src + ":/b ":       {mount: src + ":/b"},
		src + ":/b:ro":           {mount: src + ":/b:ro"},
		src + ":/b:rw":           {mount: src + ":/b"},
		src + ":/b:ro,z":         {mount: src + ":/b:ro"},
		src + ":/b:Z":            {mount: src + ":/b"},
		src + "/file:/b":         {mount: src + "/file:/b"},
		"~/src:/b":               {mount: src + ":/b"},
		"../src:/b":              {mount: src + ":/b"},
		".:/b":                   {mount: w.cwd + ":/b"},
		"~/link:/b":              {mount: src + ":/b"},
		"novolume":               {warning: "source and a target"},
		":/b":                    {warning: "source and a target"},
		src + ":":                {warning: "source and a target"},
		src + ":/b:":             {warning: "last part is empty"},
		src + ":/b:/c:ro":        {warning: "source and a target"},
		src + ":/b:ro,shared":    {warning: `option "shared"`},
		"data:/b":                {warning: "volume of Docker's"},
		"c:/b":                   {warning: "volume of Docker's"},
		`C:\src:/b`:              {warning: "Windows"},
		"C:/src:/b":              {warning: "Windows"},
		"~/absent:/b":            {warning: "it does not exist"},
		src + ":b":               {warning: "not absolute"},
		src + ":/proc/sys":       {warning: "belongs to the sandbox itself"},
		"~:/b":                   {warning: "own files"},
		"~/.hermes/sandboxes:/b": {warning: "does not exist"},
	} {
		w.set("TERMINAL_DOCKER_VOLUMES", []string{text})
		var list, warnings []string
		if test.mount != "" {
			list = []string{test.mount}
		} else {
			warnings = []string{test.warning}
		}
		t.Run(text, func(t *testing.T) { w.t = t; w.expects(list, warnings) })
	}
	w.t = t
	w.set("TERMINAL_DOCKER_VOLUMES", []string{src + ":/b", "novolume", src + ":/b/", src + ":/c"})
	w.expects([]string{src + ":/b", src + ":/c"}, []string{"novolume", "already"})
	w.set("TERMINAL_DOCKER_VOLUMES", `{"/a":"/b"}`)
	w.expects(nil, []string{"not a list"})
}

func TestTheCallersDirectoryAtTheWorkspace(t *testing.T) {
	w := newWorld(t)
	other := filepath.Dir(w.write(w.user+"/other/file", ""))
	for name, test := range map[string]struct {
		off            bool
		cwd, volume    string
		mount, warning string
	}{
		"off":                      {off: true},
		"where we are":             {mount: w.cwd + ":/workspace"},
		"another":                  {cwd: other, mount: other + ":/workspace"},
		"in the user's home":       {cwd: "~/other", mount: other + ":/workspace"},
		"relative":                 {cwd: "../other", mount: other + ":/workspace"},
		"absent":                   {cwd: w.user + "/absent", warning: "it does not exist"},
		"of the sandbox":           {cwd: "/workspace/x", warning: "names a directory of the sandbox"},
		"the sandbox's home":       {cwd: "/root", warning: "names a directory of the sandbox"},
		"with Hermes in it":        {cwd: "~", warning: "own files"},
		"a volume is there":        {volume: other + ":/workspace", mount: other + ":/workspace"},
		"written another way":      {volume: other + ":/workspace/.", mount: other + ":/workspace/."},
		"an absent volume":         {volume: w.user + "/absent:/workspace", warning: "it does not exist"},
		"a volume below, D16":      {volume: other + ":/workspace/projects", mount: w.cwd + ":/workspace " + other + ":/workspace/projects"},
		"a volume beside, D16":     {volume: other + ":/workspace2", mount: w.cwd + ":/workspace " + other + ":/workspace2"},
		"a source of that name":    {volume: other + ":/mnt/workspace", mount: w.cwd + ":/workspace " + other + ":/mnt/workspace"},
		"a volume that is refused": {volume: "data:/mnt", mount: w.cwd + ":/workspace", warning: "Docker's"},
	} {
		t.Run(name, func(t *testing.T) {
			w.t = t
			w.vars["TERMINAL_DOCKER_MOUNT_CWD_TO_WORKSPACE"] = map[bool]string{false: "yes", true: "no"}[test.off]
			w.vars["TERMINAL_CWD"] = test.cwd
			delete(w.vars, "TERMINAL_DOCKER_VOLUMES")
			if test.volume != "" {
				w.set("TERMINAL_DOCKER_VOLUMES", []string{test.volume})
			}
			var warnings []string
			if test.warning != "" {
				warnings = []string{test.warning}
			}
			w.expects(strings.Fields(test.mount), warnings)
		})
	}
}

func TestVolumesByTheirNames(t *testing.T) {
	w := newWorld(t)
	w.named = true
	w.vars["TERMINAL_DOCKER_MOUNT_CWD_TO_WORKSPACE"] = "yes"
	w.set("TERMINAL_DOCKER_VOLUMES", []string{"cache:/root/.cache", "lib:/lib/x:ro,nocopy", w.user + ":/mnt:ro", "again:/mnt", "odd name:/odd", "x:relative", "work:/workspace:z"})
	w.expects([]string{"cache:/root/.cache:false,false", "lib:/lib/x:true,true", "work:/workspace:false,false", w.user + ":/mnt:ro"},
		[]string{"again at /mnt", "odd name", "relative"})
}

func TestJoin(t *testing.T) {
	dir := t.TempDir()
	place := filepath.Join(dir, "skills")
	if err := os.Mkdir(place, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	config := func(source, target string) sandbox.Mount {
		return sandbox.Mount{Source: source, Target: target, ReadOnly: true, Origin: sandbox.ByProfile}
	}
	for name, test := range map[string]struct {
		given, configured []sandbox.Mount
		want              string
		warnings          int
	}{
		"apart":                        {[]sandbox.Mount{{Source: "/a", Target: "/x"}}, []sandbox.Mount{config("/b", "/y")}, "/x /y", 0},
		"the caller has the last word": {[]sandbox.Mount{{Source: "/a", Target: "/x/"}}, []sandbox.Mount{config("/b", "/x")}, "/x/", 0},
		"below a writable one":         {[]sandbox.Mount{{Source: dir, Target: "/x"}}, []sandbox.Mount{config(place, "/x/new")}, "/x /x/new", 0},
		"below a read-only one":        {[]sandbox.Mount{{Source: dir, Target: "/x", ReadOnly: true}}, []sandbox.Mount{config(place, "/x/new")}, "/x", 1},
		"with a place for it":          {[]sandbox.Mount{{Source: dir, Target: "/x", ReadOnly: true}}, []sandbox.Mount{config(place, "/x/skills")}, "/x /x/skills", 0},
		"with a place of another kind": {[]sandbox.Mount{{Source: dir, Target: "/x", ReadOnly: true}}, []sandbox.Mount{config(file, "/x/skills")}, "/x", 1},
		"in the nearest":               {[]sandbox.Mount{{Source: dir, Target: "/x", ReadOnly: true}, {Source: dir, Target: "/x/skills"}}, []sandbox.Mount{config(place, "/x/skills/new")}, "/x /x/skills /x/skills/new", 0},
		"beside":                       {[]sandbox.Mount{{Source: dir, Target: "/x", ReadOnly: true}}, []sandbox.Mount{config(place, "/xy")}, "/x /xy", 0},
		"the caller's own is not ours": {[]sandbox.Mount{{Source: dir, Target: "/x", ReadOnly: true}, {Source: dir, Target: "/x/new"}}, nil, "/x /x/new", 0},
	} {
		list, warnings := Join(test.given, test.configured)
		var targets []string
		for _, m := range list {
			targets = append(targets, m.Target)
		}
		if got := strings.Join(targets, " "); got != test.want || len(warnings) != test.warnings {
			t.Errorf("%s: %q %q, want %q", name, got, warnings, test.want)
		}
	}
	mixed := []sandbox.Mount{{Target: "/a"}, config("/b", "/b"), {Target: "/c", Origin: sandbox.ByConfig}}
	if given := Given(mixed); len(given) != 1 || given[0].Target != "/a" {
		t.Errorf("given: %v", given)
	}
}
