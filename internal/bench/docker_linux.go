package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"hermes.example/hermes/internal/daemon"
	"hermes.example/hermes/internal/image/hostimage"
	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/engine/docker"
)

// dockerBench measures sandboxes that are containers, beside other ways to run a
// command in one.
type dockerBench struct {
	*runner
	api     *client.Client
	spec    sandbox.Spec
	direct  *sandbox.Manager
	bridged *sandbox.Manager
}

// crowd is how many other containers run while attaching is measured.
const crowd = 100

func (r *runner) docker() error {
	found, err := daemon.Find(r.ctx, daemon.Options{Lookup: os.LookupEnv, Kind: daemon.Docker, Patience: time.Second})
	var missing *daemon.Error
	if errors.As(err, &missing) {
		r.progress("no containers: " + missing.Error())
		return nil
	}
	if err != nil {
		return err
	}
	d := &dockerBench{runner: r}
	if d.api, err = found.Client(); err != nil {
		return err
	}
	remove, err := d.makeImage()
	if err != nil {
		return err
	}
	defer remove()
	for bridge, into := range map[bool]**sandbox.Manager{false: &d.direct, true: &d.bridged} {
		e, err := docker.New(docker.Options{Client: d.api, Name: "docker", Arch: runtime.GOARCH, Bridge: bridge})
		if err != nil {
			return err
		}
		*into = sandbox.NewManager(e, sandbox.Options{NoSweep: true})
		defer (*into).Close()
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), 2*time.Minute)
		defer cancel()
		d.direct.Prune(ctx, r.home, true)
	}()
	for _, part := range []func() error{d.commands, d.cold, d.attach} {
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}

// makeImage gives the daemon an image of this machine's own programs.
func (d *dockerBench) makeImage() (remove func(), err error) {
	root, err := hostimage.Root("bash", "sh", "sleep", "true")
	if err != nil {
		return nil, err
	}
	name := "hermes-bench:" + strconv.Itoa(os.Getpid())
	loading, err := d.api.ImageImport(d.ctx, client.ImageImportSource{Source: bytes.NewReader(root), SourceName: "-"}, name, client.ImageImportOptions{})
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(io.Discard, loading)
	loading.Close()
	d.spec = sandbox.Spec{Image: name, Network: sandbox.NetworkNone, Cwd: "/"}
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(d.ctx), 30*time.Second)
		defer cancel()
		d.api.ImageRemove(ctx, name, client.ImageRemoveOptions{Force: true})
	}, err
}

func (d *dockerBench) ensure(m *sandbox.Manager, task string) (*sandbox.Sandbox, error) {
	return m.Ensure(d.ctx, sandbox.Identity{Home: d.home, Task: task}, d.spec)
}

// commands compares the ways to run a command in a running container.
func (d *dockerBench) commands() error {
	direct, err := d.ensure(d.direct, "direct")
	if err != nil {
		return err
	}
	bridged, err := d.ensure(d.bridged, "bridged")
	if err != nil {
		return err
	}
	name, err := d.containerOf(direct.Identity())
	if err != nil {
		return err
	}
	things := []func() error{hostBash,
		func() error { return succeeded(direct.Exec(d.ctx, sandbox.Command{Argv: bashTrue})) },
		func() error { return succeeded(bridged.Exec(d.ctx, sandbox.Command{Argv: bashTrue})) },
		func() error { return d.sdkExec(name) },
	}
	cli, err := exec.LookPath("docker")
	if err == nil {
		things = append(things, func() error {
			return exec.CommandContext(d.ctx, cli, append([]string{"exec", name}, bashTrue...)...).Run()
		})
	}
	m, err := d.interleave(max(d.Rounds/3, 5), things...)
	if err != nil {
		return err
	}
	d.report.compare("command in a running Docker sandbox, `bash -c true`", hostFork, m[1], m[0], 1.3, "")
	d.report.compare("the same over a bridged stream", hostFork, m[2], m[0], 2.5, "")
	d.report.compare("for comparison: exec of the Docker SDK", hostFork, m[3], m[0], 0, "create, attach, inspect")
	if len(m) > 4 {
		d.report.compare("for comparison: `docker exec`", hostFork, m[4], m[0], 0, "")
	}
	return nil
}

// containerOf finds a sandbox's container.
func (d *dockerBench) containerOf(id sandbox.Identity) (string, error) {
	name := "hermes-" + id.Key()
	_, err := d.api.ContainerInspect(d.ctx, name, client.ContainerInspectOptions{})
	return name, err
}

// sdkExec runs the command as programs do that use the daemon's own way.
func (d *dockerBench) sdkExec(name string) error {
	made, err := d.api.ExecCreate(d.ctx, name, client.ExecCreateOptions{Cmd: bashTrue, AttachStdout: true, AttachStderr: true})
	if err != nil {
		return err
	}
	attached, err := d.api.ExecAttach(d.ctx, made.ID, client.ExecAttachOptions{})
	if err != nil {
		return err
	}
	io.Copy(io.Discard, attached.Reader)
	attached.Close()
	ended, err := d.api.ExecInspect(d.ctx, made.ID, client.ExecInspectOptions{})
	if err == nil && ended.ExitCode != 0 {
		err = fmt.Errorf("exit %d", ended.ExitCode)
	}
	return err
}

// cold compares a sandbox from nothing to its first command's end with a container of
// the same options that runs the command and nothing else.
func (d *dockerBench) cold() error {
	n := 0
	id := func() sandbox.Identity { return sandbox.Identity{Home: d.home, Task: "cold" + strconv.Itoa(n)} }
	m, err := d.interleave(max(d.Rounds/10, 5),
		func() error {
			n++
			box, err := d.ensure(d.direct, id().Task)
			if err != nil {
				return err
			}
			return succeeded(box.Exec(d.ctx, sandbox.Command{Argv: bashTrue}))
		},
		func() error { return d.direct.Remove(d.ctx, id(), true) },
		d.plainRun, d.removePlain)
	if err != nil {
		return err
	}
	d.report.compare("cold Docker sandbox + first command", "a container of the same options that runs it", m[0], m[2], 1, "the daemon's own calls: create, start, wait")
	return nil
}

const plainName = "hermes-bench-plain"

func (d *dockerBench) plainRun() error {
	like, err := d.api.ContainerInspect(d.ctx, "hermes-"+sandbox.Identity{Home: d.home, Task: "direct"}.Key(), client.ContainerInspectOptions{})
	if err != nil {
		return err
	}
	host := like.Container.HostConfig
	made, err := d.api.ContainerCreate(d.ctx, client.ContainerCreateOptions{Name: plainName, HostConfig: host,
		Config: &container.Config{Image: d.spec.Image, Cmd: bashTrue}})
	if err != nil {
		return err
	}
	if _, err := d.api.ContainerStart(d.ctx, made.ID, client.ContainerStartOptions{}); err != nil {
		return err
	}
	wait := d.api.ContainerWait(d.ctx, made.ID, client.ContainerWaitOptions{Condition: container.WaitConditionNotRunning})
	select {
	case err := <-wait.Error:
		return err
	case <-wait.Result:
		return nil
	}
}

func (d *dockerBench) removePlain() error {
	_, err := d.api.ContainerRemove(d.ctx, plainName, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	return err
}

// attach measures a command from a new process, among many running containers.
func (d *dockerBench) attach() error {
	if d.Hermes == "" || d.Quick {
		return nil
	}
	d.progress(fmt.Sprintf("a command from a new process among %d containers", crowd))
	places := make(chan struct{}, 4)
	failed, _ := together(crowd, func(i int) error {
		places <- struct{}{}
		defer func() { <-places }()
		_, err := d.ensure(d.direct, "crowd"+strconv.Itoa(i))
		return err
	})
	if failed > 0 {
		return fmt.Errorf("cannot make %d of %d containers", failed, crowd)
	}
	env := append(os.Environ(), "HERMES_HOME="+d.home)
	hermes := func(args ...string) func() error {
		return func() error {
			cmd := exec.CommandContext(d.ctx, d.Hermes, args...)
			cmd.Env = env
			return cmd.Run()
		}
	}
	where := []string{"sandbox", "exec", "--engine", "docker", "--task", "attached"}
	if err := hermes(append(where, "--image", d.spec.Image, "--network", "none", "--", "true")...)(); err != nil {
		return err
	}
	m, err := d.interleave(max(d.Rounds/3, 5), hostBash, hermes("version"), hermes(append(append(where, "--"), bashTrue...)...))
	if err != nil {
		return err
	}
	d.report.compare(fmt.Sprintf("attach to a Docker sandbox among %d from a new process + one command, without the start of `hermes`", crowd), hostFork, m[2]-m[1], m[0], 3, "")
	return nil
}
