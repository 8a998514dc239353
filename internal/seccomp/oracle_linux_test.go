package seccomp

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	moby "github.com/moby/profiles/seccomp"
	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

const (
	allow  = uint32(unix.SECCOMP_RET_ALLOW)
	kill   = uint32(unix.SECCOMP_RET_KILL_PROCESS)
	eperm  = uint32(unix.SECCOMP_RET_ERRNO) | uint32(unix.EPERM)
	enosys = uint32(unix.SECCOMP_RET_ERRNO) | uint32(unix.ENOSYS)
)

var auditArch = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}

// oracle answers what the filter must answer, by walking moby's rules for each
// call. It shares neither code nor syscall table with the generator.
type oracle struct {
	goarch  string
	rules   []*moby.Syscall
	numbers map[string]uint32
	names   map[uint32][]string
	highest uint32
}

func newOracle(t *testing.T, goarch string) *oracle {
	o := &oracle{
		goarch:  goarch,
		rules:   moby.DefaultProfile().Syscalls,
		numbers: syscallNumbers(t, goarch),
		names:   map[uint32][]string{},
	}
	for name, nr := range o.numbers {
		o.names[nr] = append(o.names[nr], name)
	}
	for _, rule := range o.rules {
		for _, name := range rule.Names {
			o.highest = max(o.highest, o.numbers[name])
		}
	}
	return o
}

// syscallNumbers reads x/sys's own constants, for any architecture.
func syscallNumbers(t *testing.T, goarch string) map[string]uint32 {
	t.Helper()
	pkg, err := build.Import("golang.org/x/sys/unix", ".", build.FindOnly)
	if err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(pkg.Dir, "zsysnum_linux_"+goarch+".go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	numbers := map[string]uint32{}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			nr, err := strconv.ParseUint(spec.Values[0].(*ast.BasicLit).Value, 0, 32)
			if err != nil {
				t.Fatal(err)
			}
			numbers[strings.ToLower(strings.TrimPrefix(spec.Names[0].Name, "SYS_"))] = uint32(nr)
		}
		return true
	})
	if len(numbers) < 300 {
		t.Fatalf("only %d syscalls of %s found in x/sys", len(numbers), goarch)
	}
	return numbers
}

func (o *oracle) want(c call) uint32 {
	names := o.names[c.nr]
	switch {
	case c.arch != auditArch[o.goarch]:
		return kill
	case c.nr > o.highest:
		return enosys
	case ours(names, c.args):
		return eperm
	}
	for _, rule := range o.rules {
		if !named(rule, names) || !o.holds(rule) || !matches(rule.Args, c.args) {
			continue
		}
		if rule.Action == specs.ActAllow {
			return allow
		}
		return uint32(unix.SECCOMP_RET_ERRNO) | uint32(*rule.ErrnoRet)
	}
	return eperm
}

// ours are the calls that the filter denies beyond the profile.
func ours(names []string, args [6]uint64) bool {
	is := func(name string) bool { return slices.Contains(names, name) }
	switch {
	case is("ioctl"):
		request := uint32(args[1])
		return request == 0x5412 || request == 0x541c // TIOCSTI, TIOCLINUX
	case is("socket"):
		family := uint32(args[0])
		return family == unix.AF_ALG || family == unix.AF_VSOCK
	}
	return false
}

func named(rule *moby.Syscall, names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return slices.Contains(rule.Names, n) })
}

func (o *oracle) holds(rule *moby.Syscall) bool {
	if f := rule.Includes; f != nil {
		if len(f.Arches) > 0 && !slices.Contains(f.Arches, o.goarch) || f.MinKernel != nil && f.MinKernel.Kernel >= 5 {
			return false
		}
		for _, c := range f.Caps {
			if !capable(c) {
				return false
			}
		}
	}
	if f := rule.Excludes; f != nil {
		if slices.Contains(f.Arches, o.goarch) || f.MinKernel != nil && f.MinKernel.Kernel < 5 {
			return false
		}
		for _, c := range f.Caps {
			if capable(c) {
				return false
			}
		}
	}
	return true
}

func capable(c string) bool {
	switch c {
	case "CAP_DAC_OVERRIDE", "CAP_CHOWN", "CAP_FOWNER", "CAP_SETUID", "CAP_SETGID":
		return true
	}
	return false
}

func matches(conditions []specs.LinuxSeccompArg, args [6]uint64) bool {
	for _, c := range conditions {
		value := args[c.Index]
		var ok bool
		switch c.Op {
		case specs.OpEqualTo:
			ok = value == c.Value
		case specs.OpNotEqual:
			ok = value != c.Value
		case specs.OpLessThan:
			ok = value < c.Value
		case specs.OpLessEqual:
			ok = value <= c.Value
		case specs.OpGreaterThan:
			ok = value > c.Value
		case specs.OpGreaterEqual:
			ok = value >= c.Value
		case specs.OpMaskedEqual:
			ok = value&c.Value == c.ValueTwo
		default:
			panic("unknown comparison " + c.Op)
		}
		if !ok {
			return false
		}
	}
	return true
}
