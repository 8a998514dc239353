package daemon

import (
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"runtime"
	"testing"

	"github.com/moby/moby/api/types/system"
)

// raw is what the real engine says, read without any of our code.
func raw(t *testing.T, path string) map[string]any {
	t.Helper()
	response, err := (&http.Client{Transport: inFront().Transport}).Get("http://docker" + path)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	var answer map[string]any
	if err := json.Unmarshal(data, &answer); err != nil {
		t.Fatal(err)
	}
	return answer
}

func ask(t *testing.T, o Options) Facts {
	t.Helper()
	e, err := Find(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	c, err := e.Client()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	f, err := e.Ask(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFactsOfDocker(t *testing.T) {
	realDocker(t)
	f := ask(t, Options{Lookup: lookup()})
	info := raw(t, "/info")
	if f.Kind != Docker {
		t.Errorf("%+v", f)
	}
	if version := raw(t, "/version"); f.APIVersion != version["ApiVersion"] || f.Arch != version["Arch"] || f.OS != version["Os"] {
		t.Errorf("%+v, the engine says %v", f, version)
	}
	got := map[string]any{"ServerVersion": f.Version, "CgroupVersion": f.CgroupVersion, "CgroupDriver": f.CgroupDriver, "Driver": f.StorageDriver, "DockerRootDir": f.RootDir}
	if !f.Rootless {
		got["MemoryLimit"], got["SwapLimit"], got["CpuCfsQuota"], got["PidsLimit"] = f.Limits.Memory, f.Limits.Swap, f.Limits.CPUs, f.Limits.Pids
	}
	for name, value := range got {
		if value != info[name] {
			t.Errorf("%s is %v, the engine says %v", name, value, info[name])
		}
	}
}

func TestFactsOfPodman(t *testing.T) {
	socket := podmanService(t, shortDir(t)+"/podman.sock")
	f := ask(t, Options{Lookup: lookup("CONTAINER_HOST=unix://" + socket)})
	if f.Kind != Podman || f.Version == "" || f.Arch != runtime.GOARCH || f.Rootless || f.StorageDriver == "" || f.CgroupVersion == "" || f.Seccomp == "" || f.RootDir == "" {
		t.Errorf("%+v", f)
	}
}

func TestFactsOfEnginesThatAreNotHere(t *testing.T) {
	all := system.Info{MemoryLimit: true, SwapLimit: true, CPUCfsPeriod: true, CPUCfsQuota: true, PidsLimit: true, CgroupVersion: "2", CgroupDriver: "systemd"}
	with := func(change func(*system.Info)) system.Info {
		info := all
		change(&info)
		return info
	}
	for _, c := range []struct {
		name string
		info system.Info
		want func(Facts) bool
	}{
		{"all", all, func(f Facts) bool {
			return len(f.Limits.Missing()) == 0 && !f.Rootless && !f.UsernsRemap && f.Seccomp == ""
		}},
		{"no memory", with(func(i *system.Info) { i.MemoryLimit = false }), func(f Facts) bool { return reflect.DeepEqual(f.Limits.Missing(), []string{"memory"}) }},
		{"no periods", with(func(i *system.Info) { i.CPUCfsPeriod = false }), func(f Facts) bool { return reflect.DeepEqual(f.Limits.Missing(), []string{"cpus"}) }},
		{"remapped", with(func(i *system.Info) { i.SecurityOptions = []string{"name=userns", "name=seccomp,profile=builtin"} }), func(f Facts) bool { return f.UsernsRemap && f.Seccomp == "builtin" }},
		{"modules", with(func(i *system.Info) {
			i.SecurityOptions = []string{"name=apparmor", "name=selinux", "name=seccomp,profile=unconfined"}
		}), func(f Facts) bool { return f.AppArmor && f.SELinux && f.Seccomp == "" }},
		{"old words", with(func(i *system.Info) { i.SecurityOptions = []string{"seccomp", "apparmor"} }), func(f Facts) bool { return f.AppArmor && f.Seccomp == "default" }},
		{"rootless", with(func(i *system.Info) { i.SecurityOptions = []string{"name=rootless"} }), func(f Facts) bool { return f.Rootless && f.Limits.Memory }},
		{"rootless with groups of version 1", with(func(i *system.Info) { i.SecurityOptions, i.CgroupVersion = []string{"name=rootless"}, "1" }), func(f Facts) bool { return len(f.Limits.Missing()) == 3 && !f.Limits.Swap }},
		{"no groups", with(func(i *system.Info) { i.CgroupDriver = "none" }), func(f Facts) bool { return len(f.Limits.Missing()) == 3 }},
		{"a backing file system", with(func(i *system.Info) { i.DriverStatus = [][2]string{{"Backing Filesystem", "xfs"}} }), func(f Facts) bool { return f.BackingFS == "xfs" }},
	} {
		if f := (Endpoint{}).facts(c.info); !c.want(f) {
			t.Errorf("%s: %+v", c.name, f)
		}
	}
	for machine, arch := range map[string]string{"x86_64": "amd64", "aarch64": "arm64", "armv7l": "arm", "i686": "386", "riscv64": "riscv64", "amd64": "amd64"} {
		if f := (Endpoint{}).facts(system.Info{Architecture: machine}); f.Arch != arch {
			t.Errorf("%s is %s", machine, f.Arch)
		}
	}
}
