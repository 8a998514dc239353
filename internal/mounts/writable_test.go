//go:build unix

package mounts

import (
	"os"
	"strings"
	"testing"

	"hermes.example/hermes/sandbox"
)

func TestOnlySafeRootsAreMountedWritable(t *testing.T) {
	w := newWorld(t)
	safe, other := w.user+"/safe", w.user+"/other"
	w.write(safe+"/in/file", "")
	w.write(other+"/file", "")
	if err := os.Symlink(other, safe+"/out"); err != nil {
		t.Fatal(err)
	}
	w.set("TERMINAL_DOCKER_MOUNT_CWD_TO_WORKSPACE", "true")
	volumes := []string{safe + ":/a", safe + "/in:/b", other + ":/c", other + ":/d:ro", w.user + "/safer:/e", safe + "/out/file:/f"}
	w.write(w.user+"/safer/file", "")
	w.set("TERMINAL_DOCKER_VOLUMES", volumes)
	all := []string{w.cwd + ":/workspace", safe + ":/a", safe + "/in:/b", other + ":/c", other + ":/d:ro", w.user + "/safer:/e"}
	leads := "/f: a link leads out"
	w.expects(all, []string{leads})

	w.set("HERMES_WRITE_SAFE_ROOT", safe)
	outside := "outside of HERMES_WRITE_SAFE_ROOT (" + safe + ")"
	w.expects([]string{w.cwd + ":/workspace:ro", safe + ":/a", safe + "/in:/b", other + ":/c:ro", other + ":/d:ro", w.user + "/safer:/e:ro"},
		[]string{w.cwd + " at /workspace writable: it is " + outside, other + " at /c writable: it is " + outside, "/e writable", leads})
	w.set("HERMES_WRITE_SAFE_ROOT", safe+":"+w.cwd)
	w.expects([]string{w.cwd + ":/workspace", safe + ":/a", safe + "/in:/b", other + ":/c:ro", other + ":/d:ro", w.user + "/safer:/e:ro"},
		[]string{"/c writable", "/e writable", leads})

	h := w.host()
	for _, c := range []struct {
		mount   sandbox.Mount
		allowed bool
	}{
		{sandbox.Mount{Source: safe, Target: "/x"}, true}, {sandbox.Mount{Source: w.cwd, Target: "/x"}, true},
		{sandbox.Mount{Source: other, Target: "/x", ReadOnly: true}, true}, {sandbox.Mount{Source: other, Target: "/x"}, false},
		{sandbox.Mount{Source: safe + "/out", Target: "/x"}, false},
	} {
		err := h.Allowed(c.mount)
		_, extraErr := h.Extra([]sandbox.Mount{c.mount}, nil)
		if (err == nil) != c.allowed || (extraErr == nil) != c.allowed {
			t.Errorf("%+v: %v, %v", c.mount, err, extraErr)
		}
		if err != nil && !strings.Contains(err.Error(), "outside of HERMES_WRITE_SAFE_ROOT ("+safe+":"+w.cwd+"); mount it read-only") {
			t.Errorf("%+v: %v", c.mount, err)
		}
	}
	given, warnings := h.Bounded([]sandbox.Mount{{Source: other, Target: "/x"}, {Source: safe, Target: "/y"}})
	if !given[0].ReadOnly || given[1].ReadOnly || len(warnings) != 1 {
		t.Errorf("what was asked for before: %+v, %q", given, warnings)
	}
}
