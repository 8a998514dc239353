package docker_test

import (
	"maps"
	"os"
	"runtime"
	"testing"

	"github.com/moby/moby/client"

	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/engine/docker"
	"hermes.example/hermes/sandbox/enginetest"
	"hermes.example/hermes/test/containers"
)

// The suite starts this program again as other processes, which must speak to the same
// daemon in the same way.
const (
	hostVariable   = "HERMES_TEST_ENGINE_HOST"
	bridgeVariable = "HERMES_TEST_ENGINE_BRIDGE"
	// Users that a test makes cannot load images of its checkout.
	imageVariable = "HERMES_TEST_ENGINE_IMAGE"
)

func TestMain(m *testing.M) { enginetest.Main(m, newEngine) }

func newEngine() (sandbox.Engine, error) {
	api, err := client.New(client.WithHost(os.Getenv(hostVariable)))
	if err != nil {
		return nil, err
	}
	return docker.New(docker.Options{Client: api, Name: "docker", Arch: runtime.GOARCH, Bridge: os.Getenv(bridgeVariable) != ""})
}

func TestDocker(t *testing.T) { conform(t, containers.Docker(t), nil) }

// themes are the part of the suite in which it matters where files are and how
// connections go.
var themes = []string{"commands", "sessions", "files", "background", "ephemeral", "reuse"}

// TestDockerBridged is the suite over streams that pass through the container.
func TestDockerBridged(t *testing.T) {
	api := containers.Docker(t)
	t.Setenv(bridgeVariable, "1")
	conform(t, api, map[enginetest.Ability]string{enginetest.DirectLines: "a connection costs a process in the container"})
}

func conform(t *testing.T, api *client.Client, without map[enginetest.Ability]string, themes ...string) {
	lacks := map[enginetest.Ability]string{
		enginetest.ReadOnlyRoot: "an image's root is the sandbox's own",
		enginetest.OwnIDs:       "the daemon does not remap ids",
		enginetest.HiddenDoor:   "the guest's socket is in the container",

		enginetest.Announcements: "a container's arguments are the same at each of its starts",
	}
	maps.Copy(lacks, without)
	t.Setenv(hostVariable, api.DaemonHost())
	enginetest.Run(t, enginetest.Config{
		New: func(t testing.TB) (sandbox.Engine, string) {
			e, err := newEngine()
			if err != nil {
				t.Fatal(err)
			}
			return e, t.TempDir()
		},
		Spec:    sandbox.Spec{Image: debian(t, api), Cwd: sandbox.Workspace, Network: sandbox.NetworkNone},
		Without: lacks,
		Themes:  themes,
	})
}

func debian(t *testing.T, api *client.Client) string {
	if name := os.Getenv(imageVariable); name != "" {
		return name
	}
	return containers.Debian.In(t, api)
}
