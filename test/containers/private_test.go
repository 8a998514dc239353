//go:build linux

package containers

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
)

// A daemon's restart, by its administrator and by a crash, is nothing that another daemon notices.
func TestPrivateDocker(t *testing.T) {
	before := bridge()
	var dir string
	t.Run("life", func(t *testing.T) {
		began := time.Now()
		took := func(what string) {
			t.Logf("%s in %v", what, time.Since(began).Round(time.Millisecond))
			began = time.Now()
		}
		p := PrivateDocker(t)
		dir = p.dir
		took("started")
		c := p.Client()
		id := lasting(t, c)
		if !up(t, c, id) {
			t.Fatal("the container does not run")
		}
		took("running a container")
		p.Stop()
		took("stopped")
		if err := ping(c); err == nil {
			t.Error("it is stopped, and answers")
		}
		p.Start()
		took("started again")
		if up(t, c, id) {
			t.Error("the container outlived its daemon")
		}
		p.Kill()
		took("killed")
		p.Start()
		took("started after that")
		p.Stop() // it ends down
	})
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its directory is left: %v", err)
	}
	if after := bridge(); after != before {
		t.Errorf("the shared daemon's bridge was %q and is %q", before, after)
	}
	if mounts, err := os.ReadFile("/proc/self/mountinfo"); err != nil || strings.Contains(string(mounts), dir) {
		t.Errorf("the machine has mounts of it: %v\n%s", err, mounts)
	}
}

func TestPrivateDockerWithLiveRestore(t *testing.T) {
	p := PrivateDocker(t, "--live-restore")
	c := p.Client()
	id := lasting(t, c)
	for name, end := range map[string]func(){"stopped": p.Stop, "killed": p.Kill} {
		end()
		p.Start()
		if !up(t, c, id) {
			t.Errorf("the container ended when the daemon was %s", name)
		}
	}
	p.Kill() // and what lives on is ended with the test
}

// A test that is killed cannot clean up; its daemon ends all the same.
func TestPrivateDockerEndsWithItsProcess(t *testing.T) {
	const asked = "HERMES_TEST_PRIVATE_DOCKER"
	if os.Getenv(asked) != "" {
		p := PrivateDocker(t)
		fmt.Printf("%d %d %s\n", p.run.Process.Pid, p.place.Process.Pid, p.dir)
		time.Sleep(time.Hour) // is killed long before
	}
	if os.Getuid() != 0 {
		t.Skip("only root can start a Docker Engine")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), asked+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var daemon, place int
	var dir string
	if _, err := fmt.Fscan(out, &daemon, &place, &dir); err != nil {
		t.Skip("it cannot start here, as TestPrivateDocker says")
	}
	t.Cleanup(func() {
		if !gone(daemon) {
			_ = syscall.Kill(daemon, syscall.SIGTERM)
		}
		os.RemoveAll(dir)
	})
	if gone(daemon) || gone(place) {
		t.Error("it ended before its time")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	until(t, "the daemon has ended", func() bool { return gone(daemon) && gone(place) })
}

// lasting is a container that the test leaves to its daemon's end.
func lasting(t *testing.T, c *client.Client) string {
	t.Helper()
	made, err := c.ContainerCreate(t.Context(), client.ContainerCreateOptions{
		Config: &container.Config{Image: Busybox.In(t, c), Cmd: []string{"sleep", "1000"}, StopSignal: "KILL"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.ContainerStart(t.Context(), made.ID, client.ContainerStartOptions{}); err != nil {
		t.Fatal(err)
	}
	return made.ID
}

func up(t *testing.T, c *client.Client, id string) bool {
	t.Helper()
	found, err := c.ContainerInspect(t.Context(), id, client.ContainerInspectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return found.Container.State.Running
}

// bridge tells the shared daemon's bridge from another that took its name.
func bridge() string {
	index, err := os.ReadFile("/sys/class/net/docker0/ifindex")
	if err != nil {
		return "none"
	}
	return strings.TrimSpace(string(index))
}
