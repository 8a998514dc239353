package doctor

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hermes.example/hermes/internal/daemon"
)

// engineAt makes the fake machine one with nothing on it but a socket; without a handler a dead one.
func (m *machine) engineAt(t *testing.T, path string, handler http.HandlerFunc) {
	t.Helper()
	m.root = shortDir(t)
	if err := os.MkdirAll(filepath.Dir(m.path(path)), 0o700); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", m.path(path))
	if err != nil {
		t.Fatal(err)
	}
	if handler == nil {
		listener.(*net.UnixListener).SetUnlinkOnClose(false)
		listener.Close()
		return
	}
	server := &http.Server{Handler: handler}
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
}

func hangs(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

func forbids(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) }

func TestDockerThatCannotBeUsed(t *testing.T) {
	const socket = "/var/run/docker.sock"
	systemd := map[string]string{"/run/systemd/system/x": ""}
	installed := map[string]string{"docker": "", "dockerd": ""}
	for _, c := range []struct {
		name            string
		files, programs map[string]string
		answer          http.HandlerFunc
		at, env         string
		found, fix      string
	}{
		{"absent", nil, map[string]string{"apt-get": ""}, nil, "", "", "not installed", "sudo apt-get install --yes docker.io"},
		{"client only", nil, map[string]string{"docker": "", "apk": ""}, nil, "", "", "only its client", "sudo apk add docker"},
		{"in a container", map[string]string{"/.dockerenv": ""}, map[string]string{"docker": "", "apk": ""}, nil, "", "", "no socket of its daemon is mounted", "docker run -v /var/run/docker.sock:/var/run/docker.sock … # when the container is made"},
		{"stopped", systemd, installed, nil, "", "", "daemon does not run", "sudo systemctl start docker"},
		{"stopped, no systemd", nil, installed, nil, "", "", "daemon does not run", "sudo sh -c 'dockerd >/var/log/dockerd.log 2>&1 &'"},
		{"killed", nil, installed, nil, socket, "", "connection refused", "sudo sh -c 'dockerd >/var/log/dockerd.log 2>&1 &'"},
		{"hangs", nil, installed, hangs, socket, "", "does not answer at unix://", "sudo service docker restart"},
		{"forbidden", nil, installed, forbids, socket, "", "ann may not use unix://", "sudo usermod -aG docker ann && newgrp docker"},
		{"another server", nil, map[string]string{"dnf": ""}, http.NotFound, socket, "", "does not answer at unix://", "sudo dnf install --assumeyes moby-engine"},
		{"chosen, absent", nil, installed, nil, "", "DOCKER_HOST=unix:///absent.sock", "DOCKER_HOST leads to unix:///absent.sock: there is nothing", "unset DOCKER_HOST # or start what it leads to"},
		{"chosen, impossible", nil, installed, nil, "", "DOCKER_HOST=ssh://h", "DOCKER_HOST cannot be used: Hermes opens no ssh", "unset DOCKER_HOST # or start what it leads to"},
		{"context", nil, installed, nil, "", "DOCKER_CONTEXT=gone", `context "gone" of DOCKER_CONTEXT cannot be used`, "unset DOCKER_CONTEXT # or start what it leads to"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := fake(t, c.files, c.programs)
			m.lookup = variable(c.env)
			if c.at != "" {
				m.engineAt(t, c.at, c.answer)
			}
			expect(t, only(t, containers(daemon.Docker)(t.Context(), m)), Note, c.found, c.fix)
		})
	}
	m := fake(t, nil, installed)
	m.lookup = variable("DOCKER_CONFIG=" + m.root)
	if err := os.WriteFile(m.path("config.json"), []byte(`{"currentContext": "gone"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	expect(t, only(t, containers(daemon.Docker)(t.Context(), m)), Note, `context "gone" of `, "docker context use default # or start what the context leads to")
}

// variable is an environment with at most one variable.
func variable(pair string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		if value, found := strings.CutPrefix(pair, name+"="); found {
			return value, true
		}
		return "", false
	}
}

func TestPodmanThatCannotBeUsed(t *testing.T) {
	podman := containers(daemon.Podman)
	installed := map[string]string{"podman": ""}
	expect(t, only(t, podman(t.Context(), fake(t, nil, map[string]string{"dnf": ""}))), Note, "not installed", "sudo dnf install --assumeyes podman")
	const byHand = "mkdir -p /run/podman && podman system service --time=0 unix:///run/podman/podman.sock &"
	expect(t, only(t, podman(t.Context(), fake(t, nil, installed))), Note, "nothing is at /run/podman/podman.sock", byHand)
	systemd := fake(t, map[string]string{"/run/systemd/system/x": ""}, installed)
	const byUser = "systemctl --user enable --now podman.socket"
	expect(t, only(t, podman(t.Context(), systemd)), Note, "its service does not run", byUser)
	systemd.uid = 0
	expect(t, only(t, podman(t.Context(), systemd)), Note, "its service does not run", "systemctl enable --now podman.socket")

	m := fake(t, nil, installed)
	m.engineAt(t, "/run/podman/podman.sock", hangs)
	expect(t, only(t, podman(t.Context(), m)), Note, "does not answer at unix://", byHand)
	m.engineAt(t, "/run/podman/podman.sock", forbids)
	expect(t, only(t, podman(t.Context(), m)), Note, "ann may not use", byHand)

	// What is said of Docker by DOCKER_HOST is nothing about Podman.
	m = fake(t, nil, installed)
	m.lookup = variable("DOCKER_HOST=unix:///absent.sock")
	expect(t, only(t, podman(t.Context(), m)), Note, "its service does not run", byHand)
	m.lookup = variable("CONTAINER_HOST=unix:///absent.sock")
	expect(t, only(t, podman(t.Context(), m)), Note, "CONTAINER_HOST leads to unix:///absent.sock", "unset CONTAINER_HOST # or start what it leads to")
}

func TestDockerForReal(t *testing.T) {
	conn, err := net.Dial("unix", "/var/run/docker.sock")
	if err != nil {
		t.Skipf("no Docker Engine: %v", err)
	}
	conn.Close()
	m := fake(t, nil, nil)
	m.root = ""
	f := only(t, containers(daemon.Docker)(t.Context(), m))
	if !strings.HasPrefix(f.Found, "version ") || !strings.Contains(f.Found, " at unix:///var/run/docker.sock, ") || (f.Fix == "") != (f.Severity == OK) {
		t.Errorf("%+v", f)
	}
}

func TestWhatAnEngineCannotEnforce(t *testing.T) {
	m := fake(t, nil, map[string]string{"apk": ""})
	all := daemon.Limits{Memory: true, CPUs: true, Pids: true}
	local := daemon.Endpoint{Kind: daemon.Docker, Host: "unix:///d.sock"}
	for _, c := range []struct {
		name       string
		found      daemon.Endpoint
		facts      daemon.Facts
		severity   Severity
		words, fix string
	}{
		{"nothing", local, daemon.Facts{Version: "1.2", OS: "linux", Limits: all}, OK, "version 1.2 at unix:///d.sock, not rootless; limits memory, cpus, pids", ""},
		{"rootless", local, daemon.Facts{OS: "linux", Rootless: true, CgroupVersion: "2", Limits: daemon.Limits{Memory: true, Pids: true}}, Note, ", rootless; cannot limit cpus", m.delegate()},
		{"rootless, version 1", local, daemon.Facts{OS: "linux", Rootless: true, CgroupVersion: "1"}, Note, "cannot limit memory, cpus, pids", "boot with systemd.unified_cgroup_hierarchy=1 on the kernel's command line"},
		{"no memory", local, daemon.Facts{OS: "linux", Limits: daemon.Limits{CPUs: true, Pids: true}}, Note, "cannot limit memory", "boot with cgroup_enable=memory on the kernel's command line"},
		{"no pids", local, daemon.Facts{OS: "linux", Limits: daemon.Limits{CPUs: true, Memory: true}}, Note, "cannot limit pids", "sudo apk upgrade && sudo reboot"},
		{"remote", daemon.Endpoint{Kind: daemon.Docker, Host: "tcp://h:1"}, daemon.Facts{OS: "linux"}, Note, "cannot limit", "docker --host tcp://h:1 info # shows what its machine lacks"},
	} {
		t.Run(c.name, func(t *testing.T) { expect(t, m.engine(c.found, c.facts), c.severity, c.words, c.fix) })
	}

	good := daemon.Facts{OS: "linux", Limits: all}
	passed := local
	passed.Passed = []*daemon.Error{{Reason: daemon.NotAllowed, Host: "unix:///other.sock", Why: "permission denied"}}
	expect(t, m.engine(passed, good), OK, "not used: unix:///other.sock, permission denied", "")
	passed.Passed = []*daemon.Error{{Reason: daemon.NotAnswering, Host: "unix:///other.sock", Why: "it hangs"}}
	expect(t, m.engine(passed, good), Note, "not used: unix:///other.sock, it hangs", "sudo service docker restart")
}

func TestAnEngineThatDoesNotTellItsFacts(t *testing.T) {
	afterPing := func(answer http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Api-Version", "1.41")
			if r.URL.Path != "/_ping" {
				answer(w, r)
			}
		}
	}
	m := fake(t, nil, nil)
	m.engineAt(t, "/var/run/docker.sock", afterPing(forbids))
	expect(t, only(t, containers(daemon.Docker)(t.Context(), m)), Note, "but cannot be used: cannot ask", "docker info # shows why")
	m.engineAt(t, "/var/run/docker.sock", afterPing(hangs))
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	expect(t, only(t, containers(daemon.Docker)(ctx, m)), Note, "but does not tell what it can do within ", again)
}
