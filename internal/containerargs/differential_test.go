package containerargs

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"

	"hermes.example/hermes/sandbox"
)

// asked is what the docker command makes of arguments: the part of its request that
// they decide.
type asked struct {
	Env        []string
	Hostname   string
	Domainname string
	User       string
	WorkingDir string
	Labels     map[string]string
	HostConfig struct {
		Binds, CapAdd, CapDrop, GroupAdd, DeviceCgroupRules, ExtraHosts, SecurityOpt []string
		Dns, DnsSearch, DnsOptions                                                   []string
		IpcMode, UTSMode, UsernsMode, CgroupnsMode, NetworkMode, Runtime             string
		CpusetCpus, CpusetMems, CgroupParent                                         string
		Memory, MemorySwap, MemoryReservation, NanoCpus, CpuShares, ShmSize          int64
		PidsLimit                                                                    int64
		OomScoreAdj                                                                  int
		Privileged, ReadonlyRootfs                                                   bool
		Tmpfs, Sysctls, StorageOpt, Annotations                                      map[string]string
		Ulimits                                                                      []struct {
			Name       string
			Soft, Hard int64
		}
		Devices []struct{ PathOnHost, PathInContainer, CgroupPermissions string }
		Mounts  []struct {
			Type, Source, Target string
			ReadOnly             bool
			TmpfsOptions         struct{ SizeBytes, Mode int64 }
		}
		PortBindings   map[string][]struct{ HostIp, HostPort string }
		DeviceRequests []struct {
			Driver       string
			Count        int
			DeviceIDs    []string
			Capabilities [][]string
		}
	}
}

// ask has the docker command ask a server that only listens.
func ask(t *testing.T, docker string, args []string) (a asked) {
	t.Helper()
	heard := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Api-Version", "1.44")
		w.Header().Set("Ostype", "linux")
		if !strings.HasSuffix(r.URL.Path, "/containers/create") {
			return
		}
		if err := json.NewDecoder(r.Body).Decode(&a); err != nil {
			t.Error(err)
		}
		heard = true
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, `{"Id":"x"}`)
	}))
	defer server.Close()
	cmd := exec.Command(docker, slices.Concat([]string{"create", "--pull", "never"}, args, []string{"image"})...)
	cmd.Env = []string{"DOCKER_HOST=tcp://" + strings.TrimPrefix(server.URL, "http://"), "DOCKER_CONFIG=" + t.TempDir(), "HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "TOKEN=hunter2"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("this docker command knows less: %v, %s", err, out)
	}
	if !heard {
		t.Fatal("the docker command asked for nothing")
	}
	return a
}

// The docker command itself reads the same out of the same arguments.
func TestDockerReadsTheSame(t *testing.T) {
	docker, err := exec.LookPath("docker")
	if err != nil {
		t.Skip("there is no docker command here")
	}
	args := strings.Fields(`-m2g --memory-swap=-1 --memory-reservation 64m --cpus 1.5 -c 512 --shm-size=1.5g --pids-limit 100 --oom-score-adj=-5 --cpuset-cpus 0-1 --cpuset-mems 0
		--ulimit nofile=1024:2048 --ulimit core=0 --cap-add SYS_PTRACE --cap-drop CHOWN --group-add video --read-only --privileged=false --runtime runc
		--device /dev/fuse --device /dev/sda:/dev/xvda:r --device /dev/sdb:rw --add-host a:10.0.0.1 --add-host b=host-gateway --add-host c=[::1]
		--dns 9.9.9.9 --dns-search x.org --dns-opt ndots:2 -hbox --domainname x -u 5:6 -w /w -e A=1=2 -eTOKEN -e ABSENT -l a=b=c --label empty --sysctl net.a=1 --annotation k=v
		--ipc host --uts= --userns host --cgroupns private --cgroup-parent p --network team --storage-opt size=1g --security-opt apparmor=mine --security-opt no-new-privileges:false
		--tmpfs /t:exec,size=1g -v /a:/b:ro -v data:/c --mount type=bind,src=/d,dst=/e,readonly --mount type=tmpfs,dst=/f,tmpfs-size=1m,tmpfs-mode=1777
		-p 80 -p 127.0.0.1:8080:81/udp -p [::1]:82-83:92-93 --gpus device=GPU-1,driver=nvidia`)
	args = append(args, "--device-cgroup-rule", "c 189:* rmw")
	ours, _, err := Parse(entries(args...), lookup)
	if err != nil {
		t.Fatal(err)
	}
	theirs := ask(t, docker, args)
	h, c := theirs.HostConfig, ours.Container
	same := func(what string, docker, us any) {
		if !reflect.DeepEqual(docker, us) {
			t.Errorf("%s: docker reads %#v, we %#v", what, docker, us)
		}
	}
	same("limits", []int64{h.Memory, h.NanoCpus, h.PidsLimit, h.ShmSize}, []int64{ours.Limits.Memory, int64(ours.Limits.CPUs * 1e9), ours.Limits.Pids, ours.Limits.SharedMemory})
	same("other limits", []int64{h.MemorySwap, h.MemoryReservation, h.CpuShares, int64(h.OomScoreAdj)}, []int64{c.MemorySwap, c.MemoryReservation, c.CPUShares, int64(c.OOMScoreAdj)})
	same("sets", []string{h.CpusetCpus, h.CpusetMems, h.CgroupParent, h.Runtime}, []string{c.CPUSet, c.MemorySet, c.CgroupParent, c.Runtime})
	same("switches", []bool{h.ReadonlyRootfs, h.Privileged}, []bool{c.ReadOnlyRoot, c.Privileged})
	same("capabilities", [][]string{h.CapAdd, h.CapDrop, h.GroupAdd, h.DeviceCgroupRules}, [][]string{{"CAP_" + c.CapAdd[0]}, {"CAP_" + c.CapDrop[0]}, c.Groups, c.DeviceRules})
	same("security", h.SecurityOpt, []string{"apparmor=" + c.AppArmor, fmt.Sprintf("no-new-privileges:%v", !c.NewPrivileges)})
	same("names", [][]string{h.ExtraHosts, h.Dns, h.DnsSearch, h.DnsOptions}, [][]string{c.Hosts, c.DNS, c.DNSSearch, c.DNSOptions})
	same("identity", []string{theirs.Hostname, theirs.Domainname, theirs.User, theirs.WorkingDir}, []string{c.Hostname, c.Domainname, ours.User, ours.Cwd})
	same("namespaces", []string{h.IpcMode, h.UTSMode, h.UsernsMode, h.CgroupnsMode, h.NetworkMode}, []string{c.IPC, c.UTS, c.UserNS, c.CgroupNS, c.Network})
	same("labels", []map[string]string{theirs.Labels, h.Sysctls, h.Annotations}, []map[string]string{c.Labels, c.Sysctls, c.Annotations})
	same("variables", given(theirs.Env), map[string]string(ours.Env))
	same("disk", h.StorageOpt["size"], "1g")
	same("disk", ours.Limits.Disk, int64(1<<30))
	for i, u := range h.Ulimits {
		same("limit", sandbox.Ulimit{Name: u.Name, Soft: u.Soft, Hard: u.Hard}, c.Ulimits[i])
	}
	for _, d := range h.Devices {
		if !slices.Contains(c.Devices, sandbox.Device{Source: d.PathOnHost, Target: d.PathInContainer, Access: d.CgroupPermissions}) {
			t.Errorf("device: docker reads %+v, we %+v", d, c.Devices)
		}
	}
	same("devices", len(h.Devices), len(c.Devices))
	g := h.DeviceRequests[0]
	same("GPUs", sandbox.GPUs{Count: g.Count, IDs: g.DeviceIDs, Driver: g.Driver}, *c.GPUs)
	var ports int
	for _, p := range c.Ports {
		for _, b := range h.PortBindings[fmt.Sprintf("%d/%s", p.Port, p.Protocol)] {
			if b.HostIp == p.Address && (b.HostPort == "" && p.Host == 0 || b.HostPort == fmt.Sprint(p.Host)) {
				ports++
			}
		}
	}
	same("ports", [2]int{len(h.PortBindings), ports}, [2]int{4, 4})
	slices.Sort(h.Binds)
	same("binds", h.Binds, []string{ours.Mounts[0].Source + ":" + ours.Mounts[0].Target + ":ro", c.Volumes[0].Name + ":" + c.Volumes[0].Target})
	same("read-only", ours.Mounts[0].ReadOnly, true)
	same("tmpfs", h.Tmpfs, map[string]string{"/t": strings.Join(c.Tmpfs[1].Options, ",")})
	bind, memory := h.Mounts[0], h.Mounts[1]
	same("mount", sandbox.Mount{Source: bind.Source, Target: bind.Target, ReadOnly: bind.ReadOnly, Origin: sandbox.ByConfig}, ours.Mounts[1])
	same("memory", sandbox.Tmpfs{Target: memory.Target, Options: []string{fmt.Sprintf("size=%d", memory.TmpfsOptions.SizeBytes), fmt.Sprintf("mode=%o", memory.TmpfsOptions.Mode)}}, c.Tmpfs[0])
}

// given are variables that have a value; docker sends the others by their names.
func given(list []string) map[string]string {
	env := make(map[string]string)
	for _, text := range list {
		if name, value, ok := strings.Cut(text, "="); ok {
			env[name] = value
		}
	}
	return env
}
