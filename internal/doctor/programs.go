package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"strings"
)

// docker looks for the daemon, not only for the program.
func docker(ctx context.Context, m *machine) []Finding {
	const name = "docker"
	path, err := m.find("docker")
	if err != nil {
		return []Finding{Note.finding(name, m.install("docker"), "not installed; only its engine needs it")}
	}
	version, err := m.run(ctx, path, "version", "--format", "{{.Server.Version}}")
	switch {
	case err == nil && version != "":
		return []Finding{ok(name, "the daemon answers, version %s", version)}
	case errors.Is(err, errHangs):
		return []Finding{Note.finding(name, m.restart("docker"), "installed, but its daemon does not answer")}
	case err != nil && strings.Contains(err.Error(), "permission denied"):
		return []Finding{Note.finding(name, m.sudo()+"usermod -aG docker "+quote(m.who())+" && newgrp docker", "installed, but %s may not talk to its daemon", m.who())}
	}
	if !m.hasAdmin("dockerd") && m.env("DOCKER_HOST") == "" {
		return []Finding{Note.finding(name, m.install("docker"), "only its client is installed")}
	}
	return []Finding{Note.finding(name, m.start("docker", "sh -c 'dockerd >/var/log/dockerd.log 2>&1 &'"), "installed, but its daemon does not run")}
}

func (m *machine) restart(service string) string {
	if m.hasSystemd() {
		return m.sudo() + "systemctl restart " + service
	}
	return m.sudo() + "service " + service + " restart"
}

// podman has no daemon; a socket is what its Docker-compatible side is reached by.
func podman(ctx context.Context, m *machine) []Finding {
	const name = "podman"
	path, err := m.find("podman")
	if err != nil {
		return []Finding{Note.finding(name, m.install("podman"), "not installed; only its engine needs it")}
	}
	version, err := m.run(ctx, path, "--version")
	if err != nil {
		return []Finding{Note.finding(name, quote(path)+" info", "installed, but does not work: %v", err)}
	}
	version = strings.TrimPrefix(version, "podman version ")
	socket := m.podmanSocket()
	if err := answers(ctx, m.path(socket)); err != nil {
		return []Finding{Note.finding(name, m.podmanService(socket), "version %s, but nothing answers at %s", version, socket)}
	}
	return []Finding{ok(name, "version %s, answers at %s", version, socket)}
}

func (m *machine) podmanSocket() string {
	dir := "/run"
	if m.uid != 0 && m.env("XDG_RUNTIME_DIR") != "" {
		dir = m.env("XDG_RUNTIME_DIR")
	}
	return filepath.Join(dir, "podman", "podman.sock")
}

func (m *machine) podmanService(socket string) string {
	switch {
	case m.hasSystemd() && m.uid == 0:
		return "systemctl enable --now podman.socket"
	case m.hasSystemd():
		return "systemctl --user enable --now podman.socket"
	}
	return "mkdir -p " + quote(filepath.Dir(socket)) + " && podman system service --time=0 unix://" + quote(socket) + " &"
}

// answers asks a socket that speaks Docker's API for its version.
func answers(ctx context.Context, socket string) error {
	ctx, cancel := context.WithTimeout(ctx, programBound)
	defer cancel()
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://podman/version", nil)
	if err != nil {
		return err
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	return json.NewDecoder(response.Body).Decode(new(map[string]any))
}

// interpreter looks for a language that add-ons are written in.
func interpreter(name, program string) func(context.Context, *machine) []Finding {
	return func(ctx context.Context, m *machine) []Finding {
		path, err := m.find(program)
		if err != nil {
			return []Finding{Note.finding(name, m.install(program), "no %s on the PATH; add-ons in it will not run", program)}
		}
		version, err := m.run(ctx, path, "--version")
		if err != nil {
			return []Finding{Note.finding(name, quote(path)+" --version # shows why", "%s does not work: %v", path, err)}
		}
		return []Finding{ok(name, "%s at %s", strings.TrimPrefix(firstLine(version), "Python "), path)}
	}
}
