//go:build linux

package containers

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
)

func TestSnapshotSeesWhatComesAndGoes(t *testing.T) {
	onBoth(t, func(t *testing.T, d *client.Client) {
		mark := "hermes-test-" + strings.ToLower(rand.Text())
		owners := []Owner{Labelled(mark, ""), Named(mark)}
		empty := Snapshot(t, d, owners...)
		if len(empty) != 0 {
			t.Fatalf("somebody has the name of this test: %v", empty)
		}
		NoLeaks(t, d, owners...) // of this test's own
		ctx := context.Background()
		labels := map[string]string{mark: "yes"}

		made, err := d.ContainerCreate(ctx, client.ContainerCreateOptions{Config: &container.Config{Image: Scratch.In(t, d), Cmd: []string{"x"}, Labels: labels}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { d.ContainerRemove(ctx, made.ID, client.ContainerRemoveOptions{Force: true}) })
		if _, err := d.VolumeCreate(ctx, client.VolumeCreateOptions{Name: mark + "-volume"}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { d.VolumeRemove(ctx, mark+"-volume", client.VolumeRemoveOptions{}) })
		if _, err := d.NetworkCreate(ctx, mark+"-network", client.NetworkCreateOptions{Driver: "bridge", Labels: labels}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { d.NetworkRemove(ctx, mark+"-network", client.NetworkRemoveOptions{}) })

		all := Snapshot(t, d, owners...)
		came := all.Without(empty)
		if len(came) != 3 || !strings.HasPrefix(came[0], "container ") || !slices.Equal(came[1:], []string{"network " + mark + "-network", "volume " + mark + "-volume"}) {
			t.Errorf("there came %q", came)
		}
		if some := Snapshot(t, d, Labelled(mark, "no"), Named(mark+"-volume")); len(some) != 1 {
			t.Errorf("of one owner there is %v", some)
		}
		if _, err := d.VolumeRemove(ctx, mark+"-volume", client.VolumeRemoveOptions{}); err != nil {
			t.Fatal(err)
		}
		if went := all.Without(Snapshot(t, d, owners...)); !slices.Equal(went, []string{"volume " + mark + "-volume"}) {
			t.Errorf("there went %q", went)
		}
	})
}

// A leak is an error of the test that left it.
func TestALeakFailsItsTest(t *testing.T) {
	d := Docker(t)
	name := "hermes-test-" + strings.ToLower(rand.Text())
	inner := &failing{TB: t}
	NoLeaks(inner, d, Named(name))
	if _, err := d.VolumeCreate(t.Context(), client.VolumeCreateOptions{Name: name}); err != nil {
		t.Fatal(err)
	}
	inner.end()
	if _, err := d.VolumeRemove(t.Context(), name, client.VolumeRemoveOptions{}); err != nil {
		t.Fatal(err)
	}
	if !inner.failed {
		t.Error("nobody noticed")
	}
}

// failing is a test that may fail without failing the one around it.
type failing struct {
	testing.TB
	failed bool
	end    func()
}

func (f *failing) Cleanup(end func())    { f.end = end }
func (f *failing) Errorf(string, ...any) { f.failed = true }
