package seccomp

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"
)

// call is the kernel's struct seccomp_data, as far as a filter can use it.
type call struct {
	nr   uint32
	arch uint32
	from uint64 // the instruction pointer
	args [6]uint64
}

// word is what a 32-bit load at an offset sees on a little-endian machine.
func (c call) word(offset uint32) (uint32, error) {
	switch {
	case offset == 0:
		return c.nr, nil
	case offset == 4:
		return c.arch, nil
	case offset == 8 || offset == 12:
		return uint32(c.from >> (8 * (offset % 8))), nil
	case offset >= 16 && offset < 64 && offset%4 == 0:
		return uint32(c.args[(offset-16)/8] >> (8 * (offset % 8))), nil
	}
	return 0, fmt.Errorf("load at offset %d", offset)
}

// run interprets the opcodes of classic BPF that a seccomp filter of ours may
// have, written out as the numbers of the kernel's manual, and refuses others.
func run(program []instruction, c call) (uint32, error) {
	var a uint32
	for pc := 0; pc < len(program); pc++ {
		in := program[pc]
		var taken bool
		switch in.code {
		case 0x20: // ld [k]
			var err error
			if a, err = c.word(in.k); err != nil {
				return 0, err
			}
			continue
		case 0x06: // ret #k
			return in.k, nil
		case 0x15:
			taken = a == in.k
		case 0x25:
			taken = a > in.k
		case 0x35:
			taken = a >= in.k
		case 0x45:
			taken = a&in.k != 0
		default:
			return 0, fmt.Errorf("instruction %d has the unknown opcode %#x", pc, in.code)
		}
		if taken {
			pc += int(in.jt)
		} else {
			pc += int(in.jf)
		}
	}
	return 0, fmt.Errorf("ran off the end")
}

// table reads the program and the digest of any architecture's generated file,
// of which the compiler takes only that of the machine.
func table(t *testing.T, goarch string) (program []instruction, digest string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "filter_"+goarch+".go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		switch spec.Names[0].Name {
		case "digest":
			digest, err = strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		case "program":
			for _, row := range spec.Values[0].(*ast.CompositeLit).Elts {
				var f [4]uint64
				for i, field := range row.(*ast.CompositeLit).Elts {
					if f[i], err = strconv.ParseUint(field.(*ast.BasicLit).Value, 0, 32); err != nil {
						t.Fatal(err)
					}
				}
				program = append(program, instruction{uint16(f[0]), uint8(f[1]), uint8(f[2]), uint32(f[3])})
			}
		}
		return false
	})
	if err != nil || len(program) == 0 {
		t.Fatalf("cannot read the table of %s: %d instructions, %v", goarch, len(program), err)
	}
	return program, digest
}
