package docker_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/enginetest/account"
	"hermes.example/hermes/test/containers"
)

// asOrdinary is the part of the suite in which it matters who calls.
const asOrdinary = "TestDocker$/^(commands|ephemeral|files|life|reuse|sessions|users)"

// TestDockerAsOrdinaryUser runs it as a user who may speak to the daemon and nothing else.
func TestDockerAsOrdinaryUser(t *testing.T) { asMember(t, asOrdinary) }

// TestOthersFilesAsOrdinaryUser removes what that user alone could not.
func TestOthersFilesAsOrdinaryUser(t *testing.T) {
	asked := asMember(t, "TestFilesOfOtherUsersAreRemoved")
	erases := func(request string) bool {
		return strings.HasPrefix(request, "POST /containers/") && strings.HasSuffix(request, "/wait")
	}
	if !t.Failed() && !t.Skipped() && !slices.ContainsFunc(asked, erases) {
		t.Error("no container was needed for it")
	}
}

// asMember runs tests as a new user, as if that were in the group that owns the daemon's
// socket, and returns what the daemon was asked.
func asMember(t *testing.T, tests string) []string {
	t.Helper()
	api := containers.Docker(t)
	a := account.New(t, false)
	proxy := containers.NewProxy(t, api)
	socket := strings.TrimPrefix(proxy.Host, "unix://")
	for path, mode := range map[string]os.FileMode{filepath.Dir(socket): 0o755, socket: 0o666} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	a.Run(t, tests, "DOCKER_HOST="+proxy.Host, imageVariable+"="+containers.Debian.In(t, api))
	return proxy.Requests()
}

// TestFilesOfOtherUsersAreRemoved is about what users of a sandbox leave outside.
func TestFilesOfOtherUsersAreRemoved(t *testing.T) {
	f := newFar(t, containers.Docker(t))
	victim := t.TempDir()
	if err := os.WriteFile(filepath.Join(victim, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f.says("cd; mkdir -p closed/deep; echo x >closed/deep/file; chown -R 1234:1234 closed; chmod 0 closed/deep; chmod 700 closed;"+
		" mkdir sticky; chmod 1777 sticky; touch sticky/a; chown 77 sticky/a sticky; ln -s "+victim+" link; ln -s "+victim+" /workspace/link", "")
	if err := f.Remove(f.bounded(), f.id, true); err != nil {
		t.Error(err)
	}
	if left, err := filepath.Glob(filepath.Join(f.id.Home, "sandboxes", "docker", "*")); err != nil || len(left) > 0 {
		t.Errorf("it left %q, %v", left, err)
	}
	if _, err := os.Stat(filepath.Join(victim, "file")); err != nil {
		t.Errorf("a link was followed: %v", err)
	}
	if kept, err := f.keeps(); err != nil || kept {
		t.Errorf("it keeps files: %t, %v", kept, err)
	}
	// Another user than the caller, who may not give files away.
	f.says("id -u; touch ~/a /workspace/b && stat -c %u ~/a", "4321\n4321", func(s *sandbox.Spec) { s.User = "4321" })
	if err := f.Remove(f.bounded(), f.id, true); err != nil {
		t.Error(err)
	}
	if left, err := filepath.Glob(filepath.Join(f.id.Home, "sandboxes", "docker", "*")); err != nil || len(left) > 0 {
		t.Errorf("it left %q, %v", left, err)
	}
}
