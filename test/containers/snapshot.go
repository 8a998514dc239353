//go:build linux

package containers

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/moby/moby/client"
)

// Owner tells by name and labels whether something in a daemon is of interest. Tests of other processes
// use the same daemon at the same time, so a test that looks for leaks asks for what only it can have made.
type Owner func(name string, labels map[string]string) bool

// Labelled is everything with this label; with an empty value, whatever its value is.
func Labelled(key, value string) Owner {
	return func(_ string, labels map[string]string) bool {
		got, ok := labels[key]
		return ok && (value == "" || got == value)
	}
}

// Named is everything whose name begins so.
func Named(prefix string) Owner {
	return func(name string, _ map[string]string) bool { return strings.HasPrefix(name, prefix) }
}

// Things are containers, volumes and networks of a daemon at one moment: what they are called, by kind and id.
type Things map[string]string

// Snapshot lists what any of the owners has in the daemon.
func Snapshot(t testing.TB, c *client.Client, owners ...Owner) Things {
	t.Helper()
	found := make(Things)
	add := func(kind, id, name string, labels map[string]string) {
		if slices.ContainsFunc(owners, func(o Owner) bool { return o(name, labels) }) {
			found[kind+" "+id] = fmt.Sprintf("%s %s", kind, name)
		}
	}
	ctx := context.Background() // tests look when they end, too
	containers, err := c.ContainerList(ctx, client.ContainerListOptions{All: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range containers.Items {
		name := one.ID[:12]
		if len(one.Names) > 0 {
			name = strings.TrimPrefix(one.Names[0], "/")
		}
		add("container", one.ID, name, one.Labels)
	}
	volumes, err := c.VolumeList(ctx, client.VolumeListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range volumes.Items {
		add("volume", one.Name, one.Name, one.Labels)
	}
	networks, err := c.NetworkList(ctx, client.NetworkListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range networks.Items {
		add("network", one.ID, one.Name, one.Labels)
	}
	return found
}

// Without is what is here and not there, sorted: now.Without(before) has come, before.Without(now) has gone.
func (s Things) Without(other Things) []string {
	rest := maps.Clone(s)
	maps.DeleteFunc(rest, func(id, _ string) bool { _, ok := other[id]; return ok })
	return slices.Sorted(maps.Values(rest))
}

// NoLeaks fails the test if, at its end, there is something of the owners that was not there at this call, or
// something is gone that was.
func NoLeaks(t testing.TB, c *client.Client, owners ...Owner) {
	t.Helper()
	before := Snapshot(t, c, owners...)
	t.Cleanup(func() {
		now := Snapshot(t, c, owners...)
		if left := now.Without(before); len(left) > 0 {
			t.Errorf("left behind: %s", strings.Join(left, ", "))
		}
		if lost := before.Without(now); len(lost) > 0 {
			t.Errorf("removed, though it was there before: %s", strings.Join(lost, ", "))
		}
	})
}
