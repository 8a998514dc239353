package bench

import (
	"os"
	"os/exec"
	"strconv"
	"time"

	"hermes.example/hermes/sandbox"
)

// cold measures a sandbox from nothing to its first command's end. Between two
// of them it waits a moment: a cgroup that was just removed makes the kernel's
// next fork into one slow, and nobody starts sandboxes that way.
func (r *runner) cold() error {
	n := 0
	create := func() error {
		n++
		id := sandbox.Identity{Home: r.home, Task: "cold" + strconv.Itoa(n)}
		box, err := r.manager.Ensure(r.ctx, id, sandbox.Spec{})
		if err != nil {
			return err
		}
		return succeeded(box.Exec(r.ctx, sandbox.Command{Argv: bashTrue}))
	}
	remove := func() error {
		err := r.manager.Remove(r.ctx, sandbox.Identity{Home: r.home, Task: "cold" + strconv.Itoa(n)}, true)
		select {
		case <-time.After(50 * time.Millisecond):
		case <-r.ctx.Done():
		}
		return err
	}
	r.mu.Lock()
	clear(r.steps)
	r.order = nil
	r.mu.Unlock()
	things := []func() error{hostBash, create, remove}
	bwrap := bwrapArgs()
	if bwrap != nil {
		things = append(things, func() error { return exec.Command(bwrap[0], bwrap[1:]...).Run() })
	}
	m, err := r.interleave(max(r.Rounds/3, 5), things...)
	if err != nil {
		return err
	}
	r.report.compare("cold native sandbox + first command", hostFork, m[1], m[0], 8, "required")
	if bwrap != nil {
		r.report.compare("the same", "`bwrap`, same namespaces and binds", m[1], m[3], 0, "goal 1.5 ×; bwrap sets no seccomp filter, Landlock, cgroup or socket")
	}
	for _, name := range r.order {
		r.report.Profile = append(r.report.Profile, Step{name, median(r.steps[name])})
	}
	return nil
}

// bwrapArgs are the command line of bwrap for the same namespaces and the same
// view of the host, or nil when it is not installed.
func bwrapArgs() []string {
	path, err := exec.LookPath("bwrap")
	if err != nil {
		return nil
	}
	args := []string{path, "--unshare-all", "--new-session", "--die-with-parent", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/var/tmp",
		"--tmpfs", "/run", "--dir", "/root", "--dir", "/workspace"}
	for _, dir := range []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"} {
		if target, err := os.Readlink(dir); err == nil {
			args = append(args, "--symlink", target, dir)
		} else if _, err := os.Stat(dir); err == nil {
			args = append(args, "--ro-bind", dir, dir)
		}
	}
	for _, name := range []string{"alternatives", "ssl", "ca-certificates", "profile.d", "terminfo", "fonts", "perl", "python3"} {
		if _, err := os.Stat("/etc/" + name); err == nil {
			args = append(args, "--ro-bind", "/etc/"+name, "/etc/"+name)
		}
	}
	return append(append(args, "--chdir", "/workspace"), bashTrue...)
}
