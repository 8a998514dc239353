package toolbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/engine/local"
)

// newOpenToolbox returns tools in a sandbox that is no boundary: its paths are the host's.
func newOpenToolbox(t *testing.T, settings config.Tools) *Toolbox {
	t.Helper()
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	e, err := local.New(local.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := &testPlace{manager: sandbox.NewManager(e, sandbox.Options{NoSweep: true}), identity: sandbox.Identity{Home: t.TempDir(), Task: "open"}}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := p.manager.Remove(ctx, p.identity, true); err != nil && !errors.Is(err, sandbox.ErrNotFound) {
			t.Error(err)
		}
		p.manager.Close()
	})
	b := New(Options{Place: p, Session: "model", Home: p.identity.Home, Settings: settings})
	t.Cleanup(func() { b.Close() })
	return b
}

// toolSettings reads settings as the doors do.
func toolSettings(t *testing.T, vars map[string]string) config.Tools {
	t.Helper()
	c, err := config.Load(func(name string) (string, bool) { v, ok := vars[name]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	tools, err := c.Tools()
	if err != nil {
		t.Fatal(err)
	}
	return tools
}

func mustWrite(t *testing.T, files map[string]string) {
	t.Helper()
	for path, content := range files {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestNothingIsWrittenOutsideOfTheSafeRoots(t *testing.T) {
	top := t.TempDir()
	one, two, outside := top+"/one", top+"/two", top+"/outside"
	mustWrite(t, map[string]string{one + "/file": "old\n", two + "/file": "old\n", outside + "/file": "untouched\n"})
	if err := errors.Join(os.Symlink(outside, one+"/out"), os.Symlink(outside+"/file", one+"/outfile"), os.Symlink(two, one+"/across")); err != nil {
		t.Fatal(err)
	}
	b := newOpenToolbox(t, toolSettings(t, map[string]string{"HERMES_HOME": top + "/home", "HOME": top + "/me", "HERMES_WRITE_SAFE_ROOT": one + ":" + two + ":" + top + "/none"}))
	ctx := t.Context()
	for _, path := range []string{one + "/new", one + "/a/b/new", one + "/file", two + "/file", one + "/across/new"} {
		if _, err := b.WriteFile(ctx, WriteFileInput{Path: path, Content: "new\n"}); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	words := "is outside of HERMES_WRITE_SAFE_ROOT (" + one + ":" + two + ":" + top + "/none)"
	for _, path := range []string{outside + "/file", outside + "/new", one + "/out/new", one + "/out/deep/new", one + "/outfile", one + "/../outside/file", "relative", "~/own", top + "/none/new", "/etc/passwd"} {
		_, err := b.WriteFile(ctx, WriteFileInput{Path: path, Content: "new\n"})
		refusedWith(t, path, err, words)
	}
	_, err := b.Patch(ctx, PatchInput{Path: one + "/outfile", OldString: "untouched", NewString: "touched"})
	refusedWith(t, "patch", err, words)
	before, err := os.Stat(one + "/file")
	if err != nil {
		t.Fatal(err)
	}
	for name, part := range map[string]string{
		"update": "*** Update File: " + one + "/out/file\n@@\n-untouched\n+touched\n", "create": "*** Add File: " + one + "/out/deep/new\n+x\n",
		"delete": "*** Delete File: " + outside + "/file\n", "rename out": "*** Update File: " + two + "/file\n*** Move to: " + outside + "/moved\n",
		"rename in": "*** Update File: " + outside + "/file\n*** Move to: " + two + "/moved\n",
	} {
		_, err := b.Patch(ctx, PatchInput{Patch: "*** Begin Patch\n*** Update File: " + one + "/file\n@@\n-new\n+newer\n" + part + "*** End Patch\n"})
		refusedWith(t, name, err, words)
	}
	// Not even for a moment: a file that was written and put back would be a newer one.
	if after, err := os.Stat(one + "/file"); err != nil || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("half of a patch was applied: %v", err)
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 1 {
		t.Errorf("outside are %v, %v", entries, err)
	}
	if got, _ := os.ReadFile(outside + "/file"); string(got) != "untouched\n" {
		t.Errorf("the file outside is %q", got)
	}
	// Reading is not bounded.
	if out, err := b.ReadFile(ctx, ReadFileInput{Path: one + "/out/file"}); err != nil || out.Content != "1|untouched\n" {
		t.Errorf("%+v, %v", out, err)
	}
}

// A directory of a root and a link out of it take turns under one name while the tools write there.
func TestASwappedLinkLeadsNoToolOutOfTheSafeRoots(t *testing.T) {
	top := t.TempDir()
	safe, outside := top+"/safe", top+"/outside"
	mustWrite(t, map[string]string{safe + "/turn/file": "inside\n", outside + "/file": "untouched\n"})
	if err := os.Symlink(outside, safe+"/link"); err != nil {
		t.Fatal(err)
	}
	b := newOpenToolbox(t, toolSettings(t, map[string]string{"HERMES_HOME": top + "/home", "HOME": top + "/me", "HERMES_WRITE_SAFE_ROOT": safe}))
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			default:
			}
			if err := unix.Renameat2(unix.AT_FDCWD, safe+"/turn", unix.AT_FDCWD, safe+"/link", unix.RENAME_EXCHANGE); err != nil {
				t.Error(err)
			}
		}
	}()
	written, refused := 0, 0
	for i := range 600 {
		var err error
		switch i % 3 {
		case 0:
			_, err = b.WriteFile(t.Context(), WriteFileInput{Path: safe + "/turn/file", Content: "new\n"})
		case 1:
			_, err = b.WriteFile(t.Context(), WriteFileInput{Path: safe + "/turn/deep/new", Content: "new\n"})
		case 2:
			_, err = b.Patch(t.Context(), PatchInput{Patch: "*** Begin Patch\n*** Update File: " + safe + "/turn/file\n@@\n-new\n+new\n+untouched\n*** End Patch\n"})
		}
		var refusal *Refusal
		switch {
		case err == nil:
			written++
		case errors.As(err, &refusal) && strings.Contains(refusal.Text, "outside of HERMES_WRITE_SAFE_ROOT"):
			refused++
		}
	}
	close(done)
	<-ended
	t.Logf("%d written, %d refused", written, refused)
	if written == 0 || refused == 0 {
		t.Error("the link was never met, or never missed")
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 1 {
		t.Errorf("outside are %v, %v", entries, err)
	}
	if got, _ := os.ReadFile(outside + "/file"); string(got) != "untouched\n" {
		t.Errorf("the file outside is %q", got)
	}
}

func TestCredentialFilesAreNeitherReadNorWritten(t *testing.T) {
	top := t.TempDir()
	home, me := top+"/home", top+"/me"
	mustWrite(t, map[string]string{
		home + "/.env": "KEY=secretvalue\n", home + "/auth.json": "secretvalue", home + "/tokens/one": "secretvalue\n", home + "/profiles/other/.env": "KEY=secretvalue\n",
		home + "/config.yaml": "terminal:\n  credential_files: [tokens/one]\n", home + "/plain": "secretvalue too\n",
		me + "/.ssh/id_ed25519": "secretvalue\n", me + "/.ssh/id_ed25519.pub": "public\n", me + "/.aws/credentials": "secretvalue\n",
	})
	if err := errors.Join(os.Symlink(home+"/.env", top+"/link"), os.Link(home+"/.env", top+"/hard"), os.Symlink(home, top+"/way")); err != nil {
		t.Fatal(err)
	}
	b := newOpenToolbox(t, toolSettings(t, map[string]string{"HERMES_HOME": home, "HOME": me, "HERMES_WRITE_SAFE_ROOT": "/"}))
	ctx := t.Context()
	const words = "a protected credential file"
	for _, path := range []string{home + "/.env", home + "/auth.json", home + "/tokens/one", home + "/profiles/other/.env", me + "/.ssh/id_ed25519", me + "/.aws/credentials", top + "/link", top + "/hard", top + "/way/.env"} {
		_, err := b.ReadFile(ctx, ReadFileInput{Path: path})
		refusedWith(t, "read "+path, err, words, "$NAME")
		_, err = b.WriteFile(ctx, WriteFileInput{Path: path, Content: "x"})
		refusedWith(t, "write "+path, err, words)
		_, err = b.Patch(ctx, PatchInput{Path: path, OldString: "secretvalue", NewString: "x"})
		refusedWith(t, "patch "+path, err, words)
		_, err = b.Patch(ctx, PatchInput{Patch: "*** Begin Patch\n*** Delete File: " + path + "\n*** End Patch\n"})
		refusedWith(t, "delete "+path, err, words)
		_, err = b.SearchFiles(ctx, SearchFilesInput{Pattern: "secret", Path: path})
		refusedWith(t, "search "+path, err, words)
	}
	for path, says := range map[string]string{me + "/.ssh/id_new": words, me + "/.netrc": words} {
		_, err := b.WriteFile(ctx, WriteFileInput{Path: path, Content: "x"})
		refusedWith(t, "create "+path, err, says)
	}
	if out, err := b.ReadFile(ctx, ReadFileInput{Path: me + "/.ssh/id_ed25519.pub"}); err != nil || out.Content != "1|public\n" {
		t.Errorf("a public key: %+v, %v", out, err)
	}
	out, err := b.SearchFiles(ctx, SearchFilesInput{Pattern: "secretvalue", Path: top})
	if err != nil || len(out.Matches) != 1 || out.Matches[0].Path != home+"/plain" {
		t.Errorf("%+v, %v", out, err)
	}
	noted(t, "search", out.Notes, "7 protected credential files were left out")
	if got, _ := os.ReadFile(home + "/.env"); string(got) != "KEY=secretvalue\n" {
		t.Errorf("it is %q now", got)
	}
}

// In a sandbox that is a boundary, files are its own; only what the home lends it is not.
func TestInAnIsolatedSandboxOnlyLentCredentialsAreProtected(t *testing.T) {
	var home string
	b, p := newToolbox(t)
	if !p.isolated {
		t.Skip("no isolated sandbox here")
	}
	home = p.identity.Home
	b.settings.WriteRoots = []string{"/nowhere"}
	b.settings.Protected = []config.ProtectedFiles{{Dir: home, Names: ".env"}, {Dir: home + "/tokens", Names: "one"}, {Dir: "/root/.ssh", Names: "id_*"}}
	sh(t, b, "mkdir -p /root/.hermes/tokens /root/.ssh; echo lent >/root/.hermes/tokens/one; echo own >/root/.ssh/id_x")
	_, err := b.ReadFile(t.Context(), ReadFileInput{Path: "/root/.hermes/tokens/one"})
	refusedWith(t, "lent", err, "a protected credential file")
	_, err = b.WriteFile(t.Context(), WriteFileInput{Path: "/root/.hermes/tokens/one", Content: "x"})
	refusedWith(t, "lent", err, "a protected credential file")
	if _, err := b.WriteFile(t.Context(), WriteFileInput{Path: "/root/.ssh/id_x", Content: "x"}); err != nil {
		t.Error(err)
	}
	if _, err := b.WriteFile(t.Context(), WriteFileInput{Path: "/workspace/file", Content: "x"}); err != nil {
		t.Error(err)
	}
}
