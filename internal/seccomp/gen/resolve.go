//go:build linux

package main

import (
	"fmt"
	"slices"

	moby "github.com/moby/profiles/seccomp"
	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// capabilities are those that a sandboxed command can have at most; the profile
// opens further syscalls for others.
var capabilities = []string{"CAP_DAC_OVERRIDE", "CAP_CHOWN", "CAP_FOWNER", "CAP_SETUID", "CAP_SETGID"}

// kernel is the oldest that the native engine supports.
var kernel = moby.KernelVersion{Kernel: 5, Major: 12}

const (
	retAllow  = uint32(unix.SECCOMP_RET_ALLOW)
	retKill   = uint32(unix.SECCOMP_RET_KILL_PROCESS)
	retEPERM  = uint32(unix.SECCOMP_RET_ERRNO) | uint32(unix.EPERM)
	retENOSYS = uint32(unix.SECCOMP_RET_ERRNO) | uint32(unix.ENOSYS)
)

// policy is what a filter answers, by syscall number.
type policy struct {
	// highest is the newest syscall that the profile names under any
	// capability. About newer ones its authors had no opinion yet: they get
	// ENOSYS, as from runc, so that a libc takes its fallback, where EPERM
	// would look like a final answer.
	highest uint32
	// answers lacks the syscalls that are denied with EPERM.
	answers map[uint32]answer
}

// answer is ret, or, when there are tests, match for a call that passes one of
// the tests and ret for the others.
type answer struct {
	ret   uint32
	match uint32
	arg   uint32 // index of the tested argument
	wide  bool   // no test matches unless the argument's high word is zero
	tests []test
}

// test compares the low word of an argument by a BPF jump.
type test struct {
	jump  uint16
	value uint32
	not   bool
}

// resolve evaluates the profile's conditions for the target. moby's own
// GetDefaultProfile does so for the machine and kernel that it runs on, which
// would make the filter depend on where it was generated.
func resolve(profile *moby.Seccomp, t target) (*policy, error) {
	if profile.DefaultAction != specs.ActErrno || profile.DefaultErrnoRet == nil || *profile.DefaultErrnoRet != uint(unix.EPERM) {
		return nil, fmt.Errorf("the profile's default is not EPERM")
	}
	p := &policy{answers: map[uint32]answer{}}
	seen := map[string]bool{}
	for _, rule := range profile.Syscalls {
		if len(rule.Names) == 0 {
			return nil, fmt.Errorf("a rule has no names")
		}
		if !forArch(rule, t.goarch) {
			continue
		}
		for _, name := range rule.Names {
			seen[name] = true
			nr, ok, err := t.number(name)
			if err != nil {
				return nil, err
			}
			if !ok {
				continue
			}
			p.highest = max(p.highest, nr)
			if !applies(rule) {
				continue
			}
			if err := p.add(nr, name, rule.LinuxSyscall); err != nil {
				return nil, fmt.Errorf("rule for %s: %w", name, err)
			}
		}
	}
	if name := t.unused(seen); name != "" {
		return nil, fmt.Errorf("syscall %s is listed as absent but the profile does not name it", name)
	}
	return p, nil
}

func forArch(rule *moby.Syscall, goarch string) bool {
	if in := rule.Includes; in != nil && len(in.Arches) > 0 && !slices.Contains(in.Arches, goarch) {
		return false
	}
	return rule.Excludes == nil || !slices.Contains(rule.Excludes.Arches, goarch)
}

// applies says whether the rule holds for our capabilities and kernel.
func applies(rule *moby.Syscall) bool {
	has := func(c string) bool { return slices.Contains(capabilities, c) }
	lacks := func(c string) bool { return !has(c) }
	if in := rule.Includes; in != nil {
		if slices.ContainsFunc(in.Caps, lacks) || in.MinKernel != nil && !atLeast(*in.MinKernel) {
			return false
		}
	}
	if ex := rule.Excludes; ex != nil {
		if slices.ContainsFunc(ex.Caps, has) || ex.MinKernel != nil && atLeast(*ex.MinKernel) {
			return false
		}
	}
	return true
}

func atLeast(v moby.KernelVersion) bool {
	return kernel.Kernel > v.Kernel || kernel.Kernel == v.Kernel && kernel.Major >= v.Major
}

// add merges one rule into the policy. Rules with an argument are alternatives;
// any other second rule for a syscall would need an order, which the profile
// does not define, and is refused.
func (p *policy) add(nr uint32, name string, rule specs.LinuxSyscall) error {
	ret, err := verdict(rule)
	if err != nil {
		return err
	}
	old, again := p.answers[nr]
	if len(rule.Args) == 0 {
		if again && (old.ret != ret || len(old.tests) > 0) {
			return fmt.Errorf("it contradicts an earlier one")
		}
		p.answers[nr] = answer{ret: ret}
		return nil
	}
	if len(rule.Args) != 1 {
		return fmt.Errorf("it tests %d arguments, and only one is supported", len(rule.Args))
	}
	arg := rule.Args[0]
	next, wide, err := lower(arg, narrow[name])
	if err != nil {
		return err
	}
	a := answer{ret: retEPERM, match: ret, arg: uint32(arg.Index), wide: wide}
	if again {
		if len(old.tests) == 0 || old.match != a.match || old.arg != a.arg || old.wide != a.wide {
			return fmt.Errorf("it cannot be joined with an earlier one")
		}
		a = old
	}
	a.tests = append(a.tests, next)
	p.answers[nr] = a
	return nil
}

func verdict(rule specs.LinuxSyscall) (uint32, error) {
	switch {
	case rule.Action == specs.ActAllow:
		return retAllow, nil
	case rule.Action == specs.ActErrno && rule.ErrnoRet != nil:
		return uint32(unix.SECCOMP_RET_ERRNO) | uint32(*rule.ErrnoRet), nil
	}
	return 0, fmt.Errorf("action %s is not supported", rule.Action)
}

// lower turns a comparison of a 64-bit argument into one of its low word, and
// says whether the high word must be zero for it to match. The profile has only
// comparisons for which this is exact, given the narrow arguments.
func lower(arg specs.LinuxSeccompArg, isNarrow bool) (t test, wide bool, err error) {
	value := uint32(arg.Value)
	if arg.Value > 1<<32-1 || arg.Index > 5 {
		return test{}, false, fmt.Errorf("value %#x of argument %d is out of range", arg.Value, arg.Index)
	}
	switch {
	case arg.Op == specs.OpEqualTo:
		return test{jump: jeq, value: value}, !isNarrow, nil
	case arg.Op == specs.OpLessThan:
		return test{jump: jge, value: value, not: true}, !isNarrow, nil
	case arg.Op == specs.OpGreaterThan && isNarrow:
		return test{jump: jgt, value: value}, false, nil
	case arg.Op == specs.OpMaskedEqual && arg.ValueTwo == 0:
		// The mask has no bit in the high word, which is so without effect.
		return test{jump: jset, value: value, not: true}, false, nil
	}
	return test{}, false, fmt.Errorf("comparison %s is not supported", arg.Op)
}
