package escape

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write the record of the escape suite")

// record is where the table is kept.
const record = "../../docs/security/escapes.md"

func TestNothingGetsOut(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can show that an attempt works outside, and make the users who attack")
	}
	for _, program := range []string{"useradd", "userdel", "newuidmap", "newgidmap"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is missing", program)
		}
	}
	base := openDir(t)
	p := build(t, filepath.Join(base, "bin"))
	privilege(t, p)

	const ordinary = "1000:1000"
	asRoot := account{}.attack(t, "native", base, p, true, "", ordinary)
	withIDs := newAccount(t, true).attack(t, "native", base, p, false, "", ordinary)
	single := newAccount(t, false).attack(t, "native", base, p, false, "")

	s := newSheet(asRoot.Control)
	s.add("root's engine: root", asRoot, "")
	s.add("root's engine: user", asRoot, ordinary)
	s.add("user's engine: root", withIDs, "")
	s.add("user's engine: user", withIDs, ordinary)
	s.add("user's engine, single id", single, "")
	s.judge(t)

	text := s.text()
	if found, err := evaluate(t, base); err != nil {
		if *update {
			t.Fatalf("cannot write the record without the evaluator: %v", err)
		}
		t.Logf("without the public evaluator: %v", err)
	} else {
		text += found.text()
	}
	others, err := elsewhereText()
	if err != nil {
		t.Fatal(err)
	}
	text += others
	if *update {
		if err := os.WriteFile(record, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	compare(t, text)
}

// openDir makes a directory that every user can walk to. Those above t.TempDir are
// closed to others.
func openDir(t *testing.T) string {
	t.Helper()
	base, err := os.MkdirTemp("/tmp", "hermes-escape-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(base); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(base, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(base, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	return base
}
