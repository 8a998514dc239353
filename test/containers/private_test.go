//go:build linux

package containers

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
)

// A daemon's restart, by its administrator and by a crash, is nothing that another daemon notices.
func TestPrivateDocker(t *testing.T) {
	before := machine(t)
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
	if after := machine(t); after != before {
		t.Errorf("the machine's mounts and interfaces were\n%s\nand are\n%s", before, after)
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

// machine is what a daemon may leave in the namespaces of everybody, as far as tests beside this one leave it alone.
func machine(t *testing.T) string {
	t.Helper()
	var seen strings.Builder
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, os.TempDir()+"/dockerd") {
			seen.WriteString(line)
		}
	}
	links, err := os.ReadDir("/sys/class/net")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		if !strings.HasPrefix(l.Name(), "veth") {
			seen.WriteString(l.Name() + " ")
		}
	}
	return seen.String()
}
