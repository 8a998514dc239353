//go:build linux

package main

import (
	"fmt"
	"slices"

	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/sys/unix"
)

// target is an architecture for which a filter is generated.
type target struct {
	goarch string
	audit  uint32         // seccomp_data.arch of a native call
	table  map[string]int // syscall numbers by name

	// aliases gives the table's name where the profile uses another one.
	aliases map[string]string
	// absent are the names that the profile allows on some machine but that
	// this architecture does not have.
	absent []string
	// phantom are absent names to which the table gives a number nevertheless.
	phantom []string
}

func targets() []target {
	return []target{
		{
			goarch: "amd64",
			audit:  unix.AUDIT_ARCH_X86_64,
			table:  arch.X86_64.SyscallNames,
			absent: slices.Concat(only32Bit, only32BitTime, elsewhere),
		},
		{
			goarch:  "arm64",
			audit:   unix.AUDIT_ARCH_AARCH64,
			table:   arch.AARCH64.SyscallNames,
			aliases: map[string]string{"newfstatat": "fstatat"},
			absent:  slices.Concat(only32Bit, elsewhere, armPrivate, notGeneric),
			// The table is made from the kernel's generic header, whose
			// 32-bit part (403 to 423) arm64 does not implement.
			phantom: only32BitTime,
		},
	}
}

// number returns the number of a syscall that the profile names; ok is false
// for one that the architecture is known not to have.
func (t target) number(name string) (nr uint32, ok bool, err error) {
	if slices.Contains(t.phantom, name) {
		return 0, false, nil
	}
	listed := slices.Contains(t.absent, name)
	if alias, ok := t.aliases[name]; ok {
		name = alias
	}
	n, known := t.table[name]
	switch {
	case known && listed:
		return 0, false, fmt.Errorf("syscall %s is listed as absent but has number %d", name, n)
	case !known && !listed:
		return 0, false, fmt.Errorf("syscall %s has no number on %s; if the architecture lacks it, add it to a list in gen/absent.go", name, t.goarch)
	}
	return uint32(n), known, nil
}

// unused returns a listed name that the profile does not contain, or "".
func (t target) unused(inProfile map[string]bool) string {
	for _, name := range slices.Concat(t.absent, t.phantom) {
		if !inProfile[name] {
			return name
		}
	}
	return ""
}
