package cgroup

import (
	"os/exec"
	"slices"
	"testing"
	"time"
)

// settle keeps two rounds apart: groups that just died hold the kernel's cgroup lock
// for a while, and one sandbox's start does not come right after another's end.
const settle = 60 * time.Millisecond

// BenchmarkSandbox is what a sandbox's cold start and end pay, step by step; medians.
func BenchmarkSandbox(b *testing.B) {
	needRoot(b)
	steps := map[string][]time.Duration{}
	measure := func(step string, f func() error) {
		begin := time.Now()
		if err := f(); err != nil {
			b.Fatal(step, err)
		}
		steps[step] = append(steps[step], time.Since(begin))
	}
	for b.Loop() {
		name := freshName(b)
		var g *Group
		measure("detect", func() error { _, err := detect(); return err })
		measure("create", func() (err error) {
			g, _, err = Create(name, Limits{MemoryBytes: 64 << 20, CPUs: 1, Pids: 50}, mapped, mapped)
			return err
		})
		measure("files", func() error {
			h, err := g.Files()
			h.Close()
			return err
		})
		plain, guest := exec.Command("sleep", "600"), exec.Command("sleep", "600")
		measure("plainstart", plain.Start)
		measure("start", func() error { return startWith(g, guest) })
		measure("kill", g.Kill)
		guest.Wait()
		measure("remove", g.Remove)
		plain.Process.Kill()
		plain.Wait()
		<-time.After(settle)
	}
	for step, times := range steps {
		slices.Sort(times)
		b.ReportMetric(float64(times[len(times)/2].Microseconds()), step+"-µs")
	}
}

// BenchmarkAddGuest is why Start exists. The kernel's grace period is paid by a move
// that comes alone, as one sandbox's does.
func BenchmarkAddGuest(b *testing.B) {
	needRoot(b)
	var times []time.Duration
	for b.Loop() {
		g, _ := mustCreate(b, Limits{MemoryBytes: 64 << 20, CPUs: 1, Pids: 50}, mapped)
		cmd := exec.Command("sleep", "600")
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		<-time.After(settle)
		begin := time.Now()
		if err := g.AddGuest(cmd.Process.Pid); err != nil {
			b.Fatal(err)
		}
		times = append(times, time.Since(begin))
		cmd.Process.Kill()
		cmd.Wait()
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds()), "addguest-µs")
}
