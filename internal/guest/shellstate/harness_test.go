//go:build linux

package shellstate

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const basePath = "/usr/local/bin:/usr/bin:/bin"

// session runs commands as the guest does: a prelude and a report in memfds at
// descriptors 3 and 4, the report read as soon as the shell itself has ended.
type session struct {
	t     testing.TB
	shell Shell
	argv0 []string
	st    State
}

type result struct {
	out, err string
	status   int
	report   error
	change   Change
}

func newSession(t testing.TB, shell Shell, argv0 ...string) *session {
	t.Helper()
	if _, err := os.Stat(argv0[0]); err != nil {
		t.Skipf("no %s here", argv0[0])
	}
	return &session{t: t, shell: shell, argv0: argv0, st: State{
		Env: map[string]string{"PATH": basePath, "HOME": t.TempDir(), "INITIAL": "image"},
		Cwd: "/",
	}}
}

func bash(t testing.TB) *session { return newSession(t, Bash, "/bin/bash") }

// everyShell runs a test of what all shells must do.
func everyShell(t *testing.T, test func(t *testing.T, s *session)) {
	t.Run("bash", func(t *testing.T) { test(t, bash(t)) })
	posixShells(t, test)
}

func posixShells(t *testing.T, test func(t *testing.T, s *session)) {
	t.Run("dash", func(t *testing.T) { test(t, newSession(t, Posix, "/bin/dash")) })
	t.Run("busybox", func(t *testing.T) { test(t, newSession(t, Posix, "/bin/busybox", "sh")) })
}

func memfd(t testing.TB, content []byte) *os.File {
	t.Helper()
	fd, err := unix.MemfdCreate("shellstate", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "memfd")
	t.Cleanup(func() { f.Close() })
	if _, err := f.Write(content); err != nil {
		t.Fatal(err)
	}
	return f
}

// command returns a command ready to start, and its report.
func (s *session) command(inv Invocation) (*exec.Cmd, *os.File) {
	s.t.Helper()
	argv := append(append([]string{}, s.argv0...), inv.Argv[1:]...)
	report := memfd(s.t, nil)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = inv.Env
	cmd.Dir = s.st.Cwd
	cmd.ExtraFiles = []*os.File{memfd(s.t, inv.Prelude), report}
	return cmd, report
}

func (s *session) invoke(line string, opts Options) Invocation {
	opts.PreludeFD, opts.ReportFD = 3, 4
	return Invoke(s.shell, s.argv0[0], line, &s.st, opts)
}

// begin starts a command; the function it returns waits for the end of it.
func (s *session) begin(line string, opts Options) func() result {
	s.t.Helper()
	inv := s.invoke(line, opts)
	cmd, report := s.command(inv)
	// Files and not pipes: Wait must not wait for background children.
	out, errs := memfd(s.t, nil), memfd(s.t, nil)
	cmd.Stdout, cmd.Stderr = out, errs
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	return func() result {
		s.t.Helper()
		var exit *exec.ExitError
		if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
			s.t.Fatal(err)
		}
		r := result{out: content(s.t, out), err: content(s.t, errs), status: cmd.ProcessState.ExitCode()}
		var end State
		if end, r.report = Decode([]byte(content(s.t, report))); r.report == nil {
			r.change = Delta(inv.Start, end)
			if opts.Login {
				s.st.ApplyLogin(inv.Start, end)
			} else {
				s.st.Apply(r.change)
			}
		}
		return r
	}
}

func content(t testing.TB, f *os.File) string {
	t.Helper()
	b, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<30))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func (s *session) run(line string) result {
	s.t.Helper()
	return s.begin(line, Options{})()
}

// want runs a line and expects its output, status 0, nothing on standard error
// and a report.
func (s *session) want(line, out string) result {
	s.t.Helper()
	r := s.run(line)
	if r.out != out || r.status != 0 || r.err != "" || r.report != nil {
		s.t.Errorf("%s\nout %q, want %q\nerr %q\nstatus %d, report %v", short(line), short(r.out), short(out), r.err, r.status, r.report)
	}
	return r
}

// wantStatus runs a line that must end with a status and leave a report.
func (s *session) wantStatus(line string, status int) result {
	s.t.Helper()
	r := s.run(line)
	if r.status != status || r.report != nil {
		s.t.Errorf("%s\nstatus %d, want %d\nout %q\nerr %q\nreport %v", short(line), r.status, status, short(r.out), r.err, r.report)
	}
	return r
}

func short(s string) string {
	if len(s) > 600 {
		return s[:600] + "…"
	}
	return s
}

// wantClean fails if the session holds anything of ours.
func (s *session) wantClean() {
	s.t.Helper()
	for _, m := range []map[string]string{s.st.Env, s.st.Attrs, s.st.Functions, s.st.Aliases} {
		for n, v := range m {
			if strings.Contains(n+v, "__hermes_") || strings.Contains(v, "/proc/self/fd") {
				s.t.Errorf("the session holds %s=%s", n, short(v))
			}
		}
	}
	for _, n := range []string{"_", "PWD", "SHLVL", "AI_AGENT", "HERMES_AGENT", "PAGER", "LANG"} {
		if v, ok := s.st.Env[n]; ok {
			s.t.Errorf("the session holds %s=%s", n, v)
		}
	}
}

func everyByte() string {
	var b bytes.Buffer
	for c := 1; c < 256; c++ {
		b.WriteByte(byte(c))
	}
	return b.String()
}
