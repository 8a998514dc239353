package bench

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/tartree"
	"hermes.example/hermes/sandbox"
)

const smallFiles = 10_000

// copied is one way to copy something; undo takes the copy away and is not measured.
type copied struct {
	do, undo func() error
}

// files copies a gibibyte, and many small files, into a sandbox and out of it, beside what does the same on the
// host, on the same file system. A budget of a part of another one's speed is one of its inverse in time.
func (r *runner) files() error {
	box, err := r.box("files")
	if err != nil {
		return err
	}
	big, small := filepath.Join(r.home, "big"), filepath.Join(r.home, "small")
	if err := writeRandom(big, gibibyte); err != nil {
		return err
	}
	if err := writeMany(small); err != nil {
		return err
	}
	host := filepath.Join(r.home, "copy")
	hostCopy := func(name string, args ...string) copied {
		return copied{func() error { return exec.CommandContext(r.ctx, name, args...).Run() }, func() error { return os.RemoveAll(host) }}
	}
	if err := r.keep(box, big); err != nil {
		return err
	}
	m, err := r.alternate(hostCopy("cp", big, host), r.copyIn(box, big), r.copyOut(box, host))
	if err != nil {
		return err
	}
	const bigBudget, smallBudget = 1 / 0.6, 1 / 0.4
	r.report.compare("1 GiB file into a sandbox (≥ 60 % of `cp`)", "`cp`", m[1], m[0], bigBudget, "")
	r.report.compare("1 GiB file out of a sandbox (≥ 60 % of `cp`)", "`cp`", m[2], m[0], bigBudget, "")
	script := fmt.Sprintf("mkdir '%[2]s' && tar -C '%[1]s' -cf - small | tar -C '%[2]s' -xf -", r.home, host)
	if err := box.Files(sandbox.Workspace).Remove(r.ctx, kept, false); err != nil {
		return err
	}
	if err := r.keep(box, small); err != nil {
		return err
	}
	m, err = r.alternate(hostCopy("sh", "-c", script), r.copyIn(box, small), r.copyOut(box, host))
	if err != nil {
		return err
	}
	r.report.compare("10,000 small files into a sandbox (≥ 40 % of `tar` into `tar`)", "`tar` into `tar`", m[1], m[0], smallBudget, "")
	r.report.compare("10,000 small files out of a sandbox (≥ 40 % of `tar` into `tar`)", "`tar` into `tar`", m[2], m[0], smallBudget, "")
	return nil
}

// alternate measures ways to copy in turn, and returns their medians.
func (r *runner) alternate(ways ...copied) ([]float64, error) {
	rounds := 3
	if r.Quick {
		rounds = 1
	}
	samples := make([][]float64, len(ways))
	for round := range rounds + 1 {
		for i, way := range ways {
			if err := r.ctx.Err(); err != nil {
				return nil, err
			}
			took, err := timed(way.do)
			if err != nil {
				return nil, err
			}
			if err := way.undo(); err != nil {
				return nil, err
			}
			if round > 0 { // the first one warms up
				samples[i] = append(samples[i], took)
			}
		}
	}
	medians := make([]float64, len(ways))
	for i := range samples {
		medians[i] = median(samples[i])
	}
	return medians, nil
}

// tree is a tree of the host as a tar stream that writes itself, as the command line copies it.
type tree struct {
	io.Reader
	fd   int
	name string
}

func (t tree) WriteTo(w io.Writer) (int64, error) {
	res, err := tartree.Pack(w, t.fd, t.name, tartree.Limits{})
	return res.Bytes, err
}

func (r *runner) copyIn(box *sandbox.Sandbox, from string) copied {
	name := filepath.Base(from)
	files := box.Files(sandbox.Workspace)
	return copied{func() error {
		fd, err := unix.Open(from, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		_, err = files.CopyIn(r.ctx, "/", tree{fd: fd, name: name}, sandbox.CopyOptions{})
		return err
	}, func() error { return files.Remove(r.ctx, name, true) }}
}

// keep leaves a copy inside under another name, for copyOut.
func (r *runner) keep(box *sandbox.Sandbox, from string) error {
	if err := r.copyIn(box, from).do(); err != nil {
		return err
	}
	return box.Files(sandbox.Workspace).Rename(r.ctx, filepath.Base(from), kept)
}

const kept = "kept"

func (r *runner) copyOut(box *sandbox.Sandbox, to string) copied {
	return copied{func() error {
		if err := os.Mkdir(to, 0o755); err != nil {
			return err
		}
		dir, err := unix.Open(to, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(dir)
		archive, err := box.Files(sandbox.Workspace).CopyOut(r.ctx, kept, kept, sandbox.CopyOptions{})
		if err != nil {
			return err
		}
		defer archive.Close()
		_, err = tartree.Unpack(dir, archive, tartree.Options{Top: kept})
		return err
	}, func() error { return os.RemoveAll(to) }}
}

func writeRandom(path string, size int64) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.CopyN(struct{ io.Writer }{f}, rand.NewChaCha8([32]byte{}), size)
	return err
}

// writeMany makes small files of a few hundred bytes, a hundred to a directory.
func writeMany(dir string) error {
	content := make([]byte, 500)
	for i := range smallFiles {
		sub := filepath.Join(dir, strconv.Itoa(i/100))
		if i%100 == 0 {
			if err := os.MkdirAll(sub, 0o755); err != nil {
				return err
			}
		}
		if _, err := rand.NewChaCha8([32]byte{byte(i)}).Read(content); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(sub, strconv.Itoa(i)), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
