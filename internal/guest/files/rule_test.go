//go:build linux

package files

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/wire"
)

// change asks for a change and returns the code of its failure, empty for none.
func change(t *testing.T, req wire.File, content string) wire.FailureCode {
	t.Helper()
	var in, out bytes.Buffer
	data := wire.NewDataWriter(wire.NewWriter(&in))
	if _, err := data.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := data.End(nil); err != nil {
		t.Fatal(err)
	}
	req.Root = []byte("/")
	Serve(req, wire.NewReader(&in), wire.NewWriter(&out), func() bool { return false })
	frame, err := wire.NewReader(&out).Next()
	if err != nil {
		t.Fatal(err)
	}
	if frame.Type != wire.TypeError {
		return ""
	}
	var failure wire.Failure
	if err := frame.Decode(&failure); err != nil {
		t.Fatal(err)
	}
	return failure.Code
}

// swap exchanges two names over and over, until it is told to stop.
func swap(t *testing.T, a, b string) (stop func() int) {
	t.Helper()
	done, ended := make(chan struct{}), make(chan int)
	go func() {
		for n := 0; ; n++ {
			select {
			case <-done:
				ended <- n
				return
			default:
			}
			if err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE); err != nil {
				t.Error(err)
			}
		}
	}()
	return func() int {
		close(done)
		return <-ended
	}
}

// A directory below the root and a link out of it take turns under one name. Whatever is found there, nothing comes
// to be outside.
func TestASwappedLinkLeadsNothingOutOfTheRule(t *testing.T) {
	top := t.TempDir()
	safe, outside := filepath.Join(top, "safe"), filepath.Join(top, "outside")
	secret := filepath.Join(outside, "file")
	if err := errors.Join(os.MkdirAll(filepath.Join(safe, "turn"), 0o755), os.Mkdir(outside, 0o755),
		os.WriteFile(secret, []byte("untouched"), 0o600), os.Symlink(outside, filepath.Join(safe, "link"))); err != nil {
		t.Fatal(err)
	}
	stop := swap(t, filepath.Join(safe, "turn"), filepath.Join(safe, "link"))
	verdicts := map[wire.FailureCode]int{}
	for range 2000 {
		for _, req := range []wire.File{
			{Path: []byte(filepath.Join(safe, "turn", "file")), Rule: &wire.FileRule{Op: wire.FileWrite}},
			{Path: []byte(filepath.Join(safe, "turn", "made", "deep")), All: true, Rule: &wire.FileRule{Op: wire.FileMkdir}},
			{Path: []byte(filepath.Join(safe, "turn", "file")), Rule: &wire.FileRule{Op: wire.FileRemove}},
		} {
			req.Op, req.Rule.Beneath = wire.FileRuled, [][]byte{[]byte(safe)}
			verdicts[change(t, req, "x")]++
		}
	}
	swaps := stop()
	t.Logf("%d swaps; verdicts %v", swaps, verdicts)
	if verdicts[""] == 0 || verdicts[wire.FailureOutside] == 0 {
		t.Errorf("the link was never met, or never missed: %v", verdicts)
	}
	entries, err := os.ReadDir(outside)
	if content, readErr := os.ReadFile(secret); err != nil || readErr != nil || len(entries) != 1 || string(content) != "untouched" {
		t.Errorf("outside are %v (%v), and the file is %q (%v)", entries, err, content, readErr)
	}
}

// A file and a protected one take turns under one name. The protected one is never read.
func TestASwappedFileIsJudgedAsWhatIsRead(t *testing.T) {
	top := t.TempDir()
	home := filepath.Join(top, "home")
	if err := errors.Join(os.Mkdir(home, 0o755), os.WriteFile(filepath.Join(home, ".env"), []byte("SECRET"), 0o600),
		os.Link(filepath.Join(home, ".env"), filepath.Join(top, "hard")), os.WriteFile(filepath.Join(top, "turn"), []byte("public"), 0o644)); err != nil {
		t.Fatal(err)
	}
	stop := swap(t, filepath.Join(top, "turn"), filepath.Join(top, "hard"))
	read, refused := 0, 0
	for range 2000 {
		var out bytes.Buffer
		Serve(wire.File{Op: wire.FileRuled, Root: []byte("/"), Path: []byte(filepath.Join(top, "turn")), Rule: &wire.FileRule{Op: wire.FileRead,
			Protected: []wire.FilePattern{{Dir: []byte(home), Names: ".env"}}}}, wire.NewReader(&bytes.Buffer{}), wire.NewWriter(&out), func() bool { return false })
		switch {
		case bytes.Contains(out.Bytes(), []byte("SECRET")):
			t.Fatal("the protected file was read")
		case bytes.Contains(out.Bytes(), []byte("public")):
			read++
		case bytes.Contains(out.Bytes(), []byte(wire.FailureProtected)):
			refused++
		}
	}
	t.Logf("%d swaps; read %d, refused %d", stop(), read, refused)
	if read == 0 || refused == 0 {
		t.Errorf("only one of them was met: %d read, %d refused", read, refused)
	}
}

// A guest that knows no rules must refuse what has one: it finds an operation that it does not have.
func TestARuleIsAnOperationOfItsOwn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for name, req := range map[string]wire.File{
		"without its rule":       {Op: wire.FileRuled},
		"with an unknown one":    {Op: wire.FileRuled, Rule: &wire.FileRule{Op: "burn"}},
		"with a rule in a rule":  {Op: wire.FileRuled, Rule: &wire.FileRule{Op: wire.FileRuled}},
		"that would append":      {Op: wire.FileRuled, Append: true, Rule: &wire.FileRule{Op: wire.FileWrite}},
		"with a pattern of junk": {Op: wire.FileRuled, Rule: &wire.FileRule{Op: wire.FileWrite, Protected: []wire.FilePattern{{Dir: []byte("/"), Names: "["}}}},
	} {
		req.Path = []byte(path)
		if got := change(t, req, "x"); got != wire.FailureRefused {
			t.Errorf("%s: %q", name, got)
		}
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("it was written all the same")
	}
}
