package docker_test

import (
	"os"
	"runtime"
	"testing"

	"github.com/moby/moby/client"

	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/engine/docker"
	"hermes.example/hermes/sandbox/enginetest"
)

func TestMain(m *testing.M) { enginetest.Main(m, newEngine) }

// bridgeVariable makes other processes of the suite come through the container, too.
const bridgeVariable = "HERMES_TEST_BRIDGE"

func newEngine() (sandbox.Engine, error) {
	api, err := client.New(client.FromEnv)
	if err != nil {
		return nil, err
	}
	return docker.New(docker.Options{Client: api, Name: "docker", Arch: runtime.GOARCH, Bridge: os.Getenv(bridgeVariable) != ""})
}

func TestDockerBridged(t *testing.T) {
	t.Setenv(bridgeVariable, "1")
	TestDocker(t)
}

func TestDocker(t *testing.T) {
	enginetest.Run(t, enginetest.Config{
		New: func(t testing.TB) (sandbox.Engine, string) {
			e, err := newEngine()
			if err != nil {
				t.Fatal(err)
			}
			return e, t.TempDir()
		},
		Spec: sandbox.Spec{Image: "hermes-hand:debian", Cwd: sandbox.Workspace, Network: sandbox.NetworkNone},
		Without: map[enginetest.Ability]string{
			enginetest.ReadOnlyRoot: "an image's root is the sandbox's own",
			enginetest.OwnIDs:       "the daemon does not remap ids",
			enginetest.HiddenDoor:   "the guest's socket is in the container",

			enginetest.Announcements: "a container's arguments are the same at each of its starts",
		},
	})
}
