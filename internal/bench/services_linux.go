package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// services measures the supervisor beside s6, and beside xargs where it is about many.
func (r *runner) services() error {
	if r.Hermes == "" {
		return nil
	}
	base, err := os.MkdirTemp("", "hermes-bench-services-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(base)
	if err := os.Chmod(base, 0o755); err != nil {
		return err
	}
	ours, end, err := r.supervisor()
	if err != nil {
		return err
	}
	defer end()
	if err := r.single(base, ours); err != nil {
		return err
	}
	return r.crowd(base, 1000, ours)
}

// measuring asks the supervisor to start services.
type measuring func(count int, base string) (servicesFigures, error)

// single measures one service at a time.
func (r *runner) single(base string, ours measuring) error {
	scan, stop, missing := startS6(r.ctx, filepath.Join(base, "scan"))
	if missing == nil {
		defer stop()
	}
	var own, other []float64
	rounds := max(r.Rounds/3, 5)
	for round := range rounds {
		f, err := ours(1, base)
		if err != nil {
			return err
		}
		own = append(own, f.Millis)
		if missing == nil {
			took, err := registerS6(r.ctx, scan, strconv.Itoa(round), base)
			if err != nil {
				return err
			}
			other = append(other, took)
		}
	}
	const what = "supervisor: a service from its registration until it runs"
	r.report.figure(what, "ms", median(own), 10, false, "")
	if missing == nil {
		r.report.compare(what, "s6", median(own), median(other), 2, "")
	} else {
		r.report.figure(what+", beside s6", "ms", median(own), 0, false, "not compared: "+missing.Error())
	}
	return nil
}

// crowd measures many services at once.
func (r *runner) crowd(base string, count int, ours measuring) error {
	began, err := r.xargs(base, count)
	if err != nil {
		return err
	}
	f, err := ours(count, base)
	if err != nil {
		return err
	}
	many := fmt.Sprintf("%d services", count)
	r.report.compare(many+" until all run", "xargs -P", f.Millis, began, 3, "")
	r.report.figure("memory that "+many+" take of the supervisor", "MB", f.MB, 60, false, "")
	r.report.figure("CPU that the supervisor takes for "+many+" that are idle", "%", f.CPU, 0.5, false, "of one core")
	return nil
}

// supervisor starts the process in which the supervisor is measured. The function returned asks it to start services.
func (r *runner) supervisor() (ask measuring, end func(), err error) {
	cmd := exec.CommandContext(r.ctx, r.Hermes, "bench", "--supervisor")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	answers := json.NewDecoder(out)
	ask = func(count int, base string) (f servicesFigures, err error) {
		dir, err := openDir(base)
		if err != nil {
			return f, err
		}
		defer os.RemoveAll(dir)
		if _, err := fmt.Fprintf(in, "%d %s\n", count, dir); err != nil {
			return f, err
		}
		return f, answers.Decode(&f)
	}
	return ask, func() { in.Close(); cmd.Wait() }, nil
}

// openDir is a directory that services of any user make files in.
func openDir(base string) (string, error) {
	dir, err := os.MkdirTemp(base, "marks-")
	if err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o777)
}

// xargs starts the same programs at the same time and says how long it took until all ran.
func (r *runner) xargs(base string, count int) (float64, error) {
	dir, err := openDir(base)
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	numbers, feed := io.Pipe()
	go func() {
		for i := range count {
			fmt.Fprintln(feed, filepath.Join(dir, strconv.Itoa(i)))
		}
		feed.Close()
	}()
	cmd := exec.CommandContext(r.ctx, "xargs", "-P", strconv.Itoa(count), "-n", "1", "sh", "-c", mark)
	cmd.Stdin = numbers
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	ctx, cancel := context.WithTimeout(r.ctx, time.Minute)
	defer cancel()
	took, err := timed(func() error {
		if err := cmd.Start(); err != nil {
			return err
		}
		return marked(ctx, dir, count)
	})
	if cmd.Process != nil {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait()
	}
	return took, err
}

// startS6 starts an s6-svscan, if there is one.
func startS6(ctx context.Context, scan string) (dir string, stop func(), missing error) {
	for _, program := range []string{"s6-svscan", "s6-svscanctl", "s6-svc"} {
		if _, err := exec.LookPath(program); err != nil {
			return "", nil, fmt.Errorf("%s is not installed", program)
		}
	}
	if err := os.Mkdir(scan, 0o755); err != nil {
		return "", nil, err
	}
	cmd := exec.CommandContext(ctx, "s6-svscan", scan)
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		// -t ends its supervisors, which end their services.
		if exec.Command("s6-svscanctl", "-t", scan).Run() != nil {
			cmd.Process.Kill()
		}
		cmd.Wait()
	}
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if exec.Command("s6-svscanctl", "-a", scan).Run() == nil {
			return scan, stop, nil
		}
	}
	stop()
	return "", nil, fmt.Errorf("s6-svscan does not start")
}

// registerS6 adds a service to a scan directory in the usual way, and says how long it took until it ran.
func registerS6(ctx context.Context, scan, name, base string) (float64, error) {
	dir, err := openDir(base)
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	staged, slot := filepath.Join(scan, "."+name), filepath.Join(scan, name)
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	took, err := timed(func() error {
		if err := os.Mkdir(staged, 0o755); err != nil {
			return err
		}
		run := fmt.Sprintf("#!/bin/sh\n: >%q; exec sleep 1000\n", filepath.Join(dir, name))
		if err := os.WriteFile(filepath.Join(staged, "run"), []byte(run), 0o755); err != nil {
			return err
		}
		if err := os.Rename(staged, slot); err != nil {
			return err
		}
		if out, err := exec.CommandContext(ctx, "s6-svscanctl", "-a", scan).CombinedOutput(); err != nil {
			return fmt.Errorf("cannot make s6-svscan look: %w: %s", err, out)
		}
		return marked(ctx, dir, 1)
	})
	if err != nil {
		return 0, err
	}
	return took, exec.CommandContext(ctx, "s6-svc", "-d", slot).Run()
}
