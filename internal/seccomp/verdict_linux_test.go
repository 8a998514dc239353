package seccomp

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"go/build"
	"runtime"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

var goarches = []string{"amd64", "arm64"}

// argumentValues are the values around which some rule decides, each also with
// a bit above the 32 that the kernel may look at.
func argumentValues() []uint64 {
	values := []uint64{
		0, 1, 2, 7, 8, 9, 16, 36, 37, 38, 39, 40, 41, 42, 45, 46,
		0x5411, 0x5412, 0x5413, 0x541b, 0x541c, 0x541d,
		0x1ffff, 0x20000, 0x20001, 0x20007, 0x20008, 0x20009, 0x40000, 0x60000,
		0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff,
		unix.CLONE_VM | unix.CLONE_FS | unix.CLONE_FILES | unix.CLONE_SIGHAND | unix.CLONE_THREAD,
		unix.CLONE_NEWTIME,
	}
	for bit := range 32 {
		values = append(values, 1<<bit, 1<<bit|17)
	}
	for _, v := range values[:len(values):len(values)] {
		values = append(values, 1<<32|v, 1<<63|v, 0xffffffff<<32|v)
	}
	return values
}

func TestEveryVerdictIsTheProfiles(t *testing.T) {
	values := argumentValues()
	for _, goarch := range goarches {
		t.Run(goarch, func(t *testing.T) {
			program, _ := table(t, goarch)
			o := newOracle(t, goarch)
			calls := 0
			seen := map[uint32]bool{}
			check := func(c call) {
				calls++
				got, err := run(program, c)
				if err != nil {
					t.Fatalf("call %+v: %v", c, err)
				}
				want := o.want(c)
				seen[want] = true
				if got != want {
					t.Errorf("syscall %d %v with %#x: verdict %#x, want %#x", c.nr, o.names[c.nr], c.args, got, want)
				}
			}
			for nr := range uint32(601) {
				check(call{nr: nr, arch: auditArch[goarch]})
				for arg := range 6 {
					for _, v := range values {
						c := call{nr: nr, arch: auditArch[goarch]}
						c.args[arg] = v
						check(c)
					}
				}
				if t.Failed() && nr%50 == 49 {
					t.FailNow()
				}
			}
			for _, verdict := range []uint32{allow, eperm, enosys} {
				if !seen[verdict] {
					t.Errorf("no call should have got %#x: the oracle is broken", verdict)
				}
			}
			t.Logf("%d calls compared, %d instructions", calls, len(program))
		})
	}
}

// What the filter is for, in words, so that a mistake that generator and oracle
// share would still show.
func TestVerdictsByName(t *testing.T) {
	want := map[uint32][]string{
		allow: {
			"read", "write", "openat", "newfstatat", "statx", "execve", "exit_group", "wait4", "mmap",
			"futex", "rt_sigreturn", "prctl", "seccomp", "landlock_restrict_self", "setuid", "fchownat",
			"clone", "socket", "personality", "ioctl", "ptrace", "faccessat2", "close_range", "removexattrat",
		},
		eperm: {
			"mount", "umount2", "pivot_root", "unshare", "setns", "chroot", "reboot", "swapon",
			"bpf", "perf_event_open", "init_module", "finit_module", "kexec_load", "open_by_handle_at",
			"keyctl", "add_key", "request_key", "userfaultfd", "io_uring_setup", "io_uring_enter",
			"io_uring_register", "fsopen", "fsmount", "move_mount", "open_tree", "mount_setattr",
			"sethostname", "clock_settime", "acct", "kcmp", "pidfd_getfd", "process_madvise", "syslog",
		},
		enosys: {"clone3", "open_tree_attr", "file_setattr"},
	}
	for _, goarch := range goarches {
		program, _ := table(t, goarch)
		numbers := syscallNumbers(t, goarch)
		for verdict, names := range want {
			for _, name := range names {
				nr, ok := numbers[name]
				if !ok {
					t.Fatalf("%s has no number on %s", name, goarch)
				}
				got, err := run(program, call{nr: nr, arch: auditArch[goarch]})
				if err != nil || got != verdict {
					t.Errorf("%s on %s: verdict %#x, %v; want %#x", name, goarch, got, err, verdict)
				}
			}
		}
	}
}

func TestForeignCallsAreRefused(t *testing.T) {
	const x32Bit = 0x40000000
	foreign := []uint32{
		unix.AUDIT_ARCH_I386, unix.AUDIT_ARCH_ARM, unix.AUDIT_ARCH_X86_64, unix.AUDIT_ARCH_AARCH64,
		unix.AUDIT_ARCH_RISCV64, 0, 0xffffffff,
	}
	for _, goarch := range goarches {
		program, _ := table(t, goarch)
		native := auditArch[goarch]
		for nr := range uint32(601) {
			for _, arch := range foreign {
				if arch == native {
					continue
				}
				if got, err := run(program, call{nr: nr, arch: arch}); err != nil || got != kill {
					t.Fatalf("%s: syscall %d of architecture %#x: verdict %#x, %v; want a kill", goarch, nr, arch, got, err)
				}
			}
			if got, err := run(program, call{nr: x32Bit | nr, arch: native}); err != nil || got != enosys {
				t.Fatalf("%s: x32 syscall %d: verdict %#x, %v; want ENOSYS", goarch, nr, got, err)
			}
		}
		if got, err := run(program, call{nr: 0xffffffff, arch: native}); err != nil || got != enosys {
			t.Errorf("%s: syscall -1: verdict %#x, %v; want ENOSYS", goarch, got, err)
		}
	}
}

// The kernel refuses a jump out of the program when it is installed, which this
// machine can try for one architecture only.
func TestProgramsAreSmallAndWellFormed(t *testing.T) {
	for _, goarch := range goarches {
		program, digest := table(t, goarch)
		if len(program) >= 200 {
			t.Errorf("%s: %d instructions, want fewer than 200", goarch, len(program))
		}
		var raw []byte
		for i, in := range program {
			isJump := in.code&7 == 5
			if target := i + 1 + max(int(in.jt), int(in.jf)); isJump && target >= len(program) {
				t.Errorf("%s: instruction %d jumps to %d of %d", goarch, i, target, len(program))
			}
			raw = binary.LittleEndian.AppendUint16(raw, in.code)
			raw = append(raw, in.jt, in.jf)
			raw = binary.LittleEndian.AppendUint32(raw, in.k)
		}
		if last := program[len(program)-1]; last.code != 0x06 {
			t.Errorf("%s: the last instruction has opcode %#x, want a return", goarch, last.code)
		}
		sum := sha256.Sum256(raw)
		if want := hex.EncodeToString(sum[:])[:12]; digest != want {
			t.Errorf("%s: digest %s, want %s", goarch, digest, want)
		}
	}
}

func TestFilterIsTheTableOfThisMachine(t *testing.T) {
	if _, ok := auditArch[runtime.GOARCH]; !ok {
		if Filter() != nil || Digest() != "" {
			t.Fatal("a filter without a table")
		}
		return
	}
	program, digest := table(t, runtime.GOARCH)
	filter := Filter()
	if len(filter) != len(program) || Digest() != digest {
		t.Fatalf("%d instructions with digest %q, want %d with %q", len(filter), Digest(), len(program), digest)
	}
	for i, in := range program {
		if want := (unix.SockFilter{Code: in.code, Jt: in.jt, Jf: in.jf, K: in.k}); filter[i] != want {
			t.Errorf("instruction %d is %+v, want %+v", i, filter[i], want)
		}
	}
	filter[0].K = 99
	if Filter()[0].K == 99 {
		t.Error("a caller can change the filter")
	}
}

// PID 1 of every sandbox links this package.
func TestPackageImportsLittle(t *testing.T) {
	light := []string{"errors", "golang.org/x/sys/unix", "runtime", "strconv", "unsafe"}
	pkg, err := build.ImportDir(".", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range pkg.Imports {
		if !slices.Contains(light, path) {
			t.Errorf("the package imports %s, want only %v", path, light)
		}
	}
}
