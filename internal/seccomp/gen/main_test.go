//go:build linux

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	moby "github.com/moby/profiles/seccomp"
	"github.com/opencontainers/runtime-spec/specs-go"
)

func TestGeneratedFilesAreUpToDate(t *testing.T) {
	for _, target := range targets() {
		text, _, err := generate(target)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("..", "filter_"+target.goarch+".go")
		onDisk, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(text, onDisk) {
			t.Errorf("%s is not what the generator makes: run go generate ./internal/seccomp", file)
		}
	}
}

// allow returns a rule as the profile has them.
func allow(name string, args ...specs.LinuxSeccompArg) *moby.Syscall {
	return &moby.Syscall{LinuxSyscall: specs.LinuxSyscall{
		Names: []string{name}, Action: specs.ActAllow, Args: args,
	}}
}

// An upgrade of a library must not change the meaning of the filter silently:
// what the generator does not know stops it.
func TestWhatTheGeneratorDoesNotKnowStopsIt(t *testing.T) {
	arg := func(op specs.LinuxSeccompOperator, value, two uint64) specs.LinuxSeccompArg {
		return specs.LinuxSeccompArg{Index: 0, Op: op, Value: value, ValueTwo: two}
	}
	tests := []struct {
		name   string
		change func(*moby.Seccomp, *target)
		want   string
	}{
		{"nothing changed", func(p *moby.Seccomp, _ *target) {}, ""},
		{"new name in the profile", func(p *moby.Seccomp, _ *target) {
			p.Syscalls = append(p.Syscalls, allow("frobnicate"))
		}, "frobnicate has no number"},
		{"new name under a capability that we lack", func(p *moby.Seccomp, _ *target) {
			rule := allow("frobnicate")
			rule.Includes = &moby.Filter{Caps: []string{"CAP_SYS_ADMIN"}}
			p.Syscalls = append(p.Syscalls, rule)
		}, "frobnicate has no number"},
		{"name vanished from the table", func(_ *moby.Seccomp, a *target) {
			delete(a.table, "read")
		}, "read has no number"},
		{"listed name got a number", func(_ *moby.Seccomp, a *target) {
			a.table["umount"] = 500
		}, "umount is listed as absent but has number 500"},
		{"listed name left the profile", func(_ *moby.Seccomp, a *target) {
			a.absent = append(a.absent, "frobnicate")
		}, "frobnicate is listed as absent but the profile does not name it"},
		{"contradiction", func(p *moby.Seccomp, _ *target) {
			p.Syscalls = append(p.Syscalls, allow("clone3"))
		}, "contradicts"},
		{"argument after the whole call", func(p *moby.Seccomp, _ *target) {
			p.Syscalls = append(p.Syscalls, allow("read", arg(specs.OpEqualTo, 1, 0)))
		}, "cannot be joined"},
		{"another argument of the same call", func(p *moby.Seccomp, _ *target) {
			other := arg(specs.OpEqualTo, 1, 0)
			other.Index = 1
			p.Syscalls = append(p.Syscalls, allow("personality", other))
		}, "cannot be joined"},
		{"two arguments", func(p *moby.Seccomp, _ *target) {
			p.Syscalls = append(p.Syscalls, allow("kcmp", arg(specs.OpEqualTo, 1, 0), arg(specs.OpEqualTo, 2, 0)))
		}, "tests 2 arguments"},
		{"comparison that needs both words", func(p *moby.Seccomp, _ *target) {
			p.Syscalls = append(p.Syscalls, allow("kcmp", arg(specs.OpGreaterThan, 1, 0)))
		}, "not supported"},
		{"masked comparison with a value", func(p *moby.Seccomp, _ *target) {
			p.Syscalls = append(p.Syscalls, allow("kcmp", arg(specs.OpMaskedEqual, 3, 1)))
		}, "not supported"},
		{"value of 64 bits", func(p *moby.Seccomp, _ *target) {
			p.Syscalls = append(p.Syscalls, allow("kcmp", arg(specs.OpEqualTo, 1<<32, 0)))
		}, "out of range"},
		{"another action", func(p *moby.Seccomp, _ *target) {
			rule := allow("kcmp")
			rule.Action = specs.ActTrace
			p.Syscalls = append(p.Syscalls, rule)
		}, "SCMP_ACT_TRACE is not supported"},
		{"another default", func(p *moby.Seccomp, _ *target) {
			p.DefaultAction = specs.ActAllow
		}, "default is not EPERM"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			target := copyOf(targets()[0])
			profile := moby.DefaultProfile()
			test.change(profile, &target)
			_, err := resolve(profile, target)
			if test.want == "" {
				if err != nil {
					t.Fatal(err)
				}
			} else if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("error is %v, want one with %q", err, test.want)
			}
		})
	}
}

// copyOf protects the library's global table from a test.
func copyOf(t target) target {
	table := map[string]int{}
	for name, nr := range t.table {
		table[name] = nr
	}
	t.table, t.absent = table, slices.Clone(t.absent)
	return t
}

func TestHardeningWinsOverALaterProfile(t *testing.T) {
	for _, target := range targets() {
		profile := moby.DefaultProfile()
		for _, name := range alwaysDenied {
			profile.Syscalls = append(profile.Syscalls, allow(name))
		}
		p, err := resolve(profile, target)
		if err != nil {
			t.Fatal(err)
		}
		if err := harden(p, target); err != nil {
			t.Fatal(err)
		}
		for _, name := range alwaysDenied {
			if a, ok := p.answers[uint32(target.table[name])]; ok {
				t.Errorf("%s on %s gets %#x, want no answer but the default", name, target.goarch, a.ret)
			}
		}
	}
}

func TestJumpBeyondEightBitsIsRefused(t *testing.T) {
	for _, distance := range []int{255, 256} {
		var a assembler
		a.emit(jeq, 1, "far", "")
		for range distance {
			a.emit(load, offNumber, "", "")
		}
		a.label("far")
		a.emit(ret, retAllow, "", "")
		if _, err := a.link(); (err != nil) != (distance > 255) {
			t.Errorf("a jump over %d instructions: error is %v", distance, err)
		}
	}
}
