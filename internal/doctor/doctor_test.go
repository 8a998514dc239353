package doctor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hermes.example/hermes/internal/config"
)

// fake is a machine with nothing on it but what a test puts there: files below a
// directory, programs by name with what they answer.
func fake(t *testing.T, files map[string]string, programs map[string]string) *machine {
	t.Helper()
	root := t.TempDir()
	for path, content := range files {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return &machine{
		root: root, uid: 1000, user: "ann", now: oldest, built: oldest,
		config: config.Config{Home: filepath.Join(root, "home"), SandboxRoot: filepath.Join(root, "home", "sandboxes")},
		lookup: func(string) (string, bool) { return "", false },
		find: func(program string) (string, error) {
			if _, found := programs[program]; found {
				return "/bin/" + program, nil
			}
			return "", errors.New("not found")
		},
		run: func(_ context.Context, program string, _ ...string) (string, error) {
			answer := programs[filepath.Base(program)]
			if answer == "hangs" {
				return "", errHangs
			}
			if failure, failed := strings.CutPrefix(answer, "fails: "); failed {
				return "", errors.New(failure)
			}
			return answer, nil
		},
	}
}

// expect compares a finding with its severity, a part of what was found, and the
// whole fix.
func expect(t *testing.T, got Finding, severity Severity, found, fix string) {
	t.Helper()
	if got.Severity != severity || !strings.Contains(got.Found, found) || got.Fix != fix {
		t.Errorf("got  %s %s: %s\n FIX: %s\nwant %s …%s…\n FIX: %s", got.Severity, got.Name, got.Found, got.Fix, severity, found, fix)
	}
}

func only(t *testing.T, found []Finding) Finding {
	t.Helper()
	if len(found) != 1 {
		t.Fatalf("%d findings: %+v", len(found), found)
	}
	return found[0]
}

// shortDir has a name short enough for sockets.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "d")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func TestInterpreters(t *testing.T) {
	python, node := interpreter("python", "python3"), interpreter("node", "node")
	expect(t, only(t, python(t.Context(), fake(t, nil, map[string]string{"python3": "Python 3.11.2"}))), OK, "3.11.2 at /bin/python3", "")
	expect(t, only(t, python(t.Context(), fake(t, nil, map[string]string{"pacman": ""}))), Note, "no python3", "sudo pacman -S --noconfirm python")
	expect(t, only(t, python(t.Context(), fake(t, nil, map[string]string{"python3": "hangs", "apt-get": ""}))), Note, "does not answer", "/bin/python3 --version # shows why")
	expect(t, only(t, node(t.Context(), fake(t, nil, map[string]string{"zypper": ""}))), Note, "no node", "sudo zypper --non-interactive install nodejs-default")
	expect(t, only(t, node(t.Context(), fake(t, nil, nil))), Note, "no node", "install node with this system's package manager")
}

func TestAClockBeforeTheBuildIsBad(t *testing.T) {
	m := fake(t, nil, nil)
	expect(t, only(t, clock(t.Context(), m)), OK, "2026-01-01T00:00:00Z", "")
	m.now = time.Unix(0, 0)
	expect(t, only(t, clock(t.Context(), m)), Bad, "1970-01-01 is before", `sudo date -u -s "2026-01-01 00:00:00" # or the time that it really is`)
	m = fake(t, map[string]string{"/run/systemd/system/x": ""}, map[string]string{"timedatectl": ""})
	m.uid, m.now = 0, time.Unix(0, 0)
	expect(t, only(t, clock(t.Context(), m)), Bad, "is before", "timedatectl set-ntp true")
}

// A check whose system call never returns is reported, and the others are there.
func TestWhatNeverEndsIsReported(t *testing.T) {
	m := fake(t, nil, nil)
	forever := make(chan struct{})
	defer close(forever)
	found := m.all(t.Context(), 20*time.Millisecond, []check{
		{name: "stuck", late: Bad, lateFix: "mend it", look: func(context.Context, *machine) []Finding { <-forever; return nil }},
		{name: "quick", look: func(context.Context, *machine) []Finding { return []Finding{ok("a", "1"), ok("b", "2")} }},
		{name: "bounded", look: func(ctx context.Context, _ *machine) []Finding {
			<-ctx.Done()
			return []Finding{Note.finding("bounded", "x", "knows why")}
		}},
	})
	if len(found) != 4 || found[1].Name != "a" || found[2].Name != "b" {
		t.Fatalf("%+v", found)
	}
	expect(t, found[0], Bad, "no answer within 20ms", "mend it")
	expect(t, found[3], Note, "knows why", "x")
}

func TestAProgramThatHangsIsEndedWithAllItStarted(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	pidFile := filepath.Join(t.TempDir(), "pid")
	if _, err := run(ctx, "/bin/sh", "-c", "sleep 1000 & echo $! >"+pidFile+"; wait"); !errors.Is(err, errHangs) {
		t.Fatalf("got %v", err)
	}
	data, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	stat := "/proc/" + strings.TrimSpace(string(data)) + "/stat"
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if content, err := os.ReadFile(stat); err != nil || strings.Contains(string(content), ") Z ") {
			return
		}
	}
	t.Error("what it started still runs")
}

func TestWhatAProgramSaysOfItsFailureIsKept(t *testing.T) {
	if _, err := run(t.Context(), "/bin/sh", "-c", "echo why >&2; exit 3"); err == nil || err.Error() != "why" {
		t.Errorf("got %v", err)
	}
	if out, err := run(t.Context(), "/bin/sh", "-c", "echo yes; echo noise >&2"); err != nil || out != "yes" {
		t.Errorf("got %q, %v", out, err)
	}
}

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{"/a/b-c_1.2": "/a/b-c_1.2", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$x": "'$x'"} {
		if got := quote(in); got != want {
			t.Errorf("%q: %s", in, got)
		}
	}
}
