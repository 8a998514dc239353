package escape

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"hermes.example/hermes/sandbox/enginetest/account"
)

var update = flag.Bool("update", false, "write the record of the escape suite")

// record is where the table is kept.
const record = "../../docs/security/escapes.md"

func TestNothingGetsOut(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can show that an attempt works outside, and make the users who attack")
	}
	for _, program := range []string{"newuidmap", "newgidmap"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is missing", program)
		}
	}
	base := openDir(t)
	p := build(t, filepath.Join(base, "bin"))
	privilege(t, p)

	const root, ordinary = "", "1000:1000"
	onHost := attack{Engine: "native", Programs: p, Users: []string{root, ordinary}}
	onImage := onHost
	onImage.OnImage = true
	alone := onHost
	alone.Users = []string{root}
	beside := alone
	beside.Engine = "local"
	withControl := onHost
	withControl.Control = true

	byRoot := attacker{}
	byUser := attacker{account.New(t, true)}
	first := byRoot.attack(t, base, withControl)
	s := newSheet(first.Control)
	s.add("root's engine: root", first, root)
	s.add("root's engine: user", first, ordinary)
	r := byUser.attack(t, base, onHost)
	s.add("user's engine: root", r, root)
	s.add("user's engine: user", r, ordinary)
	r = attacker{account.New(t, false)}.attack(t, base, alone)
	s.add("user's engine, single id", r, root)
	r = byRoot.attack(t, base, onImage)
	s.add("root's engine, image: root", r, root)
	s.add("root's engine, image: user", r, ordinary)
	r = byUser.attack(t, base, onImage)
	s.add("user's engine, image: root", r, root)
	s.add("local: root", byRoot.attack(t, base, beside), root)
	s.add("local: user", byUser.attack(t, base, beside), root)
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
	if *update && t.Failed() {
		t.Fatal("the record is not written while something gets out")
	}
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
