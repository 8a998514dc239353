package bench

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/image/hostimage"
	"hermes.example/hermes/internal/image/packed"
	"hermes.example/hermes/internal/image/unpack"
	"hermes.example/hermes/sandbox"
)

// images measures how an image is unpacked, how sandboxes start on it, and how one is
// forked.
func (r *runner) images() error {
	programs, err := hostimage.FromHost("head", bashTrue[0])
	if err != nil {
		return err
	}
	image, err := hostimage.Write(filepath.Join(r.home, "image"), hostimage.Config{}, programs, hostimage.Base())
	if err != nil {
		return err
	}
	if err := r.unpacking(); err != nil {
		return err
	}
	onImage, err := r.coldImage(image)
	if err != nil {
		return err
	}
	return r.fork(image, onImage)
}

// unpacking compares with tar on layers of many small files and of a few large ones.
func (r *runner) unpacking() error {
	if _, err := exec.LookPath("tar"); err != nil {
		return nil
	}
	for _, layer := range []struct {
		name     string
		dirs     []string
		smallest int64
		gzip     bool
	}{
		{"small files, gzip", []string{"/usr/include", "/usr/share", "/usr/lib"}, 0, true},
		{"programs, gzip", []string{"/usr/bin", "/usr/lib"}, 256 << 10, true},
		{"programs, not compressed", []string{"/usr/bin", "/usr/lib"}, 256 << 10, false},
	} {
		file := filepath.Join(r.home, "layer.tar")
		args := []string{"-c", "-f", file, "--ignore-failed-read", "-T", "-"}
		if layer.gzip {
			args = append(args, "-z")
		}
		cmd := exec.CommandContext(r.ctx, "tar", args...)
		cmd.Stdin = strings.NewReader(strings.Join(someFiles(layer.dirs, layer.smallest), "\n"))
		if err := cmd.Run(); err != nil {
			return err
		}
		if err := r.unpackOne(layer.name, file, layer.gzip); err != nil {
			return err
		}
	}
	return nil
}

// someFiles lists files of the machine, as many as a layer has: 3,000 files or 48 MB.
func someFiles(dirs []string, smallest int64) []string {
	var files []string
	var bytes int64
	for _, dir := range dirs {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error { // what cannot be read is no loss
			if err != nil || !d.Type().IsRegular() {
				return nil
			}
			info, err := d.Info()
			if err != nil || info.Size() < smallest || smallest == 0 && info.Size() > 64<<10 || strings.Contains(path, "\n") {
				return nil
			}
			if len(files) >= 3000 || bytes >= 48<<20 {
				return fs.SkipAll
			}
			files, bytes = append(files, path), bytes+info.Size()
			return nil
		})
	}
	return files
}

func (r *runner) unpackOne(name, file string, compressed bool) error {
	// In memory: how long a disk's file system takes to make a file varies more, from one
	// directory to the next, than what is compared here.
	base, err := os.MkdirTemp("/dev/shm", "hermes-bench-")
	if err != nil {
		base, err = os.MkdirTemp(r.home, "unpack")
	}
	if err != nil {
		return err
	}
	defer os.RemoveAll(base)
	n := 0
	fresh := func() (string, error) {
		n++
		dir := filepath.Join(base, strconv.Itoa(n))
		return dir, os.Mkdir(dir, 0o700)
	}
	m, err := r.interleave(max(r.Rounds/10, 3),
		func() error {
			dir, err := fresh()
			if err != nil {
				return err
			}
			f, err := os.Open(file)
			if err != nil {
				return err
			}
			o := unpack.Options{Setuid: unpack.Drop}
			if os.Getuid() != 0 {
				o.Owner = &unpack.Owner{UID: os.Getuid(), GID: os.Getgid()}
			}
			_, err = packed.Unpack(r.ctx, dir, f, o)
			return err
		},
		func() error {
			dir, err := fresh()
			if err != nil {
				return err
			}
			return exec.CommandContext(r.ctx, "tar", "-x", "-C", dir, "-f", file).Run()
		},
		func() error { return exec.CommandContext(r.ctx, "sha256sum", file).Run() },
		func() error {
			return errors.Join(os.RemoveAll(filepath.Join(base, strconv.Itoa(n))), os.RemoveAll(filepath.Join(base, strconv.Itoa(n-1))))
		})
	if err != nil {
		return err
	}
	what := "unpack a layer of " + name + ", digest checked, in memory"
	if compressed {
		r.report.compare(what, "`tar -x`", m[0], m[1], 1.25, "")
		return nil
	}
	// tar alone checks nothing, and there is no decompression for the digest to hide behind.
	r.report.compare(what, "`tar -x`", m[0], m[1], 0, "`tar` checks nothing")
	r.report.compare("the same", "`tar -x` and `sha256sum`", m[0], m[1]+m[2], 1.25, "")
	return nil
}

// coldImage compares starts on an image that is in the store with starts on the host's
// programs, and returns how long the former take.
func (r *runner) coldImage(image string) (float64, error) {
	spec := sandbox.Spec{Image: image}
	n := 0
	start := func(spec sandbox.Spec) func() error {
		return func() error {
			n++
			box, err := r.manager.Ensure(r.ctx, r.numbered("image", n), spec)
			if err != nil {
				return err
			}
			return succeeded(box.Exec(r.ctx, sandbox.Command{Argv: bashTrue}))
		}
	}
	remove := func() error {
		err := r.manager.Remove(r.ctx, r.numbered("image", n), true)
		select {
		case <-time.After(50 * time.Millisecond):
		case <-r.ctx.Done():
		}
		return err
	}
	m, err := r.interleave(max(r.Rounds/3, 5), start(sandbox.Spec{}), remove, start(spec), remove)
	if err != nil {
		return 0, err
	}
	r.report.compare("cold sandbox on an image of the store + first command", "on the host's programs", m[2], m[0], 0, "the difference is the overlay, and the name by which it holds its layers")
	return m[2], nil
}

func (r *runner) numbered(task string, n int) sandbox.Identity {
	return sandbox.Identity{Home: r.home, Task: task + strconv.Itoa(n)}
}

// fork measures a fork of a sandbox with 1 GiB of files, to the end of the fork's first
// command.
func (r *runner) fork(image string, cold float64) error {
	if r.Quick {
		return nil
	}
	spec := sandbox.Spec{Image: image}
	original := r.numbered("original", 0)
	box, err := r.manager.Ensure(r.ctx, original, spec)
	if err != nil {
		return err
	}
	if err := succeeded(box.Exec(r.ctx, sandbox.Command{Line: "head -c 512M /dev/zero >/half; head -c 512M /dev/zero >/workspace/half"})); err != nil {
		return err
	}
	unix.Sync() // what a fork waits for is its own
	var samples []float64
	for i := range max(r.Rounds/10, 3) {
		copied := r.numbered("fork", i)
		took, err := timed(func() error {
			if _, err := r.manager.Fork(r.ctx, original, []sandbox.Identity{copied}); err != nil {
				return err
			}
			box, err := r.manager.Ensure(r.ctx, copied, spec)
			if err != nil {
				return err
			}
			return succeeded(box.Exec(r.ctx, sandbox.Command{Argv: bashTrue}))
		})
		if err != nil {
			return err
		}
		samples = append(samples, took)
		// The next one finds the original running again.
		if err := succeeded(box.Exec(r.ctx, sandbox.Command{Argv: bashTrue})); err != nil {
			return err
		}
	}
	r.report.compare("fork of a sandbox with 1 GiB of files + first command in the fork", "cold sandbox on the same image", median(samples), cold, 3, "")
	return r.forget(original, len(samples))
}

func (r *runner) forget(original sandbox.Identity, forks int) error {
	ctx := context.WithoutCancel(r.ctx)
	for i := range forks {
		if err := r.manager.Remove(ctx, r.numbered("fork", i), true); err != nil {
			return err
		}
	}
	return r.manager.Remove(ctx, original, true)
}
