package docker

import (
	"context"
	"encoding/json"
	"maps"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/moby/moby/client"

	"hermes.example/hermes/internal/containerargs"
	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/test/containers"
)

// Arguments as people have them.
var realistic = []string{
	"--memory 2g --memory-swap 3g --memory-reservation 512m --cpus 1.5 --cpu-shares 512 --cpuset-cpus 0 --pids-limit 512",
	"--shm-size=4g --ulimit nofile=1024:2048 --ulimit core=0 --oom-score-adj 100 --cgroup-parent hermes",
	"--cap-add SYS_PTRACE --cap-add NET_ADMIN --group-add 44 --group-add video",
	"--security-opt seccomp=unconfined --security-opt label=disable --security-opt systempaths=unconfined",
	"--device /dev/zero:/dev/nothing:r --device /dev/null --device-cgroup-rule=c\x00189:*\x00rmw",
	"--gpus all", "--gpus device=GPU-1,driver=nvidia",
	"--ipc host --uts host --cgroupns host", "--ipc shareable --userns host",
	"--network host", "--network none", "-p 127.0.0.1:8080:80 -p 53:53/udp -p 9000",
	"--add-host db:10.0.0.5 --add-host gate=host-gateway --dns 9.9.9.9 --dns-search x.org --dns-opt ndots:2 --hostname box --domainname x.org",
	"-v /tmp:/given:ro -v hermes-test-differential:/data", "--mount type=bind,src=/tmp,dst=/given,readonly",
	"--tmpfs /scratch:rw,exec,size=1g --tmpfs /plain", "--read-only --workdir /srv --user 5:6",
	"-e A=1 -e B=x=y --label a=b --label empty", "--sysctl net.ipv4.ip_forward=1 --runtime runc", "--privileged",
}

// The docker command and we make the same of the same arguments: what they change in a
// container of docker's, they change in ours, as the daemon tells it.
func TestArgumentsMakeWhatDockerMakes(t *testing.T) {
	command, err := exec.LookPath("docker")
	if err != nil {
		t.Skip("there is no docker command here")
	}
	d := &differ{TB: t, command: command, api: containers.Docker(t)}
	t.Cleanup(func() {
		d.api.VolumeRemove(context.Background(), "hermes-test-differential", client.VolumeRemoveOptions{})
	})
	d.image = containers.Busybox.In(t, d.api)
	theirs, ours := d.theirs(nil), d.ours(nil)
	for _, line := range realistic {
		t.Run(line, func(t *testing.T) {
			d := *d
			d.TB = t
			args := strings.Fields(line)
			for i := range args {
				args[i] = strings.ReplaceAll(args[i], "\x00", " ")
			}
			want, got := changes(theirs, d.theirs(args)), changes(ours, d.ours(args))
			if len(want) == 0 {
				t.Error("they change nothing")
			}
			for _, name := range slices.Sorted(maps.Keys(want)) {
				if !reflect.DeepEqual(got[name], want[name]) {
					t.Errorf("%s: docker makes %v, we %v", name, want[name], got[name])
				}
			}
		})
	}
}

// differ makes containers that are never started.
type differ struct {
	testing.TB
	command string
	api     *client.Client
	image   string
}

func (d *differ) theirs(args []string) map[string]any {
	d.Helper()
	out, err := exec.Command(d.command, slices.Concat([]string{"-H", d.api.DaemonHost(), "create", "--pull", "never"}, args, []string{d.image, "true"})...).CombinedOutput()
	if err != nil {
		d.Fatalf("%v: %s", err, out)
	}
	lines := strings.Fields(string(out))
	return d.inspected(lines[len(lines)-1])
}

func (d *differ) ours(args []string) map[string]any {
	d.Helper()
	entries := make([]any, len(args))
	for i := range args {
		entries[i] = args[i]
	}
	said, _, err := containerargs.Parse(entries, func(string) (string, bool) { return "", false })
	if err != nil {
		d.Fatal(err)
	}
	spec := sandbox.Spec{Image: d.image, Network: sandbox.NetworkBridge, Limits: sandbox.Limits{Memory: -1, CPUs: -1, Pids: -1, Disk: -1, SharedMemory: -1}}
	said.Apply(&spec)
	m := &making{engine: &Engine{options: Options{Name: "docker"}, api: d.api}, id: sandbox.Identity{Home: d.TempDir(), Task: "t"}, spec: spec.Normal(), can: able}
	m.image.ID = d.image
	asked, err := m.describe()
	if err != nil {
		d.Fatal(err)
	}
	made, err := d.api.ContainerCreate(d.Context(), asked)
	if err != nil {
		d.Fatal(err)
	}
	return d.inspected(made.ID)
}

// inspected is what the daemon says of a container, by names, without what it is called
// and how its mounts were asked for; then the container is removed.
func (d *differ) inspected(id string) map[string]any {
	d.Helper()
	found, err := d.api.ContainerInspect(d.Context(), id, client.ContainerInspectOptions{})
	if err != nil {
		d.Fatal(err)
	}
	if _, err := d.api.ContainerRemove(d.Context(), id, client.ContainerRemoveOptions{Force: true}); err != nil {
		d.Fatal(err)
	}
	all := make(map[string]any)
	slices.Sort(found.Container.Config.Env) // whose order means nothing
	for part, value := range map[string]any{"": found.Container.HostConfig, "Config.": found.Container.Config} {
		text, err := json.Marshal(value)
		if err != nil {
			d.Fatal(err)
		}
		var fields map[string]any
		if err := json.Unmarshal(text, &fields); err != nil {
			d.Fatal(err)
		}
		for name, value := range fields {
			all[part+name] = value
		}
	}
	mounts := make(map[string]any)
	for _, m := range found.Container.Mounts {
		mounts[m.Destination] = []any{string(m.Type), m.Name, m.Source, m.RW}
	}
	all["mounted"] = mounts
	delete(all, "Binds")
	delete(all, "Mounts")
	if strings.HasPrefix(id, found.Container.Config.Hostname) {
		delete(all, "Config.Hostname") // it is the container's number
	}
	if labels, ok := all["Config.Labels"].(map[string]any); ok {
		maps.DeleteFunc(labels, func(name string, _ any) bool { return strings.HasPrefix(name, "hermes-") })
	}
	return all
}

// changes are what is other or new, in lists and maps element by element.
func changes(before, after map[string]any) map[string]any {
	changed := make(map[string]any)
	for name, now := range after {
		if reflect.DeepEqual(before[name], now) {
			continue
		}
		switch now := now.(type) {
		case []any:
			old, _ := before[name].([]any)
			changed[name] = slices.DeleteFunc(slices.Clone(now), func(v any) bool {
				return slices.ContainsFunc(old, func(o any) bool { return reflect.DeepEqual(o, v) })
			})
		case map[string]any:
			old, _ := before[name].(map[string]any)
			changed[name] = changes(old, now)
		default:
			changed[name] = now
		}
	}
	return changed
}
