package image

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"hermes.example/hermes/internal/entry"
)

// says checks that a container ended well, with these words somewhere in its output.
func says(t *testing.T, r ended, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(r.stdout+r.stderr, w) {
			t.Errorf("%q is not said: %s", w, r)
		}
	}
	for _, bad := range []string{"Traceback", "panic", "goroutine "} {
		if strings.Contains(r.stdout+r.stderr, bad) {
			t.Errorf("it crashed: %s", r)
		}
	}
	if r.code != 0 {
		t.Errorf("it failed: %s", r)
	}
}

func TestB01TheHelpOfChat(t *testing.T) {
	says(t, dockerd(t).run(nil, "chat", "--help"), "chat", "Usage")
}

func TestB02AShellCommand(t *testing.T) {
	if r := dockerd(t).run(nil, "bash", "-c", "echo ok"); r.code != 0 || r.stdout != "ok\n" {
		t.Error(r)
	}
}

func TestB03TheContainerExitsWithTheProgramsCode(t *testing.T) {
	if r := dockerd(t).run(nil, "sh", "-c", "exit 42"); r.code != 42 {
		t.Error(r)
	}
}

func TestB04TheHelp(t *testing.T) {
	says(t, dockerd(t).run(nil, "--help"), "Usage")
}

func TestB05TheHelpOfTheDashboard(t *testing.T) {
	says(t, dockerd(t).run(nil, "dashboard", "--help"), "hermes dashboard")
}

func TestB06UnderTheEnginesInit(t *testing.T) {
	r := dockerd(t).run(opts("--init"), "--help")
	says(t, r, "Usage")
	if strings.Contains(r.stderr, "can only run as pid 1") || strings.Count(r.stderr, "hermes-init: ") != 1 {
		t.Error(r)
	}
}

// A program of every command's name is on the search path, before everything else, and none of them is run.
func TestB07HermesWinsOverPrograms(t *testing.T) {
	e := dockerd(t)
	words := append(append([]string{"-p"}, entry.Commands...), entry.Promised...)
	bin := e.volume(fmt.Sprintf(`cd /opt/data; for w in %s mine; do printf '#!/bin/sh\necho the program\nexit 99\n' >./$w; chmod 755 ./$w; done`, strings.Join(words, " ")))
	options := opts("-v "+bin+":/opt/programs:ro", "-e", "PATH=/opt/programs:/usr/bin:/bin")
	if r := e.run(options, "mine"); r.code != 99 {
		t.Fatalf("the programs are not found: %s", r)
	}
	// One container asks for all the others as the entrypoint would: the rule is the entrypoint's, and a container each
	// would be most of this package's time.
	for _, w := range []string{"sandbox", "login", "-p"} {
		if r := e.run(options, w, "--help"); r.code == 99 || strings.Contains(r.stdout, "the program") {
			t.Errorf("%s: %s", w, r)
		}
	}
	script := `for w in ` + strings.Join(words, " ") + `; do /init "$w" --help 2>&1 | grep -q "the program" && echo "$w"; done; exit 0`
	if r := e.run(append(options, "--entrypoint", "sh"), "-c", script); r.code != 0 || r.stdout != "" {
		t.Errorf("programs were run: %s", r)
	}
}

func TestB09TheDirectoryIsKept(t *testing.T) {
	if r := dockerd(t).run(opts("-w /tmp"), "sh", "-c", "pwd"); r.code != 0 || r.stdout != "/tmp\n" {
		t.Error(r)
	}
}

func TestB10ATerminal(t *testing.T) {
	r := dockerd(t).run(opts("-t -e TERM=xterm"), "sh", "-c", "[ -t 1 ] && [ -t 0 ] && tput cols")
	lines := strings.Fields(r.stdout)
	if r.code != 0 || len(lines) == 0 {
		t.Fatal(r)
	}
	if n, err := strconv.Atoi(lines[len(lines)-1]); err != nil || n <= 0 {
		t.Error(r)
	}
}

func TestB11OrphansAreReaped(t *testing.T) {
	c := dockerd(t).idle()
	c.do(service, "bash", "-c", `for i in 1 2 3 4 5; do (setsid bash -c 'sleep 0.$((RANDOM % 5 + 1))' &) ; done`)
	c.eventually("all orphans are gone", func() bool {
		out := c.do("", "ps", "-eo", "ppid=,stat=,args=")
		return !regexp.MustCompile(`(?m)^ *\d+ Z| sleep 0\.`).MatchString(out)
	})
}

func TestB12TheOldEntrypoint(t *testing.T) {
	e := dockerd(t)
	for _, words := range []string{"-g --", "-g -- /opt/hermes/docker/entrypoint.sh", "-vvv -s -p SIGTERM -- /init /opt/hermes/docker/main-wrapper.sh"} {
		r := e.run(opts("--entrypoint /usr/bin/tini"), append(strings.Fields(words), "sh", "-c", "echo up as $(id -un)")...)
		if r.code != 0 || r.stdout != "up as hermes\n" || strings.Contains(r.stderr, "not found") {
			t.Errorf("%s: %s", words, r)
		}
	}
}
