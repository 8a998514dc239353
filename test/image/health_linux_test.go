package image

import (
	"os/exec"
	"strings"
	"testing"
	"time"
)

// The daemon runs the image's own check; only how often is the test's.
func TestTheHealthCheckTellsWellFromIll(t *testing.T) {
	t.Parallel()
	need(t)
	for want, env := range map[string]string{
		"healthy":   "HERMES_DASHBOARD=0",
		"unhealthy": "HERMES_DASHBOARD=1", // on all addresses, without anybody who could log in: it is refused
	} {
		id := strings.TrimSpace(docker(t, "run", "--detach", "--health-interval", "1s", "--health-start-period", "1s", "--health-retries", "2",
			"--env", env, "--env", "HERMES_DASHBOARD_HOST=0.0.0.0", image, "sleep", "infinity"))
		t.Cleanup(func() { _ = exec.Command("docker", "rm", "--force", "--volumes", id).Run() })
		var state string
		for end := time.Now().Add(90 * time.Second); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
			if state = strings.TrimSpace(docker(t, "inspect", "--format", "{{.State.Health.Status}}", id)); state != "starting" {
				break
			}
		}
		said := docker(t, "inspect", "--format", "{{range .State.Health.Log}}{{.Output}}{{end}}", id)
		if state != want || want == "unhealthy" && !strings.Contains(said, "cannot call it healthy: dashboard is parked") {
			t.Errorf("with %s it is %s: %s", env, state, said)
		}
	}
}
