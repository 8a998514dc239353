package escape

import (
	"os"
	"os/exec"
	"testing"
)

func TestNothingGetsOut(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can show that an attempt works outside, and make the users who attack")
	}
	for _, program := range []string{"useradd", "userdel", "newuidmap", "newgidmap"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is missing", program)
		}
	}
	// Not below t.TempDir, whose parents are closed to others.
	base, err := os.MkdirTemp("/tmp", "hermes-escape-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	if err := os.Chmod(base, 0o755); err != nil {
		t.Fatal(err)
	}
	bin := base + "/bin"
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	p := build(t, bin)
	privilege(t, p)
	r := account{}.attack(t, base, p, true, "", "1000:1000")
	for i, c := range r.Control {
		in := r.Inside[""][i]
		u := r.Inside["1000:1000"][i]
		t.Logf("%-20s %-50s | %-8s %-8s | %-8s %-8s | %-8s %-8s | %-8s %-8s", c.Group, c.Name, c.Verdict, c.Answer, in.Verdict, in.Answer, u.Verdict, u.Answer, r.Network[""][i].Verdict, r.Network[""][i].Answer)
	}
}
