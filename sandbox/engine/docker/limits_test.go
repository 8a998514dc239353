package docker

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/container"

	"hermes.example/hermes/internal/daemon"
	"hermes.example/hermes/sandbox"
)

// One limit that a daemon cannot enforce takes no other with it.
func TestD12EachLimitHasItsOwnVerdict(t *testing.T) {
	spec := sandbox.Spec{Limits: sandbox.Limits{Memory: 1 << 30, CPUs: 0.5, Pids: 99}, Container: &sandbox.Container{MemorySwap: 2 << 30}}
	for lost, can := range map[string]daemon.Limits{
		"":                 {Memory: true, CPUs: true, Pids: true},
		sandbox.FactMemory: {CPUs: true, Pids: true},
		sandbox.FactCPUs:   {Memory: true, Pids: true},
		sandbox.FactPids:   {Memory: true, CPUs: true},
	} {
		asked := described(t, "docker", abilities{Limits: can}, spec)
		h := asked.HostConfig
		if (h.Memory == 0) != (lost == sandbox.FactMemory) || (h.NanoCPUs == 0) != (lost == sandbox.FactCPUs) || (h.PidsLimit == nil) != (lost == sandbox.FactPids) {
			t.Errorf("without %q the daemon is asked for %d, %d and %v", lost, h.Memory, h.NanoCPUs, h.PidsLimit)
		}
		if lost == sandbox.FactMemory && h.MemorySwap != 0 {
			t.Error("a bound of swap without one of memory is refused by daemons")
		}
		for _, f := range limits(container.InspectResponse{HostConfig: h, Config: asked.Config}, spec.Limits, abilities{Limits: can}) {
			if f.Name == sandbox.FactDisk {
				continue
			}
			if f.Enforced == (f.Name == lost) || (f.Deviation != "") != (f.Name == lost) {
				t.Errorf("without %q: %+v", lost, f)
			}
		}
	}
}

func TestALimitIsWhatTheDaemonHas(t *testing.T) {
	text := func(n float64) string { return fmt.Sprint(n) }
	for _, test := range []struct {
		set, asked float64
		can        bool
		value      string
		enforced   bool
		deviation  string
	}{
		{0, -1, true, "no limit", false, ""},
		{0, 0, false, "no limit", false, ""},
		{5, 5, true, "5", true, ""},
		{3, 5, true, "3", true, ""},
		{7, 5, true, "7", true, "5 was asked for"},
		{5, -1, true, "5", true, ""},
		{0, 5, true, "no limit", false, "left it out"},
		{0, 5, false, "no limit", false, "cannot do it"},
		{5, 5, false, "no limit", false, "cannot do it"},
	} {
		f := limited("x", text, test.set, test.asked, test.can)
		if f.Value != test.value || f.Enforced != test.enforced || !strings.Contains(f.Deviation, test.deviation) || (f.Deviation == "") != (test.deviation == "") {
			t.Errorf("%+v: %+v", test, f)
		}
	}
}

func TestWhereNoDiskCanBeLimited(t *testing.T) {
	e := new(Engine)
	for _, test := range []struct{ system, driver, why string }{
		{"linux", "overlay2", ""}, {"linux", "", ""}, {"windows", "zfs", ""},
		{"linux", "vfs", "vfs"}, {"linux", "overlayfs", "overlayfs"}, {"darwin", "overlay2", "virtual machine"},
	} {
		if why := e.diskless(test.system, test.driver); !strings.Contains(why, test.why) || (why == "") != (test.why == "") {
			t.Errorf("%s on %s: %q", test.driver, test.system, why)
		}
	}
}

// Only an answer about the option itself is one.
func TestD13AFailureSaysNothingOfTheDisk(t *testing.T) {
	spec := sandbox.Spec{Limits: sandbox.Limits{Disk: 1 << 30}}
	asked := described(t, "docker", able, spec)
	if asked.HostConfig.StorageOpt["size"] != fmt.Sprint(1<<30) {
		t.Fatalf("it is asked for %v", asked.HostConfig.StorageOpt)
	}
	m := &making{engine: new(Engine)}
	for _, text := range []string{"context deadline exceeded", "disk quota exceeded", "internal error", "no space left on device"} {
		if m.refusesDisk(asked, errors.New(text)) || m.engine.noDisk.Load() != nil {
			t.Errorf("%q was taken for an answer", text)
		}
	}
	if m.refusesDisk(asked, nil) {
		t.Error("a success was taken for a refusal")
	}
	refusal := errors.New("--storage-opt is not supported for vfs")
	if m.refusesDisk(described(t, "docker", able, sandbox.Spec{}), refusal) {
		t.Error("who did not ask was refused")
	}
	if !m.refusesDisk(asked, refusal) || m.engine.noDisk.Load() == nil {
		t.Error("a refusal was not taken for one")
	}
}

func TestSizesInMemory(t *testing.T) {
	for options, want := range map[string]int64{"rw,size=5m": 5 << 20, "size=1G,mode=1777": 1 << 30, "size=4096": 4096, "size=2k": 2048, "": math.MaxInt64, "size=": math.MaxInt64, "size=50%": math.MaxInt64, "rw": math.MaxInt64,
		"size=99999999999999g": math.MaxInt64} {
		if got := tmpfsSize(options); got != want {
			t.Errorf("%q has %d bytes, not %d", options, got, want)
		}
	}
}

// With the defaults, and with any limit of memory, there is room beside what is kept in memory.
func TestD30WhatIsInMemoryLeavesRoom(t *testing.T) {
	for _, memory := range []int64{64 << 20, 128 << 20, 512 << 20, 0, 8 << 30} {
		for _, ephemeral := range []bool{false, true} {
			h := described(t, "docker", able, sandbox.Spec{Limits: sandbox.Limits{Memory: memory}, Ephemeral: ephemeral}).HostConfig
			if h.ShmSize == 0 {
				h.ShmSize = 64 << 20 // the daemon's own
			}
			h.Memory = h.Memory / 10 * 9
			if why := crowded(h); why != "" {
				t.Errorf("%d MiB, ephemeral %v: %s: %v and %d", memory>>20, ephemeral, why, h.Tmpfs, h.ShmSize)
			}
		}
	}
	c := &sandbox.Container{Tmpfs: []sandbox.Tmpfs{{Target: "/scratch"}}}
	if crowded(described(t, "docker", able, sandbox.Spec{Container: c}).HostConfig) == "" {
		t.Error("a directory without a bound is not said to be one")
	}
	shared := sandbox.Spec{Limits: sandbox.Limits{Memory: 1 << 30, SharedMemory: 1 << 30}}
	if crowded(described(t, "docker", able, shared).HostConfig) == "" {
		t.Error("shared memory that fills all is not said to")
	}
}
