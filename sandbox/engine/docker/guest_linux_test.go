package docker

import (
	"context"
	"crypto/rand"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/moby/moby/client"

	"hermes.example/hermes/test/containers"
)

// Callers of one daemon who know nothing of each other share the volume of the guest.
func TestCallersOfOneDaemonFillTheVolumeAtOnce(t *testing.T) {
	for kind, api := range map[string]func(testing.TB) *client.Client{"docker": containers.Docker, "podman": containers.Podman} {
		t.Run(kind, func(t *testing.T) {
			daemon := api(t)
			image := containers.Busybox.In(t, daemon)
			build := "test-" + strings.ToLower(rand.Text())
			var all []*Engine
			for range 6 {
				t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
				made, err := New(Options{Client: daemon, Name: kind, Arch: runtime.GOARCH})
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
			errs := make([]error, len(all))
			var done sync.WaitGroup
			for i, e := range all {
				done.Go(func() { errs[i] = e.putGuest(t.Context(), image) })
			}
			done.Wait()
			if err := errors.Join(errs...); err != nil {
				t.Error(err)
			}
		})
	}
}
