package faults

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/engine/native"
)

// starvingRole runs on a machine that lacks something. What it lacks is set up by
// itself, in namespaces of its own; then it does what any caller does, and prints
// what came of it.
func starvingRole() error {
	if err := starve(setting("lack")); err != nil {
		return fmt.Errorf("cannot set the test up: %w", err)
	}
	engine, err := native.New(native.Options{})
	if err != nil {
		return err
	}
	m := sandbox.NewManager(engine, sandbox.Options{NoSweep: true})
	defer m.Close()
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	id := sandbox.Identity{Home: setting("home"), Task: "t"}
	box, err := m.Ensure(ctx, id, sandbox.Spec{Ephemeral: setting("lack") == "user namespaces"})
	if err != nil {
		return err
	}
	defer m.Remove(ctx, id, true)
	var process *sandbox.Process
	for _, line := range strings.Split(setting("lines"), "\n") {
		if rest, ok := strings.CutPrefix(line, "start: "); ok {
			process, err = box.Start(ctx, sandbox.Background{Command: sandbox.Command{Line: rest}})
			fmt.Println("started", err)
			continue
		}
		if line == "wait" {
			res, err := process.Wait(ctx)
			info, _ := process.Poll(ctx)
			fmt.Printf("%d %q %d bytes logged %v\n", res.Code, res.Reason, info.LogEnd, err)
			continue
		}
		var out bytes.Buffer
		res, err := box.Exec(ctx, sandbox.Command{Line: line, Stdout: &out})
		text := out.String()
		if res.Recreated {
			text = "recreated " + text
		}
		fmt.Printf("%d %q %d bytes missed %d: %.40q %v\n", res.Code, res.Reason, len(text), res.Missed, text, err)
	}
	return nil
}

func starve(lack string) error {
	home := setting("home")
	private := func() error { return unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "") }
	switch lack {
	case "disk":
		return errors.Join(private(), unix.Mount("small", home, "tmpfs", 0, "size=16m"), os.WriteFile(filepath.Join(home, "full"), nil, 0o600))
	case "writable home":
		return errors.Join(private(), unix.Mount(home, home, "", unix.MS_BIND, ""), unix.Mount("", home, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	case "user namespaces":
		return os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0)
	}
	return nil
}

// onAMachineWithout runs the starving role with the flags that it needs.
func onAMachineWithout(t testing.TB, a *arena, lack, lines string, attr *syscall.SysProcAttr) (out string, err error) {
	t.Helper()
	p := prepareRole(t, "starving", map[string]string{"home": a.home, "lack": lack, "lines": lines})
	p.SysProcAttr = attr
	var text bytes.Buffer
	p.Stdout, p.Stderr = &text, &text
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.Path)
	cmd.Env, cmd.SysProcAttr, cmd.Stdout, cmd.Stderr = p.Env, p.SysProcAttr, p.Stdout, p.Stderr
	err = cmd.Run()
	return text.String(), err
}

func TestFullDiskStopsNoCommand(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can mount a small disk")
	}
	a := newArena(t)
	a.id("t")
	out, err := onAMachineWithout(t, a, "disk", strings.Join([]string{
		"echo before",
		"cat /dev/zero > /workspace/all 2>/dev/null; echo filled",
		"echo after",
		"head -c 30000000 /dev/zero; exit 5",
		"echo after much output",
		"rm /workspace/all; echo room",
	}, "\n"), &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS})
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Log(out)
	for i, want := range []string{`0 "exit" 7 bytes`, `0 "exit" 7 bytes`, `0 "exit" 6 bytes`, `5 "exit" 30000000 bytes missed 0`, `0 "exit" 18 bytes`, `0 "exit" 5 bytes`} {
		if lines := strings.Split(out, "\n"); i >= len(lines) || !strings.HasPrefix(lines[i], want) {
			t.Errorf("line %d is not %q", i, want)
		}
	}
}

func TestFullDiskStopsNoProcess(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can mount a small disk")
	}
	a := newArena(t)
	a.id("t")
	out, err := onAMachineWithout(t, a, "disk", strings.Join([]string{
		"start: echo ready; until [ -e /tmp/go ]; do sleep 0.02; done; head -c 30000000 /dev/zero; exit 6",
		"cat /dev/zero > /workspace/all 2>/dev/null; : > /tmp/go; echo filled",
		"wait",
		"rm /workspace/all; echo room",
		"start: echo a log again; exit 7",
		"wait",
	}, "\n"), &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS})
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Log(out)
	for i, want := range []string{"started <nil>", `0 "exit" 7 bytes`, `6 "exit" 30000006 bytes logged <nil>`, `0 "exit" 5 bytes`, "started <nil>", `7 "exit" 12 bytes logged <nil>`} {
		if lines := strings.Split(out, "\n"); i >= len(lines) || !strings.HasPrefix(lines[i], want) {
			t.Errorf("line %d is not %q", i, want)
		}
	}
}

func TestReadOnlyHome(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can mount")
	}
	a := newArena(t)
	a.id("t")
	out, err := onAMachineWithout(t, a, "writable home", "true", &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS})
	oneLine(t, out, err, "read-only")
}

// oneLine checks that a failure is told in one line that names its cause.
func oneLine(t testing.TB, out string, err error, cause string) {
	t.Helper()
	out = strings.TrimSpace(out)
	if err == nil || strings.Contains(out, "\n") || !strings.Contains(out, cause) {
		t.Errorf("%v: not one line with %q:\n%s", err, cause, out)
	} else {
		t.Log(out)
	}
}

func TestHomeThatIsNoDirectory(t *testing.T) {
	everyone(t, func(t *testing.T) {
		a := newArena(t)
		for _, home := range []string{filepath.Join(a.home, "file"), filepath.Join(a.home, "file", "below"), filepath.Join(a.home, "link")} {
			os.WriteFile(filepath.Join(a.home, "file"), []byte("x"), 0o600)
			os.Symlink("loop", filepath.Join(a.home, "loop"))
			os.Symlink(filepath.Join(a.home, "loop"), filepath.Join(a.home, "link"))
			ctx, cancel := context.WithTimeout(t.Context(), bound)
			_, err := a.manager.Ensure(ctx, sandbox.Identity{Home: home, Task: "t"}, sandbox.Spec{})
			cancel()
			if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), a.home) {
				t.Errorf("%s: %v", home, err)
			} else {
				t.Log(err)
			}
		}
	})
}

func TestHomeOfAnotherUser(t *testing.T) {
	ordinary(t, func(t *testing.T) {
		a := newArena(t)
		ctx, cancel := context.WithTimeout(t.Context(), bound)
		defer cancel()
		_, err := a.manager.Ensure(ctx, sandbox.Identity{Home: "/usr/share", Task: "t"}, sandbox.Spec{})
		if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "permission denied") {
			t.Error(err)
		}
	})
}

func TestNoUserNamespaces(t *testing.T) {
	ordinary(t, func(t *testing.T) {
		a := newArena(t)
		a.id("t")
		// A namespace in which no further ones may be made, with the same user.
		attr := &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}},
			AmbientCaps: []uintptr{unix.CAP_SYS_RESOURCE},
		}
		out, err := onAMachineWithout(t, a, "user namespaces", "true", attr)
		oneLine(t, out, err, "max_user_namespaces")
	})
}
