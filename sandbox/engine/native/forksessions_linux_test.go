package native_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hermes.example/hermes/internal/image/hostimage"
	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/engine/native"
)

// inSession runs a line in a session and compares what it prints.
func (a *imageArena) inSession(box *sandbox.Sandbox, session, line, want string) sandbox.Result {
	a.t.Helper()
	var out bytes.Buffer
	res, err := box.Session(session).Exec(a.t.Context(), sandbox.Command{Line: line, Stdout: &out})
	if err != nil || out.String() != want {
		a.t.Errorf("%q ended with %d (%v) and prints %q, not %q", line, res.Code, err, out.String(), want)
	}
	return res
}

func TestForksAndTheirOriginalGoOnWithTheSessions(t *testing.T) {
	a := newImageArena(t, native.Options{})
	spec := sandbox.Spec{Image: writeImage(t, hostimage.Config{}), Env: map[string]string{"GIVEN": "by spec", "SECRET": "s3cr3t"}}
	p := a.ensure("p", spec)
	a.inSession(p, "s", `mkdir -p /srv/deep; cd /srv/deep; export RAW=$'\xff\xfe\x80 \x01"'; declare -ix N=7; declare -ax LIST=(a 'b c'); unset GIVEN
		greet() { echo "hello $1"; }; alias shout='echo LOUD'`, "")
	a.inSession(p, "other", "export ONLY=here", "")
	carried, err := a.manager.Fork(t.Context(), a.id("p"), []sandbox.Identity{a.id("one"), a.id("two")})
	if err != nil || carried.Lost != "" || !slices.Equal(carried.Sessions, []string{"other", "s"}) {
		t.Fatalf("%+v, %v", carried, err)
	}
	const look = `pwd; printf '%s\n' "$RAW"; N=N+1; echo $N "${LIST[1]}" ${GIVEN-unset} $SECRET; greet you; shout`
	const seen = "/srv/deep\n\xff\xfe\x80 \x01\"\n8 b c unset s3cr3t\nhello you\nLOUD\n"
	// The hold that was there before, and new ones.
	if res := a.inSession(p, "s", "( "+look+" )", seen); res.Recreated {
		t.Error("the original was made anew for the command, and not by the fork")
	}
	one, two := a.ensure("one", spec), a.ensure("two", spec)
	for _, box := range []*sandbox.Sandbox{one, two, a.ensure("p", spec)} {
		a.inSession(box, "s", "( "+look+" )", seen)
		a.inSession(box, "other", "echo $ONLY", "here\n")
		a.says(box, "echo $GIVEN $SECRET", "by spec s3cr3t") // and commands without a session have the sandbox's own
	}
	a.onNoDisk("s3cr3t")
	// From here on each has its own.
	a.inSession(one, "s", "cd /; export RAW=one; unset -f greet; unalias shout; export MINE=1", "")
	a.inSession(p, "s", "export RAW=original", "")
	a.inSession(two, "s", look+"; echo ${MINE-none}", seen+"none\n")
	a.inSession(one, "s", "pwd; echo $RAW; type greet shout 2>/dev/null | cat", "/\none\n")
	a.inSession(p, "s", "pwd; echo $RAW; greet x", "/srv/deep\noriginal\nhello x\n")
}

// onNoDisk looks for a secret of sessions in all files of the home and of the run
// directory.
func (a *imageArena) onNoDisk(secret string) {
	a.t.Helper()
	files := 0
	for _, dir := range []string{filepath.Join(a.home, "sandboxes"), os.Getenv("XDG_RUNTIME_DIR")} {
		err := filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrPermission) {
				return nil // the overlay's own directory, closed to its owner, too
			}
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			files++
			data, err := os.ReadFile(at)
			if strings.Contains(string(data), secret) {
				a.t.Errorf("it is in %s", at)
			}
			return err
		})
		if err != nil {
			a.t.Error(err)
		}
	}
	if files == 0 {
		a.t.Error("there is nothing to look at")
	}
}

// A commit ends the original too, and so does a fork that fails.
func TestWhatEndsTheOriginalKeepsItsSessions(t *testing.T) {
	a := newImageArena(t, native.Options{})
	spec := sandbox.Spec{Image: writeImage(t, hostimage.Config{})}
	p := a.ensure("p", spec)
	a.inSession(p, "s", "cd /usr; export A=1", "")
	a.stop(a.ensure("kept", spec))
	if err := a.fork("p", "kept"); err == nil || !strings.Contains(err.Error(), "keeps files of an earlier") {
		t.Errorf("to a name that has files: %v", err)
	}
	a.inSession(p, "s", "pwd; echo $A", "/usr\n1\n")
	if err := a.fork("p", "one"); err != nil {
		t.Fatal(err)
	}
	a.says(a.ensure("one", spec), "echo x >/x", "")
	if err := a.commit("one", "/x"); err != nil {
		t.Fatal(err)
	}
	a.inSession(p, "s", "pwd; echo $A; cat /x", "/usr\n1\nx\n")
}

// Without sessions there is nothing to hand over, and nothing is started for it.
func TestForksWithoutSessionsDoNotRun(t *testing.T) {
	a := newImageArena(t, native.Options{})
	spec := sandbox.Spec{Image: writeImage(t, hostimage.Config{})}
	a.says(a.ensure("p", spec), "echo x >/x", "")
	if err := a.fork("p", "one"); err != nil {
		t.Fatal(err)
	}
	for _, task := range []string{"p", "one"} {
		if info, err := a.manager.Find(t.Context(), a.id(task)); err == nil && info.State == sandbox.Running {
			t.Errorf("%s runs", task)
		}
	}
}

// Who gives a fork up half way leaves the original to its other users.
func TestAForkThatIsGivenUpKeepsTheSessions(t *testing.T) {
	a := newImageArena(t, native.Options{})
	p := a.ensure("p", sandbox.Spec{Image: writeImage(t, hostimage.Config{})})
	a.inSession(p, "s", "cd /usr; export A=1", "")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	e, err := native.New(native.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := sandbox.NewManager(&givesUp{e.(*native.Engine), cancel}, sandbox.Options{NoSweep: true})
	defer m.Close()
	if _, err := m.Fork(ctx, a.id("p"), []sandbox.Identity{a.id("one")}); !errors.Is(err, context.Canceled) {
		t.Errorf("the fork ends with %v", err)
	}
	a.inSession(p, "s", "pwd; echo $A", "/usr\n1\n")
}

// givesUp is an engine whose caller gives up when the fork begins.
type givesUp struct {
	*native.Engine
	cancel context.CancelFunc
}

func (e *givesUp) Fork(ctx context.Context, _ sandbox.Identity, _ []sandbox.Identity) error {
	e.cancel()
	return ctx.Err()
}
