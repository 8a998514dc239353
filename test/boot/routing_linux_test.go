package boot

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"hermes.example/hermes/internal/entry"
	"hermes.example/hermes/test/machine"
)

func TestWordsBecomeTheMainProgram(t *testing.T) {
	for _, c := range []struct {
		name, argv string
		code       int
		says       string
	}{
		{"a command's help", "sandbox --help", 0, "hermes sandbox"},
		{"the dashboard's help", "dashboard --help", 0, "hermes dashboard"},
		{"help of what is not built yet", "chat --help", 0, "hermes chat"},
		{"what is not built yet", "chat -q hi", 69, "the agent itself is not built yet"},
		{"the same by its flag", "--tui", 69, "the agent itself is not built yet"},
		{"a shell", "bash -c echo${IFS}ok", 0, "ok"},
		{"its status", "sh -c exit${IFS}42", 42, ""},
		{"flags", "--help", 0, "Usage"},
		{"nothing", "", 0, "\nNext\n"},
		{"a typo", "sadnbox", 2, `cannot find the command "sadnbox"; did you mean "hermes sandbox"?`},
		{"a path", "/bin/sh -c exit${IFS}7", 7, ""},
		{"hermes by its name", "hermes version", 0, "hermes"},
		{"what cannot be executed", "/etc/passwd", 2, "cannot find the command"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			out, code := run(t, machine.Boot{Argv: append([]string{"/init"}, strings.Fields(c.argv)...)})
			if code != c.code || !strings.Contains(out, c.says) || strings.Contains(out, "panic") {
				t.Errorf("it ended with %d, want %d and %q: %s", code, c.code, c.says, out)
			}
		})
	}
}

// Every command of hermes wins over a program of that name, and flags are not even looked up.
func TestHermesWinsOverPrograms(t *testing.T) {
	m := image(t)
	for _, word := range append(append([]string{"-p", "--version"}, entry.Commands...), entry.Promised...) {
		m.File("/opt/programs/"+word, "#!/bin/sh\necho the program\nexit 99\n", 0o755)
	}
	m.File("/opt/programs/mine", "#!/bin/sh\necho the program\nexit 99\n", 0o755)
	env := []string{"PATH=/opt/programs:/usr/bin:/bin"}
	if r := m.Start(machine.Boot{Argv: []string{"/init", "mine"}, Env: env}); r.Wait(bound) != 99 {
		t.Fatalf("the programs cannot be found: %s", r.Output())
	}
	for _, word := range append([]string{"-p", "--version"}, entry.Commands...) {
		r := m.Start(machine.Boot{Argv: []string{"/init", word, "--help"}, Env: env})
		if code := r.Wait(bound); code == 99 || strings.Contains(r.Output(), "the program") {
			t.Errorf("%s: the program ran: %d %s", word, code, r.Output())
		}
	}
}

func TestArgumentsAreKeptByteForByte(t *testing.T) {
	args := []string{"a b", "", `"'$x\`, "\xff\x01\n", "*", "--", "-p"}
	m := image(t)
	r := m.Start(machine.Boot{Argv: append([]string{"/init", "sh", "-c", `for a; do printf '%s|' "$a"; done >/tmp/args; chmod 644 /tmp/args`, "sh"}, args...)})
	if code := r.Wait(bound); code != 0 {
		t.Fatalf("it ended with %d: %s", code, r.Output())
	}
	got, err := os.ReadFile(m.Path("/tmp/args"))
	if want := strings.Join(args, "|") + "|"; err != nil || string(got) != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

func TestOldNames(t *testing.T) {
	const command = "echo up as $(id -u)"
	for _, argv := range [][]string{
		{"/opt/hermes/bin/hermes-init"},
		{"/init"},
		{"/init", "/opt/hermes/docker/main-wrapper.sh"},
		{"/opt/hermes/docker/main-wrapper.sh"},
		{"/opt/hermes/docker/entrypoint.sh"},
		{"/old/tini", "-g", "--"},
		{"/old/tini", "-g", "-p", "SIGTERM", "--", "/opt/hermes/docker/entrypoint.sh"},
	} {
		t.Run(strings.Join(argv, " "), func(t *testing.T) {
			t.Parallel()
			m := image(t)
			name(t, m, entry.Link{Name: "/old/tini", To: entry.Init})
			r := m.Start(machine.Boot{Argv: append(argv, "sh", "-c", command)})
			if code := r.Wait(bound); code != 0 || !strings.Contains(r.Output(), "up as 10000\n") || strings.Contains(r.Output(), "not found") {
				t.Errorf("it ended with %d: %s", code, r.Output())
			}
			if told, want := strings.Count(r.Output(), "entrypoint.sh is an old name"), strings.Count(fmt.Sprint(argv), "entrypoint.sh"); told != want {
				t.Errorf("the old name was told of %d times, want %d: %s", told, want, r.Output())
			}
		})
	}
}

func TestTheDirectoryIsKept(t *testing.T) {
	m := image(t)
	m.Dir("/secret", 0o700) // the service user cannot go there, but may be put there
	for dir, want := range map[string]string{"/tmp": "/tmp", "/secret": "/secret"} {
		r := m.Start(machine.Boot{Dir: dir, Argv: []string{"/init", "sh", "-c", "echo in $(/bin/pwd)"}})
		if code := r.Wait(bound); code != 0 || !strings.Contains(r.Output(), "in "+want+"\n") {
			t.Errorf("%s: it ended with %d: %s", dir, code, r.Output())
		}
	}
	r := m.Start(machine.Boot{Env: []string{"HERMES_ORIG_CWD=/var/tmp"}, Argv: []string{"/init", "sh", "-c", "echo in $(pwd)"}})
	if code := r.Wait(bound); code != 0 || !strings.Contains(r.Output(), "in /var/tmp\n") {
		t.Errorf("it ended with %d: %s", code, r.Output())
	}
}

func TestWhatCannotRun(t *testing.T) {
	m := image(t)
	m.File("/opt/tools/script", "#!/nonexistent\n", 0o755)
	m.File("/opt/tools/secret", "#!/bin/sh\n", 0o700)
	m.File("/opt/tools/garbage", "\x00\x01", 0o755)
	for path, want := range map[string]int{"/opt/tools/script": 127, "/opt/tools/secret": 126, "/opt/tools/garbage": 126} {
		r := m.Start(machine.Boot{Argv: []string{"/init", path}})
		if code := r.Wait(bound); code != want || !strings.Contains(r.Output(), "hermes-init: cannot run "+path) {
			t.Errorf("%s: it ended with %d, want %d: %s", path, code, want, r.Output())
		}
	}
}
