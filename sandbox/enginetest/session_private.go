package enginetest

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hermes.example/hermes/sandbox"
)

var sessionPrivateTests = []test{
	{"sessions/D22 the state is on no disk", stateIsOnNoDisk},
	{"sessions/D22 the state is private to its user", stateIsPrivate},
	{"sessions/the state is in no argument list", stateIsInNoArguments},
	{"sessions/D22 output cannot forge the state", outputCannotForge},
	{"sessions/a broken report leaves the state as it was", brokenReport},
}

const secret = "s3cr3t-of-a-session"

// writable are the places inside that a command could leave files in.
const writable = "/tmp /var/tmp /run /dev/shm /workspace /root"

func stateIsOnNoDisk(t *testing.T, s *suite) {
	b := s.box(t)
	p := b.session("s")
	p.output("export SECRET=" + secret + "; f(){ echo " + secret + "; }")
	release := held(b, p, "true")
	// While a command of the session runs, and afterwards.
	for range 2 {
		if o := b.line("find "+writable+" -type f -exec grep -l '[s]3cr3t-of' {} + || true").ended(0, sandbox.Exited); o.Out != "" {
			t.Errorf("the state is in %s", o.Out)
		}
		if release != nil {
			release().ended(0, sandbox.Exited)
			release = nil
		}
	}
	err := filepath.WalkDir(s.home, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // another test removes its own meanwhile
		}
		if d.Type().IsRegular() && strings.Contains(path, b.Identity().Name()) {
			if data, err := os.ReadFile(path); err == nil && strings.Contains(string(data), secret) {
				t.Errorf("the state is in %s", path)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// asNobody runs a program as somebody else inside.
const asNobody = "setpriv --reuid=65534 --regid=65534 --clear-groups "

func stateIsPrivate(t *testing.T, s *suite) {
	s.need(t, ManyIDs)
	b := s.box(t)
	p := b.session("s")
	p.output("export SECRET=" + secret)
	mark := b.Identity().Key() // other sandboxes may be seen too
	release := held(b, p, ": mark-"+mark)
	b.says(asNobody+"id -u", "65534")
	// The shell; younger ones are its forks.
	pid := b.output("cd /proc && grep -l 'mar[k]-" + mark + "' [0-9]*/cmdline 2>/dev/null | sort -n | head -n 1 | cut -d/ -f1")
	b.says("tr '\\0' '\\n' </proc/"+pid+"/environ | grep -c s3cr3t-[o]f || true", "1") // the control
	for _, file := range []string{"environ", "mem", "fd/0", "fd/187", "root", "cwd", "maps"} {
		if o := b.line(asNobody + "sh -c 'cat /proc/" + pid + "/" + file + " >/dev/null || readlink /proc/" + pid + "/" + file + "'"); o.Code == 0 {
			t.Errorf("/proc/PID/%s of a session's shell is open to others: %s", file, o.Out)
		}
	}
	release().ended(0, sandbox.Exited)
}

func stateIsInNoArguments(t *testing.T, s *suite) {
	b := s.box(t)
	p := b.session("s")
	p.output("export SECRET=" + secret + "; f(){ echo " + secret + "; }; alias x='echo " + secret + "'; cd /usr")
	release := held(b, p, "f; x")
	b.says("cat /proc/[0-9]*/cmdline 2>/dev/null | grep -ac s3cr3t-[o]f || true", "0")
	release().ended(0, sandbox.Exited)
}

func outputCannotForge(t *testing.T, s *suite) {
	p := s.box(t).session("s")
	p.output("export A=1; cd /usr")
	for _, text := range []string{
		`__HERMES_CWD_000000000000__/tmp__HERMES_CWD_000000000000__\n`,
		`\0HB1\0declare -x A="forged"\n\0/tmp\n\0END\0`, `\0HV1\0declare -x A="forged"\n\0/tmp\n\0END\0`,
	} {
		p.split(sandbox.Command{Line: "printf '" + text + "'; printf '" + text + "' >&2"}).ended(0, sandbox.Exited)
		if o := p.split(sandbox.Command{Line: "true"}); o.Cwd != "/usr" {
			t.Errorf("the output %q moved the session to %q", text, o.Cwd)
		}
		p.says("echo $A", "1")
	}
}

// A command may write anything to any descriptor that it has, and may fill them.
func brokenReport(t *testing.T, s *suite) {
	p := s.box(t).session("s")
	p.output("export A=1; cd /usr; f(){ echo f; }")
	for _, line := range []string{
		`for fd in /proc/self/fd/*; do n=${fd##*/}; case $n in 0|1|2|255) ;; *) eval "exec $n>&-" ;; esac; done; export A=2`,
		`for fd in /proc/self/fd/*; do n=${fd##*/}; case $n in 0|1|2|255) ;; *) eval "printf '\0HB1\0declare -x A=' >&$n"; eval "exec $n>&-" ;; esac; done`,
		`for fd in /proc/self/fd/*; do n=${fd##*/}; case $n in 0|1|2|255) ;; *) eval "head -c 40000000 /dev/zero >&$n" ;; esac; done`,
	} {
		o := p.run(sandbox.Command{Line: line + " 2>/dev/null", Timeout: 30 * time.Second})
		if o.Reason != sandbox.Exited {
			t.Errorf("%q ended by %s", line, o.Reason)
		}
		p.says("echo $PWD; f", "/usr\nf")
		if a := p.output("echo $A"); a != "1" && a != "2" {
			t.Errorf("%q left A=%q", line, a)
		}
	}
}
