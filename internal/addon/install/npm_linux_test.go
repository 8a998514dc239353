package install

import (
	"archive/tar"
	"context"
	"encoding/hex"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hermes.example/hermes/internal/addon/lock"
	"hermes.example/hermes/internal/addon/npm"
	"hermes.example/hermes/internal/addon/sealed"
	"hermes.example/hermes/internal/addon/unavailable"
	"hermes.example/hermes/test/tarballs"
)

var (
	server = tarballs.Package{
		Name: "@m/server", Version: "1.0.0", Requires: map[string]string{"dep": "^2.0.0"}, Bin: map[string]string{"node": "index.js"},
		Files: map[string]string{"index.js": "console.log(require('dep'))\n"},
	}
	dep        = tarballs.Package{Name: "dep", Version: "2.1.0", Files: map[string]string{"index.js": "module.exports = 'dep'\n"}}
	newer      = tarballs.Package{Name: "dep", Version: "2.2.0", Files: map[string]string{"index.js": "module.exports = 'newer'\n"}}
	serverSpec = []string{"@m/server@1.0.0"}
)

func serverTree() lock.Tree { return tarballs.Tree("mcp.demo", serverSpec, server, dep) }

// forRegistry is an installer of packages of a registry, with nothing of this machine's settings.
func forRegistry(t *testing.T, registry string, environ ...string) Installer {
	t.Helper()
	dir := t.TempDir()
	return Installer{
		Runtime: &sealed.Runtime{Root: dir}, Cache: filepath.Join(dir, "cache"), FilesRoot: filepath.Join(dir, "none"), Timeout: bound,
		Environ: append([]string{"PATH=" + tarballs.NPM(t) + ":/usr/bin:/bin", "HOME=" + dir, "npm_config_registry=" + registry, "npm_config_fetch_retries=0"}, environ...),
	}
}

func installTree(t *testing.T, i Installer, tree lock.Tree, specs []string) (modules string, err error) {
	t.Helper()
	modules = filepath.Join(filepath.Dir(i.Cache), "staged"+time.Now().Format("150405.000000000"), "node_modules")
	ctx, cancel := context.WithTimeout(t.Context(), 2*bound)
	defer cancel()
	err = i.InstallTree(ctx, tree, specs, modules)
	i.checkClean(t)
	return modules, err
}

// filesBelow are the files of a tree, with their contents; a directory or link is itself.
func filesBelow(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if !e.Type().IsRegular() {
			all[name] = e.Type().String()
			return nil
		}
		content, err := os.ReadFile(path)
		all[name] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Exactly the packages of the lock, whatever newer ones there are, and nothing of npm's own; it works as it lies there.
func TestATreeIsInstalled(t *testing.T) {
	t.Parallel()
	r := tarballs.Serve(t, server, dep, newer)
	i := forRegistry(t, r.URL)
	var told []Event
	i.Progress = func(e Event) { told = append(told, e) }
	modules, err := installTree(t, i, serverTree(), serverSpec)
	if err != nil {
		t.Fatal(err)
	}
	files := filesBelow(t, modules)
	if len(files) != 4 || files["dep/index.js"] != "module.exports = 'dep'\n" || files["@m/server/index.js"] == "" {
		t.Errorf("it has %q", files)
	}
	if out, err := exec.Command("node", filepath.Join(modules, "@m/server/index.js")).CombinedOutput(); err != nil || string(out) != "dep\n" {
		t.Errorf("%s, %v", out, err)
	}
	if len(told) == 0 || told[0].Phase != Downloading || told[0].Total != 2 || told[0].Size != serverTree().Bytes() {
		t.Errorf("progress: %+v", told)
	}
	if beside, err := os.ReadDir(filepath.Dir(modules)); err != nil || len(beside) != 1 {
		t.Errorf("beside it: %v, %v", beside, err)
	}
}

// D42: whatever a package says is to run when it is installed does not.
func TestD42NoScriptOfAPackageRuns(t *testing.T) {
	t.Parallel()
	ran := filepath.Join(t.TempDir(), "ran")
	hostile := tarballs.Package{Name: "hostile", Version: "1.0.0", Scripts: make(map[string]string), Files: map[string]string{"binding.gyp": "{}"}}
	for _, when := range []string{"preinstall", "install", "postinstall", "prepare", "preprepare", "postprepare", "dependencies"} {
		hostile.Scripts[when] = "echo " + when + " >>" + ran
	}
	r := tarballs.Serve(t, hostile)
	specs := []string{"hostile@1.0.0"}
	i := forRegistry(t, r.URL, "npm_config_ignore_scripts=false", "npm_config_foreground_scripts=true")
	if _, err := installTree(t, i, tarballs.Tree("mcp.demo", specs, hostile), specs); err != nil {
		t.Fatal(err)
	}
	if said, err := os.ReadFile(ran); err == nil {
		t.Errorf("there ran %s", said)
	}
}

// D42: a package whose archive is not the one of the lock is not installed, whoever says that it is.
func TestD42OnlyTheLocksArchives(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*tarballs.Registry){
		"another archive than the registry says": func(r *tarballs.Registry) { r.Break("dep-2.1.0.tgz", tarballs.Fault{Wrong: true}) },
		"another release under the same version": func(*tarballs.Registry) {},
	} {
		offered := dep
		if strings.HasPrefix(name, "another release") {
			offered.Files = map[string]string{"index.js": "module.exports = 'bad'\n"}
		}
		r := tarballs.Serve(t, server, offered)
		spoil(r)
		modules, err := installTree(t, forRegistry(t, r.URL), serverTree(), serverSpec)
		if !errors.Is(err, unavailable.Failed) || !strings.Contains(err.Error(), "EINTEGRITY") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(modules); err == nil {
			t.Errorf("%s: something was left", name)
		}
	}
}

// What an archive has that leads out of its package does not get there, and no program of a package gets a name.
func TestAHostileArchiveStaysInItsPlace(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "escaped")
	hostile := tarballs.Package{Name: "hostile", Version: "1.0.0", Bin: map[string]string{"node": "x.js", "npm": "x.js"}, Files: map[string]string{"x.js": ""}, Entries: []tarballs.Entry{
		{Name: "package/../../../escaped", Content: "out"}, {Name: "../escaped", Content: "out"}, {Name: outside, Content: "out"},
		{Name: "package/passwd", Link: "/etc/passwd", Type: tar.TypeSymlink}, {Name: "package/up", Link: "..", Type: tar.TypeSymlink}, {Name: "package/up/escaped", Content: "out"},
		{Name: "package/hard", Link: "/etc/passwd", Type: tar.TypeLink}, {Name: "package/pipe", Type: tar.TypeFifo},
	}}
	r := tarballs.Serve(t, hostile)
	specs := []string{"hostile@1.0.0"}
	i := forRegistry(t, r.URL)
	modules, err := installTree(t, i, tarballs.Tree("mcp.demo", specs, hostile), specs)
	if err == nil {
		for name, content := range filesBelow(t, modules) {
			if !strings.HasPrefix(name, "hostile/") || content == "L---------" || content == "p---------" {
				t.Errorf("there is %s: %s", name, content)
			}
		}
	} else if !errors.Is(err, unavailable.Failed) {
		t.Error(err)
	}
	for _, place := range []string{outside, filepath.Join(filepath.Dir(i.Cache), "escaped"), filepath.Join(i.Cache, "escaped"), filepath.Join(filepath.Dir(modules), "escaped")} {
		if _, err := os.Lstat(place); err == nil {
			t.Errorf("%s was written", place)
		}
	}
}

// D50: what was installed once needs no registry again, and a registry that is down is not waited for.
func TestD50ATreeIsInstalledAgainWithoutTheNetwork(t *testing.T) {
	t.Parallel()
	r := tarballs.Serve(t, server, dep)
	i := forRegistry(t, r.URL)
	if _, err := installTree(t, i, serverTree(), serverSpec); err != nil {
		t.Fatal(err)
	}
	asked := r.Requests()
	i.Timeout = bound / 3 // who waits for the registry fails
	r.Break("*", tarballs.Fault{Silent: true})
	if _, err := installTree(t, i, serverTree(), serverSpec); err != nil || r.Requests() != asked {
		t.Errorf("%v, after %d requests more", err, r.Requests()-asked)
	}
	i.Offline = true
	if _, err := installTree(t, i, serverTree(), serverSpec); err != nil {
		t.Error(err)
	}
	i.Cache = filepath.Join(t.TempDir(), "empty")
	if _, err := installTree(t, i, serverTree(), serverSpec); !errors.Is(err, unavailable.Failed) || !strings.Contains(err.Error(), "switched off") {
		t.Error(err)
	}
	i.Cache, i.Offline, i.Fresh = filepath.Join(filepath.Dir(i.Cache), "again"), false, true
	r.Break("*", tarballs.Fault{})
	for range 2 {
		before := r.Hits("dep-2.1.0.tgz")
		if _, err := installTree(t, i, serverTree(), serverSpec); err != nil || r.Hits("dep-2.1.0.tgz") != before+1 {
			t.Errorf("what was to be forgotten was not: %v", err)
		}
	}
}

// Of what npm has kept a part only it is not tried without the network, which takes as long.
func TestATreeOfWhichAPartIsKept(t *testing.T) {
	t.Parallel()
	i := forRegistry(t, "")
	s := &session{Installer: i}
	if s.mayHave(serverTree()) {
		t.Error("nothing is kept")
	}
	keep := func(p tarballs.Package) {
		sum, err := npm.Hash(p.Integrity())
		name := hex.EncodeToString(sum)
		path := filepath.Join(i.npmCache(), "_cacache/content-v2/sha512", name[:2], name[2:4], name[4:])
		if err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	keep(dep)
	if s.mayHave(serverTree()) {
		t.Error("one is missing")
	}
	keep(server)
	tree := serverTree()
	tree.Packages = append(tree.Packages, lock.Node{Path: "only-mac", Optional: true, Integrity: newer.Integrity()})
	if !s.mayHave(tree) {
		t.Error("all are kept that are for this system")
	}
	if err := os.Rename(filepath.Join(i.npmCache(), "_cacache/content-v2"), filepath.Join(i.npmCache(), "_cacache/content-v3")); err != nil || !s.mayHave(tree) {
		t.Errorf("another npm is not asked: %v", err)
	}
}

// Failures say what it was, in few words, and that a registry is slow is told from that it says no.
func TestAFailureOfNPMIsExplained(t *testing.T) {
	t.Parallel()
	r := tarballs.Serve(t, server)
	i := forRegistry(t, r.URL)
	if _, err := installTree(t, i, serverTree(), serverSpec); !errors.Is(err, unavailable.Failed) || !strings.Contains(err.Error(), "npm ci failed") || !strings.Contains(err.Error(), "dep") || strings.Contains(err.Error(), "log") {
		t.Error(err)
	}
	r.Break("*", tarballs.Fault{Status: http.StatusForbidden})
	if _, err := installTree(t, forRegistry(t, r.URL), serverTree(), serverSpec); !errors.Is(err, unavailable.Failed) || !strings.Contains(err.Error(), "403") {
		t.Error(err)
	}
	r.Break("*", tarballs.Fault{Silent: true})
	i.Timeout = 2 * time.Second
	if _, err := installTree(t, i, serverTree(), serverSpec); !errors.Is(err, unavailable.Failed) || !strings.Contains(err.Error(), "did not end within 2s") {
		t.Error(err)
	}
	i.Environ = append(i.Environ, "PATH="+t.TempDir())
	if _, err := installTree(t, i, serverTree(), serverSpec); !errors.Is(err, unavailable.NoInstaller) || !strings.Contains(err.Error(), "full image") || i.HasNode() {
		t.Error(err)
	}
}

// A package that says it is for another Node.js is not installed for this one.
func TestAPackageForAnotherNodeIsRefused(t *testing.T) {
	t.Parallel()
	other := tarballs.Package{Name: "other", Version: "1.0.0", Engine: ">=999"}
	r := tarballs.Serve(t, other)
	specs := []string{"other@1.0.0"}
	_, err := installTree(t, forRegistry(t, r.URL), tarballs.Tree("mcp.demo", specs, other), specs)
	if !errors.Is(err, unavailable.Failed) || !strings.Contains(err.Error(), ">=999") {
		t.Error(err)
	}
}

// What is kept can be installed without a network afterwards; what is not is gone: other packages, and other versions.
func TestPruneKeepsWhatIsNeededOfNPM(t *testing.T) {
	t.Parallel()
	other := server
	other.Version = "1.1.0"
	r := tarballs.Serve(t, server, other, dep, newer)
	i := forRegistry(t, r.URL)
	all := map[string]lock.Tree{"server": serverTree(), "other": tarballs.Tree("mcp.demo", []string{"@m/server@1.1.0"}, other, newer)}
	specs := map[string][]string{"server": serverSpec, "other": {"@m/server@1.1.0"}}
	for name := range all {
		if _, err := installTree(t, i, all[name], specs[name]); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	r.Break("*", tarballs.Fault{Status: http.StatusServiceUnavailable})
	i.Offline = true
	freed, err := i.Prune(t.Context(), nil, []npm.Spec{{Name: "@m/server", Version: "1.0.0"}, {Name: "dep", Version: "2.1.0"}})
	if err != nil || freed == 0 {
		t.Errorf("%d bytes were freed, %v", freed, err)
	}
	i.checkClean(t)
	for name := range all {
		if _, err := installTree(t, i, all[name], specs[name]); (err == nil) != (name == "server") {
			t.Errorf("%s afterwards: %v", name, err)
		}
	}
}

// Which of what npm keeps is of a package that nobody needs; what cannot be told stays.
func TestWhatGoesOfNPMsCache(t *testing.T) {
	keep := []npm.Spec{{Name: "dep", Version: "2.1.0"}, {Name: "@m/server", Version: "1.0.0"}}
	for key, want := range map[string]bool{
		"https://r/dep": false, "https://r/other": true, "https://r/mirror/npm/other": true, "https://r/mirror/@m%2fserver": false, "https://r/@m%2fother": true,
		"https://r/dep/-/dep-2.1.0.tgz": false, "https://r/dep/-/dep-2.2.0.tgz": true, "https://r/x/@m/server/-/server-1.0.0.tgz": false, "https://r/x/@m/server/-/server-1.0.0-rc.1.tgz": true,
		"https://r/@n/dep/-/dep-2.1.0.tgz": true, "https://r/download/dep/2.1.0/0123456789": false, "https://r/download/@m/server/1.0.0/012": false, "https://r/download/other/1.0.0/012": true, "https://r/files/Dep_2.2.0": false, "https://r/dep/-/archive.tgz": false, "https://r/": false,
	} {
		if got := goes(request+key, keep); got != want {
			t.Errorf("%s goes: %v", key, got)
		}
	}
	if goes("https://r/other", keep) || goes("pacote:tarball:file:x", keep) {
		t.Error("what is no answer of a registry goes")
	}
}

// Who makes locks has npm choose; what comes of it installs.
func TestResolveTree(t *testing.T) {
	t.Parallel()
	scripted := tarballs.Package{Name: "scripted", Version: "1.0.0", Engine: ">=999", Scripts: map[string]string{"install": "exit 1"}, Requires: map[string]string{"dep": "2.1.0"}}
	top := tarballs.Package{Name: "top", Version: "3.0.0", Requires: map[string]string{"dep": "*", "scripted": "*"}, Engine: ">=18"}
	r := tarballs.Serve(t, dep, newer, scripted, top)
	i := forRegistry(t, r.URL)
	specs := []string{"top@3.0.0"}
	tree, err := i.ResolveTree(t.Context(), "mcp.demo", specs)
	if err != nil {
		t.Fatal(err)
	}
	text := string(tree.Text())
	if len(tree.Packages) != 4 || tree.Found("scripted", "dep").Version == tree.Found("top", "dep").Version || strings.Contains(text, "://") || strings.Count(text, `"scripts": true`) != 1 || strings.Count(text, ">=18") != 1 || strings.Contains(text, ">=999") {
		t.Errorf("%s", text)
	}
	modules, err := installTree(t, i, tree, specs)
	if err != nil {
		t.Fatal(err)
	}
	if files := filesBelow(t, modules); len(files) != 6 {
		t.Errorf("%q", files)
	}
	alias := tarballs.Package{Name: "alias", Version: "1.0.0", Requires: map[string]string{"other-name": "npm:dep@2.1.0"}}
	remote := tarballs.Package{Name: "remote", Version: "1.0.0", Requires: map[string]string{"dep": r.URL + "dep/-/dep-2.1.0.tgz"}}
	r.Add(alias, remote)
	for _, name := range []string{"alias", "remote"} {
		if got, err := i.ResolveTree(t.Context(), "mcp.demo", []string{name + "@1.0.0"}); err == nil {
			t.Errorf("%s is locked: %s", name, got.Text())
		}
	}
}
