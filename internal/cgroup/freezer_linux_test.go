package cgroup

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

func TestWhereTheFreezerIs(t *testing.T) {
	const freezer = "39 32 0:35 / /sys/fs/cgroup/freezer rw,nosuid shared:16 - cgroup cgroup rw,freezer\n"
	const docker = "5:freezer:/docker/abc\n4:memory:/docker/abc\n0::/docker/abc\n"
	for name, test := range map[string]struct{ mountinfo, groups, want string }{
		"version 2":                        {pureV2, "0::/system.slice/docker-abc.scope\n", "/sys/fs/cgroup/system.slice/docker-abc.scope/cgroup.events"},
		"a hierarchy of its own":           {pureV1 + freezer, docker, "/sys/fs/cgroup/freezer/docker/abc/freezer.state"},
		"its own before version 2":         {hybrid + freezer, docker, "/sys/fs/cgroup/freezer/docker/abc/freezer.state"},
		"version 2 beside other ones":      {hybrid, docker, "/sys/fs/cgroup/unified/docker/abc/cgroup.events"},
		"outside of our namespace":         {pureV2, "0::/../docker/abc\n", ""},
		"its own outside of our namespace": {hybrid + freezer, "5:freezer:/../abc\n0::/docker/abc\n", ""},
		"removed":                          {pureV2, "0::/docker/abc (deleted)\n", ""},
		"only version 1 without a freezer": {pureV1, docker, ""},
		"a mount that shows a part of it":  {"28 23 0:26 /docker /mnt/c rw - cgroup2 cgroup2 rw\n", "0::/docker/abc\n", "/mnt/c/abc/cgroup.events"},
		"a mount that shows another part":  {"28 23 0:26 /user /mnt/c rw - cgroup2 cgroup2 rw\n", "0::/docker/abc\n", ""},
		"a machine without control groups": {noCgroups, "", ""},
	} {
		if got := freezerIn(test.mountinfo, test.groups); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestAFrozenProcessIsSeen(t *testing.T) {
	sleep := exec.Command("sleep", "60")
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sleep.Process.Kill(); sleep.Wait() })
	pid := sleep.Process.Pid
	mountinfo, _ := os.ReadFile("/proc/self/mountinfo")
	groups, _ := os.ReadFile("/proc/self/cgroup")
	file := freezerIn(string(mountinfo), string(groups))
	if file == "" {
		t.Skip("control groups cannot be seen here")
	}
	group := filepath.Join(filepath.Dir(file), "hermes-freezer-"+strconv.Itoa(pid))
	if err := os.Mkdir(group, 0o755); err != nil {
		t.Skip("no control group can be made here: ", err)
	}
	t.Cleanup(func() {
		os.WriteFile(filepath.Join(filepath.Dir(group), "cgroup.procs"), []byte(strconv.Itoa(pid)), 0)
		for range 100 {
			if os.Remove(group) == nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Error("the group of the test stays")
	})
	write := func(name, value string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(group, name), []byte(value), 0); err != nil {
			t.Fatal(err)
		}
	}
	write("cgroup.procs", strconv.Itoa(pid))
	file, err := FreezerOf(pid)
	if err != nil || filepath.Dir(file) != group {
		t.Fatalf("%q, %v", file, err)
	}
	for _, frozen := range []bool{false, true, false} {
		switch {
		case filepath.Base(file) == "cgroup.events" && frozen:
			write("cgroup.freeze", "1")
		case filepath.Base(file) == "cgroup.events":
			write("cgroup.freeze", "0")
		case frozen:
			write("freezer.state", "FROZEN")
		default:
			write("freezer.state", "THAWED")
		}
		got := !frozen
		for bound := time.Now().Add(5 * time.Second); got != frozen && time.Now().Before(bound); time.Sleep(time.Millisecond) {
			if got, err = IsFrozen(file); err != nil {
				t.Fatal(err)
			}
		}
		if got != frozen {
			t.Errorf("frozen: %t, want %t", got, frozen)
		}
	}
}
