package docker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"hermes.example/hermes/internal/contained"
)

// erase removes a directory in which a sandbox kept files. They may be those of users
// that only the sandbox had, and ours to remove only as far as its root's are: then a
// container removes them that sees nothing else. Image is what to make it of, if that
// is still there.
func (e *Engine) erase(ctx context.Context, dir, image string) error {
	err := removeTree(dir)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	// A link here would show the container another directory.
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return fmt.Errorf("cannot remove %s: it is no directory", dir)
	}
	if err := e.eraseInside(ctx, dir, image); err != nil {
		return fmt.Errorf("cannot remove %s, of which files belong to users of the sandbox: %w; remove it as root", dir, err)
	}
	return removeTree(dir)
}

func (e *Engine) eraseInside(ctx context.Context, dir, image string) error {
	image, err := e.anyImage(ctx, image)
	if err != nil {
		return err
	}
	if err := e.putGuest(ctx, image); err != nil {
		return err
	}
	config := container.Config{Image: image, User: "0:0", WorkingDir: "/", Cmd: []string{contained.EraseMode}, Healthcheck: &container.HealthConfig{Test: []string{"NONE"}}}
	host := container.HostConfig{CapAdd: []string{"CAP_DAC_OVERRIDE", "CAP_FOWNER"}, SecurityOpt: []string{"no-new-privileges"}, ReadonlyRootfs: true,
		Mounts: []mount.Mount{e.guestMount(), bind(dir, contained.Kept, false)}}
	return e.chore(ctx, config, host, func(id string) error { return e.runToEnd(ctx, id) })
}

// runToEnd starts a container and waits for it to do what it is for.
func (e *Engine) runToEnd(ctx context.Context, id string) error {
	ended := e.api.ContainerWait(ctx, id, client.ContainerWaitOptions{Condition: container.WaitConditionNextExit})
	if _, err := e.api.ContainerStart(ctx, id, client.ContainerStartOptions{}); err != nil {
		return explain(err)
	}
	select {
	case err := <-ended.Error:
		return explain(err)
	case result := <-ended.Result:
		if result.StatusCode == 0 {
			return nil
		}
		return e.endedAtOnce(ctx, id)
	}
}

// anyImage is the one that is asked for, or, if the daemon has that no longer, any other:
// nothing of it is run.
func (e *Engine) anyImage(ctx context.Context, image string) (string, error) {
	if image != "" {
		if _, err := e.api.ImageInspect(ctx, image); err == nil {
			return image, nil
		}
	}
	all, err := e.api.ImageList(ctx, client.ImageListOptions{})
	if err != nil {
		return "", explain(err)
	}
	if len(all.Items) == 0 {
		return "", errors.New("there is no image to make a container of")
	}
	return all.Items[0].ID, nil
}
