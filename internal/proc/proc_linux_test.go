package proc

import (
	"os"
	"slices"
	"testing"
)

func TestOurselves(t *testing.T) {
	p, ok := Read(os.Getpid())
	if !ok || p.PID != os.Getpid() || p.Parent != os.Getppid() || p.Name == "" || p.Started == 0 || p.Zombie || p.Stopped {
		t.Errorf("we are %+v, %v", p, ok)
	}
	if all := All(); !slices.ContainsFunc(all, func(other Process) bool { return other.PID == p.PID && other.Started == p.Started }) {
		t.Errorf("we are not among %d", len(all))
	}
	if path := "PATH=" + os.Getenv("PATH"); !HasEnvironment(p.PID, path) || HasEnvironment(p.PID, path+"x") {
		t.Errorf("our environment is not found by %s", path)
	}
	if _, ok := Read(1 << 30); ok {
		t.Error("there is a process of a number that nobody has")
	}
}

func TestOddNames(t *testing.T) {
	const rest = " S 7 8 9 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 %d 0 42 0 0"
	for name, want := range map[string]Process{
		"5 (sh) S 7 8 9 0 -1 0 1 0 0 0 0 0 0 0 20 0 1 0 42 0":              {PID: 5, Parent: 7, Group: 8, Session: 9, Name: "sh", Started: 42},
		"5 (a) S 1 (b) T 7 8 9 0 -1 0 1 0 0 0 0 0 0 0 20 0 1 0 42 0":       {PID: 5, Parent: 7, Group: 8, Session: 9, Name: "a) S 1 (b", Started: 42, Stopped: true},
		"5 (dead) Z 7 8 9 0 -1 0 1 0 0 0 0 0 0 0 20 0 1 0 42 0":            {PID: 5, Parent: 7, Group: 8, Session: 9, Name: "dead", Started: 42, Zombie: true},
		"5 (first thread dead) Z 7 8 9 0 -1 0 1 0 0 0 0 0 0 0 20 0 2 0 42": {PID: 5, Parent: 7, Group: 8, Session: 9, Name: "first thread dead", Started: 42},
	} {
		if p, ok := Parse([]byte(name)); !ok || p != want {
			t.Errorf("%s: %+v, %v", name, p, ok)
		}
	}
	for _, text := range []string{"", "5", "5 (sh", "5 (sh) S 1", "(sh)" + rest, ") 5 ("} {
		if p, ok := Parse([]byte(text)); ok {
			t.Errorf("%q is %+v", text, p)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("1 () Z 0"))
	f.Add([]byte(")("))
	f.Add([]byte("5 (sh) S 7 8 9 0 -1 0 1 0 0 0 0 0 0 0 20 0 1 0 42 0"))
	f.Fuzz(func(t *testing.T, stat []byte) {
		if p, ok := Parse(stat); ok && p.PID <= 0 {
			t.Errorf("%q is %+v", stat, p)
		}
	})
}
