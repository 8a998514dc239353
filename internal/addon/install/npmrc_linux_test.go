package install

import (
	"bytes"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hermes.example/hermes/internal/addon/lastwords"
	"hermes.example/hermes/internal/addon/sealed"
	"hermes.example/hermes/test/tarballs"
)

// fakeNPM is an installer whose npm leaves its arguments, its environment and its settings, and installs nothing.
func fakeNPM(t *testing.T, environ ...string) (Installer, *sealed.Runtime) {
	t.Helper()
	r := fake(t, map[string]string{"npm": `for a; do [ "$last" = --userconfig ] && cp "$a" "$(dirname "$0")/npmrc"; last=$a; done; mkdir -p node_modules`, "node": ""})
	dir := t.TempDir()
	return Installer{
		Runtime: r, Cache: filepath.Join(dir, "cache"), FilesRoot: filepath.Join(dir, "root"), Timeout: bound,
		Environ: append([]string{"PATH=" + filepath.Join(r.Root, "bin") + ":/usr/bin:/bin", "HOME=" + dir}, environ...),
	}, r
}

// D46: npm sees what it needs, and nothing else of the caller's environment.
func TestD46NPMDoesNotInheritTheEnvironment(t *testing.T) {
	foreign := []string{
		"OPENAI_API_KEY=secret-1", "NPM_TOKEN=secret-2", "NODE_AUTH_TOKEN=secret-3", "GITHUB_TOKEN=secret-4", "MY_OWN=secret-5", "HERMES_HOME=/h",
		"NODE_OPTIONS=--require /x", "NODE_PATH=/x", "LD_PRELOAD=", "npm_config_ignore_scripts=false", "NPM_CONFIG_SCRIPT_SHELL=/x", "npm_config_prefix=/x", "npm_config_cache=/x",
		"npm_config_omit=", "npm_config_git=/x", "npm_config_node_options=--require /x", "npm_config_globalconfig=/x", "npm_lifecycle_event=x",
	}
	i, r := fakeNPM(t, append(foreign, "HTTPS_PROXY=http://proxy.invalid", "NODE_EXTRA_CA_CERTS=/ca.pem", "npm_config_registry=http://registry.invalid/")...)
	if _, err := installTree(t, i, serverTree(), serverSpec); err != nil {
		t.Fatal(err)
	}
	env := left(t, r, "npm-1.env")
	for _, entry := range foreign {
		if slices.Contains(env, entry) {
			t.Errorf("it sees %s", entry)
		}
	}
	for _, want := range []string{"HTTPS_PROXY=http://proxy.invalid", "NODE_EXTRA_CA_CERTS=/ca.pem"} {
		if !slices.Contains(env, want) {
			t.Errorf("it does not see %s", want)
		}
	}
	args := left(t, r, "npm-1.args")
	for _, want := range []string{"ci", "--ignore-scripts", "--omit=dev", "--bin-links=false", "--no-audit", "--no-fund", filepath.Join(i.Cache, "npm")} {
		if !slices.Contains(args, want) {
			t.Errorf("no %s in %q", want, args)
		}
	}
	if got := left(t, r, "npmrc"); !slices.Equal(got, []string{`registry = "http://registry.invalid/"`}) {
		t.Errorf("its settings are %q", got)
	}
}

// Of the files of npm's settings counts what says where packages come from, the user's before the machine's, and
// variables before both.
func TestNPMsSettingsAreHonoured(t *testing.T) {
	i, r := fakeNPM(t, "NPM_TOKEN=t0ken", "npm_config_https_proxy=http://proxy.invalid", "npm_config_@mine:registry=http://mine.invalid/")
	write(t, i.FilesRoot, "etc/npmrc", "registry = http://machine.invalid/\ncafile=/machine.pem\nprefix=/x\n")
	write(t, r.Root, "etc/npmrc", "maxsockets=3\nregistry=http://node.invalid/\n")
	write(t, i.getenv("HOME"), ".npmrc", `; comment
# comment
registry=http://user.invalid/ ; why
//user.invalid/:_authToken=${NPM_TOKEN}
//other.invalid/path/:_password = "a b;c"
//other.invalid/path/:certfile=/c.pem
//user.invalid/:unknown=x
@scope:registry = http://scope.invalid/
ca[]="one"
ca[]='two'
strict-ssl = false
fetch-timeout=${UNSET}
script-shell=/x
ignore-scripts=false
node-options=--require /x
omit[]=optional
https-proxy=http://file.invalid
[section]
registry=http://section.invalid/
`)
	if _, err := installTree(t, i, serverTree(), serverSpec); err != nil {
		t.Fatal(err)
	}
	want := []string{
		`//other.invalid/path/:_password = "a b;c"`, `//other.invalid/path/:certfile = "/c.pem"`, `//user.invalid/:_authToken = "t0ken"`, `@mine:registry = "http://mine.invalid/"`,
		`@scope:registry = "http://scope.invalid/"`, `ca[] = "one"`, `ca[] = "two"`, `cafile = "/machine.pem"`, `fetch-timeout = "${UNSET}"`, `https-proxy = "http://proxy.invalid"`,
		`maxsockets = "3"`, `registry = "http://user.invalid/"`, `strict-ssl = "false"`,
	}
	if got := left(t, r, "npmrc"); !slices.Equal(got, want) {
		t.Errorf("they are\n%s", strings.Join(got, "\n"))
	}
	for _, arg := range left(t, r, "npm-1.args") {
		if strings.Contains(arg, "t0ken") {
			t.Error("the token is among the arguments")
		}
	}
	i.Environ = append(i.Environ, "NPM_CONFIG_USERCONFIG="+os.DevNull)
	if rc, err := i.npmSettings(); err != nil || slices.Contains(slices.Collect(maps.Keys(rc)), "@scope:registry") {
		t.Errorf("another file was named, and it has %v, %v", rc, err)
	}
}

// npm reads the settings as they were meant.
func TestARegistryWithATokenIsAsked(t *testing.T) {
	t.Parallel()
	r := tarballs.Serve(t, server, dep)
	r.Token("s3cret-t0ken")
	i := forRegistry(t, r.URL)
	var log bytes.Buffer
	i.Log = slog.New(slog.NewTextHandler(&log, nil))
	host := strings.TrimPrefix(r.URL, "http:")
	write(t, i.getenv("HOME"), ".npmrc", host+":_authToken=wr0ng-t0ken\n")
	_, err := installTree(t, i, serverTree(), serverSpec)
	if err == nil || strings.Contains(err.Error()+log.String(), "t0ken") {
		t.Errorf("%v, %s", err, &log)
	}
	write(t, i.getenv("HOME"), ".npmrc", host+":_authToken=${MY_TOKEN}\n")
	i.Environ = append(i.Environ, "MY_TOKEN=s3cret-t0ken")
	if _, err := installTree(t, i, serverTree(), serverSpec); err != nil {
		t.Error(err)
	}
}

// What settings have of secrets.
func TestSecretsOfNPMAreHidden(t *testing.T) {
	var s lastwords.Secrets
	learn(&s, npmrc{"//h/:_authToken": {"t0ken-one"}, "//h/:_auth": {"dXNlcjpw"}, "//h/x/:_password": {"cGFzcw=="}, "//h/:username": {"somebody"}, "https-proxy": {"http://me:pr0xy-word@p/"}}.environment())
	if got := s.Hide("t0ken-one dXNlcjpw cGFzcw== somebody pr0xy-word"); got != "*** *** *** somebody ***" {
		t.Errorf("%q", got)
	}
}

// Whoever kills us kills npm: it must not go on writing beside the next one.
func TestAKilledInstallationByNPMLeavesNothingRunning(t *testing.T) {
	t.Parallel()
	r := tarballs.Serve(t, server, dep)
	r.Break("*", tarballs.Fault{Silent: true})
	i := forRegistry(t, r.URL)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = []string{treeVariable + "=" + strings.Join(append([]string{i.Cache, filepath.Join(t.TempDir(), "node_modules")}, i.Environ...), helperSeparate)}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return r.Requests() > 0 && len(childrenOf(i)) > 0 })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	waitFor(t, func() bool { return len(childrenOf(i)) == 0 })
	r.Break("*", tarballs.Fault{})
	if _, err := installTree(t, i, serverTree(), serverSpec); err != nil {
		t.Error(err)
	}
}
