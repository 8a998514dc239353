package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

const composeFile = "image/compose.yaml"

// compose is the part of a compose file that ours uses.
type compose struct {
	Services map[string]struct {
		Image       string            `yaml:"image"`
		Command     []string          `yaml:"command"`
		Restart     string            `yaml:"restart"`
		Grace       string            `yaml:"stop_grace_period"`
		Ports       []string          `yaml:"ports"`
		Environment map[string]string `yaml:"environment"`
		Secrets     []string          `yaml:"secrets"`
		Volumes     []string          `yaml:"volumes"`
		CapDrop     []string          `yaml:"cap_drop"`
		CapAdd      []string          `yaml:"cap_add"`
		SecurityOpt []string          `yaml:"security_opt"`
	} `yaml:"services"`
	Secrets map[string]struct {
		File string `yaml:"file"`
	} `yaml:"secrets"`
	Volumes map[string]any `yaml:"volumes"`
}

// The dashboard is behind a port that this machine alone reaches, and behind a password that is in no file of ours, no
// variable and no argument.
func TestTheComposeFile(t *testing.T) {
	hermes := parse[compose](t, composeFile, yaml.Strict())[0]
	service := hermes.Services["hermes"]
	for _, port := range []string{"8642", "9119"} {
		if !slices.Contains(service.Ports, "127.0.0.1:"+port+":"+port) {
			t.Errorf("%s is not published on loopback alone: %q", port, service.Ports)
		}
	}
	env := service.Environment
	if env["HERMES_DASHBOARD"] != "1" || env["HERMES_DASHBOARD_HOST"] != "0.0.0.0" || env["HERMES_DASHBOARD_BASIC_AUTH_USERNAME"] == "" {
		t.Errorf("the published port does not lead to the dashboard: %q", env)
	}
	name, inSecrets := strings.CutPrefix(env["HERMES_DASHBOARD_BASIC_AUTH_PASSWORD_FILE"], "/run/secrets/")
	if !inSecrets || !slices.Contains(service.Secrets, name) || hermes.Secrets[name].File == "" {
		t.Errorf("the password %q is none of the secrets %v", name, hermes.Secrets)
	}
	if _, plain := env["HERMES_DASHBOARD_BASIC_AUTH_PASSWORD"]; plain {
		t.Error("the password is a variable")
	}
	if !slices.Contains(service.Volumes, "data:/opt/data") || !slices.Equal(service.CapDrop, []string{"ALL"}) {
		t.Errorf("volumes %q, dropped %q", service.Volumes, service.CapDrop)
	}
	if made := strings.TrimPrefix(hermes.Secrets[name].File, "./"); !strings.Contains(read(t, composeFile), ">"+made) || !strings.Contains(read(t, "docs/install.md"), ">"+made) {
		t.Errorf("nobody says how to make %s", made)
	}
}

// What Compose itself makes of it, where there is one.
func TestComposeTakesTheFile(t *testing.T) {
	command := []string{"docker-compose"}
	if _, err := exec.LookPath(command[0]); err != nil {
		if command = []string{"docker", "compose"}; exec.Command("docker", "compose", "version").Run() != nil {
			t.Skip("there is no Compose")
		}
	}
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "secrets"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"compose.yaml": read(t, composeFile), "secrets/dashboard_password": "x\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(command[0], append(command[1:], "-f", "compose.yaml", "config")...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "HERMES_IMAGE=mine:1", "PUID=1234")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "image: mine:1") || !strings.Contains(string(out), "1234") {
		t.Errorf("%v: %s", err, out)
	}
}
