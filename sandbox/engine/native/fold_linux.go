package native

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/atomicfile"
	"hermes.example/hermes/internal/guest/jail"
)

// foldAt is from how many sets of frozen files on they are folded. Each costs a start
// about a fifth of a millisecond.
const foldAt = 8

// fold makes one set of neighbouring ones that nobody stands on but the sandbox in dir,
// which does not run. The caller holds the lock of the frozen files. Whatever fails,
// the stack that it returns is right, and so are the files if it is killed.
func (e *Engine) fold(ctx context.Context, home, dir string, s stack, ids idMap) (stack, error) {
	if len(s.Sets) < foldAt {
		return s, nil
	}
	users, err := e.standing(home)
	if err != nil {
		return s, err
	}
	for i := 0; i < len(s.Sets); i++ {
		end := i
		for end < len(s.Sets) && users[s.Sets[end]] == 1 {
			end++
		}
		if end-i < 2 {
			continue
		}
		var lower []string
		for _, id := range s.Sets[i+1 : end] {
			lower = append(lower, filepath.Join(e.frozenDir(home), id))
		}
		if err := runFold(ctx, ids, filepath.Join(e.frozenDir(home), s.Sets[i]), lower); err != nil {
			return s, err
		}
		// What was lifted must be on disk before the stack says so.
		if err := syncFiles(e.frozenDir(home)); err != nil {
			return s, err
		}
		folded := s
		folded.Sets = slices.Delete(slices.Clone(s.Sets), i+1, end)
		if err := folded.write(dir, atomicfile.Write); err != nil {
			return s, err
		}
		s = folded
		for _, set := range lower {
			if err := removeAs(ctx, ids, set); err != nil {
				return s, err // whoever collects next tries again
			}
		}
	}
	return s, nil
}

func runFold(ctx context.Context, ids idMap, upper string, lower []string) error {
	if ids.Mode == idsRange {
		return jail.Fold(upper, lower)
	}
	caps := []uintptr{unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_SETUID, unix.CAP_SETGID}
	_, err := runInNamespace(ctx, ids, caps, nil, append([]string{"fold", upper}, lower...)...)
	return err
}

// syncFiles waits until the file system that dir is on has everything on disk.
func syncFiles(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return os.NewSyscallError("syncfs", unix.Syncfs(int(f.Fd())))
}
