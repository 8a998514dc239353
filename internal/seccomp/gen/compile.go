//go:build linux

package main

import (
	"fmt"
	"slices"

	"golang.org/x/sys/unix"
)

// The opcodes that the filter uses. All but the loads of arguments are ones
// that the kernel can evaluate when the filter is installed: since 5.11 it then
// remembers which numbers are always allowed, and runs no BPF for them.
const (
	load = uint16(unix.BPF_LD | unix.BPF_W | unix.BPF_ABS)
	jeq  = uint16(unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K)
	jge  = uint16(unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K)
	jgt  = uint16(unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K)
	jset = uint16(unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K)
	ret  = uint16(unix.BPF_RET | unix.BPF_K)
)

// Offsets in struct seccomp_data; both targets are little endian.
const (
	offNumber = 0
	offArch   = 4
)

func offLow(arg uint32) uint32  { return 16 + 8*arg }
func offHigh(arg uint32) uint32 { return 16 + 8*arg + 4 }

// span is a run of syscall numbers, up to the next span, with the same answer.
type span struct {
	from  uint32
	label string
}

// compile lays the program out as: the architecture, a binary search over the
// spans of numbers, the argument tests, the results.
func compile(p *policy, t target) ([]instruction, error) {
	var a assembler
	a.emit(load, offArch, "", "")
	a.emit(jeq, t.audit, "", result(retKill))
	a.emit(load, offNumber, "", "")

	spans, tested := divide(p)
	a.search(spans)
	for _, nr := range tested {
		a.test(nr, p.answers[nr])
	}
	// Syscall -1 and x32 (numbers from 0x40000000 on) are above the last span's
	// start, like every syscall that is too new, and need no case of their own.
	for _, r := range results(p) {
		a.label(result(r))
		a.emit(ret, r, "", "")
	}
	return a.link()
}

// divide cuts the numbers into spans, and lists those with argument tests.
func divide(p *policy) (spans []span, tested []uint32) {
	for nr := range p.highest + 1 {
		answer, known := p.answers[nr]
		label := result(retEPERM)
		switch {
		case known && len(answer.tests) > 0:
			label = testOf(nr)
			tested = append(tested, nr)
		case known:
			label = result(answer.ret)
		}
		if len(spans) == 0 || spans[len(spans)-1].label != label {
			spans = append(spans, span{nr, label})
		}
	}
	return append(spans, span{p.highest + 1, result(retENOSYS)}), tested
}

func results(p *policy) []uint32 {
	all := []uint32{retAllow, retEPERM, retENOSYS, retKill}
	for _, a := range p.answers {
		all = append(all, a.ret)
		if len(a.tests) > 0 {
			all = append(all, a.match)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func result(r uint32) string  { return fmt.Sprintf("result %#x", r) }
func testOf(nr uint32) string { return fmt.Sprintf("test %d", nr) }

// search emits a balanced tree of comparisons with the spans' first numbers.
// The lower half follows its comparison, so that only the upper half is a jump.
func (a *assembler) search(spans []span) {
	if len(spans) < 2 {
		return
	}
	middle := len(spans) / 2
	lower, upper := spans[:middle], spans[middle:]
	entry := func(half []span) string {
		if len(half) == 1 {
			return half[0].label
		}
		return fmt.Sprintf("search %d+%d", half[0].from, len(half))
	}
	a.emit(jge, upper[0].from, entry(upper), entry(lower))
	for _, half := range [][]span{lower, upper} {
		if len(half) > 1 {
			a.label(entry(half))
			a.search(half)
		}
	}
}

func (a *assembler) test(nr uint32, answer answer) {
	a.label(testOf(nr))
	if answer.wide {
		a.emit(load, offHigh(answer.arg), "", "")
		a.emit(jeq, 0, "", result(answer.ret))
	}
	a.emit(load, offLow(answer.arg), "", "")
	for i, t := range answer.tests {
		match, other := result(answer.match), ""
		if i == len(answer.tests)-1 {
			other = result(answer.ret)
		}
		if t.not {
			match, other = other, match
		}
		a.emit(t.jump, t.value, match, other)
	}
}
