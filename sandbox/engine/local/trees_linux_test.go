package local_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/enginetest/account"
)

// treeVariable says where the program is that makes processes which are hard to end.
const treeVariable = "HERMES_LOCAL_TEST_TREE"

// TestLocalTreesAsOrdinaryUser does what TestLocalTrees does as a user without
// privileges, who cannot build programs.
func TestLocalTreesAsOrdinaryUser(t *testing.T) {
	user := account.New(t, false)
	user.Run(t, "TestLocalTrees", treeVariable+"="+treeProgram(t))
}

func treeProgram(t *testing.T) string {
	t.Helper()
	if path := os.Getenv(treeVariable); path != "" {
		return path
	}
	path := filepath.Join(openDir(t), "tree")
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", path, "hermes.example/hermes/test/faults/tree")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("cannot build it: %v\n%s", err, out)
	}
	return path
}

// TestLocalTrees ends commands whose processes do everything to get away, beside one
// that forks all the time.
func TestLocalTrees(t *testing.T) {
	program := treeProgram(t)
	a := newArena(t)
	box := a.box("trees")
	a.says(box, "sleep 1000 >/dev/null 2>&1 & (while :; do /bin/true; done) >/dev/null 2>&1 &")
	bystanders := len(commands(t, a.id("trees").Key()+"-local"))
	for i, mix := range []string{
		"plain", "setsid", "clear", "uid", "sibling", "ignore", "stop", "chain", "thread", "hide", "limits", "close", "main",
		"setsid,clear,ignore,main", "setsid,clear,hide,uid,ignore,limits", "sibling,setsid,clear,ignore,hide,limits",
		"setsid,clear,chain,ignore,uid,hide,limits", "sibling,setsid,clear,thread,ignore", "setsid,clear,stop,close,hide",
		"sibling,setsid,clear,chain,ignore,main",
	} {
		flags := strings.Split(mix, ",")
		if os.Getuid() != 0 {
			flags = slices.DeleteFunc(flags, func(f string) bool { return f == "uid" })
		}
		if len(flags) == 0 {
			continue
		}
		t.Run(strings.Join(flags, ","), func(t *testing.T) {
			name := fmt.Sprintf("l%x.%d", os.Getpid(), i)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			out := &readyThen{f: cancel}
			result, err := box.Exec(ctx, sandbox.Command{Argv: []string{program, name, strings.Join(flags, ",")}, Stdout: out, Grace: 50 * time.Millisecond})
			if err != nil || result.Reason != sandbox.Interrupted || len(result.Survivors) > 0 {
				t.Errorf("it ends with %+v, %v: %s", result, err, out)
			}
			for range 20 { // one that forks and ends is between two at most looks
				for _, pid := range processes(t) {
					if comm, _ := os.ReadFile("/proc/" + pid + "/comm"); strings.TrimSpace(string(comm)) == name {
						t.Fatalf("process %s is left", pid)
					}
				}
			}
		})
	}
	if left := len(commands(t, a.id("trees").Key()+"-local")); left < bystanders-1 { // the last of the forks may be between two
		t.Errorf("of %d processes of other commands %d are left", bystanders, left)
	}
}

// readyThen calls f when the program says that it is ready.
type readyThen struct {
	strings.Builder
	f func()
}

func (w *readyThen) Write(p []byte) (int, error) {
	n, err := w.Builder.Write(p)
	if strings.Contains(w.String(), "ready") {
		w.f()
	}
	return n, err
}
