package lease

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What nobody can read was written by somebody: as long as it is fresh, and nothing else is known, it counts.
func TestRecordsThatCannotBeRead(t *testing.T) {
	for _, text := range []string{"", "{", "[]", "null", "\ufeff{}", strings.Repeat("x", 1<<20), `{"claim":5}`} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, File), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		fd := dirFD(t, dir)
		l, err := Take(t.Context(), fd, Options{})
		if err != nil {
			t.Fatalf("%.20q: %v", text, err)
		}
		if info, err := os.Stat(filepath.Join(dir, File)); err != nil || info.Size() != size {
			t.Errorf("%.20q: it is not written over: %v", text, err)
		}
		l.Release()
		if text == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, File), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		o := Options{Locks: noLocks{}, Self: Holder{Boot: "b", PID: 1}}
		if _, err := Take(t.Context(), fd, o); err == nil || !strings.Contains(err.Error(), "left no name") {
			t.Errorf("%.20q: without locks: %v", text, err)
		}
		o.Now = func() time.Time { return time.Now().Add(Stale) }
		if held, err := Look(fd, o); err != nil || held != nil {
			t.Errorf("%.20q: without locks, later: %v, %v", text, held, err)
		}
	}
}

func TestContainerIDs(t *testing.T) {
	id := strings.Repeat("0123456789abcdef", 4)
	for text, want := range map[string]string{
		"0::/system.slice/docker-" + id + ".scope\n":                                       id,
		"12:pids:/docker/" + id + "\n":                                                     id,
		"800 1 0:1 /var/lib/docker/containers/" + id + "/hostname /etc/hostname rw\n":      id,
		"0::/kubepods/besteffort/pod1/cri-containerd-" + id + ".scope\n":                   id,
		"800 1 0:1 /var/lib/containerd/io.containerd.grpc.v1.cri/sandboxes/" + id + "/x\n": "",
		"0::/\n": "",
		"":       "",
	} {
		file := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := container("/nowhere", file); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestAHoldersNameIsOneLine(t *testing.T) {
	held := &HeldError{Holder: Holder{Claim: "x", Container: "\n\x1b[2Jlevel", Host: "a\nb\x1b"}}
	if name := held.Name(); strings.ContainsAny(name, "\n\x1b") {
		t.Errorf("it is shown as %q", name)
	}
}

func TestTheHolderInAFewWords(t *testing.T) {
	id := "b15a46b5935a" + strings.Repeat("0", 52)
	for want, h := range map[string]Holder{
		`process 7 on host "box", heard of 2s ago,`:              {Claim: "x", PID: 7, Host: "box"},
		`container b15a46b5935a on host "box", heard of 2s ago,`: {Claim: "x", PID: 1, Host: "box", Container: id},
		`container b15a46b5935a, heard of 2s ago,`:               {Claim: "x", PID: 1, Host: "b15a46b5935a", Container: id},
		"somebody who left no name":                              {},
	} {
		if got := (&HeldError{Holder: h, Age: 2100 * time.Millisecond}).Name(); got != want {
			t.Errorf("%+v is %q", h, got)
		}
	}
}
