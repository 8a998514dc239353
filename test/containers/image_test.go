//go:build linux

package containers

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
)

// Both daemons get the same images, and run them.
func TestImages(t *testing.T) {
	for _, c := range []struct {
		image  Image
		script string // as the image's own shell runs it; empty: as the image itself says
		want   string
	}{
		{Debian, `. /etc/os-release; echo $VERSION_CODENAME $BASH`, "bookworm /usr/bin/bash"},
		{Busybox, `command -v bash; id -u; ls -d /tmp /root`, "0 /root /tmp"},
		{Init, `cat /run/init-was-run; echo $$`, "yes 1"},
		{User, `id -un; pwd; touch mine && ls`, "agent /home/agent mine"},
		{Bare, `ls -d /tmp /root /workspace /var 2>/dev/null; command -v bash; command -v sh`, "sh"},
		{Linked, `readlink /workspace; readlink /root; cat /workspace/from-image /var/tmp`, "/srv/work /nowhere/at/all image a file"},
		{Configured, ``, "command of the image"},
		{Configured, `tool; pwd; echo $COLOUR $HOME $EQUALS; ls /data`, "tool of the image /srv/app green /srv/app a=b from-image"},
	} {
		t.Run(c.image.name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, d *client.Client) {
				var command []string
				switch {
				case c.script == "":
				case len(c.image.config.Entrypoint) > 1: // is a shell already
					command = []string{c.script}
				default:
					command = []string{c.image.config.Cmd[0], "-c", c.script}
				}
				if got := run(t, d, c.image.In(t, d), command...); got != c.want {
					t.Errorf("it says %q, not %q", got, c.want)
				}
			})
		})
	}
}

func TestNothingRunsInScratch(t *testing.T) {
	onBoth(t, func(t *testing.T, d *client.Client) {
		id := create(t, d, Scratch.In(t, d), "/bin/sh")
		if _, err := d.ContainerStart(t.Context(), id, client.ContainerStartOptions{}); err == nil {
			t.Error("/bin/sh was started in an empty image")
		}
	})
}

// What is not visible in a running container: the rest of what an image says.
func TestTheDaemonKnowsWhatTheImageSays(t *testing.T) {
	onBoth(t, func(t *testing.T, d *client.Client) {
		image, err := d.ImageInspect(t.Context(), Configured.In(t, d))
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(image.Config)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{`"Volumes":{"/data":{}}`, `"8080/tcp":{}`, `"colour":"green"`, `"StopSignal":"SIGINT"`, `"hermes-test":"configured"`} {
			if !strings.Contains(string(got), want) {
				t.Errorf("%s is missing in %s", want, got)
			}
		}
	})
}

// The second time the image is there: nothing but a question goes to the daemon.
func TestAnImageIsLoadedOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, d *client.Client) {
		first := Busybox.In(t, d)
		p := NewProxy(t, d)
		if again := Busybox.In(t, p.Client()); again != first {
			t.Errorf("%s became %s", first, again)
		}
		for _, r := range p.Requests() {
			if strings.Contains(r, "/images/load") {
				t.Errorf("the image was loaded again: %q", p.Requests())
			}
		}
	})
}

func TestOtherContentIsAnotherImage(t *testing.T) {
	d := Docker(t)
	changed := Scratch
	changed.layer = only(file{name: "README", content: t.Name()})
	ref := changed.In(t, d)
	t.Cleanup(func() { d.ImageRemove(context.Background(), ref, client.ImageRemoveOptions{}) })
	if ref == Scratch.In(t, d) {
		t.Error("two images have one name")
	}
}

func TestAFailedLoadIsSeen(t *testing.T) {
	if err := finish(strings.NewReader("{\"stream\":\"Loading\"}\n{\"error\":\"no space left\"}\n")); err == nil || err.Error() != "no space left" {
		t.Errorf("the daemon's error came out as %v", err)
	}
}

func onBoth(t *testing.T, f func(*testing.T, *client.Client)) {
	t.Run("docker", func(t *testing.T) { f(t, Docker(t)) })
	t.Run("podman", func(t *testing.T) { f(t, Podman(t)) })
}

// create makes a container without network, and removes it with the test.
func create(t *testing.T, c *client.Client, ref string, command ...string) string {
	t.Helper()
	made, err := c.ContainerCreate(t.Context(), client.ContainerCreateOptions{
		Config:     &container.Config{Image: ref, Cmd: command, Tty: true, Labels: map[string]string{"hermes-test": "containers"}},
		HostConfig: &container.HostConfig{NetworkMode: "none"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, err := c.ContainerRemove(context.Background(), made.ID, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
		if err != nil {
			t.Error(err)
		}
	})
	return made.ID
}

// run is what a container's command prints, in one line.
func run(t *testing.T, c *client.Client, ref string, command ...string) string {
	t.Helper()
	id := create(t, c, ref, command...)
	if _, err := c.ContainerStart(t.Context(), id, client.ContainerStartOptions{}); err != nil {
		t.Fatal(err)
	}
	wait := c.ContainerWait(t.Context(), id, client.ContainerWaitOptions{})
	select {
	case <-wait.Result:
	case err := <-wait.Error:
		t.Fatal(err)
	}
	logs, err := c.ContainerLogs(t.Context(), id, client.ContainerLogsOptions{ShowStdout: true, ShowStderr: true})
	if err != nil {
		t.Fatal(err)
	}
	defer logs.Close()
	out, err := io.ReadAll(logs)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(string(out)), " ")
}
