//go:build linux

package containers

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/moby/moby/client"
)

// Private is a Docker Engine of one test, which may stop, kill and start it. It has its own directory, and
// network and mount namespaces that stay while the daemon comes and goes: bridges, rules and mounts are in
// nobody's way, and go with the test. Process ids are the machine's, so that what Inspect says of them is true.
type Private struct {
	Host string // unix://…

	t     testing.TB
	dir   string
	args  []string
	place *exec.Cmd // holds the namespaces
	leave io.Closer // ends place
	run   *exec.Cmd // the daemon; nil while there is none
}

// hold keeps the namespaces until its input ends, with a place of their own for the sockets of shims, whose
// path nobody can choose. When the test's process dies without a word the daemon is told to end.
const hold = `mkdir -p /run/containerd && mount -t tmpfs private /run/containerd && echo ready
read _; [ ! -e "$0" ] || kill $(cat "$0")`

// PrivateDocker starts one, with further arguments of dockerd; where that is impossible the test is skipped.
func PrivateDocker(t testing.TB, args ...string) *Private {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can start a Docker Engine")
	}
	if _, err := exec.LookPath("dockerd"); err != nil {
		t.Skip("dockerd is not installed")
	}
	dir, err := os.MkdirTemp("", "dockerd") // the name of a test may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	p := &Private{Host: "unix://" + filepath.Join(dir, "s"), t: t, dir: dir, args: args}
	t.Cleanup(p.sweep)
	p.place = exec.Command("unshare", "--net", "--mount", "sh", "-c", hold, p.pidFile())
	leave, err := p.place.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	ready, err := p.place.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.place.Start(); err != nil {
		t.Fatal(err)
	}
	p.leave = leave
	if _, err := ready.Read(make([]byte, 1)); err != nil {
		t.Fatalf("no namespaces for a Docker Engine: %v", err)
	}
	t.Cleanup(p.empty)
	p.Start()
	return p
}

// Client is one of the private daemon.
func (p *Private) Client() *client.Client {
	p.t.Helper()
	return Connect(p.t, p.Host)
}

// Hide takes a directory out of the daemon's sight, as if it ran on another machine.
func (p *Private) Hide(dir string) {
	p.t.Helper()
	in := strconv.Itoa(p.place.Process.Pid)
	if out, err := exec.Command("nsenter", "--target", in, "--mount", "mount", "-t", "tmpfs", "hidden", dir).CombinedOutput(); err != nil {
		p.t.Fatalf("cannot hide %s: %v: %s", dir, err, out)
	}
}

// Start returns when the daemon answers.
func (p *Private) Start() {
	p.t.Helper()
	log, err := os.Create(p.logFile())
	if err != nil {
		p.t.Fatal(err)
	}
	defer log.Close()
	settings := filepath.Join(p.dir, "daemon.json") // the machine's are for the machine's daemon
	if err := os.WriteFile(settings, []byte("{}\n"), 0o600); err != nil {
		p.t.Fatal(err)
	}
	in := strconv.Itoa(p.place.Process.Pid)
	p.run = exec.Command("nsenter", append([]string{"--target", in, "--net", "--mount", "dockerd",
		"--host", p.Host, "--pidfile", p.pidFile(), "--config-file", settings,
		"--data-root", filepath.Join(p.dir, "data"), "--exec-root", filepath.Join(p.dir, "run")}, p.args...)...)
	p.run.Stdout, p.run.Stderr = log, log
	if err := p.run.Start(); err != nil {
		p.t.Fatal(err)
	}
	c := p.Client()
	for deadline := time.Now().Add(time.Minute); ping(c) != nil; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) || gone(p.run.Process.Pid) {
			out, _ := os.ReadFile(p.logFile())
			p.t.Fatalf("the Docker Engine does not start:\n%s", tail(out))
		}
	}
}

// Stop ends the daemon as its administrator would; containers end with it, unless it was started with --live-restore.
func (p *Private) Stop() { p.end(syscall.SIGTERM) }

// Kill ends the daemon as a crash would: its containers live on, and it is their next start that decides
// about them. A containerd that dies with it leaves its process id, in which the next daemon would believe
// for as long as nobody has reaped it.
func (p *Private) Kill() {
	p.end(syscall.SIGKILL)
	file := filepath.Join(p.dir, "run", "containerd", "containerd.pid")
	content, _ := os.ReadFile(file)
	pid, err := strconv.Atoi(string(content))
	if err != nil {
		return
	}
	for range 100 {
		if gone(pid) {
			os.Remove(file)
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (p *Private) end(s syscall.Signal) {
	p.t.Helper()
	if err := p.run.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
	_ = p.run.Wait()
	p.run = nil
}

// empty removes all containers and stops the daemon. It is started for that if need be: what lived on
// without it is its to end.
func (p *Private) empty() {
	if p.run == nil {
		p.Start()
	}
	if gone(p.run.Process.Pid) {
		_ = p.run.Wait()
		return
	}
	ctx := context.Background()
	c := p.Client()
	all, err := c.ContainerList(ctx, client.ContainerListOptions{All: true})
	if err != nil {
		p.t.Error(err)
	}
	for _, one := range all.Items {
		if _, err := c.ContainerRemove(ctx, one.ID, client.ContainerRemoveOptions{Force: true}); err != nil {
			p.t.Error(err)
		}
	}
	p.Stop()
}

// sweep ends the namespaces, with all mounts and bridges in them, and removes the directory.
func (p *Private) sweep() {
	if p.leave != nil {
		for pid, name := range p.inside() {
			p.t.Errorf("the private Docker Engine left %s (%d) behind", name, pid)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		p.leave.Close()
		_ = p.place.Wait()
	}
	if err := os.RemoveAll(p.dir); err != nil {
		p.t.Error(err)
	}
}

// inside lists who lives in the daemon's mount namespace (itself, its containerd, their shims) and their children.
func (p *Private) inside() map[int]string {
	place := p.place.Process.Pid
	ours, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/mnt", place))
	if err != nil {
		p.t.Error(err)
	}
	all, _ := filepath.Glob("/proc/[0-9]*")
	found := make(map[int]string)
	for _, dir := range all {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if ns, err := os.Readlink(filepath.Join(dir, "ns/mnt")); err == nil && ns == ours && pid != place {
			found[pid], _, _ = about(pid)
		}
	}
	for _, dir := range all {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		name, _, parent := about(pid)
		if _, ok := found[parent]; ok {
			found[pid] = name
		}
	}
	return found
}

// gone is true of a process that has ended, whether or not somebody has waited for it.
func gone(pid int) bool {
	_, state, _ := about(pid)
	return state == "" || state == "Z"
}

func about(pid int) (name, state string, parent int) {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	before, after, _ := strings.Cut(string(stat), ") ")
	_, name, _ = strings.Cut(before, "(")
	_, _ = fmt.Sscan(after, &state, &parent)
	return name, state, parent
}

func (p *Private) pidFile() string { return filepath.Join(p.dir, "pid") }
func (p *Private) logFile() string { return filepath.Join(p.dir, "log") }
