package cgroup

import (
	"errors"
	"io/fs"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
)

const (
	pureV2 = `23 30 0:21 / /sys rw,nosuid,nodev,noexec,relatime shared:7 - sysfs sysfs rw
28 23 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot
`
	pureV1 = `33 32 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:10 - cgroup cgroup rw,cpu,cpuacct
34 32 0:30 / /sys/fs/cgroup/memory rw,nosuid shared:11 - cgroup cgroup rw,memory
35 32 0:31 / /sys/fs/cgroup/systemd rw,nosuid shared:12 - cgroup cgroup rw,xattr,name=systemd
36 32 0:32 / /sys/fs/cgroup/pids rw,nosuid shared:13 - cgroup cgroup rw,pids
37 32 0:33 / /sys/fs/cgroup/cpuset rw,nosuid shared:14 - cgroup cgroup rw,cpuset
`
	hybrid = pureV1 + `38 32 0:34 / /sys/fs/cgroup/unified rw,nosuid shared:15 - cgroup2 cgroup2 rw,nsdelegate
`
	noCgroups = `23 30 0:21 / /sys rw,relatime shared:7 - sysfs sysfs rw
41 23 0:40 / /mnt/cgroup rw - tmpfs cgroup rw
`
	inUserScope = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/term.scope\n"
	inSession   = "0::/user.slice/user-1000.slice/session-3.scope\n"
	userService = "/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service"
)

// below makes everything from dir down writable, as a delegation does.
func below(dirs ...string) func(string) error {
	return func(path string) error {
		for _, d := range dirs {
			if path == d || strings.HasPrefix(path, d+"/") {
				return nil
			}
		}
		return fs.ErrPermission
	}
}

func TestBasesOfKnownLayouts(t *testing.T) {
	tests := []struct {
		name, mountinfo, self string
		euid                  int
		writable              func(string) error
		want                  []string
		reason                string // part of it, when there is no base
	}{
		{
			name: "root on v2 takes the root only", mountinfo: pureV2, self: "0::/system.slice/cron.service\n",
			writable: below("/sys/fs/cgroup"), want: []string{"/sys/fs/cgroup"},
		}, {
			name: "root on hybrid", mountinfo: hybrid, self: "1:cpu,cpuacct:/\n0::/\n",
			writable: below("/sys/fs/cgroup"), want: []string{"/sys/fs/cgroup/unified"},
		}, {
			name: "user in a delegated slice: nearest ancestor first, own group last", mountinfo: pureV2, self: inUserScope, euid: 1000,
			writable: below(userService),
			want:     []string{userService + "/app.slice", userService, userService + "/app.slice/term.scope"},
		}, {
			name: "user in a login session", mountinfo: pureV2, self: inSession, euid: 1000,
			writable: below(userService), reason: "systemd-run --user --scope",
		}, {
			name: "a writable directory whose cgroup.procs is not", mountinfo: pureV2, self: inSession, euid: 1000,
			writable: func(path string) error {
				if strings.HasSuffix(path, "cgroup.procs") {
					return fs.ErrPermission
				}
				return nil
			},
			reason: "delegated",
		}, {
			name: "root in a container: read-only", mountinfo: strings.ReplaceAll(pureV2, "rw,", "ro,"), self: "0::/\n",
			writable: below(), reason: "not writable",
		}, {
			name: "container with its own cgroup namespace", mountinfo: pureV2, self: "0::/\n", euid: 1000,
			writable: below("/sys/fs/cgroup"), want: []string{"/sys/fs/cgroup"},
		}, {
			name: "only a part of the tree is mounted", self: "0::/docker/abc/sub\n", euid: 1000,
			mountinfo: "28 23 0:26 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
			writable:  below("/sys/fs/cgroup"), want: []string{"/sys/fs/cgroup", "/sys/fs/cgroup/sub"},
		}, {
			name: "another part of the tree is mounted", self: "0::/docker/abcd\n", euid: 1000,
			mountinfo: "28 23 0:26 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
			writable:  below("/sys/fs/cgroup"), reason: "outside",
		}, {
			name: "own group outside the cgroup namespace", mountinfo: pureV2, self: "0::/../other\n", euid: 1000,
			writable: below("/sys/fs/cgroup"), reason: "outside",
		}, {
			name: "own group removed", mountinfo: pureV2, self: "0::/gone (deleted)\n", euid: 1000,
			writable: below("/sys/fs/cgroup"), reason: "outside",
		}, {
			name: "v1 only", mountinfo: pureV1, self: "4:memory:/\n", writable: below("/sys/fs/cgroup"), reason: "no cgroup v2",
		}, {
			name: "nothing at all", mountinfo: noCgroups, self: "", writable: below("/"), reason: "no cgroup v2",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parseSystem(tt.mountinfo, tt.self, tt.euid).v2Bases(tt.writable)
			if !slices.Equal(got, tt.want) {
				t.Errorf("bases %q, want %q", got, tt.want)
			}
			if tt.reason == "" && err != nil || tt.reason != "" && (err == nil || !strings.Contains(err.Error(), tt.reason)) {
				t.Errorf("reason %v, want one with %q", err, tt.reason)
			}
		})
	}
}

func TestControllersOfV1(t *testing.T) {
	tests := []struct {
		name, mountinfo string
		want            map[string]string
	}{
		{"co-mounted cpu and cpuacct", pureV1, map[string]string{
			"memory": "/sys/fs/cgroup/memory", "cpu": "/sys/fs/cgroup/cpu,cpuacct", "pids": "/sys/fs/cgroup/pids"}},
		{"v2 has none", pureV2, map[string]string{}},
		{"a space in the path, and cpuset is not cpu", `1 2 0:1 / /my\040cg rw - cgroup cgroup rw,cpuset,memory` + "\n",
			map[string]string{"memory": "/my cg"}},
		{"nothing at all", noCgroups, map[string]string{}},
		{"garbage", "\n - cgroup\nx y - cgroup2\n", map[string]string{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := parseSystem(tt.mountinfo, "", 0).v1; !reflect.DeepEqual(got, tt.want) {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}

func TestNothingToUseIsAVerdictAndNoError(t *testing.T) {
	g, v, err := parseSystem(noCgroups, "", 0).create("x", Limits{1 << 20, 1, 1}.wants(), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for what, e := range map[string]Enforcement{"memory": v.Memory, "cpu": v.CPU, "pids": v.Pids, "kill": v.Kill} {
		if e.Enforced() || !strings.Contains(e.Reason, "no cgroup v2 hierarchy is mounted") {
			t.Errorf("%s: %+v", what, e)
		}
	}
	started := false
	if err := g.Start(func(fd int) (int, error) { started = fd == -1; return 1, nil }); err != nil || !started {
		t.Errorf("start in an empty group: %v, called %v", err, started)
	}
	h, err := g.Files()
	if err != nil || h.V2Cmd != nil || h.OOMEvents != nil || len(h.V1Tasks) != 0 {
		t.Errorf("files %+v, %v", h, err)
	}
	if err := errors.Join(g.AddGuest(1), g.Kill(), g.Remove()); err != nil {
		t.Error(err)
	}
}

func TestParseOOM(t *testing.T) {
	tests := map[string]int64{
		"oom_kill_disable 0\nunder_oom 0\noom_kill 3\n":                3,
		"low 0\nhigh 0\nmax 17\noom 5\noom_kill 4\noom_group_kill 9\n": 4,
		"oom_kill_disable 1\nunder_oom 0\n":                            0,
		"":                                                             0,
		"oom_kill\n":                                                   0,
		"oom_kill x\n":                                                 0,
		"oom_kill -1\n":                                                0,
		"oom_kill 99999999999999999999\n":                              0,
	}
	for content, want := range tests {
		if got := ParseOOM([]byte(content)); got != want {
			t.Errorf("ParseOOM(%q) = %d, want %d", content, got, want)
		}
	}
}

func TestImpossibleLimitsAndNamesAreRefused(t *testing.T) {
	for _, l := range []Limits{{MemoryBytes: -1}, {Pids: -1}, {CPUs: -1}, {CPUs: math.NaN()}, {CPUs: 0.0001}, {CPUs: 1e9}} {
		if _, _, err := Create("x", l, 0, 0); err == nil || !strings.HasPrefix(err.Error(), "cannot ") {
			t.Errorf("%+v: %v", l, err)
		}
	}
	for _, name := range []string{"", ".", "..", "a/b", "../x", "memory.max", "tasks", "notify_on_release", "a b", "a\n", strings.Repeat("x", 201)} {
		if _, _, err := Create(name, Limits{}, 0, 0); err == nil || !strings.HasPrefix(err.Error(), "cannot ") {
			t.Errorf("name %q: %v", name, err)
		}
		if _, err := Open(name); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("open %q: %v", name, err)
		}
	}
}

func TestCPUQuota(t *testing.T) {
	for cpus, want := range map[float64][2]string{
		1: {"100000", "100000"}, 0.5: {"50000", "100000"}, 2.25: {"225000", "100000"},
		0.01: {"1000", "100000"}, 0.005: {"5000", "1000000"}, 0.001: {"1000", "1000000"}, 65536: {"6553600000", "100000"},
	} {
		if q, p := cpuQuota(cpus); q != want[0] || p != want[1] {
			t.Errorf("%v CPUs: %s/%s, want %v", cpus, q, p, want)
		}
	}
}
