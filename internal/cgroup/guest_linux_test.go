package cgroup

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// runGuest is what the real guest does with its descriptors, in small.
func runGuest() {
	var task guestTask
	in := json.NewDecoder(os.Stdin)
	if err := in.Decode(&task); err != nil {
		panic(err)
	}
	result := make(chan guestReport)
	// The spawner: never the first thread.
	go onPassingThread(func() { spawner(task, result) })
	json.NewEncoder(os.Stdout).Encode(<-result)
	in.Decode(&task) // until the test closes the input
}

func spawner(task guestTask, result chan<- guestReport) {
	var r guestReport
	if err := task.run(&r); err != nil {
		r.Err = err.Error()
	}
	r.Own = groupsOf(os.Getpid())
	result <- r
	select {} // what it started must not lose its parent thread's place
}

func (task guestTask) run(r *guestReport) error {
	for i := range task.V1 {
		if _, err := unix.Write(3+i, []byte("0")); err != nil {
			return fmt.Errorf("tasks %d: %w", i, err)
		}
	}
	leaf := -1
	if task.V2 != 0 {
		if err := unix.Mkdirat(task.V2, "exec1", 0o755); err != nil {
			return fmt.Errorf("make a group: %w", err)
		}
		var err error
		if leaf, err = unix.Openat(task.V2, "exec1", unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
			return err
		}
		if fd, err := unix.Openat(task.V2, "pids.max", unix.O_WRONLY|unix.O_CLOEXEC, 0); err == nil {
			r.Denied = "may lift its own limit"
			unix.Close(fd)
		} else {
			r.Denied = err.Error()
		}
	}
	start := func(cmd *exec.Cmd) error {
		cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: leaf != -1, CgroupFD: leaf}
		err := cmd.Start()
		if err == nil {
			r.Started++
			r.Groups = groupsOf(cmd.Process.Pid)
		}
		return err
	}
	switch task.Do {
	case "sleep":
		for range task.Count {
			if err := start(exec.Command("sleep", "600")); err != nil {
				r.StartErr = err.Error()
				break
			}
		}
	case "hog":
		before, err := readOOM(task.OOM)
		if err != nil {
			return err
		}
		cmd := helper("hog")
		if err := start(cmd); err != nil {
			return err
		}
		r.Signal = waitSignal(cmd)
		after, err := readOOM(task.OOM)
		r.OOM = [2]int64{before, after}
		return err
	case "direct":
		leaf = task.V2
		return start(exec.Command("sleep", "600"))
	case "burn":
		return start(helper("burn"))
	case "namespace":
		// The guest keeps the host's cgroup namespace: one rooted at its own place
		// would, with nsdelegate, forbid it to put anything into cmd. Each command
		// gets one of its own once it is in its group.
		cmd := exec.Command("cat", "/proc/self/cgroup")
		cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: leaf != -1, CgroupFD: leaf, Unshareflags: unix.CLONE_NEWCGROUP}
		out, err := cmd.Output()
		r.Groups = parseGroups(string(out))
		return err
	case "killleaf":
		var cmds []*exec.Cmd
		for range task.Count {
			// Its own session, and a child in the background that outlives it.
			cmd := exec.Command("sh", "-c", "sleep 600 & exec setsid sleep 600")
			if err := start(cmd); err != nil {
				return err
			}
			cmds = append(cmds, cmd)
		}
		fd, err := unix.Openat(leaf, "cgroup.kill", unix.O_WRONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		if _, err := unix.Write(fd, []byte("1")); err != nil {
			return fmt.Errorf("cgroup.kill: %w", err)
		}
		for _, cmd := range cmds {
			r.Signal = waitSignal(cmd)
		}
		return removeLeaf(task.V2)
	}
	return nil
}

func removeLeaf(dir int) error {
	for p := newPause(time.Now().Add(5 * time.Second)); ; {
		err := unix.Unlinkat(dir, "exec1", unix.AT_REMOVEDIR)
		if !errors.Is(err, unix.EBUSY) || !p.wait() {
			return err
		}
	}
}

func waitSignal(cmd *exec.Cmd) int {
	cmd.Wait()
	return int(cmd.ProcessState.Sys().(syscall.WaitStatus).Signal())
}

func readOOM(fd int) (int64, error) {
	buf := make([]byte, 512)
	n, err := unix.Pread(fd, buf, 0)
	return ParseOOM(buf[:max(n, 0)]), err
}

// hog takes 512 MiB and more than any test allows.
func hog() {
	var kept [][]byte
	for range 512 {
		b := make([]byte, 1<<20)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		kept = append(kept, b)
	}
	runtime.KeepAlive(kept)
}

// threadInside puts one thread that is not the first into the group named by its
// argument, as a creator does for a moment, and waits.
func threadInside() {
	onPassingThread(func() {
		for _, dir := range strings.Split(os.Getenv("HERMES_CGROUP_TEST_DIRS"), ":") {
			if err := writeFile(filepath.Join(dir, "tasks"), "0"); err != nil {
				panic(err)
			}
		}
		fmt.Println("in")
		c := make(chan os.Signal, 1)
		signal.Notify(c, unix.SIGTERM)
		<-c
	})
}
