package docker_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/test/containers"
)

var defaultCapabilities = []string{"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_SETGID", "CAP_SETUID"}

// contract is what the configuration asks for by default.
func contract() sandbox.Spec {
	return sandbox.Spec{Network: sandbox.NetworkBridge, Limits: sandbox.Limits{CPUs: 1, Memory: 5120 << 20, Pids: 256, SharedMemory: 1 << 30}}
}

// Case 6.
func TestTheDefaultIsHardened(t *testing.T) {
	w := onDocker(t)
	box, c := w.make("default", contract())
	h := c.HostConfig
	if !slices.Equal(h.CapDrop, []string{"ALL"}) || !slices.Equal(h.CapAdd, defaultCapabilities) {
		t.Errorf("it drops %q and adds %q", h.CapDrop, h.CapAdd)
	}
	if !slices.Equal(h.SecurityOpt, []string{"no-new-privileges"}) || h.Privileged || len(h.MaskedPaths) == 0 || len(h.Devices) > 0 {
		t.Errorf("its security is %q, privileged %v, masked %q, devices %v", h.SecurityOpt, h.Privileged, h.MaskedPaths, h.Devices)
	}
	if h.PidsLimit == nil || *h.PidsLimit != 256 || h.Memory != 5120<<20 || h.NanoCPUs != 1e9 || h.ShmSize != 1<<30 {
		t.Errorf("its limits are %v, %d, %d, %d", h.PidsLimit, h.Memory, h.NanoCPUs, h.ShmSize)
	}
	want := map[string]string{"/tmp": "rw,exec,nosuid,size=512m", "/var/tmp": "rw,noexec,nosuid,size=256m", "/run": "rw,noexec,nosuid,size=64m"}
	if !maps.Equal(h.Tmpfs, want) {
		t.Errorf("in memory it has %v", h.Tmpfs)
	}
	if h.Init == nil || *h.Init || !isGuest(c) {
		t.Errorf("init %v, PID 1 is %s", h.Init, c.Path)
	}
	if out, res := w.run(box, "cp /bin/busybox /tmp/true && /tmp/true && cp /bin/busybox /run/true && ! /run/true 2>/dev/null && echo yes"); out != "yes" {
		t.Errorf("programs in memory: %q %+v", out, res)
	}
	for name, f := range w.facts(box) {
		if f.Deviation != "" && name != sandbox.FactIDs { // the daemon's own ids are the machine's
			t.Errorf("%+v", f)
		}
	}
}

// isGuest says whether the container's first process is ours, by its program.
func isGuest(c container.InspectResponse) bool {
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", c.State.Pid))
	return err == nil && strings.HasSuffix(exe, "/hermes-guest") && c.Path == "/.hermes/bin/hermes-guest"
}

// Case 7.
func TestTheHostsUserCannotBecomeAnother(t *testing.T) {
	w := onDocker(t)
	box, c := w.make("user", sandbox.Spec{User: "1234:5678"})
	if c.Config.User != "1234:5678" || !slices.Equal(c.HostConfig.CapAdd, []string{"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER"}) {
		t.Errorf("it is %s with %q", c.Config.User, c.HostConfig.CapAdd)
	}
	if out, _ := w.run(box, "id -u; id -g"); out != "1234\n5678" {
		t.Errorf("commands are %q", out)
	}
}

// Case 9.
func TestTheEntrypointOfAnImageIsNotRun(t *testing.T) {
	w := onDocker(t)
	box, c := w.make("init", sandbox.Spec{Image: containers.Init.In(t, w.api)})
	if !isGuest(c) {
		t.Errorf("PID 1 is %s", c.Path)
	}
	if out, _ := w.run(box, "ls /run/init-was-run 2>&1 || echo not run"); !strings.HasSuffix(out, "not run") {
		t.Errorf("the image's entrypoint was run: %s", out)
	}
}

// Case 10: what a sandbox may do does not hang on its image.
func TestAnImageThatCannotBeLookedAtMakesNothingWeaker(t *testing.T) {
	api := containers.Docker(t)
	p := containers.NewProxy(t, api)
	w := newWorkshop(t, api, p.Client())
	image := containers.Busybox.In(t, api)
	p.Inject(containers.Fault{On: "GET /images/", Status: 500, Message: "spoilt", Times: 1})
	_, err := w.manager.Ensure(t.Context(), w.id("t"), sandbox.Spec{Image: image})
	if err == nil || !strings.Contains(err.Error(), "cannot look at the image") || !strings.Contains(err.Error(), "spoilt") || len(w.left()) > 0 {
		t.Errorf("the error is %v, and %d containers are left", err, len(w.left()))
	}
	_, c := w.make("t", sandbox.Spec{Image: image})
	if !slices.Equal(c.HostConfig.CapAdd, defaultCapabilities) || !slices.Equal(c.HostConfig.SecurityOpt, []string{"no-new-privileges"}) {
		t.Errorf("afterwards it has %q and %q", c.HostConfig.CapAdd, c.HostConfig.SecurityOpt)
	}
}

// Case 11.
func TestSnapModeOnlyLacksNoNewPrivileges(t *testing.T) {
	w := onDocker(t)
	box, plain := w.make("plain", contract())
	before := w.facts(box)
	spec := contract()
	spec.Container = &sandbox.Container{NewPrivileges: true}
	box, snap := w.make("snap", spec)
	if len(snap.HostConfig.SecurityOpt) > 0 {
		t.Errorf("its security is %q", snap.HostConfig.SecurityOpt)
	}
	a, b := *plain.HostConfig, *snap.HostConfig
	a.SecurityOpt, b.SecurityOpt, a.Mounts, b.Mounts = nil, nil, nil, nil // each has directories of its own
	if !reflect.DeepEqual(a, b) {
		t.Errorf("they differ by more:\n%+v\n%+v", a, b)
	}
	for name, f := range w.facts(box) {
		switch {
		case name == sandbox.FactPrivileges:
			if f.Enforced || strings.Count(f.Deviation, "set-user-id") != 1 {
				t.Errorf("%+v", f)
			}
		case name == sandbox.FactCalls: // only who gains no privileges may add a filter to the daemon's
		case name != sandbox.FactHost && f != before[name]:
			t.Errorf("%+v, without snap mode %+v", f, before[name])
		}
	}
}

// Case 12, and what -1 means.
func TestNoLimitIsNoFlag(t *testing.T) {
	w := onDocker(t)
	box, c := w.make("unlimited", sandbox.Spec{Limits: sandbox.Limits{CPUs: -1, Memory: -1, Pids: -1, Disk: -1, SharedMemory: -1}})
	h := c.HostConfig
	if h.Memory != 0 || h.NanoCPUs != 0 || h.CPUQuota != 0 || h.PidsLimit != nil && *h.PidsLimit > 0 || h.ShmSize != 64<<20 || len(h.StorageOpt) > 0 {
		t.Errorf("its limits are %d, %d, %v, %d, %v", h.Memory, h.NanoCPUs, h.PidsLimit, h.ShmSize, h.StorageOpt)
	}
	for _, name := range []string{sandbox.FactMemory, sandbox.FactCPUs, sandbox.FactPids, sandbox.FactDisk} {
		if f := w.facts(box)[name]; f.Value != "no limit" || f.Enforced || f.Deviation != "" {
			t.Errorf("%+v", f)
		}
	}
}

// Case 13; how an extra argument becomes the size is shown with the arguments.
func TestSharedMemoryIsAsLargeAsAskedFor(t *testing.T) {
	w := onDocker(t)
	for _, size := range []int64{256 << 20, 4 << 30} {
		box, c := w.make(fmt.Sprint("shm", size), sandbox.Spec{Limits: sandbox.Limits{SharedMemory: size}})
		if c.HostConfig.ShmSize != size {
			t.Errorf("it is %d, not %d", c.HostConfig.ShmSize, size)
		}
		if out, _ := w.run(box, "df -k /dev/shm | awk 'END{print $2}'"); out != fmt.Sprint(size>>10) {
			t.Errorf("commands find %s", out)
		}
	}
}

// Case 14, what of it is the engine's.
func TestNoNetworkIsNone(t *testing.T) {
	w := onDocker(t)
	box, c := w.make("offline", sandbox.Spec{Network: sandbox.NetworkNone})
	if c.HostConfig.NetworkMode != "none" || len(c.NetworkSettings.Networks) != 1 || c.NetworkSettings.Networks["none"] == nil {
		t.Errorf("it is in %v, %v", c.HostConfig.NetworkMode, c.NetworkSettings.Networks)
	}
	if out, _ := w.run(box, "ls /sys/class/net"); out != "lo" {
		t.Errorf("commands have %q", out)
	}
}

// Case 18.
func TestTheHomeAsWorkingDirectory(t *testing.T) {
	w := onDocker(t)
	box, c := w.make("home", sandbox.Spec{Cwd: "~"})
	if out, _ := w.run(box, "pwd"); c.Config.WorkingDir != "/root" || out != "/root" {
		t.Errorf("it begins in %s, commands in %s", c.Config.WorkingDir, out)
	}
}

// sources are what is mounted from the host, and the volumes, by their places.
func sources(c container.InspectResponse) map[string]string {
	found := make(map[string]string)
	for _, m := range c.Mounts {
		if !strings.HasPrefix(m.Destination, "/.hermes/") {
			found[m.Destination] = m.Source
			if m.Name != "" {
				found[m.Destination] = m.Name
			}
		}
	}
	return found
}

// Case 31.
func TestKeptFilesAreBound(t *testing.T) {
	w := onDocker(t)
	_, c := w.make("kept", sandbox.Spec{})
	dir := filepath.Join(w.home, "sandboxes", "docker", w.id("kept").Name())
	if got, want := sources(c), map[string]string{"/root": dir + "/home", "/workspace": dir + "/workspace"}; !maps.Equal(got, want) {
		t.Errorf("it has %v, not %v", got, want)
	}
}

// Case 32; sizes that a memory limit cannot bear are smaller (D30).
func TestWithoutPersistenceFilesAreInMemory(t *testing.T) {
	w := onDocker(t)
	_, c := w.make("memory", sandbox.Spec{Ephemeral: true, Limits: sandbox.Limits{Memory: -1}})
	h := c.HostConfig
	if h.Tmpfs["/workspace"] != "rw,exec,size=10g" || h.Tmpfs["/root"] != "rw,exec,size=1g" || h.Tmpfs["/home"] != "rw,exec,size=1g" || len(h.Tmpfs) != 6 {
		t.Errorf("in memory it has %v", h.Tmpfs)
	}
	if got := sources(c); len(got) > 0 {
		t.Errorf("of the host it has %v", got)
	}
	if _, err := os.Stat(filepath.Join(w.home, "sandboxes")); !os.IsNotExist(err) {
		t.Errorf("directories were made: %v", err)
	}
}

// Cases 33 and 34, with a directory, a volume and a directory in memory.
func TestOnlyAMountAtTheWorkspaceReplacesIt(t *testing.T) {
	api, volume := containers.Docker(t), "hermes-test-"+rand.Text()
	t.Cleanup(func() {
		if _, err := api.VolumeRemove(context.Background(), volume, client.VolumeRemoveOptions{}); err != nil {
			t.Error(err)
		}
	})
	w := newWorkshop(t, api, api)
	given := t.TempDir()
	for name, test := range map[string]struct {
		spec    sandbox.Spec
		at      string // what is at /workspace; empty means the sandbox's own
		mounted string
	}{
		"directory":       {sandbox.Spec{Mounts: []sandbox.Mount{{Source: given, Target: "/workspace/"}}}, given, given},
		"volume":          {sandbox.Spec{Container: &sandbox.Container{Volumes: []sandbox.Volume{{Name: volume, Target: "/workspace"}}}}, volume, ""},
		"memory":          {sandbox.Spec{Container: &sandbox.Container{Tmpfs: []sandbox.Tmpfs{{Target: "/workspace", Options: []string{"size=1m"}}}}}, "tmpfs", ""},
		"directory below": {sandbox.Spec{Mounts: []sandbox.Mount{{Source: given, Target: "/workspace/projects"}}}, "", given},
		"volume below":    {sandbox.Spec{Container: &sandbox.Container{Volumes: []sandbox.Volume{{Name: volume, Target: "/workspace/projects"}}}}, "", ""},
		"memory beside":   {sandbox.Spec{Container: &sandbox.Container{Tmpfs: []sandbox.Tmpfs{{Target: "/workspace2"}}}}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, c := w.in(t).make(name, test.spec)
			own := filepath.Join(w.home, "sandboxes", "docker", w.id(name).Name(), "workspace")
			at := sources(c)["/workspace"]
			if c.HostConfig.Tmpfs["/workspace"] != "" {
				at = "tmpfs"
			}
			if want := test.at; at != want && (want != "" || at != own) {
				t.Errorf("at /workspace is %s", at)
			}
			if _, err := os.Stat(own); os.IsNotExist(err) != (test.at != "") {
				t.Errorf("its own directory: %v", err)
			}
		})
	}
}

// What is given at a place of the sandbox's own memory takes that place.
func TestADirectoryInMemoryTakesThePlaceOfOurs(t *testing.T) {
	w := onDocker(t)
	box, c := w.make("tmp", sandbox.Spec{Container: &sandbox.Container{Tmpfs: []sandbox.Tmpfs{{Target: "/tmp", Options: []string{"size=3m", "exec"}}}}})
	if c.HostConfig.Tmpfs["/tmp"] != "size=3m,exec" || len(c.HostConfig.Tmpfs) != 3 {
		t.Errorf("in memory it has %v", c.HostConfig.Tmpfs)
	}
	if out, _ := w.run(box, "df -k /tmp | awk 'END{print $2}'"); out != "3072" {
		t.Errorf("commands find %s KiB", out)
	}
}

func TestAReadOnlyRoot(t *testing.T) {
	w := onDocker(t)
	box, c := w.make("sealed", sandbox.Spec{User: "4321", Container: &sandbox.Container{ReadOnlyRoot: true}})
	if !c.HostConfig.ReadonlyRootfs {
		t.Error("its root can be written")
	}
	if out, _ := w.run(box, "touch /usr/x 2>/dev/null || touch /tmp/x /workspace/x && echo kept"); out != "kept" {
		t.Errorf("commands find %q", out)
	}
	if f := w.facts(box)[sandbox.FactRoot]; !f.Enforced || !strings.Contains(f.Value, "read-only") {
		t.Errorf("%+v", f)
	}
}
