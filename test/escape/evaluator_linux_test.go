package escape

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/engine/native"
)

const (
	evaluator        = "Amicontained"
	evaluatorVersion = "v0.4.9"
)

// mustBlock are calls of which the evaluator has to find that they are refused.
var mustBlock = strings.Fields(`ACCT ADD_KEY BPF CHROOT CLOCK_SETTIME DELETE_MODULE FANOTIFY_INIT FINIT_MODULE INIT_MODULE IOPERM IOPL KCMP
	KEXEC_FILE_LOAD KEXEC_LOAD KEYCTL MOUNT OPEN_BY_HANDLE_AT PERF_EVENT_OPEN PIVOT_ROOT QUOTACTL REBOOT REQUEST_KEY SETDOMAINNAME SETHOSTNAME
	SETNS SETTIMEOFDAY SWAPOFF SWAPON SYSLOG UMOUNT2 UNSHARE USERFAULTFD VHANGUP`)

// evaluation is what the evaluator found, by the user of the sandbox.
type evaluation map[string]finding

type finding struct {
	namespaces   []string
	capabilities string
	seccomp      string
	blocked      []string
	sockets      int
}

// evaluate runs the public evaluator in sandboxes and judges its findings. It is not
// run outside: it makes every system call with arguments of zero, which as root would
// take the machine's name.
func evaluate(t *testing.T, base string) (evaluation, error) {
	t.Helper()
	program, err := buildEvaluator(filepath.Join(base, "bin"))
	if err != nil {
		return nil, err
	}
	run := filepath.Join(base, "evaluator")
	if err := os.Mkdir(run, 0o700); err != nil {
		return nil, err
	}
	t.Setenv("XDG_RUNTIME_DIR", run)
	found := make(evaluation)
	for user, capabilities := range map[string]string{"root": "chown dac_override fowner setgid setuid", "1000": ""} {
		out, err := inSandbox(t, base, program, strings.TrimPrefix(user, "root"))
		if err != nil {
			return nil, err
		}
		f := parseFinding(out)
		found[user] = f
		if !slices.Equal(f.namespaces, []string{"pid", "user"}) || f.seccomp != "filtering" || f.capabilities != capabilities || f.sockets > 0 {
			t.Errorf("as %s the evaluator found %+v", user, f)
		}
		for _, name := range mustBlock {
			if !slices.Contains(f.blocked, name) {
				t.Errorf("as %s the evaluator could call %s", user, name)
			}
		}
	}
	return found, nil
}

// buildEvaluator builds it from its module, once, and copies it to dir. It needs the
// module proxy, or Go's cache of what came from there.
func buildEvaluator(dir string) (string, error) {
	kept, err := filepath.Abs("../../bin/tools/amicontained-" + evaluatorVersion)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(kept); errors.Is(err, os.ErrNotExist) {
		cmd := exec.Command("go", "build", "-C", "evaluator", "-trimpath", "-buildvcs=false", "-o", kept, "github.com/genuinetools/amicontained")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=readonly")
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("cannot build it: %w: %s", err, bytes.TrimSpace(out))
		}
	}
	content, err := os.ReadFile(kept)
	if err != nil {
		return "", err
	}
	program := filepath.Join(dir, "amicontained")
	return program, os.WriteFile(program, content, 0o755)
}

func inSandbox(t *testing.T, base, program, user string) (string, error) {
	t.Helper()
	engine, err := native.New(native.Options{})
	if err != nil {
		return "", err
	}
	m := sandbox.NewManager(engine, sandbox.Options{NoSweep: true})
	defer m.Close()
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	held, err := m.Ensure(ctx, sandbox.Identity{Home: base, Task: "evaluated " + user}, sandbox.Spec{
		Ephemeral: true, User: user, Mounts: []sandbox.Mount{{Source: program, Target: "/tools/evaluator", ReadOnly: true}},
	})
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	r, err := held.Exec(ctx, sandbox.Command{Argv: []string{"/tools/evaluator"}, Stdout: &out})
	if err == nil && r.Code != 0 {
		err = fmt.Errorf("it ended with %d (%s %s): %s", r.Code, r.Reason, r.Message, out.String())
	}
	return out.String(), err
}

// parseFinding reads the evaluator's words.
func parseFinding(out string) finding {
	var f finding
	section := ""
	for line := range strings.Lines(out) {
		line = strings.TrimRight(line, "\n")
		item, indented := strings.CutPrefix(line, "\t")
		switch {
		case !indented:
			section, _, _ = strings.Cut(line, " (")
			section = strings.TrimSuffix(section, ":")
			if mode, ok := strings.CutPrefix(line, "Seccomp: "); ok {
				f.seccomp = mode
			}
			if strings.HasPrefix(line, "Valid Docker Socket") {
				f.sockets++
			}
		case section == "Has Namespaces":
			if name, ok := strings.CutSuffix(item, ": true"); ok {
				f.namespaces = append(f.namespaces, name)
			}
		case section == "Capabilities":
			_, f.capabilities, _ = strings.Cut(item, " -> ")
		case section == "Blocked Syscalls":
			f.blocked = strings.Fields(item)
		}
	}
	return f
}

// text is what the record says of it.
func (e evaluation) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n## %s\n\nA public evaluator, github.com/genuinetools/amicontained %s, run inside root's engine. It makes every system call with arguments\n"+
		"of zero, so it has no control outside: as root it would take the machine's name.\n\n| attempt | root | user |\n|---|---|---|\n", evaluator, evaluatorVersion)
	row := func(name string, value func(finding) string) {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", name, value(e["root"]), value(e["1000"]))
	}
	row("namespaces of its own", func(f finding) string { return strings.Join(f.namespaces, " ") })
	row("capabilities", func(f finding) string {
		if f.capabilities == "" {
			return "none"
		}
		return f.capabilities
	})
	row("seccomp", func(f finding) string { return f.seccomp })
	row("Docker sockets", func(f finding) string { return fmt.Sprint(f.sockets) })
	row("calls that must be blocked", func(f finding) string {
		n := 0
		for _, name := range mustBlock {
			if slices.Contains(f.blocked, name) {
				n++
			}
		}
		return fmt.Sprintf("%d of %d", n, len(mustBlock))
	})
	return b.String()
}
