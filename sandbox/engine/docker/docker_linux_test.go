package docker_test

import (
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
	nameVariable   = "HERMES_TEST_ENGINE_NAME"
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
	return docker.New(docker.Options{Client: api, Name: os.Getenv(nameVariable), Arch: runtime.GOARCH, Bridge: os.Getenv(bridgeVariable) != ""})
}

func TestDocker(t *testing.T) {
	api := containers.Docker(t)
	enginetest.Run(t, conformance(t, "docker", api))
}

// TestDockerBridged is the suite over streams that pass through the container.
func TestDockerBridged(t *testing.T) {
	api := containers.Docker(t)
	t.Setenv(bridgeVariable, "1")
	config := conformance(t, "docker", api)
	config.Without[enginetest.DirectLines] = "a connection costs a process in the container"
	config.Themes = themes("commands", "timeouts", "streams", "terminal", "replay", "loss", "life", "ephemeral", "background", "files")
	enginetest.Run(t, config)
}

// TestPodman is the suite on Podman, through the socket on which it speaks as Docker
// does.
func TestPodman(t *testing.T) {
	api := containers.Podman(t)
	config := conformance(t, "podman", api)
	config.Themes = themes("sessions", "timeouts", "streams", "reuse", "drift", "require", "life", "ephemeral", "posture", "mounts", "users", "limits")
	enginetest.Run(t, config)
}

// themes are those of the suite that one more way to have the engine can change. "make
// soak" runs all: the rest is the guest's work, and the same in every way.
func themes(some ...string) []string {
	if os.Getenv("HERMES_SOAK") == "1" {
		return nil
	}
	return some
}

func conformance(t *testing.T, name string, api *client.Client) enginetest.Config {
	t.Setenv(nameVariable, name)
	t.Setenv(hostVariable, api.DaemonHost())
	return enginetest.Config{
		New: func(t testing.TB) (sandbox.Engine, string) {
			e, err := newEngine()
			if err != nil {
				t.Fatal(err)
			}
			return e, t.TempDir()
		},
		Spec: sandbox.Spec{Image: debian(t, api), Cwd: sandbox.Workspace, Network: sandbox.NetworkNone},
		Without: map[enginetest.Ability]string{
			enginetest.ReadOnlyRoot: "an image's root is the sandbox's own",
			enginetest.OwnIDs:       "the daemon does not remap ids",
			enginetest.HiddenDoor:   "the guest's socket is in the container",

			enginetest.Announcements: "a container's arguments are the same at each of its starts",
		},
	}
}

func debian(t *testing.T, api *client.Client) string {
	if name := os.Getenv(imageVariable); name != "" {
		return name
	}
	return containers.Debian.In(t, api)
}
