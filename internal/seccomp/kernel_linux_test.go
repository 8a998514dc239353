//go:build amd64 || arm64

package seccomp

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// foreignProgram names a program of another architecture for the child to run.
const foreignProgram = "HERMES_TEST_SECCOMP_FOREIGN"

const nobody = 65534

// runChild runs this test binary in a mode of child, as an ordinary user if so
// asked.
func runChild(t *testing.T, mode string, ordinary bool, env ...string) report {
	t.Helper()
	// Through /proc, because an ordinary user cannot enter root's build directory.
	cmd := exec.Command("/proc/self/exe")
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), append(env, childMode+"="+mode)...)
	if ordinary && os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("child %q: %v: %s", mode, err, stderr.String())
	}
	var r report
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("child %q wrote %q: %v", mode, out, err)
	}
	return r
}

func TestKernelEnforcesTheFilter(t *testing.T) {
	for user, ordinary := range map[string]bool{"caller": false, "ordinary user": true} {
		control, filtered := runChild(t, "control", ordinary), runChild(t, "filter", ordinary)
		if filtered.LoadError != "" || filtered.ExecError != "" {
			t.Fatalf("%s: cannot load or execute: %q, %q", user, filtered.LoadError, filtered.ExecError)
		}
		for _, a := range attempts() {
			if a.privileged && (ordinary || os.Geteuid() != 0) {
				continue
			}
			t.Run(user+"/"+a.name, func(t *testing.T) {
				got, without := filtered.Errnos[a.name], control.Errnos[a.name]
				if got != a.want {
					t.Errorf("errno %d (%v), want %d (%v)", got, got, a.want, a.want)
				}
				switch {
				case a.same && without != a.want:
					t.Errorf("the control, without a filter, got %d (%v), want %d (%v)", without, without, a.want, a.want)
				case !a.same && without == a.want && !t.Failed():
					t.Skipf("not shown: this machine answers %v without the filter too", without)
				}
			})
		}
	}
}

func TestFilterIsInstalledAndInherited(t *testing.T) {
	control := runChild(t, "control", false)
	if control.Filters < 0 {
		t.Skip("this kernel does not count filters in /proc/PID/status")
	}
	filtered := runChild(t, "filter", false)
	if filtered.LoadError != "" || filtered.ExecError != "" {
		t.Fatalf("cannot load or execute: %q, %q", filtered.LoadError, filtered.ExecError)
	}
	if want := control.Filters + 1; filtered.Filters != want {
		t.Errorf("the thread has %d filters, want %d", filtered.Filters, want)
	}
	if want := control.ExecFilters + 1; filtered.ExecFilters != want {
		t.Errorf("a started program has %d filters, want %d", filtered.ExecFilters, want)
	}
}

func TestTsyncReachesThreadsThatExist(t *testing.T) {
	alone, synced := runChild(t, "filter", false), runChild(t, "tsync", false)
	if alone.LoadError != "" || synced.LoadError != "" {
		t.Fatalf("cannot load: %q, %q", alone.LoadError, synced.LoadError)
	}
	if synced.Other != unix.EPERM {
		t.Errorf("keyctl on the other thread with TSYNC: %v, want EPERM", synced.Other)
	}
	if alone.Other == unix.EPERM {
		t.Errorf("keyctl on the other thread without TSYNC: %v, want another answer", alone.Other)
	}
}

func TestLoadSaysWhyItFailed(t *testing.T) {
	tests := []struct {
		mode     string
		ordinary bool
		want     string
	}{
		{"privileged", true, "no-new-privileges is not set on this thread"},
		{"badflags", false, "invalid argument"},
		{"conflict", false, " has another one"},
	}
	for _, test := range tests {
		t.Run(test.mode, func(t *testing.T) {
			got := runChild(t, test.mode, test.ordinary).LoadError
			if !strings.HasPrefix(got, "cannot load the syscall filter: ") || !strings.HasSuffix(got, test.want) || strings.Contains(got, "\n") {
				t.Errorf("error is %q, want it to end in %q", got, test.want)
			}
		})
	}
}

// exit42 is a complete static i386 program: mov eax,1; mov ebx,42; int 0x80.
var exit42 = []byte{
	0x7f, 'E', 'L', 'F', 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, // 32 bits, little endian
	2, 0, 3, 0, 1, 0, 0, 0, // executable, i386
	0x54, 0x80, 0x04, 0x08, 52, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, // entry, program headers, no sections
	52, 0, 32, 0, 1, 0, 0, 0, 0, 0, 0, 0, // header sizes, one program header
	1, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x04, 0x08, 0, 0x80, 0x04, 0x08, // load the file at 0x8048000
	96, 0, 0, 0, 96, 0, 0, 0, 5, 0, 0, 0, 0, 0x10, 0, 0, // 96 bytes, readable and executable
	0xb8, 1, 0, 0, 0, 0xbb, 42, 0, 0, 0, 0xcd, 0x80,
}

func TestProgramOf32BitsIsKilled(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the program is for i386")
	}
	program := filepath.Join(t.TempDir(), "exit42")
	if err := os.WriteFile(program, exit42, 0o755); err != nil {
		t.Fatal(err)
	}
	env := foreignProgram + "=" + program
	if got := runChild(t, "control", false, env).ForeignExit; got != "exit status 42" {
		t.Skipf("not shown: without the filter the program ended with %q", got)
	}
	if got := runChild(t, "filter", false, env).ForeignExit; !strings.HasPrefix(got, "signal: bad system call") {
		t.Errorf("with the filter the program ended with %q, want a kill by SIGSYS", got)
	}
}
