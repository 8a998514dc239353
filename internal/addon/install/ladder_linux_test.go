package install

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hermes.example/hermes/internal/addon/lock"
	"hermes.example/hermes/internal/addon/unavailable"
)

func packages() []lock.Package {
	return []lock.Package{{Name: "alpha", Version: "1.0", Hashes: []string{"sha256:" + strings.Repeat("a", 64)}}}
}

// reason is that of one of our errors.
func reason(err error) string {
	var e *unavailable.Error
	if !errors.As(err, &e) {
		return ""
	}
	return e.Reason
}

func TestA101AFailureOfUVIsFinal(t *testing.T) {
	r := fake(t, map[string]string{"uv": "echo no such package >&2; exit 1", "python3": ""})
	err := install(t, installer(t, r, ""), packages(), target(t))
	if err == nil || reason(err) != "pip install failed: no such package" || !errors.Is(err, unavailable.Failed) {
		t.Error(err)
	}
	if runs(t, r, "uv") != 1 || runs(t, r, "python3") != 0 {
		t.Errorf("uv ran %d times, python %d times", runs(t, r, "uv"), runs(t, r, "python3"))
	}
}

func TestA101ATimeoutOfUVIsFinalAndNamesMirrors(t *testing.T) {
	r := fake(t, map[string]string{"uv": "sleep 600 & wait", "python3": ""})
	i := installer(t, r, "")
	i.Timeout = 300 * time.Millisecond
	err := install(t, i, packages(), target(t))
	if err == nil || !strings.Contains(err.Error(), "mirror") || !strings.Contains(err.Error(), "300ms") || runs(t, r, "python3") != 0 {
		t.Error(err)
	}
	if left := childrenOf(i); len(left) > 0 {
		t.Errorf("still running: %v", left)
	}
}

// A uv that is not there, or cannot be started.
func TestA101WithoutUVThereIsPip(t *testing.T) {
	for name, spoil := range map[string]func(string) error{
		"gone":           os.Remove,
		"not executable": func(path string) error { return os.Chmod(path, 0o644) },
		"no program":     func(path string) error { return os.WriteFile(path, []byte("\x00\x01"), 0o755) },
		"no interpreter": func(path string) error { return os.WriteFile(path, []byte("#!/nonexistent\n"), 0o755) },
	} {
		t.Run(name, func(t *testing.T) {
			r := fake(t, map[string]string{"uv": "", "python3": ""})
			if err := spoil(filepath.Join(r.Root, "bin/uv")); err != nil {
				t.Fatal(err)
			}
			if err := install(t, installer(t, r, ""), packages(), target(t)); err != nil {
				t.Fatal(err)
			}
			var did []string
			for _, run := range []string{"python3-1", "python3-2", "python3-3"} {
				did = append(did, left(t, r, run+".args")[4])
			}
			if !slices.Equal(did, []string{"--version", "download", "install"}) {
				t.Errorf("pip was asked for %v", did)
			}
		})
	}
}

func TestA101UVOnThePathComesSecond(t *testing.T) {
	r, other := fake(t, map[string]string{"python3": ""}), fake(t, map[string]string{"uv": ""})
	i := installer(t, r, "", "PATH=relative:"+filepath.Join(other.Root, "bin")+":/usr/bin:/bin")
	if err := install(t, i, packages(), target(t)); err != nil || runs(t, other, "uv") != 1 || runs(t, r, "python3") != 0 {
		t.Errorf("%v, it ran %d times", err, runs(t, other, "uv"))
	}
}

func TestA101WithoutPipThereIsEnsurepipOnce(t *testing.T) {
	const noPip = `case "$*" in *"-m pip"*|*ensurepip*) echo "No module named $4" >&2; exit 1;; esac`
	r := fake(t, map[string]string{"python3": noPip})
	err := install(t, installer(t, r, ""), packages(), target(t))
	if err == nil || !strings.Contains(err.Error(), "pip not available and ensurepip failed: exit status 1: No module named ensurepip") ||
		!errors.Is(err, unavailable.NoInstaller) {
		t.Error(err)
	}
	if n := runs(t, r, "python3"); n != 2 {
		t.Errorf("the interpreter ran %d times", n)
	}
}

// What an installer is told, with what it is to install last.
func TestA99TheInstallersAreToldTheSame(t *testing.T) {
	r := fake(t, map[string]string{"uv": "", "python3": ""})
	i, into := installer(t, r, ""), target(t)
	if err := install(t, i, packages(), into); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(r.Root, "bin/uv")); err != nil {
		t.Fatal(err)
	}
	if err := install(t, i, packages(), into); err != nil {
		t.Fatal(err)
	}
	for _, run := range []string{"uv-1", "python3-2", "python3-3"} {
		args := left(t, r, run+".args")
		text := strings.Join(args, " ")
		for _, want := range []string{"--no-deps", "--require-hashes", "--only-binary :all:"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %s: %s", run, want, text)
			}
		}
		if run != "python3-2" && !strings.Contains(text, "--target "+into) {
			t.Errorf("%s installs elsewhere: %s", run, text)
		}
		if last := args[len(args)-2:]; !strings.HasPrefix(last[0], "--requirement") || filepath.Base(last[1]) != "requirements.txt" {
			t.Errorf("%s does not end with what to install: %s", run, text)
		}
		if strings.Contains(text, "alpha") {
			t.Errorf("a package is among the arguments: %s", text)
		}
	}
}

func TestA97TheLastWordsOfAFailedInstaller(t *testing.T) {
	for name, c := range map[string]struct {
		script, want string
	}{
		"stderr":  {"yes beginning | head -n 20000 >&2; printf 'x%01999d' 7 >&2; echo out; exit 3", "x" + strings.Repeat("0", 1998) + "7"},
		"stdout":  {"echo only this; exit 3", "only this"},
		"nothing": {"exit 3", "no error output"},
	} {
		t.Run(name, func(t *testing.T) {
			err := install(t, installer(t, fake(t, map[string]string{"uv": c.script}), ""), packages(), target(t))
			if err == nil || reason(err) != "pip install failed: "+c.want {
				t.Errorf("%.3000v", err)
			}
		})
	}
}

// What a killed installation left is gone after the next.
func TestA100NoTemporaryFilesAreLeft(t *testing.T) {
	r := fake(t, map[string]string{"uv": `touch "$TMPDIR/left" more; [ "$(stat -c %a .)" = 700 ] || exit 9; ` + "\n" + `case "$UV_INDEX" in fail) exit 1;; slow) sleep 600;; esac`})
	for _, how := range []string{"", "fail", "slow"} {
		i := installer(t, r, "", "UV_INDEX="+how)
		i.Timeout = time.Second
		killed := filepath.Join(i.Cache, "tmp", "killed")
		if err := os.MkdirAll(killed, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := install(t, i, packages(), target(t)); (err == nil) != (how == "") { // which looks at the directory
			t.Errorf("%s: %v", how, err)
		}
		if _, err := os.Stat(killed); err == nil {
			t.Errorf("%s: what was left before is still there", how)
		}
	}
}

func TestACancelledInstallationSaysSo(t *testing.T) {
	r := fake(t, map[string]string{"uv": "sleep 600"})
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := installer(t, r, "").Install(ctx, packages(), target(t)); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// pip leaves a directory that is there as it is, warns, and reports success.
func TestD38NothingIsInstalledOverSomething(t *testing.T) {
	r := fake(t, map[string]string{"uv": ""})
	into := target(t)
	if err := os.MkdirAll(filepath.Join(into, "alpha"), 0o755); err != nil {
		t.Fatal(err)
	}
	err := install(t, installer(t, r, ""), packages(), into)
	if err == nil || !strings.Contains(err.Error(), "it is not empty") || runs(t, r, "uv") != 0 {
		t.Error(err)
	}
}

func TestNothingToInstallIsDone(t *testing.T) {
	r := fake(t, map[string]string{"uv": "exit 1"})
	if err := install(t, installer(t, r, ""), nil, target(t)); err != nil {
		t.Error(err)
	}
}
