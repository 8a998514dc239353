package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestRunLeavesNothing(t *testing.T) {
	asEveryone(t, func(t *testing.T, w *world) {
		// The guest's program is put into the run directory by the first sandbox
		// and stays for the next ones.
		w.must("run", "--", "true")
		before := append(w.tree(w.run), w.tree(w.home)...)
		r := w.hermes("run", "-c", "pwd; echo $HOME; touch a /tmp/a ~/a; ls -a; sleep 300 >/dev/null 2>&1 & exit 4")
		if r.code != 4 || !strings.HasPrefix(r.stdout, "/workspace\n/root\n") || r.stderr != "" {
			t.Errorf("%v", r)
		}
		after := append(w.tree(w.run), w.tree(w.home)...)
		if !slices.Equal(before, after) {
			t.Errorf("before %q\nafter %q", before, after)
		}
		if got := w.must("sandbox", "ls", "--json"); got != "[]\n" {
			t.Errorf("a sandbox is left: %s", got)
		}
		if got := w.must("run", "-c", "ls -A /workspace ~ /tmp"); got != "/root:\n\n/tmp:\n\n/workspace:\n" {
			t.Errorf("the next one is not empty: %q", got)
		}
	})
}

func TestAnEphemeralSandboxDoesNotTakeKeptFilesAlong(t *testing.T) {
	w := newWorld(t, nil)
	w.must("sandbox", "exec", "--task", "a", "-c", "echo precious >f")
	for _, stop := range []bool{false, true} {
		if stop {
			w.must("sandbox", "rm", "a")
		}
		r := w.hermes("sandbox", "exec", "--task", "a", "--ephemeral", "--", "true")
		if r.code != 125 || !oneLine(r.stderr) || !strings.Contains(r.stderr, "keeps files") {
			t.Errorf("%v", r)
		}
	}
	if got := w.must("sandbox", "exec", "--task", "a", "--", "cat", "f"); got != "precious\n" {
		t.Errorf("got %q", got)
	}
	for range 2 {
		if got := w.must("sandbox", "exec", "--task", "b", "--ephemeral", "-c", "ls; touch f"); got != "" {
			t.Errorf("got %q", got)
		}
	}
}

func TestRunsDoNotMeet(t *testing.T) {
	w := newWorld(t, nil)
	first := w.command("run", "-c", "touch /tmp/first; sleep 30; true")
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the first runs", func() bool { return strings.Contains(w.must("sandbox", "ls"), "run-") })
	if got := w.must("run", "-c", "ls /tmp; hostname | grep -c run-"); got != "1\n" {
		t.Errorf("got %q", got)
	}
	first.Process.Signal(os.Interrupt)
	first.Wait()
}

func TestRunHereSeesTheDirectoryAndNothingElse(t *testing.T) {
	asEveryone(t, func(t *testing.T, w *world) {
		const secret = "swordfish-4711"
		w.env = append(w.env, "API_TOKEN="+secret)
		w.mkdir(filepath.Join(w.dir, "user", ".ssh"))
		key := w.write(filepath.Join(w.dir, "user", ".ssh", "id_ed25519"), secret+"\n")
		w.write("file", "mine\n")
		if got := w.must("run", "--here", "--", "cat", "file"); got != "mine\n" {
			t.Errorf("got %q", got)
		}
		r := w.hermes("run", "--here", "-c", "env; cat ~/.ssh/id_* '"+key+"' /proc/*/environ; ls -la / /home /root '"+w.dir+"'; grep -rs "+secret+" /etc /tmp /root /run /var /workspace")
		if strings.Contains(r.stdout+strings.ReplaceAll(r.stderr, key, ""), secret) {
			t.Errorf("the secret is visible: %v", r)
		}
		if r.code == 0 || !strings.Contains(r.stderr, "cat: '/root/.ssh/id_*': No such file or directory") {
			t.Errorf("%v", r)
		}
	})
}

func TestRunHasNoNetworkButItsOwn(t *testing.T) {
	w := newWorld(t, nil)
	if got := w.must("run", "-c", "sed -n 's/:.*//p' /proc/net/dev"); strings.TrimSpace(got) != "lo" {
		t.Errorf("interfaces: %q", got)
	}
	host, err := os.ReadFile("/proc/net/dev")
	if err != nil {
		t.Fatal(err)
	}
	got := w.must("run", "--network", "host", "-c", "wc -l </proc/net/dev")
	if n := strings.Count(string(host), "\n"); strings.TrimSpace(got) != itoa(n) {
		t.Errorf("with the host's network there are %q lines, on the host %d", got, n)
	}
}
