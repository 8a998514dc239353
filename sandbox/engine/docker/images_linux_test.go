package docker_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/test/containers"
)

// asked is what is looked at in every image that has a shell.
const asked = `id -u; id -g; id -G; echo "$HOME"; pwd; cat /proc/1/comm; echo "$COLOUR" "$EQUALS"; ls -d /run/init-was-run /health-was-checked 2>/dev/null; ` +
	`touch /tmp/x /workspace/x && echo mine >"$HOME/x" && cat "$HOME/x"`

// images are what every image must come to. One that must not start has a refusal in
// the place of an answer.
var images = []struct {
	name            string
	image           containers.Image
	answer, refusal string
	test            func(t *testing.T, a *arena, box *sandbox.Sandbox)
}{
	{name: "debian", image: containers.Debian, answer: "0 0 0 /root /workspace hermes-guest mine", test: wellDone},
	{name: "busybox", image: containers.Busybox, answer: "0 0 0 /root /workspace hermes-guest mine", test: wellDone},
	{name: "scratch", image: containers.Scratch, test: runsWhatItIsGiven},
	{name: "init", image: containers.Init, answer: "0 0 0 /root /workspace hermes-guest mine", test: wellDone},
	{name: "user", image: containers.User, answer: "1234 1234 1234 /home/agent /home/agent hermes-guest mine", test: userIsHeld},
	{name: "bare", image: containers.Bare, answer: "0 0 0 /root /workspace hermes-guest mine", test: wellDone},
	{name: "linked", image: containers.Linked, refusal: "its image has a file at /var/tmp, where a directory is needed"},
	{name: "configured", image: containers.Configured, answer: "0 0 0 /srv/app /srv/app hermes-guest green a=b mine", test: volumesGo},
}

// TestEveryImage makes sandboxes of whatever an image may be.
func TestEveryImage(t *testing.T) {
	for _, i := range images {
		t.Run(i.name, func(t *testing.T) {
			onEachDaemon(t, func(t *testing.T, a *arena) {
				box, err := a.try(i.image)
				if i.refusal != "" {
					if err == nil || !strings.Contains(err.Error(), i.refusal) || strings.Contains(err.Error(), "\n") {
						t.Errorf("the error is %v", err)
					}
					return // that nothing is left the arena sees to
				}
				if err != nil {
					t.Fatal(err)
				}
				if i.answer != "" {
					if got := strings.Join(strings.Fields(a.says(box, asked)), " "); got != i.answer {
						t.Errorf("inside it is %q, not %q", got, i.answer)
					}
				}
				i.test(t, a, box)
			})
		})
	}
}

// wellDone holds for every image: the daemon itself says that nothing of the image's own
// is run, and the guest heeds no command.
func wellDone(t *testing.T, a *arena, box *sandbox.Sandbox) {
	c := a.inspect()
	if c.Config.Entrypoint[0] != "/.hermes/bin/hermes-guest" {
		t.Errorf("its entrypoint is %q", c.Config.Entrypoint)
	}
	if h := c.Config.Healthcheck; h == nil || len(h.Test) != 1 || h.Test[0] != "NONE" {
		t.Errorf("its health is looked at by %+v", h)
	}
	for _, signal := range []string{"KILL", "TERM", "STOP", "37"} {
		a.run(box, sandbox.Command{Line: "kill -" + signal + " 1"})
	}
	if got := a.says(box, "echo well"); got != "well" {
		t.Errorf("it says %q", got)
	}
}

// An image without any program runs what is put into it, and says why it runs nothing
// else.
func runsWhatItIsGiven(t *testing.T, a *arena, box *sandbox.Sandbox) {
	result, _ := a.run(box, sandbox.Command{Line: "echo well"})
	if result.Code != 127 || result.Reason != sandbox.NotStarted || !strings.Contains(result.Message, "neither bash nor sh") {
		t.Errorf("a line ends with %+v", result)
	}
	if err := box.Files("").WriteFile(t.Context(), "/workspace/busybox", static(t), 0o755); err != nil {
		t.Fatal(err)
	}
	result, out := a.run(box, sandbox.Command{Argv: []string{"/workspace/busybox", "sh", "-c", "echo $0; pwd; echo $HOME; busybox id -u", "well"}, Env: map[string]string{"PATH": "/workspace"}})
	if got := strings.Join(strings.Fields(out), " "); result.Code != 0 || got != "well /workspace /root 0" {
		t.Errorf("a program ends with %+v: %q", result, got)
	}
}

// static is a program that needs nothing beside itself.
func static(t *testing.T) []byte {
	t.Helper()
	path, err := exec.LookPath("busybox")
	if err != nil {
		t.Skip("busybox is not installed")
	}
	program, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// Commands of an image whose user is not root are that user and nobody else. The guest is
// root's, and out of their reach.
func userIsHeld(t *testing.T, a *arena, box *sandbox.Sandbox) {
	wellDone(t, a, box)
	for _, line := range []string{
		"stat -c '%U %G' /workspace", "stat -c '%U %G' /workspace/x", "stat -c '%U %G' ~/x",
	} {
		if got := a.says(box, line); got != "agent agent" {
			t.Errorf("%q says %q", line, got)
		}
	}
	if got := a.says(box, "stat -c %u /proc/1; grep -E 'Cap(Prm|Eff|Amb)' /proc/self/status | tr -d '0\n'"); got != "0\nCapPrm:\tCapEff:\tCapAmb:" {
		t.Errorf("the guest's owner, and the rights of commands: %q", got)
	}
	for _, line := range []string{"echo x >/etc/x", "cat /proc/1/environ", "ls /proc/1/fd", "chown 0 /workspace/x", "su -c true", "ls /.hermes/spool"} {
		if result, out := a.run(box, sandbox.Command{Line: line}); result.Code == 0 {
			t.Errorf("%q succeeds: %s", line, out)
		}
	}
	if err := box.Files("").WriteFile(t.Context(), "/workspace/file", []byte("x"), 0o644); err != nil {
		t.Error(err)
	}
	if got := a.says(box, "stat -c %U /workspace/file"); got != "agent" {
		t.Errorf("a caller's file is %s's", got)
	}
}

// What an image keeps in volumes is there, and goes with the sandbox.
func volumesGo(t *testing.T, a *arena, box *sandbox.Sandbox) {
	wellDone(t, a, box)
	if got := a.says(box, "tool; cat /data/from-image; touch /data/x"); got != "tool of the image\nimage" {
		t.Errorf("it says %q", got)
	}
	var volume string
	for _, m := range a.inspect().Mounts {
		if m.Destination == "/data" {
			volume = m.Name
		}
	}
	if volume == "" {
		t.Fatalf("not shown: the image's volume is not mounted: %+v", a.inspect().Mounts)
	}
	if err := a.manager.Remove(t.Context(), a.id(), false); err != nil {
		t.Fatal(err)
	}
	if _, err := a.api.VolumeInspect(context.Background(), volume, client.VolumeInspectOptions{}); !errdefs.IsNotFound(err) {
		t.Errorf("the volume is left behind: %v", err)
	}
}
