//go:build linux

package containers

import (
	"cmp"
	"context"
	"os"
	"testing"
	"time"

	"github.com/moby/moby/client"
)

// Read once, because tests point these variables at proxies. scripts/engines.sh reads them in the same way.
var (
	dockerHost = cmp.Or(os.Getenv("DOCKER_HOST"), "unix:///var/run/docker.sock")
	podmanHost = cmp.Or(os.Getenv("CONTAINER_HOST"), "unix:///run/podman/podman.sock")
)

// Docker is a client of the Docker Engine that all tests share; without one the test is skipped.
func Docker(t testing.TB) *client.Client {
	t.Helper()
	return shared(t, "Docker", dockerHost)
}

// Podman is a client of Podman's service that all tests share; without one the test is skipped.
func Podman(t testing.TB) *client.Client {
	t.Helper()
	return shared(t, "Podman", podmanHost)
}

func shared(t testing.TB, name, host string) *client.Client {
	t.Helper()
	c := Connect(t, host)
	if err := ping(c); err != nil {
		t.Skipf("%s does not answer: %v", name, err)
	}
	return c
}

// Connect is a client of whatever is at the host, closed with the test. It does not ask whether anybody is there.
func Connect(t testing.TB, host string) *client.Client {
	t.Helper()
	c, err := client.New(client.WithHost(host))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func ping(c *client.Client) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, err := c.Ping(ctx, client.PingOptions{})
	return err
}
