package image

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"

	"hermes.example/hermes/internal/entry"
)

// files are the names below a directory of an image, without starting anything in it.
func files(t *testing.T, image, dir string) map[string]*tar.Header {
	t.Helper()
	id := strings.TrimSpace(docker(t, "create", image))
	t.Cleanup(func() { _ = exec.Command("docker", "rm", "--force", "--volumes", id).Run() })
	cmd := exec.CommandContext(t.Context(), "docker", "cp", id+":"+dir, "-")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]*tar.Header{}
	for in := tar.NewReader(out); ; {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		found[path.Join(path.Dir(dir), header.Name)] = header
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	return found
}

// All of the sealed tree is root's, everybody can read it, and nobody else can write any of it.
func TestTheSealedTreeIsRootsAndReadable(t *testing.T) {
	t.Parallel()
	for _, image := range targets(t) {
		tree := files(t, image, "/opt/hermes")
		if len(tree) < 1000 {
			t.Fatalf("%s: %d files", image, len(tree))
		}
		for name, h := range tree {
			mode := h.FileInfo().Mode()
			readable := fs.FileMode(0o444)
			if mode.IsDir() || mode&0o100 != 0 {
				readable = 0o555
			}
			switch {
			case h.Uid != 0 || h.Gid != 0:
				t.Errorf("%s: %s belongs to %d:%d", image, name, h.Uid, h.Gid)
			case mode.Type() == fs.ModeSymlink:
			case mode&0o022 != 0 || mode&readable != readable || mode&(fs.ModeSetuid|fs.ModeSetgid) != 0:
				t.Errorf("%s: %s has the mode %v", image, name, mode)
			}
		}
		if h := tree["/opt/hermes"]; h.FileInfo().Mode().Perm() != 0o755 {
			t.Errorf("%s: /opt/hermes has the mode %v", image, h.FileInfo().Mode())
		}
	}
}

// The names of images before this one are there, and the real program.
func TestTheNamesOfTheEntrypoint(t *testing.T) {
	t.Parallel()
	for _, image := range targets(t) {
		tree := files(t, image, "/opt/hermes")
		for _, link := range entry.Links {
			of := tree
			if !strings.HasPrefix(link.Name, "/opt/hermes/") {
				of = files(t, image, link.Name)
			}
			if h := of[link.Name]; h == nil || h.Typeflag != tar.TypeSymlink || h.Linkname != link.To {
				t.Errorf("%s: %s is %+v", image, link.Name, h)
			}
		}
		for _, program := range []string{entry.Program, entry.Init, entry.Shim} {
			if h := tree[program]; h == nil || h.Typeflag != tar.TypeReg || h.Mode&0o111 != 0o111 {
				t.Errorf("%s: %s is %+v", image, program, h)
			}
		}
	}
}

func TestTheServiceUserAndItsHome(t *testing.T) {
	t.Parallel()
	for _, image := range targets(t) {
		if said := inside(t, image, "sh", "-c", "getent passwd hermes; getent group hermes; id"); said != "hermes:x:10000:10000::/opt/data:/bin/bash\nhermes:x:10000:\nuid=10000(hermes) gid=10000(hermes) groups=10000(hermes)\n" {
			t.Errorf("%s: %s", image, said)
		}
		if home := files(t, image, "/opt/data"); len(home) != 1 || home["/opt/data"].Uid != 10000 || home["/opt/data"].Gid != 10000 || home["/opt/data"].Mode&0o7777 != 0o755 {
			t.Errorf("%s: a new volume begins with %v", image, home)
		}
	}
}

func TestB34TheSealedTreeRefusesWritesAndTheVolumeTakesThem(t *testing.T) {
	t.Parallel()
	need(t)
	said := inside(t, image, "sh", "-c", `for f in /opt/hermes/x /opt/hermes/.venv/x /opt/hermes/.venv/lib/python3.11/site-packages/x /opt/data/skills/x
		do touch $f 2>/dev/null && echo "$f yes" || echo "$f no"; done; id -un`)
	want := "/opt/hermes/x no\n/opt/hermes/.venv/x no\n/opt/hermes/.venv/lib/python3.11/site-packages/x no\n/opt/data/skills/x yes\nhermes\n"
	if said != want {
		t.Errorf("it says\n%s", said)
	}
}

func TestB35TheInstallMarkIsInTheSealedTreeOnly(t *testing.T) {
	t.Parallel()
	need(t)
	if said := inside(t, image, "sh", "-c", "cat /opt/hermes/.install_method; find /opt/data -name .install_method"); said != "docker\n" {
		t.Errorf("it says %q", said)
	}
}

func TestB47ALoginShellFindsTheSealedInterpreter(t *testing.T) {
	t.Parallel()
	need(t)
	said := strings.Fields(inside(t, image, "bash", "-lc", "command -v python3; command -v hermes; id -un; echo $PATH"))
	if !slices.Equal(said[:3], []string{"/opt/hermes/.venv/bin/python3", "/opt/hermes/bin/hermes", "hermes"}) ||
		!strings.HasPrefix(said[3], "/opt/hermes/bin:/opt/hermes/.venv/bin:/opt/data/.local/bin:/usr/") {
		t.Errorf("it finds %q", said)
	}
}

// The image says where add-ons go, boot makes that directory, and the installer uses it.
func TestA120ImageBootAndInstallerAgreeOnTheStore(t *testing.T) {
	t.Parallel()
	need(t)
	const place = "/opt/data/lazy-packages"
	if env := inspected(t, image).Env; !slices.Contains(env, "HERMES_LAZY_INSTALL_TARGET="+place) || !slices.Contains(env, "HERMES_DISABLE_LAZY_INSTALLS=1") {
		t.Errorf("the image has %q", env)
	}
	made, status, _ := strings.Cut(inside(t, image, "sh", "-c", "stat -c %U "+place+"; hermes addon status --json"), "\n")
	var addons struct {
		Target, Runtime string
		Features        []struct{ Name, State, Lock, Reason string }
	}
	if err := json.Unmarshal([]byte(status), &addons); err != nil {
		t.Fatal(err)
	}
	if made != "hermes" || addons.Target != place || addons.Runtime != "/opt/hermes/.venv" {
		t.Errorf("boot made it for %q; the installer uses %s for %s", made, addons.Target, addons.Runtime)
	}
	// The locks are those of this very runtime.
	shipped := 0
	for _, f := range addons.Features {
		// What needs Node.js says so: this image has none.
		if f.Name == "mcp.memory" && (f.State != "unavailable" || f.Lock != "shipped" || !strings.Contains(f.Reason, "Node.js")) {
			t.Errorf("%+v", f)
		}
		if f.State == "available" && f.Lock == "shipped" {
			shipped++
		}
	}
	if shipped < 35 {
		t.Errorf("%d features can be installed: %+v", shipped, addons.Features)
	}
}
