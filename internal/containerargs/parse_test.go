package containerargs

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"hermes.example/hermes/sandbox"
)

var environment = map[string]string{"TOKEN": "hunter2", "EMPTY": "", "HOME": "/h", "USERPROFILE": "/h"}

func lookup(name string) (string, bool) {
	value, found := environment[name]
	return value, found
}

// entries are arguments as a configuration has them.
func entries(args ...string) []any {
	list := make([]any, len(args))
	for i, arg := range args {
		list[i] = arg
	}
	return list
}

func container(c sandbox.Container) Result { return Result{Container: &c} }

func limits(l sandbox.Limits) Result { return Result{Limits: l} }

func TestEveryFlagMeansAPartOfTheSpec(t *testing.T) {
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	bind := func(source, target string, readOnly bool) Result {
		return Result{Mounts: []sandbox.Mount{{Source: source, Target: target, ReadOnly: readOnly, Origin: sandbox.ByConfig}}}
	}
	volume := func(v sandbox.Volume) Result { return container(sandbox.Container{Volumes: []sandbox.Volume{v}}) }
	tmpfs := func(target string, options ...string) Result {
		return container(sandbox.Container{Tmpfs: []sandbox.Tmpfs{{Target: target, Options: options}}})
	}
	ports := func(p ...sandbox.Port) Result { return container(sandbox.Container{Ports: p}) }
	gpus := func(g sandbox.GPUs) Result { return container(sandbox.Container{GPUs: &g}) }
	for args, want := range map[string]Result{
		"":                                    {},
		"--":                                  {},
		"--cap-add SYS_PTRACE":                container(sandbox.Container{CapAdd: []string{"SYS_PTRACE"}}),
		"--cap-add=cap_sys_ptrace":            container(sandbox.Container{CapAdd: []string{"SYS_PTRACE"}}),
		"--cap-add net_raw --cap-add CAP_BPF": container(sandbox.Container{CapAdd: []string{"BPF", "NET_RAW"}}),
		"--cap-add all":                       container(sandbox.Container{CapAdd: []string{"ALL"}}),
		"--cap-drop CHOWN":                    container(sandbox.Container{CapDrop: []string{"CHOWN"}}),
		"--privileged":                        container(sandbox.Container{Privileged: true}),
		"--privileged=true":                   container(sandbox.Container{Privileged: true}),
		"--privileged=false":                  {},
		"--privileged --privileged=0":         {},
		"--group-add video --group-add 44":    container(sandbox.Container{Groups: []string{"44", "video"}}),
		"--runtime runsc":                     container(sandbox.Container{Runtime: "runsc"}),

		"--security-opt no-new-privileges":                                    {},
		"--security-opt no-new-privileges:true":                               {},
		"--security-opt no-new-privileges=false":                              container(sandbox.Container{NewPrivileges: true}),
		"--security-opt no-new-privileges:false":                              container(sandbox.Container{NewPrivileges: true}),
		"--security-opt seccomp=unconfined":                                   container(sandbox.Container{Seccomp: "unconfined"}),
		"--security-opt seccomp:unconfined":                                   container(sandbox.Container{Seccomp: "unconfined"}),
		"--security-opt seccomp=unconfined --security-opt seccomp=builtin":    {},
		"--security-opt apparmor=mine":                                        container(sandbox.Container{AppArmor: "mine"}),
		"--security-opt label=disable":                                        container(sandbox.Container{SELinux: []string{"disable"}}),
		"--security-opt label=type:spc_t --security-opt label:level:s0:c1,c2": container(sandbox.Container{SELinux: []string{"level:s0:c1,c2", "type:spc_t"}}),
		"--security-opt systempaths=unconfined":                               container(sandbox.Container{BareSystemPaths: true}),

		"--device /dev/fuse":                  container(sandbox.Container{Devices: []sandbox.Device{{Source: "/dev/fuse", Target: "/dev/fuse", Access: "rwm"}}}),
		"--device=/dev/sda:/dev/xvda":         container(sandbox.Container{Devices: []sandbox.Device{{Source: "/dev/sda", Target: "/dev/xvda", Access: "rwm"}}}),
		"--device /dev/sda:r":                 container(sandbox.Container{Devices: []sandbox.Device{{Source: "/dev/sda", Target: "/dev/sda", Access: "r"}}}),
		"--device /dev/sda:/dev/xvda:rw":      container(sandbox.Container{Devices: []sandbox.Device{{Source: "/dev/sda", Target: "/dev/xvda", Access: "rw"}}}),
		"--gpus all":                          gpus(sandbox.GPUs{Count: -1}),
		"--gpus 2":                            gpus(sandbox.GPUs{Count: 2}),
		"--gpus device=GPU-1":                 gpus(sandbox.GPUs{IDs: []string{"GPU-1"}}),
		`--gpus "device=0,1",driver=nvidia`:   gpus(sandbox.GPUs{IDs: []string{"0", "1"}, Driver: "nvidia"}),
		"--gpus driver=nvidia":                gpus(sandbox.GPUs{Count: 1, Driver: "nvidia"}),
		`--gpus all,"capabilities=compute,u"`: gpus(sandbox.GPUs{Count: -1, Capabilities: []string{"compute", "u"}}),

		"--ipc host":             container(sandbox.Container{IPC: "host"}),
		"--ipc container:db":     container(sandbox.Container{IPC: "container:db"}),
		"--uts=host":             container(sandbox.Container{UTS: "host"}),
		"--userns host":          container(sandbox.Container{UserNS: "host"}),
		"--cgroupns host":        container(sandbox.Container{CgroupNS: "host"}),
		"--cgroup-parent a.b/c":  container(sandbox.Container{CgroupParent: "a.b/c"}),
		"--hostname box":         container(sandbox.Container{Hostname: "box"}),
		"-h box --domainname x":  container(sandbox.Container{Hostname: "box", Domainname: "x"}),
		"-hbox":                  container(sandbox.Container{Hostname: "box"}),
		"--read-only":            container(sandbox.Container{ReadOnlyRoot: true}),
		"--sysctl net.a=1":       container(sandbox.Container{Sysctls: map[string]string{"net.a": "1"}}),
		"-l a=b=c --label empty": container(sandbox.Container{Labels: map[string]string{"a": "b=c", "empty": ""}}),
		"--annotation a=b":       container(sandbox.Container{Annotations: map[string]string{"a": "b"}}),

		"--network none":         {Network: sandbox.NetworkNone},
		"--net=host":             {Network: sandbox.NetworkHost},
		"--network default":      {Network: sandbox.NetworkBridge},
		"--net none --net none":  {Network: sandbox.NetworkNone},
		"--network team":         {Network: sandbox.NetworkBridge, Container: &sandbox.Container{Network: "team"}},
		"--network container:db": {Network: sandbox.NetworkBridge, Container: &sandbox.Container{Network: "container:db"}},
		"--ip 10.0.0.5 --ip6 fd00::5 --net-alias a --mac-address 92:d0:c6:0a:29:33 --network n": {Network: sandbox.NetworkBridge,
			Container: &sandbox.Container{Network: "n", IP: "10.0.0.5", IP6: "fd00::5", NetworkAliases: []string{"a"}, MAC: "92:d0:c6:0a:29:33"}},
		"--add-host a:10.0.0.1 --add-host b=host-gateway --add-host c:::1 --add-host d=[::1]": container(sandbox.Container{Hosts: []string{"a:10.0.0.1", "b:host-gateway", "c:::1", "d:::1"}}),
		"--dns 9.9.9.9 --dns 1.1.1.1 --dns-search x.org --dns-opt ndots:2":                    container(sandbox.Container{DNS: []string{"9.9.9.9", "1.1.1.1"}, DNSSearch: []string{"x.org"}, DNSOptions: []string{"ndots:2"}}),
		"-p 80 -p 80:80":       ports(sandbox.Port{Port: 80, Protocol: "tcp"}, sandbox.Port{Host: 80, Port: 80, Protocol: "tcp"}),
		"-p 80":                ports(sandbox.Port{Port: 80, Protocol: "tcp"}),
		"-p8080:80/UDP":        ports(sandbox.Port{Host: 8080, Port: 80, Protocol: "udp"}),
		"-p 0.0.0.0:8080:80":   ports(sandbox.Port{Host: 8080, Port: 80, Protocol: "tcp"}),
		"-p 127.0.0.1:8080:80": ports(sandbox.Port{Address: "127.0.0.1", Host: 8080, Port: 80, Protocol: "tcp"}),
		"-p 127.0.0.1::80":     ports(sandbox.Port{Address: "127.0.0.1", Port: 80, Protocol: "tcp"}),
		"--publish [::1]:81:80 --publish 82-83:92-93": ports(sandbox.Port{Address: "::1", Host: 81, Port: 80, Protocol: "tcp"},
			sandbox.Port{Host: 82, Port: 92, Protocol: "tcp"}, sandbox.Port{Host: 83, Port: 93, Protocol: "tcp"}),

		"--memory 512m":                       limits(sandbox.Limits{Memory: 512 << 20}),
		"-m 2g -m 1g":                         limits(sandbox.Limits{Memory: 1 << 30}),
		"-m2GiB":                              limits(sandbox.Limits{Memory: 2 << 30}),
		"--memory 0":                          limits(sandbox.Limits{Memory: -1}),
		"--cpus 1.5":                          limits(sandbox.Limits{CPUs: 1.5}),
		"--cpus 0":                            limits(sandbox.Limits{CPUs: -1}),
		"--pids-limit 100":                    limits(sandbox.Limits{Pids: 100}),
		"--pids-limit -1":                     limits(sandbox.Limits{Pids: -1}),
		"--pids-limit=0":                      limits(sandbox.Limits{Pids: -1}),
		"--shm-size 4g":                       limits(sandbox.Limits{SharedMemory: 4 << 30}),
		"--shm-size=4g":                       limits(sandbox.Limits{SharedMemory: 4 << 30}),
		"--storage-opt size=10G":              limits(sandbox.Limits{Disk: 10 << 30}),
		"--memory-swap 1g":                    container(sandbox.Container{MemorySwap: 1 << 30}),
		"--memory-swap=-1":                    container(sandbox.Container{MemorySwap: -1}),
		"--memory-swap -1":                    container(sandbox.Container{MemorySwap: -1}),
		"--memory-reservation 64m":            container(sandbox.Container{MemoryReservation: 64 << 20}),
		"-c 512":                              container(sandbox.Container{CPUShares: 512}),
		"--cpuset-cpus 0-2,4 --cpuset-mems 0": container(sandbox.Container{CPUSet: "0-2,4", MemorySet: "0"}),
		"--oom-score-adj -500":                container(sandbox.Container{OOMScoreAdj: -500}),
		"--ulimit nofile=1024:2048 --ulimit core=-1": container(sandbox.Container{Ulimits: []sandbox.Ulimit{{Name: "core", Soft: -1, Hard: -1}, {Name: "nofile", Soft: 1024, Hard: 2048}}}),
		"--ulimit nproc=5 --ulimit nproc=7":          container(sandbox.Container{Ulimits: []sandbox.Ulimit{{Name: "nproc", Soft: 7, Hard: 7}}}),

		"-v /a:/b":                          bind("/a", "/b", false),
		"-v/a:/b:ro":                        bind("/a", "/b", true),
		"--volume=/a:/b:rw,cached,rprivate": bind("/a", "/b", false),
		"-v ~/x:/b":                         bind(filepath.FromSlash("/h/x"), "/b", false),
		"-v ./x:/b":                         bind(filepath.Join(wd, "x"), "/b", false),
		"--mount type=bind,src=/a,dst=/b":   bind("/a", "/b", false),
		"--mount type=bind,source=/a,target=/b,readonly,bind-propagation=rprivate,consistency=cached": bind("/a", "/b", true),
		"-v data:/b":            volume(sandbox.Volume{Name: "data", Target: "/b"}),
		"-v data:/b/:ro,nocopy": volume(sandbox.Volume{Name: "data", Target: "/b", ReadOnly: true, NoCopy: true}),
		"--mount src=data,dst=/b,ro=false,volume-nocopy=true": volume(sandbox.Volume{Name: "data", Target: "/b", NoCopy: true}),
		"--tmpfs /scratch":                                         tmpfs("/scratch"),
		"--tmpfs /scratch:rw,exec,size=1g":                         tmpfs("/scratch", "rw", "exec", "size=1g"),
		"--mount type=tmpfs,dst=/s,tmpfs-size=1g,tmpfs-mode=1777":  tmpfs("/s", "size=1073741824", "mode=1777"),
		"--mount type=tmpfs,destination=/s,tmpfs-mode=700,ro=true": tmpfs("/s", "mode=700", "ro"),

		"-u 1000":            {User: "1000"},
		"--user 1000:5":      {User: "1000:5"},
		"-w /work":           {Cwd: "/work"},
		"-e A=1":             {Env: Env{"A": "1"}},
		"-eA=1=2":            {Env: Env{"A": "1=2"}},
		"--env=A= -e A.b=c":  {Env: Env{"A": "", "A.b": "c"}},
		"-e TOKEN":           {Env: Env{"TOKEN": "hunter2"}},
		"-eEMPTY -e ABSENT":  {Env: Env{"EMPTY": ""}},
		"-e ABSENT":          {},
		"-e A=1 -e A=2":      {Env: Env{"A": "2"}},
		"--restart no":       {},
		"--pull missing":     {},
		"--rm=false -d=0":    {},
		"--init=false":       {},
		"--sig-proxy=false":  {},
		"-e A=1 -u 5 -w /a ": {Env: Env{"A": "1"}, User: "5", Cwd: "/a"},
	} {
		got, warnings, err := Parse(entries(strings.Fields(args)...), lookup)
		if err != nil || len(warnings) > 0 || !reflect.DeepEqual(got, want) {
			t.Errorf("%q:\n got %s, %q, %v\nwant %s", args, show(got), warnings, err, show(want))
		}
	}
}

func show(r Result) string {
	data, _ := json.Marshal(r)
	return string(data)
}

// Arguments with blanks in them, which the table above cannot have.
func TestArgumentsWithBlanks(t *testing.T) {
	got, _, err := Parse(entries("-e", "A=b c", "--device-cgroup-rule", "c 189:* rmw", "-v", "/a b:/c d"), lookup)
	if err != nil || got.Env["A"] != "b c" || got.Container.DeviceRules[0] != "c 189:* rmw" || got.Mounts[0].Source != "/a b" || got.Mounts[0].Target != "/c d" {
		t.Errorf("got %s, %v", show(got), err)
	}
}

func TestFlagAndValueInOneEntry(t *testing.T) {
	_, _, err := Parse(entries("--shm-size 4g"), lookup)
	if err == nil || !strings.Contains(err.Error(), "--shm-size=VALUE") || strings.Contains(err.Error(), "4g") {
		t.Errorf("the error is %v", err)
	}
}

func TestWhatIsNotTextIsLeftOutWithAWarning(t *testing.T) {
	got, warnings, err := Parse([]any{42, "--read-only", nil, true, []any{"x"}, "-u", map[string]any{}, "7", 1.5}, lookup)
	if err != nil || got.User != "7" || !got.Container.ReadOnlyRoot {
		t.Errorf("got %s, %v", show(got), err)
	}
	want := []string{
		"docker_extra_args: entry 1 is a number, not text; it is left out",
		"docker_extra_args: entry 3 is empty, not text; it is left out",
		"docker_extra_args: entry 4 is a switch, not text; it is left out",
		"docker_extra_args: entry 5 is a list, not text; it is left out",
		"docker_extra_args: entry 7 is something else, not text; it is left out",
		"docker_extra_args: entry 9 is a number, not text; it is left out",
	}
	if !reflect.DeepEqual(warnings, want) {
		t.Errorf("the warnings are %q", warnings)
	}
	if _, _, err := Parse([]any{42, "busybox"}, lookup); err == nil || !strings.Contains(err.Error(), "entry 2") {
		t.Errorf("the error is %v", err)
	}
}

func TestWhatHasNoEffectIsSaid(t *testing.T) {
	got, warnings, err := Parse(entries("--init", "--no-healthcheck", "--log-driver", "none", "--log-opt=max-size=1m", "--expose", "80", "--cap-drop=ALL", "--cap-drop", "all"), lookup)
	if err != nil || !reflect.DeepEqual(got, Result{}) || len(warnings) != 7 {
		t.Errorf("got %s, %q, %v", show(got), warnings, err)
	}
	for i, name := range []string{"--init", "--no-healthcheck", "--log-driver", "--log-opt", "--expose", "--cap-drop ALL", "--cap-drop ALL"} {
		if !strings.HasPrefix(warnings[i], "docker_extra_args: "+name+" has no effect: ") {
			t.Errorf("warning %q", warnings[i])
		}
	}
}

func TestFilesOfVariables(t *testing.T) {
	file := filepath.Join(t.TempDir(), "env")
	content := "\ufeff# comment\n\n  A=from file\r\nB='quoted' # not a comment\nTOKEN\nABSENT\n  # more\nC="
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	// A flag beats a file, wherever it stands.
	got, _, err := Parse(entries("-e", "A=flag", "--env-file", file), lookup)
	want := Env{"A": "flag", "B": "'quoted' # not a comment", "TOKEN": "hunter2", "C": ""}
	if err != nil || !reflect.DeepEqual(got.Env, want) {
		t.Errorf("got %v, %v", map[string]string(got.Env), err)
	}
	if err := os.WriteFile(file, []byte("A=1\nmy secret=hunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err = Parse(entries("--env-file="+file), lookup)
	if err == nil || !strings.Contains(err.Error(), "line 2 of") || strings.Contains(err.Error(), "secret") {
		t.Errorf("the error is %v", err)
	}
	if err := os.WriteFile(file, make([]byte, maxFile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err = Parse(entries("--env-file="+file), lookup); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("the error is %v", err)
	}
}

// The spec changes with the profile, and not with the name or the layout of its file.
func TestASeccompProfileIsItsContent(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"a.json": "{\n  \"defaultAction\": \"SCMP_ACT_ALLOW\"\n}\n", "b.json": `{"defaultAction":"SCMP_ACT_ALLOW"}`, "c.json": "{"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a.json", "b.json"} {
		got, _, err := Parse(entries("--security-opt", "seccomp="+filepath.Join(dir, name)), lookup)
		if err != nil || got.Container.Seccomp != `{"defaultAction":"SCMP_ACT_ALLOW"}` {
			t.Errorf("%s: got %s, %v", name, show(got), err)
		}
	}
	if _, _, err := Parse(entries("--security-opt", "seccomp="+filepath.Join(dir, "c.json")), lookup); err == nil || !strings.Contains(err.Error(), "is not JSON") {
		t.Errorf("the error is %v", err)
	}
}

func TestNoValueOfAVariableIsEverShown(t *testing.T) {
	got, _, err := Parse(entries("-e", "A=hunter2", "-e", "TOKEN"), lookup)
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("args", "env", got.Env, "all", got)
	for _, text := range []string{fmt.Sprint(got), fmt.Sprintf("%+v", got), fmt.Sprintf("%#v", got), fmt.Sprintf("%v", got.Env), fmt.Sprintf("%q", got.Env), show(got), log.String()} {
		if strings.Contains(text, "hunter2") || !strings.Contains(text, "TOKEN") {
			t.Errorf("shown as %s", text)
		}
	}
	for _, args := range [][]string{
		{"-e", " A=hunter2"}, {"-e A=hunter2"}, {"-e", "=hunter2"}, {"-e", "my A=hunter2"}, {"-xeA=hunter2"}, {"-e", "A=hunter2\x00"}, {"--env=A=hunter2\xff"},
		{"--my-flag\nhunter2"}, {"hunter2"}, {"-e", "A=1", "hunter2"}, {"--evn=A=hunter2"}, {"--env A=hunter2"}, {"-e", "A\x00=hunter2"}, {"--=hunter2"}, {"-ite", "=hunter2"},
	} {
		if _, _, err := Parse(entries(args...), lookup); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", args, err)
		}
	}
}

func TestTheNetworkThatAnotherSettingForbids(t *testing.T) {
	for args, conflict := range map[string]string{
		"": "", "--network none": "", "--network=none": "", "--network host": "--network host", "--net bridge": "--network bridge",
		"--network team": "--network team", "--network container:db": "--network container:db",
	} {
		got, _, err := Parse(entries(strings.Fields(args)...), lookup)
		if err != nil {
			t.Fatal(err)
		}
		if err := got.CheckNetwork(true); err != nil {
			t.Errorf("%q: %v", args, err)
		}
		err = got.CheckNetwork(false)
		if conflict == "" && err != nil || conflict != "" && (err == nil || !strings.Contains(err.Error(), "docker_network: false") ||
			!strings.Contains(err.Error(), conflict+" in docker_extra_args")) {
			t.Errorf("%q: %v", args, err)
		}
	}
}
