package store

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// roles are what other processes do in a store.
var roles = map[string]func(ctx context.Context, s *Store, args []string) error{
	"publish": func(ctx context.Context, s *Store, features []string) error {
		w, err := s.Write(ctx)
		if err != nil {
			return err
		}
		defer w.Close()
		_, err = install(ctx, w, features...)
		return err
	},
	"rollback": func(ctx context.Context, s *Store, _ []string) error {
		w, err := s.Write(ctx)
		if err != nil {
			return err
		}
		defer w.Close()
		_, err = w.Rollback(ctx)
		return err
	},
	"gc": func(ctx context.Context, s *Store, _ []string) error {
		w, err := s.Write(ctx)
		if err != nil {
			return err
		}
		defer w.Close()
		_, err = w.GC(ctx, Collect{})
		return err
	},
	// ensure installs a feature unless somebody has done so, and writes down when it began and when it ended.
	"ensure": func(ctx context.Context, s *Store, args []string) error {
		feature, journal := args[0], args[1]
		if s.Has(feature, specs(feature)) {
			return nil
		}
		w, err := s.Write(ctx)
		if err != nil {
			return err
		}
		defer w.Close()
		if s.Has(feature, specs(feature)) {
			return nil
		}
		features, err := s.Desired()
		if err != nil {
			return err
		}
		if err := note(journal, "begin", feature); err != nil {
			return err
		}
		if _, err := install(ctx, w, append(slices.Clone(features), feature)...); err != nil {
			return err
		}
		return note(journal, "end", feature)
	},
	// unlocked does everything on a file system that has no locks.
	"unlocked": func(ctx context.Context, s *Store, _ []string) error {
		if err := withoutLocks(); err != nil {
			return err
		}
		if !s.Has("a.one", specs("a.one")) {
			return fmt.Errorf("what is there cannot be used")
		}
		_, err := s.Write(ctx)
		return err
	},
}

func note(journal, what, feature string) error {
	f, err := os.OpenFile(journal, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = fmt.Fprintf(f, "%s %s %d\n", what, feature, os.Getpid())
	return err
}

// withoutLocks makes the kernel answer this process as it does where a file system has no locks.
func withoutLocks() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the call's number
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: unix.SYS_FLOCK},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOLCK)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program))); errno != 0 {
		return errno
	}
	return nil
}
