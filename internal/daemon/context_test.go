package daemon

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// makeContext writes a context as Docker's tool does, and returns the directory of its certificates.
func makeContext(t *testing.T, dir, name, host string, skipVerify bool) string {
	t.Helper()
	id := fmt.Sprintf("%x", sha256.Sum256([]byte(name)))
	meta, err := json.Marshal(map[string]any{"Name": name, "Metadata": map[string]any{}, "Endpoints": map[string]any{"docker": map[string]any{"Host": host, "SkipTLSVerify": skipVerify}}})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "contexts/meta", id, "meta.json"), string(meta), 0o644)
	return filepath.Join(dir, "contexts/tls", id, "docker")
}

func TestContexts(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, ".docker")
	host := "unix://" + shortDir(t) + "/docker.sock"
	linkDocker(t, strings.TrimPrefix(host, "unix://"))
	makeContext(t, dir, "mine", host, false)
	makeContext(t, dir, "down", "unix:///absent.sock", false)
	makeContext(t, dir, "far", "ssh://ann:secret@far:2222", false)
	makeContext(t, dir, "empty", "", false)
	broken := makeContext(t, dir, "broken", "", false)
	write(t, strings.Replace(filepath.Dir(broken), "/tls/", "/meta/", 1)+"/meta.json", "{", 0o644)
	usual := "unix://" + realSocket

	find(t, Options{Lookup: lookup("HOME=" + home)}, Docker, usual)
	e := find(t, Options{Lookup: lookup("HOME="+home, "DOCKER_CONTEXT=mine")}, Docker, host)
	if e.From != `context "mine" of DOCKER_CONTEXT` {
		t.Errorf("from %s", e.From)
	}
	find(t, Options{Lookup: lookup("DOCKER_CONFIG="+dir, "DOCKER_CONTEXT=mine")}, Docker, host)
	find(t, Options{Lookup: lookup("HOME="+home, "DOCKER_CONTEXT=default")}, Docker, usual)
	find(t, Options{Lookup: lookup("HOME="+home, "DOCKER_CONTEXT=down", "DOCKER_HOST="+host)}, Docker, host)

	write(t, dir+"/config.json", `{"auths": {}, "currentContext": "mine"}`, 0o600)
	e = find(t, Options{Lookup: lookup("HOME=" + home)}, Docker, host)
	if !strings.Contains(e.From, dir+"/config.json") {
		t.Errorf("from %s", e.From)
	}
	find(t, Options{Lookup: lookup("HOME="+home, "DOCKER_CONTEXT=default")}, Docker, usual)

	fails(t, Options{Lookup: lookup("HOME="+home, "DOCKER_CONTEXT=down")}, NotFound, "/absent.sock", `context "down"`)
	fails(t, Options{Lookup: lookup("HOME="+home, "DOCKER_CONTEXT=absent")}, Unusable, `cannot use context "absent" of DOCKER_CONTEXT: there is no such context`, "docker context use")
	fails(t, Options{Lookup: lookup("HOME="+home, "DOCKER_CONTEXT=empty")}, Unusable, "no address")
	fails(t, Options{Lookup: lookup("HOME="+home, "DOCKER_CONTEXT=broken")}, Unusable, "cannot be read")
	far := fails(t, Options{Lookup: lookup("HOME="+home, "DOCKER_CONTEXT=far")}, Unusable, "ssh", "-p 2222 ann@far")
	if strings.Contains(far.Error(), "secret") {
		t.Errorf("it tells the password: %v", far)
	}

	// Contexts are Docker's: who wants Podman is not led astray by one.
	fails(t, Options{Kind: Podman, Root: shortDir(t), Lookup: lookup("HOME=" + home)}, NotFound, "cannot find Podman")

	write(t, dir+"/config.json", `{`, 0o600)
	var warned []string
	find(t, Options{Lookup: lookup("HOME=" + home), Warn: func(line string) { warned = append(warned, line) }}, Docker, usual)
	if len(warned) != 1 || !strings.Contains(warned[0], "config.json") {
		t.Errorf("it said %q", warned)
	}
}

func TestAContextOfTheRealTool(t *testing.T) {
	program, err := exec.LookPath("docker")
	if err != nil {
		t.Skip("docker's own tool is not installed")
	}
	dir := t.TempDir()
	host := "unix://" + shortDir(t) + "/docker.sock"
	linkDocker(t, strings.TrimPrefix(host, "unix://"))
	for _, args := range [][]string{{"create", "odd.Name-1", "--docker", "host=" + host}, {"use", "odd.Name-1"}} {
		cmd := exec.Command(program, append([]string{"context"}, args...)...)
		cmd.Env = []string{"DOCKER_CONFIG=" + dir, "HOME=" + dir}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	find(t, Options{Lookup: lookup("DOCKER_CONFIG=" + dir)}, Docker, host)
}
