package local_test

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"hermes.example/hermes/sandbox"
)

func cannotTouch(t *testing.T) {
	a := newArena(t)
	box := a.box("own")
	guest := strconv.Itoa(a.guest("own"))
	for _, way := range []string{"trace", "read memory", "take descriptor", "limit"} {
		if got := a.attacks(box, way, guest); got != "EPERM" {
			t.Errorf("%s of the guest: %s", way, got)
		}
	}
	// The control: tracing as such works, inside on one of its own, outside too.
	if got := a.says(box, "exec 2>/dev/null; sleep 60 & "+quote(a.program)+" trace $!; kill -9 $!; true"); got != "done" {
		t.Errorf("not shown: tracing a sibling gives %s", got)
	}
	posture, err := box.Posture(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range posture.Facts {
		if f.Name == sandbox.FactIsolation && f.Value == "none" {
			t.Skipf("signals and outside processes are not protected here, and the posture says so: %s", f.Deviation)
		}
	}
	bystander := exec.Command("sleep", "300")
	if err := bystander.Start(); err != nil {
		t.Fatal(err)
	}
	defer bystander.Wait()
	defer bystander.Process.Kill()
	outsider := strconv.Itoa(bystander.Process.Pid)
	for _, way := range []string{"trace", "read memory"} {
		if got := a.attacks(box, way, outsider); got != "EPERM" {
			t.Errorf("%s of a process outside: %s", way, got)
		}
	}
	if got := a.says(box, "kill "+outsider+" 2>/dev/null || echo no"); got != "no" {
		t.Errorf("a process outside can be signalled: %q", got)
	}
}

// A guest holds nothing that its creator inherited: who waits for the end of a pipe
// would wait as long as the sandbox lives.
func inheritedDescriptors(t *testing.T) {
	a := newArena(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.Command(a.program, "use", a.home, "own")
	cmd.Env, cmd.ExtraFiles = append(os.Environ(), attackVariable+"=1"), []*os.File{nil, w} // as 4: the guest has its own 3
	out, err := cmd.CombinedOutput()
	w.Close()
	if err != nil || !strings.HasSuffix(string(out), "done\n") {
		t.Fatalf("%v: %s", err, out)
	}
	r.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("somebody still holds the pipe: %v", err)
	}
	a.guest("own") // and it lives
}

func environmentInside(t *testing.T) {
	t.Setenv("HERMES_LOCAL_TEST_SECRET", "s3cr3t")
	a := newArena(t)
	box := a.box("own")
	if got := a.says(box, "env | grep -c s3cr3t || true"); got != "0" {
		t.Errorf("the caller's variable is in a command's environment")
	}
	guest := a.guest("own")
	environ, err := os.ReadFile("/proc/" + strconv.Itoa(guest) + "/environ")
	switch {
	case strings.Contains(string(environ), "s3cr3t"):
		t.Error("the caller's variable is in the guest's environment")
	case os.Getuid() != 0 && !errors.Is(err, os.ErrPermission):
		t.Errorf("the guest's memory is open to its user: %v", err)
	}
}

// A limit of processes is set only where it was asked for, since it counts all that the
// user runs.
func processLimit(t *testing.T) {
	a := newArena(t)
	if got := a.says(a.box("default"), "ulimit -Hu"); got == "1024" {
		t.Error("the default limit of a sandbox is set for all processes of the user")
	}
	box, err := a.manager.Ensure(t.Context(), a.id("asked"), sandbox.Spec{Limits: sandbox.Limits{Pids: 7777}})
	if err != nil {
		t.Fatal(err)
	}
	if got := a.says(box, "ulimit -Hu"); got != "7777" {
		t.Errorf("the limit is %s", got)
	}
}

// What a spec asks for in vain is refused, by what would do it.
func TestLocalRefusals(t *testing.T) {
	a := newArena(t)
	for want, spec := range map[string]sandbox.Spec{
		"has no image":           {Image: "some/image", Network: sandbox.NetworkHost},
		"has no mounts":          {Mounts: []sandbox.Mount{{Source: "/usr", Target: "/mnt"}}, Network: sandbox.NetworkHost},
		"this machine's network": {Network: sandbox.NetworkNone},
	} {
		_, err := a.engine.Create(t.Context(), a.id("refused"), spec)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "native engine") {
			t.Errorf("the error is %v, not about %q", err, want)
		}
	}
}
