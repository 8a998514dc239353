//go:build linux

package main

import "fmt"

// instruction has the fields of the kernel's struct sock_filter.
type instruction struct {
	code   uint16
	jt, jf uint8
	k      uint32
}

// assembler collects instructions whose jumps name labels: emit and label in
// program order, then link once.
type assembler struct {
	lines  []line
	labels map[string]int
}

type line struct {
	code   uint16
	k      uint32
	jt, jf string // "" is the next instruction
}

func (a *assembler) emit(code uint16, k uint32, jt, jf string) {
	a.lines = append(a.lines, line{code, k, jt, jf})
}

// label names the next instruction.
func (a *assembler) label(name string) {
	if a.labels == nil {
		a.labels = map[string]int{}
	}
	a.labels[name] = len(a.lines)
}

func (a *assembler) link() ([]instruction, error) {
	program := make([]instruction, len(a.lines))
	for i, l := range a.lines {
		jt, err := a.distance(i, l.jt)
		if err != nil {
			return nil, err
		}
		jf, err := a.distance(i, l.jf)
		if err != nil {
			return nil, err
		}
		program[i] = instruction{l.code, jt, jf, l.k}
	}
	return program, nil
}

// distance is how many instructions a jump skips. BPF jumps forward only, and
// has 8 bits for it; a program that outgrows them needs another layout.
func (a *assembler) distance(from int, label string) (uint8, error) {
	if label == "" {
		return 0, nil
	}
	to, ok := a.labels[label]
	if !ok {
		return 0, fmt.Errorf("jump to the missing label %q", label)
	}
	skip := to - from - 1
	if skip < 0 || skip > 255 {
		return 0, fmt.Errorf("jump from instruction %d to %q skips %d instructions", from, label, skip)
	}
	return uint8(skip), nil
}
