package docker

import (
	"context"
	"crypto/rand"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"hermes.example/hermes/test/containers"
)

// fillers are callers of one daemon who know nothing of each other, and a guest's volume
// that is nobody else's.
func fillers(t *testing.T, n int) (all []*Engine, image string) {
	t.Helper()
	daemon := containers.Docker(t)
	build := "test-" + strings.ToLower(rand.Text())
	for range n {
		t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
		made, err := New(Options{Client: daemon, Name: "docker", Arch: runtime.GOARCH})
		if err != nil {
			t.Fatal(err)
		}
		e := made.(*Engine)
		e.build = build
		all = append(all, e)
	}
	t.Cleanup(func() {
		if _, err := daemon.VolumeRemove(context.Background(), all[0].guestVolume(), client.VolumeRemoveOptions{Force: true}); err != nil {
			t.Error(err)
		}
	})
	return all, containers.Debian.In(t, daemon)
}

func TestCallersOfOneDaemonFillTheVolumeOnce(t *testing.T) {
	all, image := fillers(t, 6)
	errs := make([]error, len(all))
	var done sync.WaitGroup
	for i, e := range all {
		done.Go(func() { errs[i] = e.putGuest(t.Context(), image) })
	}
	done.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
}

// holds makes a container that has the name of the chore.
func (e *Engine) holds(t *testing.T, image string, labels map[string]string) (id string) {
	t.Helper()
	made, err := e.api.ContainerCreate(t.Context(), client.ContainerCreateOptions{Name: e.guestVolume(), Config: &container.Config{Image: image, Labels: labels}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.discard(context.Background(), made.ID) })
	return made.ID
}

func (e *Engine) exists(t *testing.T, id string) bool {
	t.Helper()
	_, err := e.api.ContainerInspect(t.Context(), id, client.ContainerInspectOptions{})
	if err != nil && !isNotFound(err) {
		t.Fatal(err)
	}
	return err == nil
}

func TestAStrangerWithTheNameOfTheChoreIsLeftAlone(t *testing.T) {
	all, image := fillers(t, 1)
	id := all[0].holds(t, image, nil)
	if err := all[0].putGuest(t.Context(), image); err == nil || !strings.Contains(err.Error(), "remove or rename it") {
		t.Errorf("it says %v", err)
	}
	if !all[0].exists(t, id) {
		t.Error("the container is gone")
	}
}

func TestAChoreThatNeverEndsIsOutlasted(t *testing.T) {
	all, image := fillers(t, 1)
	id := all[0].holds(t, image, map[string]string{labelChore: "chore-dead"})
	if err := all[0].outlast(t.Context(), all[0].guestVolume(), 100*time.Millisecond); err != nil {
		t.Error(err)
	}
	if all[0].exists(t, id) {
		t.Error("the container is there still")
	}
	if err := all[0].putGuest(t.Context(), image); err != nil {
		t.Error(err)
	}
}
