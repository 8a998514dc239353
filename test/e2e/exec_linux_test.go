package e2e

import (
	"bytes"
	"crypto/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestTheExitStatusIsTheCommands(t *testing.T) {
	asEveryone(t, func(t *testing.T, w *world) {
		for _, c := range []struct {
			args           []string
			code           int
			stdout, stderr string
		}{
			{[]string{"--", "true"}, 0, "", ""},
			{[]string{"-c", "exit 7"}, 7, "", ""},
			{[]string{"-c", "exit 2"}, 2, "", ""},
			{[]string{"-c", ""}, 0, "", ""},
			{[]string{"-c", "kill -9 $$"}, 137, "", ""},
			{[]string{"-c", "exit 130"}, 130, "", ""},
			{[]string{"-c", "echo a; exec sleep 30", "--timeout", "1"}, 124, "a\n", "[Command timed out after 1s]\n"},
			{[]string{"--timeout", "100ms", "--", "sleep", "30"}, 124, "", "[Command timed out after 0.1s]\n"},
			{[]string{"--", "no-such-program"}, 127, "", "hermes: cannot run \"no-such-program\": not found\n"},
			{[]string{"--", "/etc/passwd"}, 126, "", "hermes: cannot run \"/etc/passwd\": permission denied\n"},
			{[]string{"--cwd", "/nowhere", "--", "true"}, 126, "", "hermes: cannot change to \"/nowhere\": no such directory\n"},
			{[]string{"--cwd", "/usr", "-c", "pwd"}, 0, "/usr\n", ""},
			{[]string{"echo", "-c", "--json", "--", "x"}, 0, "-c --json -- x\n", ""},
		} {
			r := w.hermes(append([]string{"sandbox", "exec"}, c.args...)...)
			if want := (result{c.stdout, c.stderr, c.code}); r != want {
				t.Errorf("%q: %v\nwant %v", c.args, r, want)
			}
		}
	})
}

func TestTheConfiguredTimeoutIsTheDefault(t *testing.T) {
	w := newWorld(t, nil)
	w.env = append(w.env, "TERMINAL_TIMEOUT=1")
	if r := w.hermes("sandbox", "exec", "--", "sleep", "30"); r.code != 124 || r.stderr != "[Command timed out after 1s]\n" {
		t.Errorf("%v", r)
	}
	if r := w.hermes("sandbox", "exec", "--timeout", "0", "--", "sleep", "1.5"); r.code != 0 {
		t.Errorf("with --timeout 0: %v", r)
	}
}

func TestOutputAndErrorsStayApart(t *testing.T) {
	w := newWorld(t, nil)
	r := w.hermes("sandbox", "exec", "-c", "echo out; echo err >&2; printf '\\0\\377'")
	if r != (result{"out\n\x00\xff", "err\n", 0}) {
		t.Errorf("%v", r)
	}
}

func TestStandardInput(t *testing.T) {
	asEveryone(t, func(t *testing.T, w *world) {
		data := make([]byte, 3<<20)
		rand.Read(data)
		with := w.command("sandbox", "exec", "-i", "--", "cat")
		with.Stdin = bytes.NewReader(data)
		if r := w.finish(with); r.code != 0 || r.stdout != string(data) {
			t.Errorf("with -i: status %d, %d bytes of %d, stderr %q", r.code, len(r.stdout), len(data), r.stderr)
		}
		without := w.command("sandbox", "exec", "--", "cat")
		without.Stdin = strings.NewReader("not for you")
		if r := w.finish(without); r != (result{}) {
			t.Errorf("without -i: %v", r)
		}
		// A caller that never closes its end does not keep a command that is done.
		open := w.command("sandbox", "exec", "-i", "--", "head", "-c1")
		pipe, err := open.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		defer pipe.Close()
		pipe.Write([]byte("x"))
		if r := w.finish(open); r != (result{"x", "", 0}) {
			t.Errorf("with an open pipe: %v", r)
		}
	})
}

func TestASessionLastsFromOneProcessToTheNext(t *testing.T) {
	asEveryone(t, func(t *testing.T, w *world) {
		w.must("sandbox", "exec", "--task", "a", "--session", "s1", "-c", "cd /tmp; export COLOUR=green; hi() { echo hi $1; }")
		if got := w.must("sandbox", "exec", "--task", "a", "--session", "s1", "-c", "echo $PWD $COLOUR; hi you"); got != "/tmp green\nhi you\n" {
			t.Errorf("got %q", got)
		}
		for _, other := range [][]string{{"--task", "a"}, {"--task", "a", "--session", "s2"}, {"--task", "b", "--session", "s1"}, {"--task", "a", "--profile", "p", "--session", "s1"}} {
			args := append(append([]string{"sandbox", "exec"}, other...), "-c", "echo $PWD $COLOUR")
			if got := w.must(args...); got != "/workspace\n" {
				t.Errorf("%q sees %q", other, got)
			}
		}
	})
}

func TestFilesOutliveTheSandbox(t *testing.T) {
	asEveryone(t, func(t *testing.T, w *world) {
		w.must("sandbox", "exec", "-c", "echo kept >file; echo too >~/file; echo gone >/tmp/file")
		w.must("sandbox", "rm", "default")
		if got := w.must("sandbox", "exec", "-c", "cat file ~/file; ls /tmp"); got != "kept\ntoo\n" {
			t.Errorf("got %q", got)
		}
	})
}

func TestVariables(t *testing.T) {
	w := newWorld(t, nil)
	w.env = append(w.env, "FROM_CALLER=handed on", "NOT_ASKED=secret")
	file := w.write("vars", "# comment\nFROM_FILE=\"as it stands\" $HOME\nBOTH=file\n")
	got := w.must("sandbox", "exec", "--env-file", file, "--env", "BOTH=flag", "--env", "FROM_CALLER", "--env", "ABSENT", "--env", "EMPTY=",
		"-c", `echo "$FROM_FILE|$BOTH|$FROM_CALLER|${ABSENT-unset}|${EMPTY-unset}|${NOT_ASKED-unset}"`)
	if want := "\"as it stands\" $HOME|flag|handed on|unset||unset\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := w.must("sandbox", "exec", "-c", "echo ${BOTH-unset}"); got != "unset\n" {
		t.Errorf("a variable of one command is there for the next: %q", got)
	}
}

// S25: a value is never in anybody's arguments but those that the caller wrote.
func TestValuesAreInNobodysArguments(t *testing.T) {
	w := newWorld(t, nil)
	const byName, byFile, marker = "val-by-name-4711", "val-by-file-4711", "31536000.4711"
	w.env = append(w.env, "TOKEN="+byName)
	file := w.write("vars", "OTHER="+byFile+"\n")
	cmd := w.command("sandbox", "exec", "--env", "TOKEN", "--env-file", file, "--", "sleep", marker)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Signal(os.Interrupt)
	eventually(t, "the command runs", func() bool { return len(running(t, "sleep", marker)) == 1 })
	for _, value := range []string{byName, byFile} {
		if pids := processes(t, value); len(pids) > 0 {
			t.Errorf("%s is in the arguments of %v", value, pids)
		}
	}
}

func TestHereIsTheCurrentDirectory(t *testing.T) {
	asEveryone(t, func(t *testing.T, w *world) {
		w.write("file", "from outside\n")
		link := filepath.Join(w.dir, "link")
		if err := os.Symlink(w.work, link); err != nil {
			t.Fatal(err)
		}
		w.work = link
		got := w.must("sandbox", "exec", "--here", "-c", "pwd; cat file; echo from inside >new")
		if got != "/workspace\nfrom outside\n" {
			t.Errorf("got %q", got)
		}
		info, err := os.Stat(filepath.Join(link, "new"))
		if err != nil {
			t.Fatal(err)
		}
		if uid := ownerOf(info); w.who != nil && uid != w.who.UID || w.who == nil && uid != os.Getuid() {
			t.Errorf("the new file belongs to %d", uid)
		}
		w.work = "/"
		if r := w.hermes("sandbox", "exec", "--here", "--", "true"); r.code != 2 || !strings.Contains(r.stderr, "whole machine") {
			t.Errorf("--here in /: %v", r)
		}
	})
}

func TestMounts(t *testing.T) {
	asEveryone(t, func(t *testing.T, w *world) {
		w.mkdir(filepath.Join(w.work, "ro"))
		w.mkdir(filepath.Join(w.work, "rw"))
		w.write("ro/file", "read me\n")
		r := w.hermes("sandbox", "exec", "--mount", "ro:/src:ro", "--mount", filepath.Join(w.work, "rw")+":/dst", "-c",
			"cat /src/file; cp /src/file /dst/copy; echo no >/src/file || echo no >/src/new || rm /src/file")
		if r.stdout != "read me\n" || r.code == 0 || !strings.Contains(r.stderr, "Read-only file system") {
			t.Errorf("%v", r)
		}
		if data, err := os.ReadFile(filepath.Join(w.work, "rw", "copy")); string(data) != "read me\n" {
			t.Errorf("%q, %v", data, err)
		}
		if data, err := os.ReadFile(filepath.Join(w.work, "ro", "file")); string(data) != "read me\n" {
			t.Errorf("%q, %v", data, err)
		}
		if r := w.hermes("sandbox", "exec", "--task", "m", "--mount", "missing:/x", "--", "true"); r.code != 125 || !oneLine(r.stderr) || !strings.Contains(r.stderr, "does not exist") {
			t.Errorf("a missing source: %v", r)
		}
	})
}

func TestASandboxThatDiffersIsReplacedWhenIdleAndRefusedWhenBusy(t *testing.T) {
	w := newWorld(t, nil)
	w.must("sandbox", "exec", "--session", "s", "-c", "export A=1")
	w.must("sandbox", "exec", "--memory", "512m", "--pids", "100", "--cpus", "1.5", "--session", "s", "-c", "export A=2")
	if got := w.must("sandbox", "exec", "--memory", "512m", "--pids", "100", "--cpus", "1.5", "--session", "s", "-c", "echo $A"); got != "2\n" {
		t.Errorf("the same flags gave another sandbox: %q", got)
	}
	if got := w.must("sandbox", "exec", "--session", "s", "-c", "echo $A"); got != "2\n" {
		t.Errorf("no flags gave another sandbox: %q", got)
	}
	w.must("sandbox", "exec", "-c", "sleep 60 >/dev/null 2>&1 &")
	r := w.hermes("sandbox", "exec", "--memory", "1g", "--", "true")
	if r.code != 125 || !oneLine(r.stderr) || !strings.Contains(r.stderr, "memory: 536870912 → 1073741824") {
		t.Errorf("a busy one: %v", r)
	}
}

func TestAStoppedSandboxComesBackAsItWas(t *testing.T) {
	asEveryone(t, func(t *testing.T, w *world) {
		w.write("file", "mounted\n")
		w.must("sandbox", "exec", "--mount", ".:/src:ro", "--session", "s", "-c", "export A=1; echo kept >f")
		w.killGuest("default")
		if got := decode[[]row](t, w.must("sandbox", "ls", "--json")); len(got) != 1 || got[0].State != "stopped" || got[0].Status != nil {
			t.Errorf("%+v", got)
		}
		if got := w.must("sandbox", "inspect"); !strings.Contains(got, "stopped") || !strings.Contains(got, "nothing runs") {
			t.Errorf("got %q", got)
		}
		if got := w.must("sandbox", "exec", "--session", "s", "-c", "cat /src/file f; echo ${A-unset}"); got != "mounted\nkept\nunset\n" {
			t.Errorf("got %q", got)
		}
	})
}

func TestALostSandboxIsSaid(t *testing.T) {
	w := newWorld(t, nil)
	marker := "31536005." + w.unique()
	for _, json := range []bool{false, true} {
		args := []string{"sandbox", "exec", "--", "sleep", marker}
		if json {
			args = slices.Insert(args, 2, "--json")
		}
		cmd := w.command(args...)
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "it runs", func() bool { return len(running(t, "sleep", marker)) == 1 })
		w.killGuest("default")
		cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != 125 {
			t.Errorf("status %d, %q", code, stderr.String())
		}
		if said := stderr.String(); !json && (!oneLine(said) || !strings.Contains(said, "the sandbox ended")) {
			t.Errorf("said %q", said)
		}
		if json && !strings.Contains(stdout.String(), `"code": -1`) {
			t.Errorf("said %q", stdout.String())
		}
	}
}

func TestWhatCannotBeEnforcedIsRefused(t *testing.T) {
	w := newWorld(t, nil)
	w.must("sandbox", "exec", "--require", "namespaces,seccomp,network", "--", "true")
	r := w.hermes("sandbox", "exec", "--task", "n", "--network", "host", "--require", "network", "--", "true")
	if r.code != 125 || !oneLine(r.stderr) || !strings.Contains(r.stderr, "the host's whole network is reachable") {
		t.Errorf("%v", r)
	}
	if r := w.hermes("sandbox", "inspect", "n"); r.code != 1 {
		t.Errorf("the refused sandbox exists: %v", r)
	}
}

func TestTheUserInside(t *testing.T) {
	w := newWorld(t, nil)
	if os.Getuid() != 0 {
		t.Skip("an ordinary caller may have a single id")
	}
	if got := w.must("sandbox", "exec", "--user", "1000:1001", "-c", "id -u; id -g"); got != "1000\n1001\n" {
		t.Errorf("got %q", got)
	}
	if r := w.hermes("sandbox", "exec", "--task", "x", "--user", "99999999", "--", "true"); r.code != 125 || !oneLine(r.stderr) {
		t.Errorf("%v", r)
	}
}
