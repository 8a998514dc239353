package cgroup

import (
	"errors"
	"fmt"
	"math"
	"strconv"
)

var limitControllers = []string{"memory", "cpu", "pids"}

// want is one limit, in both dialects.
type want struct {
	controller string
	v1, v2     []setting
}

// setting is one interface file of cmd. When an optional one cannot be written the
// limit still counts as enforced, and weaker says what is missing.
type setting struct {
	file, value string
	weaker      string
}

func (l Limits) check() error {
	switch {
	case l.MemoryBytes < 0:
		return errors.New("the memory limit is negative")
	case l.Pids < 0:
		return errors.New("the process limit is negative")
	case l.CPUs != 0 && !(l.CPUs >= minCPUs && l.CPUs <= maxCPUs): // also NaN
		return fmt.Errorf("the CPU limit %v is not between %v and %v", l.CPUs, minCPUs, maxCPUs)
	}
	return nil
}

func (l Limits) wants() []want {
	var wants []want
	if l.MemoryBytes > 0 {
		bytes := strconv.FormatInt(l.MemoryBytes, 10)
		wants = append(wants, want{"memory",
			// memsw is memory and swap together and may not be below the limit: second.
			[]setting{{"memory.limit_in_bytes", bytes, ""}, {"memory.memsw.limit_in_bytes", bytes, "swap is not limited"}},
			[]setting{{"memory.max", bytes, ""}, {"memory.swap.max", "0", "swap is not limited"}},
		})
	}
	if l.CPUs > 0 {
		quota, period := cpuQuota(l.CPUs)
		v1 := []setting{{"cpu.cfs_quota_us", quota, ""}}
		if period != defaultPeriod {
			v1 = append([]setting{{"cpu.cfs_period_us", period, ""}}, v1...)
		}
		wants = append(wants, want{"cpu", v1, []setting{{"cpu.max", quota + " " + period, ""}}})
	}
	if l.Pids > 0 {
		wants = append(wants, want{"pids",
			// In v1 the guest's spawner thread sits in cmd and counts as one.
			[]setting{{"pids.max", strconv.FormatInt(min(l.Pids, maxPids-1)+1, 10), ""}},
			[]setting{{"pids.max", strconv.FormatInt(min(l.Pids, maxPids), 10), ""}},
		})
	}
	return wants
}

const (
	minCPUs = 0.001 // the kernel's least quota in its longest period: 1 ms in 1 s
	maxCPUs = 65536.0
	// PID_MAX_LIMIT: the kernel refuses more, and no machine has more.
	maxPids = 4 << 20

	defaultPeriod = "100000"
)

// cpuQuota keeps the quota at or above the kernel's least by a longer period.
func cpuQuota(cpus float64) (quota, period string) {
	per, period := 100_000.0, defaultPeriod
	if cpus*per < 1000 {
		per, period = 1_000_000, "1000000"
	}
	return strconv.FormatInt(int64(math.Round(cpus*per)), 10), period
}
