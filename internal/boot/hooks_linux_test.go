package boot

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// hook writes one that says its name.
func (f *fixture) hook(name string, mode os.FileMode) {
	f.write("etc/cont-init.d/"+name, "#!/bin/sh\necho "+name+" $(id -u) $HERMES_HOME $HOME >>"+f.at("said")+"\n")
	f.must(os.Chmod(f.at("etc/cont-init.d/"+name), mode))
}

func TestHooksRunAfterTheBootInTheOrderOfTheirNames(t *testing.T) {
	f := newFixture(t, "HOME=/root")
	for _, name := range []string{"10-b", "02-a", "B", "a", ".hidden"} {
		f.hook(name, 0o755)
	}
	f.write("etc/cont-init.d/05-fails", "#!/bin/sh\nexit 3\n")
	f.must(os.Chmod(f.at("etc/cont-init.d/05-fails"), 0o755))
	r := f.boot()
	if got := f.read("said"); got != "02-a 0 /opt/data /root\n10-b 0 /opt/data /root\nB 0 /opt/data /root\na 0 /opt/data /root\n" {
		t.Errorf("they said %q", got)
	}
	if len(r.Shortfalls) != 1 || !strings.Contains(r.Shortfalls[0], "the hook /etc/cont-init.d/05-fails failed: exit status 3") {
		t.Errorf("%q", r.Shortfalls)
	}
}

func TestHooksFindNoProgramsThatOthersCanWrite(t *testing.T) {
	f := newFixture(t, "PATH=/opt/hermes/bin:/opt/data/.local/bin:.::relative:/tmp:/missing:/opt/data/link:/usr/bin:/bin:/open/below")
	f.must(os.MkdirAll(f.at("opt/hermes/bin"), 0o755))
	f.must(os.MkdirAll(f.at("usr/bin"), 0o755))
	f.must(os.Symlink("usr/bin", f.at("bin")))
	f.must(os.MkdirAll(f.at("open/below"), 0o755))
	f.must(os.Chmod(f.at("open"), 0o777))
	f.must(os.Symlink("/opt/hermes/bin", f.at("opt/data/link")))
	f.write("opt/data/.local/bin/chromium", "#!/bin/sh\n")
	f.must(os.Chmod(f.at("opt/data/.local/bin/chromium"), 0o755))
	f.write("etc/cont-init.d/x", "#!/bin/sh\necho \"$PATH|$AGENT_BROWSER_EXECUTABLE_PATH\" >"+f.at("said")+"\n")
	f.must(os.Chmod(f.at("etc/cont-init.d/x"), 0o755))
	r := f.boot()
	if got := f.read("said"); got != "/opt/hermes/bin:/usr/bin|\n" {
		t.Errorf("root looks for programs in %q", got)
	}
	if env := environment(r.Environ()); env.get("PATH") != f.env("PATH") || env.get(browserVariable) != "/opt/data/.local/bin/chromium" {
		t.Errorf("others have %q", r.Environ())
	}
}

func TestHooksThatOthersCanWriteAreRefused(t *testing.T) {
	for what, spoil := range map[string]func(f *fixture) error{
		"for everybody":           func(f *fixture) error { return os.Chmod(f.at("etc/cont-init.d/x"), 0o757) },
		"for its group":           func(f *fixture) error { return os.Chmod(f.at("etc/cont-init.d/x"), 0o775) },
		"another's":               func(f *fixture) error { return os.Chown(f.at("etc/cont-init.d/x"), 10000, 0) },
		"not a program":           func(f *fixture) error { return os.Chmod(f.at("etc/cont-init.d/x"), 0o644) },
		"in another's directory":  func(f *fixture) error { return os.Chown(f.at("etc/cont-init.d"), 10000, 0) },
		"in an open directory":    func(f *fixture) error { return os.Chmod(f.at("etc/cont-init.d"), 0o777) },
		"below an open directory": func(f *fixture) error { return os.Chmod(f.at("etc"), 0o777) },
		"a link": func(f *fixture) error {
			if err := os.Rename(f.at("etc/cont-init.d/x"), f.at("tmp/x")); err != nil {
				return err
			}
			return os.Symlink(f.at("tmp/x"), f.at("etc/cont-init.d/x"))
		},
		"in a directory that is a link": func(f *fixture) error {
			if err := os.Rename(f.at("etc/cont-init.d"), f.at("tmp/d")); err != nil {
				return err
			}
			return os.Symlink(f.at("tmp/d"), f.at("etc/cont-init.d"))
		},
	} {
		f := newFixture(t)
		f.hook("x", 0o755)
		f.must(spoil(f))
		if r := f.boot(); f.exists("said") || len(r.Shortfalls) == 0 || !strings.Contains(strings.Join(r.Shortfalls, "\n"), "etc/cont-init.d") {
			t.Errorf("%s: it ran, or nothing was said: %q", what, r.Shortfalls)
		}
	}
}

func TestServicesOfTheImage(t *testing.T) {
	f := newFixture(t)
	service := func(name, kind string, mode os.FileMode) {
		f.write(serviceDir+"/"+name+"/type", kind+"\n")
		f.write(serviceDir+"/"+name+"/run", "#!/bin/sh\n")
		f.must(os.Chmod(f.at(serviceDir+"/"+name+"/run"), mode))
	}
	service("sshd", "longrun", 0o755)
	service("cron", "longrun", 0o755)
	service("open", "longrun", 0o777)
	service("setup", "oneshot", 0o755)
	service("user", "bundle", 0o755)
	service("s6rc-oneshot-runner", "longrun", 0o755)
	service("main-hermes", "longrun", 0o755)
	r := f.boot()
	want := []Foreign{{"cron", "/" + serviceDir + "/cron", "/" + serviceDir + "/cron/run"}, {"sshd", "/" + serviceDir + "/sshd", "/" + serviceDir + "/sshd/run"}}
	if !reflect.DeepEqual(r.Foreign, want) {
		t.Errorf("services %+v", r.Foreign)
	}
	if len(r.Shortfalls) != 2 || !strings.Contains(r.Shortfalls[0], "refusing to run /"+serviceDir+"/open/run") || !strings.Contains(r.Shortfalls[1], "only longruns are: setup") {
		t.Errorf("%q", r.Shortfalls)
	}
}
