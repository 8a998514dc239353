package containerargs

import (
	"reflect"
	"strings"
	"testing"

	"hermes.example/hermes/sandbox"
)

func TestWhatIsSaidTakesThePlaceOfWhatIsThere(t *testing.T) {
	configured := func() sandbox.Spec {
		return sandbox.Spec{
			Image: "debian", Cwd: "/root", User: "1:1", Network: sandbox.NetworkBridge, Env: map[string]string{"A": "old", "B": "kept"},
			Limits:    sandbox.Limits{Memory: 5 << 30, CPUs: 1, Pids: 256, SharedMemory: 1 << 30, Disk: 50 << 30},
			Mounts:    []sandbox.Mount{{Source: "/old", Target: "/a"}, {Source: "/kept", Target: "/b"}},
			Container: &sandbox.Container{NewPrivileges: true, DNS: []string{"9.9.9.9"}, Labels: map[string]string{"x": "y"}},
		}
	}
	spec := configured()
	r, _, err := Parse(entries(strings.Fields("-w /w -u 5 --network none -e A=new -e C=more -m 1g --cpus 0 --pids-limit 9 --shm-size 4g --storage-opt size=1g "+
		"-v /new:/a/ -v /more:/c --dns 1.1.1.1 --label z=1 --read-only")...), lookup)
	if err != nil {
		t.Fatal(err)
	}
	r.Apply(&spec)
	want := sandbox.Spec{
		Image: "debian", Cwd: "/w", User: "5", Network: sandbox.NetworkNone, Env: map[string]string{"A": "new", "B": "kept", "C": "more"},
		Limits: sandbox.Limits{Memory: 1 << 30, CPUs: -1, Pids: 9, SharedMemory: 4 << 30, Disk: 1 << 30},
		Mounts: []sandbox.Mount{{Source: "/kept", Target: "/b"}, {Source: "/new", Target: "/a/", Origin: sandbox.ByConfig}, {Source: "/more", Target: "/c", Origin: sandbox.ByConfig}},
		Container: &sandbox.Container{NewPrivileges: true, DNS: []string{"1.1.1.1"}, Labels: map[string]string{"x": "y", "z": "1"},
			ReadOnlyRoot: true},
	}
	if !reflect.DeepEqual(spec, want) {
		t.Errorf("got %+v with %+v", spec, spec.Container)
	}

	// Neither of the two is changed, and nothing said changes nothing.
	before, shared := configured(), configured()
	spec = shared
	r.Apply(&spec)
	spec.Container.Labels["x"], spec.Container.DNS[0], spec.Env["B"], spec.Mounts[0].Source = "", "", "", ""
	if !reflect.DeepEqual(shared, before) || r.Container.DNS[0] != "1.1.1.1" {
		t.Errorf("the spec became %+v with %+v", shared, shared.Container)
	}
	Result{}.Apply(&shared)
	if !reflect.DeepEqual(shared, before) {
		t.Errorf("nothing made %+v of it", shared)
	}
	bare := sandbox.Spec{}
	r.Apply(&bare)
	if bare.Container == r.Container || bare.Container.DNS[0] != "1.1.1.1" {
		t.Errorf("got %+v", bare.Container)
	}
}
