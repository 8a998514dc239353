package daemon

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"hermes.example/hermes/internal/config"
)

// usual are the places of the wanted kind, or of both, in the order in which they are asked: Docker's
// before Podman's, the machine's Docker before the user's own, and the user's own Podman before the
// machine's, as podman itself does.
func (s *search) usual() []place {
	places := s.unixPlaces()
	if s.goos == "windows" {
		places = windowsPlaces
	}
	var wanted []place
	for _, p := range places {
		again := slices.ContainsFunc(wanted, func(w place) bool { return w.host == p.host })
		if !again && (s.Kind == "" || s.Kind == p.kind) {
			p.from, p.must = usually, s.Kind
			wanted = append(wanted, p)
		}
	}
	return wanted
}

var windowsPlaces = []place{
	{kind: Docker, host: "npipe:////./pipe/docker_engine", start: "docker desktop start"},
	{kind: Docker, host: "npipe:////./pipe/dockerDesktopLinuxEngine", start: "docker desktop start"},
	{kind: Podman, host: "npipe:////./pipe/podman-machine-default", start: "podman machine start"},
}

const usually = "the usual place"

func (s *search) unixPlaces() []place {
	var places []place
	add := func(kind Kind, socket, start string) {
		// What hangs on a directory that this user does not have is no place.
		if path.IsAbs(socket) {
			places = append(places, place{kind: kind, host: "unix://" + path.Join(s.Root, socket), start: start})
		}
	}
	home, _ := config.ExpandHome(s.Lookup, "~")
	if s.goos == "darwin" {
		add(Docker, "/var/run/docker.sock", "open -a Docker")
		add(Docker, path.Join(home, ".docker/run/docker.sock"), "open -a Docker")
		add(Docker, path.Join(home, ".colima/default/docker.sock"), "colima start")
		add(Docker, path.Join(home, ".config/colima/default/docker.sock"), "colima start")
		add(Docker, path.Join(home, ".orbstack/run/docker.sock"), "open -a OrbStack")
		add(Docker, path.Join(home, ".rd/docker.sock"), "rdctl start")
		add(Docker, path.Join(home, "Library/Containers/com.docker.docker/Data/docker.raw.sock"), "open -a Docker")
		add(Podman, path.Join(home, ".local/share/containers/podman/machine/podman.sock"), "podman machine start")
		add(Podman, path.Join(home, ".local/share/containers/podman/machine/podman-machine-default/podman.sock"), "podman machine start")
		add(Podman, path.Join(home, ".local/share/containers/podman/machine/qemu/podman.sock"), "podman machine start")
		add(Podman, path.Join(s.env("TMPDIR"), "podman/podman-machine-default-api.sock"), "podman machine start")
		return places
	}
	own, usersRun := s.env("XDG_RUNTIME_DIR"), fmt.Sprintf("/run/user/%d", s.uid)
	add(Docker, "/var/run/docker.sock", s.startDocker())
	add(Docker, path.Join(own, "docker.sock"), "systemctl --user start docker")
	add(Docker, path.Join(usersRun, "docker.sock"), "systemctl --user start docker")
	add(Docker, path.Join(home, ".docker/desktop/docker.sock"), "systemctl --user start docker-desktop")
	const socket = "podman/podman.sock"
	if s.uid == 0 {
		add(Podman, "/run/"+socket, s.startPodman("/run/"+socket))
	}
	for _, dir := range []string{own, usersRun} {
		add(Podman, path.Join(dir, socket), s.startPodman(path.Join(dir, socket)))
	}
	add(Podman, "/run/"+socket, s.startPodman("/run/"+socket))
	return places
}

func (s *search) startDocker() string {
	if s.exists("/run/systemd/system") {
		return s.sudo() + "systemctl start docker"
	}
	return s.sudo() + "service docker start"
}

// startPodman is for the machine's service or for the user's own.
func (s *search) startPodman(socket string) string {
	sudo, user := "", " --user"
	if strings.HasPrefix(socket, "/run/podman/") {
		sudo, user = s.sudo(), ""
	}
	if s.exists("/run/systemd/system") {
		return sudo + "systemctl" + user + " start podman.socket"
	}
	return sudo + "podman system service --time=0 unix://" + socket + " &"
}

func (s *search) sudo() string {
	if s.uid == 0 {
		return ""
	}
	return "sudo "
}

func (s *search) exists(path string) bool {
	_, err := os.Stat(filepath.Join(s.Root, path))
	return err == nil
}

// known are directories of programs beside the PATH.
var known = []string{"/usr/local/bin", "/usr/sbin", "/opt/homebrew/bin", "/Applications/Docker.app/Contents/Resources/bin"}

// program looks for a program, only to give advice; it is never run.
func (s *search) program(name string) string {
	if s.goos == "windows" {
		name += ".exe"
	}
	dirs := filepath.SplitList(s.env("PATH"))
	for _, dir := range known {
		dirs = append(dirs, filepath.Join(s.Root, dir))
	}
	for _, dir := range dirs {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && (s.goos == "windows" || info.Mode()&0o111 != 0) {
			return file
		}
	}
	return ""
}

// nowhere is the error where none of the usual places has anything.
func (s *search) nowhere(places []place) *Error {
	var looked []string
	starts := make(map[Kind]string)
	for _, p := range places {
		looked = append(looked, cmp.Or(socketPath(p.host), p.host))
		starts[p.kind] = cmp.Or(starts[p.kind], p.start)
	}
	e := &Error{Reason: NotFound, Kind: s.Kind, what: "find " + s.Kind.title(), Why: "there is no socket at " + strings.Join(looked, ", ")}
	docker, podman := s.program("docker"), s.program("podman")
	engine := s.program("dockerd")
	if s.goos != "linux" {
		engine = docker // its engine is in a virtual machine that comes with it
	}
	switch {
	case engine != "" && s.Kind != Podman:
		e.Fix = fmt.Sprintf("Docker is installed and does not run: start it with %q and try again, or set DOCKER_HOST to where it listens", starts[Docker])
	case podman != "" && s.Kind != Docker:
		e.Fix = fmt.Sprintf("Podman is installed and its service does not run: start it with %q and try again, or set CONTAINER_HOST to where it listens", starts[Podman])
	case docker != "" && s.Kind != Podman:
		e.Fix = fmt.Sprintf("only Docker's client is installed (%s): install the engine too, or set DOCKER_HOST to where one is", docker)
	case s.Kind == Podman:
		e.Why += ", and no podman in PATH or the known locations"
		e.Fix = "install Podman, or set CONTAINER_HOST to where one is"
	default:
		e.Why += ", and no " + strings.ToLower(s.Kind.title()) + " in PATH or the known locations"
		e.Fix = "install " + s.Kind.title() + ", or set DOCKER_HOST to where one is"
	}
	return e
}
