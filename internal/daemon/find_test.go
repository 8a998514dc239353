package daemon

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestDockerAtTheUsualPlace(t *testing.T) {
	realDocker(t)
	e := find(t, Options{Lookup: lookup()}, Docker, "unix://"+realSocket)
	if e.Path() != realSocket || len(e.Passed) > 0 {
		t.Errorf("%+v", e)
	}
	c, err := e.Client()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	facts, err := e.Ask(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if c.ClientVersion() > facts.APIVersion {
		t.Errorf("the client speaks %s to an engine of %s", c.ClientVersion(), facts.APIVersion)
	}
}

// The override chooses the kind; one that is no executable file and no name of ours is passed over.
func TestD15TheOverrideChoosesTheKind(t *testing.T) {
	root, bin := shortDir(t), t.TempDir()
	linkDocker(t, root+"/var/run/docker.sock")
	socket := podmanService(t, root+"/run/podman/podman.sock")
	docker, podman := "unix://"+root+"/var/run/docker.sock", "unix://"+socket
	executable := write(t, bin+"/podman", "", 0o755)
	plain := write(t, bin+"/plain/podman", "", 0o644)
	for _, c := range []struct {
		name, value, host string
		kind              Kind
		warns             bool
	}{
		{"none", "", docker, Docker, false},
		{"an executable file", executable, podman, Podman, false},
		{"a bare name", "podman", podman, Podman, false},
		{"the other bare name", "docker", docker, Docker, false},
		{"a file that is not executable", plain, docker, Docker, true},
		{"no file", bin + "/absent/podman", docker, Docker, true},
		{"a directory", bin, docker, Docker, true},
		{"a strange name", "nerdctl", docker, Docker, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var warned []string
			find(t, Options{Root: root, Lookup: lookup("HERMES_DOCKER_BINARY=" + c.value), Warn: func(line string) { warned = append(warned, line) }}, c.kind, c.host)
			if len(warned) > 1 || (len(warned) == 1) != c.warns || c.warns && !strings.Contains(warned[0], c.value+" is ignored") {
				t.Errorf("it said %q", warned)
			}
		})
	}
}

func TestPodmanServesWhenDockerIsAbsent(t *testing.T) {
	root := shortDir(t)
	socket := podmanService(t, root+"/run/podman/podman.sock")
	find(t, Options{Root: root, Lookup: lookup()}, Podman, "unix://"+socket)
}

// Programs are looked for, and never run.
func TestNothingFoundSaysWhereItLookedAndStartsNothing(t *testing.T) {
	root, bin := shortDir(t), t.TempDir()
	env := lookup("PATH="+bin, "XDG_RUNTIME_DIR=/xdg")
	o := Options{Root: root, Lookup: env}
	fails(t, o, NotFound, "cannot find Docker or Podman: ", root+"/var/run/docker.sock", root+"/xdg/docker.sock", root+"/run/podman/podman.sock", "in PATH or the known locations", "; install ", "DOCKER_HOST")

	ran := bin + "/ran"
	program := "#!/bin/sh\necho $0 >>" + ran + "\n"
	write(t, bin+"/docker", program, 0o755)
	fails(t, o, NotFound, "only Docker's client is installed")
	write(t, bin+"/podman", program, 0o755)
	fails(t, o, NotFound, "podman system service --time=0 unix://")
	write(t, root+"/run/systemd/system/x", "", 0o644)
	fails(t, o, NotFound, "systemctl", "start podman.socket")
	write(t, bin+"/dockerd", program, 0o755)
	fails(t, o, NotFound, "systemctl start docker", "try again")
	fails(t, Options{Root: root, Lookup: env, Kind: Podman}, NotFound, "cannot find Podman", "start podman.socket")
	elsewhere := shortDir(t)
	write(t, elsewhere+"/opt/homebrew/bin/podman", program, 0o755)
	fails(t, Options{Root: elsewhere, Lookup: lookup()}, NotFound, "Podman is installed")
	if said, err := os.ReadFile(ran); err == nil {
		t.Errorf("it ran %s", said)
	}
}

// A proxy in front of the real engine has an outage of each kind; as soon as it is over the engine is found.
func TestAnOutageIsAnErrorAndIsForgotten(t *testing.T) {
	realDocker(t)
	socket := shortDir(t) + "/docker.sock"
	o := Options{Lookup: lookup("DOCKER_HOST=unix://" + socket)}
	fails(t, o, NotFound, "unix://"+socket, "DOCKER_HOST", "try again")

	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	listener.(*net.UnixListener).SetUnlinkOnClose(false)
	listener.Close()
	fails(t, o, NotAnswering, "connection refused", "try again")
	os.Remove(socket)

	var fault atomic.Pointer[http.HandlerFunc]
	proxy := inFront()
	serve(t, socket, func(w http.ResponseWriter, r *http.Request) {
		if f := fault.Load(); f != nil {
			(*f)(w, r)
			return
		}
		proxy.ServeHTTP(w, r)
	})
	for _, c := range []struct {
		name   string
		fault  http.HandlerFunc
		reason Reason
		words  []string
	}{
		{"500", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "out of\nmemory", 500) }, NotAnswering, []string{"out of memory", "try again"}},
		{"hang", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, NotAnswering, []string{"no answer within ", "try again"}},
		{"cut", func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }, NotAnswering, []string{"it hung up", "try again"}},
		{"forbidden", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "not you", http.StatusForbidden) }, NotAllowed, []string{"not you"}},
		{"another server", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }, Unusable, []string{"neither Docker nor Podman"}},
		{"no page", http.NotFound, Unusable, []string{"404"}},
		{"a long page", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, strings.Repeat("long ", 10000), 404) }, Unusable, []string{"…; correct DOCKER_HOST"}},
		{"old", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Api-Version", "1.39") }, Unusable, []string{"1.39", "1.40"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			fault.Store(&c.fault)
			faulty := o
			if c.name == "hang" {
				faulty.Patience = 300 * time.Millisecond
			}
			began := time.Now()
			fails(t, faulty, c.reason, c.words...)
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("it took %v", took)
			}
			fault.Store(nil)
			find(t, o, Docker, "unix://"+socket)
		})
	}
}

// Among the usual places the first that answers wins, and what it was preferred to is told.
func TestAUsualPlaceThatFailsIsPassedOverNotForgotten(t *testing.T) {
	root := shortDir(t)
	serve(t, root+"/var/run/docker.sock", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	o := Options{Root: root, Lookup: lookup("XDG_RUNTIME_DIR=/xdg"), Patience: time.Second}
	fails(t, o, NotAnswering, "cannot reach Docker at unix://"+root+"/var/run/docker.sock: no answer", "start it with")
	serve(t, root+"/run/podman/podman.sock", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "broken", 500) })
	failed := fails(t, o, NotAnswering, "no answer", "nor reach Podman at unix://"+root+"/run/podman/podman.sock: ", "broken")
	if len(failed.Others) != 1 || failed.Others[0].Kind != Podman {
		t.Errorf("%+v", failed.Others)
	}

	linkDocker(t, root+"/xdg/docker.sock")
	e := find(t, Options{Root: root, Lookup: o.Lookup, Patience: 2 * time.Second}, Docker, "unix://"+root+"/xdg/docker.sock")
	if len(e.Passed) != 1 || e.Passed[0].Reason != NotAnswering || e.Passed[0].Host != "unix://"+root+"/var/run/docker.sock" {
		t.Errorf("%+v", e.Passed)
	}
}

func TestWhatWasChosenIsNotReplaced(t *testing.T) {
	realDocker(t)
	for _, pair := range []string{"DOCKER_HOST=unix:///absent.sock", "CONTAINER_HOST=unix:///absent.sock"} {
		fails(t, Options{Lookup: lookup(pair)}, NotFound, "/absent.sock")
	}
	fails(t, Options{Lookup: lookup("DOCKER_HOST=tcp://127.0.0.1:1")}, NotAnswering, "tcp://127.0.0.1:1", "nobody listens", "try again")
}

func TestTheKindThatWasAskedForMustAnswer(t *testing.T) {
	realDocker(t)
	host := "unix://" + realSocket
	fails(t, Options{Lookup: lookup("HERMES_DOCKER_BINARY=podman", "DOCKER_HOST="+host)}, Unusable, "cannot reach Podman at "+host, "Docker answers there", "HERMES_DOCKER_BINARY=docker")
	fails(t, Options{Lookup: lookup("CONTAINER_HOST=" + host)}, Unusable, "Docker answers there")
	// Podman's variable is nothing to whoever wants Docker, and comes before Docker's for whoever wants Podman.
	find(t, Options{Kind: Docker, Lookup: lookup("CONTAINER_HOST=unix:///absent.sock")}, Docker, host)
	fails(t, Options{Kind: Podman, Lookup: lookup("CONTAINER_HOST=unix:///absent.sock", "DOCKER_HOST="+host)}, NotFound, "/absent.sock")
	find(t, Options{Lookup: lookup("CONTAINER_HOST=unix:///absent.sock", "DOCKER_HOST="+host)}, Docker, host)

	root := shortDir(t)
	socket := podmanService(t, root+"/run/podman/podman.sock")
	if err := os.MkdirAll(root+"/var/run", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(socket, filepath.Join(root, "var/run/docker.sock")); err != nil {
		t.Fatal(err)
	}
	find(t, Options{Root: root, Lookup: lookup()}, Podman, "unix://"+root+"/var/run/docker.sock")
	fails(t, Options{Root: root, Lookup: lookup(), Kind: Docker}, Unusable, "Podman answers there", "HERMES_DOCKER_BINARY=podman")
}

func TestWhoGivesUpIsNotToldOfAnEngine(t *testing.T) {
	socket := shortDir(t) + "/docker.sock"
	ctx, cancel := context.WithCancel(t.Context())
	serve(t, socket, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	for _, o := range []Options{{Lookup: lookup("DOCKER_HOST=unix://" + socket)}, {Lookup: lookup(), Root: "/nowhere"}} {
		var failed *Error
		if _, err := Find(ctx, o); !errors.Is(err, context.Canceled) || errors.As(err, &failed) {
			t.Errorf("got %v", err)
		}
	}
}
