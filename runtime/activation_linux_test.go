package pyruntime_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/test/sealed"
)

func TestAddonsComeLast(t *testing.T) {
	s := newStore(t)
	without := s.path()
	site := s.site(s.publish(map[string]string{"addon.py": "who = 'addon'"}))
	if got := s.path(); !slices.Equal(got, append(slices.Clone(without), site)) {
		t.Errorf("the path is %q, and was %q", got, without)
	}
	for _, flags := range [][]string{{"-I"}, {"-E"}, {"-s"}, {"-B"}, {"-P"}, {"-OO"}} {
		path := s.path(flags...)
		if n := slices.Index(path, site); n != len(path)-1 {
			t.Errorf("with %s the path is %q", flags, path)
		}
	}
	script := filepath.Join(t.TempDir(), "script.py")
	s.write(script, "import addon; print(addon.who)")
	for _, args := range [][]string{{script}, {"-c", "import addon; print(addon.who)"}, {"-I", "-c", "import addon; print(addon.who)"}} {
		if got := s.python(args...); got != "addon" {
			t.Errorf("%q says %q", args, got)
		}
	}
}

func TestAddonsAreOnThePathOnce(t *testing.T) {
	s := newStore(t)
	site := s.site(s.publish(map[string]string{"addon.py": ""}))
	got := s.python("-c", `
import importlib, site, sys
site.main()
site.addsitedir(sys.argv[1])
importlib.reload(importlib.import_module("hermes_addons"))
print("\n".join(sys.path))`, s.runtime.Site())
	if n := strings.Count(got, site); n != 1 || !strings.HasSuffix(got, site) {
		t.Errorf("it is there %d times:\n%s", n, got)
	}
}

func TestNoAddonsWithoutSite(t *testing.T) {
	s := newStore(t)
	site := s.site(s.publish(map[string]string{"addon.py": ""}))
	if path := s.path("-S"); slices.Contains(path, site) {
		t.Errorf("with -S the path is %q", path)
	}
}

// The reference tells a process of its store by PYTHONPATH or not at all.
func TestChildrenOfChildrenFindAddons(t *testing.T) {
	s := newStore(t)
	s.publish(map[string]string{"addon.py": "who = 'addon'"})
	got := s.python("-c", `
import subprocess, sys
line = "import subprocess, sys; print(subprocess.check_output([sys.executable, '-c', 'import addon; print(addon.who)'], text=True))"
print(subprocess.check_output([sys.executable, "-c", line], text=True))`)
	if got != "addon" {
		t.Errorf("it says %q", got)
	}
}

func TestOtherInterpretersFindNothing(t *testing.T) {
	s := newStore(t)
	digest := s.publish(map[string]string{"addon.py": "who = 'addon'"})
	plain := filepath.Join(t.TempDir(), "plain")
	if out, err := exec.Command(sealed.Python, "-m", "venv", "--without-pip", plain).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, python := range []string{sealed.Python, filepath.Join(plain, "bin", "python3")} {
		cmd := s.command("-c", "import importlib.util; print(importlib.util.find_spec('addon'))")
		cmd.Path, cmd.Args[0] = python, python
		cmd.Env = append(cmd.Env, "HERMES_ADDON_GENERATION="+digest)
		if got := s.output(cmd); got != "None" {
			t.Errorf("%s finds %s", python, got)
		}
	}
}

func TestEveryStartSucceedsWithoutAStore(t *testing.T) {
	s := newStore(t)
	s.wantNothing("no target")
	if err := os.MkdirAll(s.abi(), 0o755); err != nil {
		t.Fatal(err)
	}
	s.wantNothing("no generations")
	digest := s.publish(map[string]string{"addon.py": ""})
	elsewhere := filepath.Join(filepath.Dir(s.target), "elsewhere")
	s.write(filepath.Join(elsewhere, "site-packages", "addon.py"), "")
	s.write(filepath.Join(elsewhere, "lock"), "")
	for _, to := range []string{"generations/" + strings.Repeat("0", 64), "generations/..", "generations/" + digest + "/../" + digest,
		"generations/" + strings.ToUpper(digest), elsewhere, "../../../elsewhere", digest, "generations", "elsewhere/" + digest, "generations/" + digest + "\n"} {
		s.point(to)
		s.wantNothing("current leads to " + to)
	}
	s.point("generations/" + digest)
	for _, file := range []string{"lock", "site-packages"} {
		path := filepath.Join(s.generation(digest), file)
		if err := os.Rename(path, path+".gone"); err != nil {
			t.Fatal(err)
		}
		s.wantNothing("no " + file)
		if err := os.Rename(path+".gone", path); err != nil {
			t.Fatal(err)
		}
	}
	if s.last() != s.site(digest) {
		t.Error("whole again, it is not used")
	}
	env := s.env
	for _, target := range []string{s.target + "/.hermes", "/dev/null", "/" + strings.Repeat("x/", 3000), "/\xff\xfe", "relative", "~nobody"} {
		s.env = append(slices.Clone(env[:2]), "HERMES_LAZY_INSTALL_TARGET="+target)
		s.wantNothing("the target is " + target[:min(len(target), 50)])
	}
	s.env = []string{"PATH=/usr/bin:/bin"}
	s.wantNothing("no home")
	s.env = nil
	s.wantNothing("no environment")
}

// Where the command line looks, the interpreter looks.
func TestTheStoreIsFoundAsTheCommandFindsIt(t *testing.T) {
	s := newStore(t)
	home := filepath.Join(filepath.Dir(s.target), ".hermes")
	s.target = filepath.Join(home, "lazy-packages")
	site := s.site(s.publish(map[string]string{"addon.py": ""}))
	user := "HOME=" + filepath.Dir(home)
	for _, env := range [][]string{
		{user},
		{user, "HERMES_HOME=", "HERMES_LAZY_INSTALL_TARGET= "},
		{user, "HERMES_HOME=~/.hermes"},
		{"HERMES_HOME=" + home},
		{"HERMES_HOME= " + home + "/ "},
		{user, "HERMES_HOME=/nowhere", "HERMES_LAZY_INSTALL_TARGET=~/.hermes/lazy-packages"},
		{"HERMES_HOME=/nowhere", "HERMES_LAZY_INSTALL_TARGET= " + s.target + "/"},
	} {
		s.env = env
		if got := s.last(); got != site {
			t.Errorf("with %q the path ends with %s", env, got)
		}
		if slices.ContainsFunc(env, func(v string) bool {
			return strings.HasPrefix(v, "HERMES_LAZY_INSTALL_TARGET=/") || strings.HasSuffix(v, "/lazy-packages")
		}) {
			continue
		}
		found, err := config.Home(func(name string) (string, bool) {
			for _, v := range env {
				if value, ok := strings.CutPrefix(v, name+"="); ok {
					return value, true
				}
			}
			return "", false
		})
		if err != nil || found != home && !strings.HasSuffix(strings.Join(env, " "), s.target+"/") {
			t.Errorf("with %q the command finds %s, %v", env, found, err)
		}
	}
}
