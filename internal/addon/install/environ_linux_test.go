package install

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hermes.example/hermes/internal/addon/sealed"
)

// D46: the tools see what they need, and nothing else of the caller's environment.
func TestD46TheEnvironmentIsNotInherited(t *testing.T) {
	r := fake(t, map[string]string{"uv": "", "python3": ""})
	foreign := []string{
		"OPENAI_API_KEY=secret-1", "AWS_SECRET_ACCESS_KEY=secret-2", "GITHUB_TOKEN=secret-3", "HERMES_HOME=/h", "MY_OWN=secret-4",
		"UV_PUBLISH_TOKEN=secret-5", "UV_GITHUB_TOKEN=secret-6", "UV_PYTHON=/elsewhere", "UV_TARGET=/x", "UV_CONSTRAINT=/x", "UV_NO_VERIFY_HASHES=1",
		"UV_CONFIG_FILE=/x", "UV_CACHE_DIR=/x", "VIRTUAL_ENV=/x", "PYTHONPATH=/x", "PYTHONHOME=/x", "PYTHONSTARTUP=/x", "LD_PRELOAD=", "LD_LIBRARY_PATH=/x",
		"PIP_TARGET=/x", "PIP_PREFIX=/x", "PIP_USER=1", "PIP_NO_BINARY=:all:", "PIP_CONSTRAINT=/x", "PIP_CACHE_DIR=/x", "PIP_PYTHON=/x", "PIP_LOG=/x",
	}
	i := installer(t, r, "http://index.invalid/", append(foreign, "UV_INDEX_MINE_PASSWORD=word", "HTTPS_PROXY=http://proxy.invalid", "LANG=C.UTF-8")...)
	if err := install(t, i, packages(), target(t)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(r.Root, "bin/uv")); err != nil {
		t.Fatal(err)
	}
	if err := install(t, i, packages(), target(t)); err != nil {
		t.Fatal(err)
	}
	for _, run := range []string{"uv-1", "python3-1", "python3-2", "python3-3"} {
		env := left(t, r, run+".env")
		for _, entry := range foreign {
			if slices.Contains(env, entry) {
				t.Errorf("%s sees %s", run, entry)
			}
		}
		for _, want := range []string{"HTTPS_PROXY=http://proxy.invalid", "LANG=C.UTF-8"} {
			if !slices.Contains(env, want) {
				t.Errorf("%s does not see %s", run, want)
			}
		}
	}
	if value(t, r, "uv-1", "UV_INDEX_MINE_PASSWORD") != "word" || value(t, r, "uv-1", "UV_CACHE_DIR") != filepath.Join(i.Cache, "uv") {
		t.Error("uv does not see its index's password and our cache")
	}
	if value(t, r, "python3-2", "UV_INDEX_MINE_PASSWORD") != "" || value(t, r, "python3-2", "PIP_CONFIG_FILE") != os.DevNull {
		t.Error("pip sees uv's password or reads files of its own")
	}
}

// settingsOf runs both tools with settings, and returns what each was started with.
func settingsOf(t *testing.T, i Installer) (uv, pip func(name string) string, uvArgs []string) {
	t.Helper()
	i.Environ = slices.DeleteFunc(slices.Clone(i.Environ), func(e string) bool { return e == "UV_DEFAULT_INDEX=" })
	if err := install(t, i, packages(), target(t)); err != nil {
		t.Fatal(err)
	}
	r := fake(t, map[string]string{"python3": ""})
	j := i
	j.Runtime = r
	if err := install(t, j, packages(), target(t)); err != nil {
		t.Fatal(err)
	}
	return func(name string) string { return value(t, i.Runtime, "uv-1", name) },
		func(name string) string { return value(t, r, "python3-2", name) },
		left(t, i.Runtime, "uv-1.args")
}

// write puts a file below a directory.
func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func faked(t *testing.T, environ ...string) Installer {
	t.Helper()
	return installer(t, fake(t, map[string]string{"uv": ""}), "", environ...)
}

// A102.
func TestA102PipsIndexReachesUV(t *testing.T) {
	i := faked(t)
	write(t, i.FilesRoot, "etc/pip.conf", `
[global]
index_url = http://mirror.invalid/simple
extra-index-url =
    http://one.invalid/simple
    # a comment between them
    http://two.invalid/simple
trusted-host: mirror.invalid
cert = /ca.pem
[install]
find-links = /a /b
target = /elsewhere
no-binary = :all:
[download]
index-url = http://other-command.invalid
`)
	uv, pip, _ := settingsOf(t, i)
	for name, want := range map[string]string{
		"UV_DEFAULT_INDEX": "http://mirror.invalid/simple", "UV_INDEX": "http://one.invalid/simple http://two.invalid/simple",
		"UV_FIND_LINKS": "/a,/b", "UV_INSECURE_HOST": "mirror.invalid", "SSL_CERT_FILE": "/ca.pem",
	} {
		if got := uv(name); got != want {
			t.Errorf("uv has %s=%q", name, got)
		}
	}
	for name, want := range map[string]string{
		"PIP_INDEX_URL": "http://mirror.invalid/simple", "PIP_TRUSTED_HOST": "mirror.invalid", "PIP_FIND_LINKS": "/a /b", "PIP_TARGET": "", "PIP_NO_BINARY": "",
	} {
		if got := pip(name); got != want {
			t.Errorf("pip has %s=%q", name, got)
		}
	}
}

// A102.
func TestA102AnIndexOfUVsOwnWins(t *testing.T) {
	for _, variable := range uvIndexes {
		i := faked(t, "PIP_INDEX_URL=http://pip.invalid", variable+"=http://uv.invalid")
		uv, pip, _ := settingsOf(t, i)
		for _, name := range uvIndexes {
			if got := uv(name); strings.Contains(got, "pip.invalid") || name == variable && got != "http://uv.invalid" {
				t.Errorf("with %s uv has %s=%q", variable, name, got)
			}
		}
		if got := pip("PIP_INDEX_URL"); got != "http://pip.invalid" {
			t.Errorf("with %s pip has %q", variable, got)
		}
	}
}

// A102.
func TestA102TheNullDeviceSwitchesFilesOff(t *testing.T) {
	i := faked(t, "PIP_CONFIG_FILE="+os.DevNull)
	write(t, i.FilesRoot, "etc/pip.conf", "[global]\nindex-url = http://mirror.invalid\n")
	uv, pip, _ := settingsOf(t, i)
	if uv("UV_DEFAULT_INDEX") != "" || pip("PIP_INDEX_URL") != "" {
		t.Errorf("uv has %q, pip has %q", uv("UV_DEFAULT_INDEX"), pip("PIP_INDEX_URL"))
	}
}

// A102: which of pip's files wins.
func TestA102PipsPrecedence(t *testing.T) {
	files := []string{"xdg/pip/pip.conf", "etc/pip.conf", "home/.pip/pip.conf", "home/.config/pip/pip.conf", "runtime/pip.conf", "named.conf"}
	dir := t.TempDir()
	i := Installer{FilesRoot: dir, Runtime: &sealed.Runtime{Root: filepath.Join(dir, "runtime")},
		Environ: []string{"HOME=" + filepath.Join(dir, "home"), "XDG_CONFIG_DIRS=/xdg"}}
	check := func(want string) {
		t.Helper()
		got, err := i.pipSettings()
		if err != nil || got["index-url"] != want {
			t.Errorf("it is %q, not %q; %v", got["index-url"], want, err)
		}
	}
	check("")
	for n, file := range files {
		if file == "named.conf" {
			i.Environ = append(i.Environ, "PIP_CONFIG_FILE="+filepath.Join(dir, file))
			check(files[n-1]) // it is not there yet
		}
		write(t, dir, file, "[global]\nindex-url = "+file+"\n")
		check(file)
	}
	// A file that is named takes the place of the user's.
	write(t, dir, "named.conf", "")
	write(t, dir, "runtime/pip.conf", "")
	check("etc/pip.conf")
	// The section of the command comes after the general one, whatever file it is in.
	write(t, dir, "etc/pip.conf", "[install]\nindex-url = command\n")
	write(t, dir, "named.conf", "[global]\nindex-url = general\n")
	check("command")
	i.Environ = append(i.Environ, "PIP_INDEX_URL=variable")
	check("variable")
}

func TestPipIsToldOfUVsIndexes(t *testing.T) {
	_, pip, _ := settingsOf(t, faked(t, "UV_DEFAULT_INDEX=main=http://a.invalid/?x=1", "UV_INDEX=b=http://b.invalid http://c.invalid", "UV_FIND_LINKS=/d,/e"))
	if pip("PIP_INDEX_URL") != "http://a.invalid/?x=1" || pip("PIP_EXTRA_INDEX_URL") != "http://b.invalid http://c.invalid" || pip("PIP_FIND_LINKS") != "/d /e" {
		t.Errorf("it has %q, %q and %q", pip("PIP_INDEX_URL"), pip("PIP_EXTRA_INDEX_URL"), pip("PIP_FIND_LINKS"))
	}
}

func TestNoIndexReachesUV(t *testing.T) {
	_, _, args := settingsOf(t, faked(t, "PIP_NO_INDEX=true", "PIP_FIND_LINKS=/a"))
	if !slices.Contains(args, "--no-index") {
		t.Errorf("uv was told %v", args)
	}
}

func TestSettingsThatCannotBeReadAreSaid(t *testing.T) {
	for _, text := range []string{"index-url = x\n", "[global]\n= x\n", "[global]\nhttp\n", "  continued\n"} {
		i := faked(t)
		write(t, i.FilesRoot, "etc/pip.conf", text)
		if err := install(t, i, packages(), target(t)); err == nil || !strings.Contains(err.Error(), "etc/pip.conf") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
