package image

import (
	"strings"
	"testing"
)

// What root writes with "docker exec" is the service user's, and it can read everything near it; unless root said so.
func TestB49RootsConfigIsTheServiceUsers(t *testing.T) {
	c := dockerd(t).idle()
	if r := c.hermes("config", "set", "k", "1"); r.code != 0 {
		t.Fatal(r)
	}
	if got := c.owners("config.yaml"); got != "hermes:hermes" {
		t.Errorf("config.yaml is %s", got)
	}
	t.Run("B50 everything near it can be read", func(t *testing.T) {
		if got := c.do(service, "sh", "-c", "find /opt/data -maxdepth 2 -type f ! -readable; find /opt/data -maxdepth 2 -type d ! -executable"); got != "" {
			t.Errorf("it cannot read %s", got)
		}
	})
	t.Run("B52 a word that means no", func(t *testing.T) {
		for _, no := range []string{"0", "no", "on"} {
			if r := c.exec("", "env", "HERMES_DOCKER_EXEC_AS_ROOT="+no, "hermes", "config", "set", "k", "2"); r.code != 0 || c.owners("config.yaml") != "hermes:hermes" {
				t.Errorf("%s: %s, and config.yaml is %s", no, r, c.owners("config.yaml"))
			}
		}
	})
	t.Run("B53 the service user itself", func(t *testing.T) {
		if r := c.exec(service, "hermes", "config", "get", "k"); r.code != 0 || r.stdout != "2\n" || r.stderr != "" {
			t.Error(r)
		}
	})
	t.Run("B51 root by its own wish", func(t *testing.T) {
		if r := c.exec("", "env", "HERMES_DOCKER_EXEC_AS_ROOT=1", "hermes", "config", "set", "k", "3"); r.code != 0 || !strings.HasPrefix(c.owners("config.yaml"), "root:") {
			t.Errorf("%s, and config.yaml is %s", r, c.owners("config.yaml"))
		}
	})
}
