package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// local makes calls of the world use the local engine.
func (w *world) local() { w.env = append(w.env, "TERMINAL_ENV=local") }

func TestLocalEngine(t *testing.T) {
	asEveryone(t, func(t *testing.T, w *world) {
		w.local()
		own := filepath.Join(w.home, "sandboxes", "local", "a")
		if got, want := w.must("sandbox", "exec", "--task", "a", "-c", "echo $PWD $HOME; echo kept >file"), own+"/workspace "+own+"/home\n"; got != want {
			t.Errorf("commands are in %q, not in %q", got, want)
		}
		if got := w.must("sandbox", "exec", "--task", "a", "--cwd", w.work, "--", "pwd"); got != w.work+"\n" {
			t.Errorf("with --cwd it is in %q", got)
		}
		r := decode[row](t, w.must("sandbox", "inspect", "a", "--json"))
		if r.Engine != "local" || r.Spec.Network != "host" || len(r.Posture.Facts) == 0 {
			t.Fatalf("inspect says %+v", r)
		}
		if f := r.Posture.Facts[0]; f.Name != "isolation" || f.Value != "landlock" && f.Value != "none" || f.Enforced || f.Deviation == "" {
			t.Errorf("the posture begins with %+v", f)
		}
		if sheet := w.must("sandbox", "inspect", "a"); !strings.Contains(sheet, "isolation") || !strings.Contains(sheet, own) {
			t.Errorf("the sheet does not say how isolated it is, or where its files are: %s", sheet)
		}
		if r := w.hermes("sandbox", "exec", "--task", "a", "--require", "isolation", "--", "true"); r.code != 125 || !oneLine(r.stderr) || !strings.Contains(r.stderr, "isolation (") {
			t.Errorf("isolation can be required: %v", r)
		}
		w.must("sandbox", "rm", "a")
		if got := w.must("sandbox", "exec", "--task", "a", "--", "cat", "file"); got != "kept\n" {
			t.Errorf("the file says %q", got)
		}
		if got := w.must("run", "-c", "echo $HERMES_HOME$TERMINAL_ENV; pwd"); !strings.HasSuffix(got, "/scratch/workspace\n") || strings.Contains(got, "\n\n") || !strings.HasPrefix(got, "\n") {
			t.Errorf("an ephemeral one says %q", got)
		}
		if _, err := os.Stat(filepath.Join(w.home, "sandboxes", "native")); !os.IsNotExist(err) {
			t.Errorf("the native engine was used: %v", err)
		}
	})
}

func TestLocalEngineRefusesWhatItCannotDo(t *testing.T) {
	w := newWorld(t, nil)
	w.local()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--mount", w.work + ":/mnt"}, "native engine"},
		{[]string{"--here"}, "--cwd"},
		{[]string{"--network", "none"}, "the local engine has no network"},
	} {
		args := append(append([]string{"run"}, c.args...), "--", "true")
		if r := w.hermes(args...); r.code != 125 || !oneLine(r.stderr) || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%q: %v", c.args, r)
		}
	}
	w.env = append(w.env, "TERMINAL_ENV=ssh")
	if r := w.hermes("run", "--", "true"); r.code != 78 || !oneLine(r.stderr) || !strings.Contains(r.stderr, `"ssh"`) || !strings.Contains(r.stderr, "local") {
		t.Errorf("an unknown engine: %v", r)
	}
	// The flag wins, and is named in its own complaint.
	if got := w.must("run", "--engine", "local", "--", "echo", "well"); got != "well\n" {
		t.Errorf("the flag says %q", got)
	}
	w.local() // for cleaning up
}

// inNamespace makes a call run in namespaces that the test makes for it, after a
// preparation.
func (w *world) inNamespace(flags []string, prepare string, args ...string) *exec.Cmd {
	w.t.Helper()
	unshare, err := exec.LookPath("unshare")
	if err != nil {
		w.t.Skip("unshare is missing: Debian has it in the package util-linux")
	}
	cmd := w.command(args...)
	call := cmd.Args
	call[0] = cmd.Path
	cmd.Path = unshare
	cmd.Args = append(append([]string{"unshare"}, flags...), append([]string{"sh", "-c", prepare + ` exec "$@"`, "sh"}, call...)...)
	if out, err := exec.Command(unshare, append(flags, "true")...).CombinedOutput(); err != nil {
		w.t.Skipf("this machine refuses %q: %s", flags, out)
	}
	return cmd
}

// refusing makes a call where user namespaces are refused: for root in a directory
// that it cannot leave, as in a container, for others by the limit of an outer one.
func (w *world) refusing(args ...string) result {
	w.t.Helper()
	if w.who == nil && os.Getuid() == 0 {
		root := filepath.Join(w.dir, "root")
		w.mkdir(root)
		prepare := "mount --rbind / '" + root + "' && exec chroot '" + root + "' env --chdir '" + w.work + "'"
		return w.finish(w.inNamespace([]string{"--mount"}, prepare+` "$@";`, args...))
	}
	return w.finish(w.inNamespace([]string{"--user", "--map-root-user"}, "echo 0 >/proc/sys/user/max_user_namespaces;", args...))
}

// Where user namespaces are refused, local works and native is an error: it is never
// quietly replaced.
func TestLocalEngineWithoutUserNamespaces(t *testing.T) {
	asEveryone(t, func(t *testing.T, w *world) {
		if r := w.refusing("sandbox", "exec", "--", "true"); r.code != 125 || !oneLine(r.stderr) || !strings.Contains(r.stderr, "user namespaces") || !strings.Contains(r.stderr, "hermes doctor") {
			t.Errorf("native: %v", r)
		}
		if left := w.tree(w.home); len(left) > 0 {
			t.Errorf("native left %q", left)
		}
		if r := w.refusing("sandbox", "exec", "--engine", "local", "-c", "unshare -U true 2>/dev/null; echo $? well"); r.code != 0 || r.stdout != "1 well\n" {
			t.Errorf("local: %v", r)
		}
		if got := w.must("sandbox", "exec", "--engine", "local", "--", "echo", "found again"); got != "found again\n" {
			t.Errorf("another process says %q", got)
		}
	})
}

// In a container hermes itself may be PID 1. With it the container ends, and so all
// that it made.
func TestLocalEngineWhenHermesIsPID1(t *testing.T) {
	asEveryone(t, func(t *testing.T, w *world) {
		w.local()
		flags := []string{"--user", "--map-root-user", "--pid", "--fork", "--mount-proc"}
		seconds := w.unique()
		line := "sleep " + seconds + " >/dev/null 2>&1 & cat /proc/1/comm; exit 3"
		r := w.finish(w.inNamespace(flags, "", "sandbox", "exec", "-c", line))
		if r.code != 3 || r.stdout != "hermes\n" {
			t.Errorf("it ends with %v", r)
		}
		eventually(t, "what it started is gone", func() bool { return len(running(t, "sleep", seconds)) == 0 })
		// The dead sandbox of the container is found and replaced.
		if got := w.must("sandbox", "exec", "--", "echo", "well"); got != "well\n" {
			t.Errorf("afterwards it says %q", got)
		}
	})
}

// One task can have a sandbox of each engine, and neither is in the other's way.
func TestEnginesDoNotShareSandboxes(t *testing.T) {
	asEveryone(t, func(t *testing.T, w *world) {
		in := func(engine, line string) string {
			return strings.TrimSpace(w.must("sandbox", "exec", "--engine", engine, "--task", "same", "-c", line))
		}
		guest := map[string]string{"native": "cat /proc/sys/kernel/random/uuid >/tmp/me; cat /tmp/me", "local": "echo $PPID"}
		again := map[string]string{"native": "cat /tmp/me", "local": "echo $PPID"}
		was := make(map[string]string)
		for engine := range guest {
			was[engine] = in(engine, guest[engine]+"; echo "+engine+" >file")
		}
		for engine, other := range map[string]string{"native": "local", "local": "native"} {
			if got := in(engine, "cat file"); got != engine {
				t.Errorf("the file of %s says %q", engine, got)
			}
			w.must("sandbox", "prune", "--engine", engine, "--yes")
			w.must("sandbox", "rm", "--engine", engine, "--files", "same")
			if got := in(other, again[other]+"; cat file"); got != was[other]+"\n"+other {
				t.Errorf("after %s was removed, %s says %q, not %q", engine, other, got, was[other])
			}
			was[engine] = in(engine, guest[engine]+"; echo "+engine+" >file")
		}
		out := w.must("sandbox", "prune", "--all", "--yes")
		if strings.Count(out, "removed same\n") != 2 {
			t.Errorf("prune of all engines says %q", out)
		}
	})
}
