package sandbox_test

import (
	"slices"
	"strings"
	"testing"

	"hermes.example/hermes/sandbox"
)

// variations differ from the zero Spec, and from each other, in one thing each.
var variations = map[string]sandbox.Spec{
	"nothing":                {},
	"image":                  {Image: "debian"},
	"cwd":                    {Cwd: "/tmp"},
	"memory":                 {Limits: sandbox.Limits{Memory: 1 << 30}},
	"no memory limit":        {Limits: sandbox.Limits{Memory: -1}},
	"cpus":                   {Limits: sandbox.Limits{CPUs: 1.5}},
	"pids":                   {Limits: sandbox.Limits{Pids: 100}},
	"no pids limit":          {Limits: sandbox.Limits{Pids: -1}},
	"shared memory":          {Limits: sandbox.Limits{SharedMemory: 1 << 30}},
	"disk":                   {Limits: sandbox.Limits{Disk: 1 << 30}},
	"network":                {Network: sandbox.NetworkHost},
	"bridge":                 {Network: sandbox.NetworkBridge},
	"container":              {Container: &sandbox.Container{ReadOnlyRoot: true}},
	"user":                   {User: "1000"},
	"user and group":         {User: "1000:5"},
	"ephemeral":              {Ephemeral: true},
	"variable":               {Env: map[string]string{"A": "1"}},
	"another value":          {Env: map[string]string{"A": "2"}},
	"another name":           {Env: map[string]string{"B": "1"}},
	"mount":                  {Mounts: []sandbox.Mount{{Source: "/a", Target: "/b"}}},
	"read-only mount":        {Mounts: []sandbox.Mount{{Source: "/a", Target: "/b", ReadOnly: true}}},
	"mount of another":       {Mounts: []sandbox.Mount{{Source: "/c", Target: "/b"}}},
	"mount somewhere else":   {Mounts: []sandbox.Mount{{Source: "/a", Target: "/c"}}},
	"two mounts":             {Mounts: []sandbox.Mount{{Source: "/a", Target: "/b"}, {Source: "/a", Target: "/b/c"}}},
	"values that look alike": {Env: map[string]string{"A": "1,B:2"}},
	"two values":             {Env: map[string]string{"A": "1", "B": "2"}},
}

func TestD07EveryDifferenceIsInTheHashAndIsSaid(t *testing.T) {
	hashes := make(map[string]string)
	for name, spec := range variations {
		if other, taken := hashes[spec.Hash()]; taken {
			t.Errorf("%q and %q have the same hash", name, other)
		}
		hashes[spec.Hash()] = name
		// What an engine keeps is the normal form without values.
		kept := spec.Normal().Public()
		diff := sandbox.Spec{}.Difference(kept)
		if name != "nothing" && (len(diff) != 1 || diff[0] == "the value of a variable") {
			t.Errorf("%q differs from the default by %q", name, diff)
		}
	}
}

func TestTheNormalFormIsStable(t *testing.T) {
	for name, spec := range variations {
		normal := spec.Normal()
		if again := normal.Normal(); again.Hash() != normal.Hash() || spec.Hash() != normal.Hash() {
			t.Errorf("%q has other hashes in its normal form", name)
		}
	}
}

// A sandbox that runs is found by its hash, also by a newer program.
func TestHashesStayWhatTheyWere(t *testing.T) {
	all := sandbox.Spec{Image: "debian", Cwd: "/x", Limits: sandbox.Limits{Memory: 1 << 30, CPUs: 1.5, Pids: -1}, Network: sandbox.NetworkHost, User: "1000:5", Ephemeral: true,
		Env: map[string]string{"A": "1"}, Mounts: []sandbox.Mount{{Source: "/a", Target: "/b", ReadOnly: true, Origin: sandbox.ByConfig}}}
	for want, spec := range map[string]sandbox.Spec{"c50973785667e5f7335d5e3b": {}, "c6ca923cc7fc3d1ad781fb57": all} {
		if spec.Hash() != want {
			t.Errorf("got %s, want %s", spec.Hash(), want)
		}
	}
}

func TestWhatMeansTheSameHasOneHash(t *testing.T) {
	mounts := []sandbox.Mount{{Source: "/a", Target: "/b"}, {Source: "/c", Target: "/d/"}}
	reversed := []sandbox.Mount{{Source: "/c", Target: "/d"}, {Source: "/a", Target: "/b/."}}
	for name, pair := range map[string][2]sandbox.Spec{
		"default cwd":      {{}, {Cwd: sandbox.Workspace}},
		"home":             {{Cwd: "~/x"}, {Cwd: sandbox.Home + "/x"}},
		"default network":  {{}, {Network: sandbox.NetworkNone}},
		"default limits":   {{}, {Limits: sandbox.Limits{Memory: sandbox.DefaultMemory, Pids: sandbox.DefaultPids}}},
		"no limit":         {{Limits: sandbox.Limits{Memory: -1}}, {Limits: sandbox.Limits{Memory: -7}}},
		"no variables":     {{}, {Env: map[string]string{}}},
		"order of mounts":  {{Mounts: mounts}, {Mounts: reversed}},
		"who wants mounts": {{Mounts: mounts[:1]}, {Mounts: []sandbox.Mount{{Source: "/a", Target: "/b", Origin: sandbox.ByProfile}}}},
		"what is demanded": {{}, {Require: []string{sandbox.FactSeccomp}}},
		"negative CPUs":    {{}, {Limits: sandbox.Limits{CPUs: -1}}},
		"no disk limit":    {{Limits: sandbox.Limits{Disk: -1, SharedMemory: -1}}, {Limits: sandbox.Limits{Disk: -7, SharedMemory: -7}}},
		"who chose what":   {{User: "1000"}, {User: "1000", Chosen: []string{"user"}}},
	} {
		if pair[0].Hash() != pair[1].Hash() {
			t.Errorf("%s: two hashes", name)
		}
	}
	if mounts[1].Target != "/d/" {
		t.Error("the caller's own list was changed")
	}
}

func TestNoValueOfAVariableIsEverShown(t *testing.T) {
	spec := sandbox.Spec{Env: map[string]string{"TOKEN": "secret-value"}}
	public := spec.Public()
	if public.Env["TOKEN"] != "" || spec.Env["TOKEN"] != "secret-value" {
		t.Errorf("public %q, own %q", public.Env, spec.Env)
	}
	for _, other := range []sandbox.Spec{{}, public, {Env: map[string]string{"TOKEN": "other-secret"}}} {
		if diff := strings.Join(spec.Difference(other), " "); strings.Contains(diff, "secret") {
			t.Errorf("the difference is %q", diff)
		}
	}
	if diff := spec.Difference(public); !slices.Equal(diff, []string{"the value of a variable"}) {
		t.Errorf("the difference is %q", diff)
	}
}

func TestSpecsThatCannotBeAreRefused(t *testing.T) {
	mount := func(source, target string) sandbox.Spec {
		return sandbox.Spec{Mounts: []sandbox.Mount{{Source: source, Target: target}}}
	}
	for want, spec := range map[string]sandbox.Spec{
		"the image name":         {Image: "a\x00"},
		"unknown network":        {Network: "carrier"},
		"not absolute":           {Cwd: "x"},
		"is not a user":          {User: "me"},
		"not a user: give":       {User: "1000:"},
		"is not a user: ":        {User: "-1"},
		"environment variable":   {Env: map[string]string{"": "x"}},
		"is not text":            {Env: map[string]string{"A": "a\x00b"}},
		"mount source":           mount("a", "/b"),
		"mount target":           mount("/a", "b"),
		"cannot mount at /":      mount("/a", "/"),
		"cannot mount at /proc":  mount("/a", "/proc/self"),
		"cannot mount at /x/../": mount("/a", "/x/../dev"),
		"cannot mount at //sys":  mount("/a", "//sys"),
		"cannot require":         {Require: []string{"everything"}},
		"two mounts":             {Mounts: []sandbox.Mount{{Source: "/a", Target: "/b"}, {Source: "/a", Target: "/x/../b"}}},
	} {
		if err := spec.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, not about %q", err, want)
		}
	}
	for _, spec := range []sandbox.Spec{{}, mount("/a", "/devices"), mount("/a", "/system"), {User: "0:0"}, {Cwd: "~/x"}, {Require: sandbox.FactNames()}} {
		if err := spec.Validate(); err != nil {
			t.Error(err)
		}
	}
}

func TestUserIDs(t *testing.T) {
	for user, want := range map[string][2]int{"": {0, 0}, "0": {0, 0}, "1000": {1000, 1000}, "1000:0": {1000, 0}, "5:7": {5, 7}} {
		uid, gid, err := sandbox.Spec{User: user}.UserIDs()
		if err != nil || uid != want[0] || gid != want[1] {
			t.Errorf("%q is %d:%d, %v", user, uid, gid, err)
		}
	}
}

func TestPostureSaysWhatIsMissing(t *testing.T) {
	posture := sandbox.Posture{Facts: []sandbox.Fact{
		{Name: sandbox.FactSeccomp, Value: "filter", Enforced: true},
		{Name: sandbox.FactMemory, Value: "5 GiB", Deviation: "not enforced: no cgroups"},
		{Name: sandbox.FactCPUs, Value: "no limit"},
		{Name: sandbox.FactLandlock, Value: "ABI 4", Enforced: true, Deviation: "signals are not scoped"},
	}}
	if err := posture.Check([]string{sandbox.FactSeccomp, sandbox.FactLandlock}); err != nil {
		t.Error(err)
	}
	err := posture.Check([]string{sandbox.FactSeccomp, sandbox.FactMemory, sandbox.FactCPUs, sandbox.FactNetwork})
	want := "cannot enforce what was required here: memory (not enforced: no cgroups); cpus (no limit); network"
	if err == nil || err.Error() != want {
		t.Errorf("the error is %q, not %q", err, want)
	}
	if err := posture.Check([]string{"magic"}); err == nil || !strings.Contains(err.Error(), "it is none of isolation, namespaces, ids") {
		t.Errorf("the error is %v", err)
	}
	var names []string
	for _, f := range posture.Deviations() {
		names = append(names, f.Name)
	}
	if !slices.Equal(names, []string{sandbox.FactMemory, sandbox.FactLandlock}) || len(posture.Facts) != 4 {
		t.Errorf("the deviations are %q", names)
	}
}
