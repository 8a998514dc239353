// Package machine is a container without a container runtime: PID, mount, network, UTS and IPC namespaces with
// a root of its own, in which a test boots what it wants as PID 1. util-linux does the work.
//
// Tests of boot and supervision use it. Its root lies in a directory that outlasts a boot, as a container's does
// when it is restarted, and can be looked at from outside.
package machine

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Machine is the root and what is bound into it.
type Machine struct {
	t testing.TB
	// Root is its root directory, as seen from outside. /usr in it is empty: that of the host is bound there.
	Root string
	// Binds are more of the host's files: source and target, with ":ro" after it if it may not be written.
	Binds [][2]string
}

// hosts are the host's directories that a machine sees, read-only.
var hosts = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc/alternatives"}

// New makes a machine that has a host's programs, a root user, nobody, and the service user of the image.
func New(t testing.TB) *Machine {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can make a machine of namespaces")
	}
	root, err := os.MkdirTemp("", "machine")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	m := &Machine{t: t, Root: root}
	for dir, mode := range map[string]os.FileMode{
		"": 0o755, "dev": 0o755, "proc": 0o555, "sys": 0o555, "run": 0o755, "var": 0o755, "root": 0o700, "opt": 0o755, "home": 0o755,
		"opt/data": 0o755, "tmp": 0o777 | os.ModeSticky, "etc": 0o755, "var/tmp": 0o777 | os.ModeSticky,
	} {
		m.Dir("/"+dir, mode)
	}
	m.File("/etc/passwd", "root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"+
		"hermes:x:10000:10000::/opt/data:/bin/bash\n", 0o644)
	m.File("/etc/group", "root:x:0:\ndialout:x:20:\nvideo:x:44:\nusers:x:100:\nnogroup:x:65534:\nhermes:x:10000:\n", 0o644)
	m.File("/etc/shadow", "root:*:19000:0:99999:7:::\nhermes:!:19000:0:99999:7:::\n", 0o640)
	m.File("/etc/hosts", "127.0.0.1 localhost\n", 0o644)
	m.File("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n", 0o644)
	if err := os.Symlink("/run", m.Path("/var/run")); err != nil {
		t.Fatal(err)
	}
	return m
}

// Path is where a file of the machine is for the host.
func (m *Machine) Path(inside string) string { return filepath.Join(m.Root, inside) }

// Dir makes a directory, with the mode whatever the umask.
func (m *Machine) Dir(inside string, mode os.FileMode) {
	m.t.Helper()
	if err := os.MkdirAll(m.Path(inside), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.Chmod(m.Path(inside), mode); err != nil {
		m.t.Fatal(err)
	}
}

// File writes a file of root's, with the mode whatever the umask.
func (m *Machine) File(inside, content string, mode os.FileMode) {
	m.t.Helper()
	if err := os.MkdirAll(filepath.Dir(m.Path(inside)), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(m.Path(inside), []byte(content), 0o644); err != nil {
		m.t.Fatal(err)
	}
	if err := os.Chmod(m.Path(inside), mode); err != nil {
		m.t.Fatal(err)
	}
}

// Program copies a program of the host into the machine.
func (m *Machine) Program(host, inside string) {
	m.t.Helper()
	content, err := os.ReadFile(host)
	if err != nil {
		m.t.Fatal(err)
	}
	m.File(inside, string(content), 0o755)
}

// Boot says how a machine is started.
type Boot struct {
	// Argv is PID 1, by its path in the machine.
	Argv []string
	// Env is its whole environment; PATH is there if it names none.
	Env []string
	// Dir is where it starts: "/" if empty.
	Dir string
	// User, as "10000:10000", is who it starts as, without further groups. Groups are added with "10000:10000:44,0".
	User string
	// Restricted is a start without any capability and without new privileges.
	Restricted bool
	// Without are capabilities that are dropped from the bounding set, as "chown".
	Without []string
	// ReadOnly mounts the root read-only; /tmp and /opt/data stay writable.
	ReadOnly bool
	// Under puts another PID 1 above: it starts Argv as its child.
	Under []string
	// Stdin, Stdout and Stderr are its own if they are files, as a terminal is; nil collects the output.
	Stdin, Stdout, Stderr *os.File
	// Terminal makes Stdin its controlling terminal.
	Terminal bool
}

// setup makes the namespaces' root and becomes PID 1. Its arguments are the options, "--", and PID 1's command line.
const setup = `
set -e
root=$1 readonly=$2 dir=$3; shift 3
ip link set lo up
mount --make-rprivate /
mount --bind "$root" "$root"
while [ "$1" != -- ]; do
	from=$1 to=$root$2; shift 2
	opts=; case $to in *:ro) to=${to%:ro}; opts=-oremount,ro,bind ;; esac
	if [ -d "$from" ]; then mkdir -p "$to"; else [ -e "$to" ] || { mkdir -p "${to%/*}"; : >"$to"; }; fi
	mount --bind "$from" "$to"
	[ -z "$opts" ] || mount $opts "$to"
done
shift
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
mkdir "$root/dev/pts" "$root/dev/shm"; chmod 1777 "$root/dev/shm"
for d in null zero full random urandom tty; do : >"$root/dev/$d"; mount --bind "/dev/$d" "$root/dev/$d"; done
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"; ln -s /proc/self/fd "$root/dev/fd"
mount -t proc proc "$root/proc"
if [ "$readonly" = yes ]; then
	for d in tmp opt/data; do mount --bind "$root/$d" "$root/$d"; done
	mount -o remount,ro,bind "$root"
fi
cd "$root"
exec chroot . /usr/bin/env -i -C "$dir" "$@"
`

// Running is a machine that was booted. Its PID 1 is killed when the test ends, and with it everything in it.
type Running struct {
	t   testing.TB
	cmd *exec.Cmd
	// PID is that of the machine's PID 1 outside.
	PID  int
	out  *Buffer
	done chan struct{}
}

// Start boots the machine and returns when its PID 1 is about to run.
func (m *Machine) Start(b Boot) *Running {
	m.t.Helper()
	readonly := "no"
	if b.ReadOnly {
		readonly = "yes"
	}
	if b.Dir == "" {
		b.Dir = "/"
	}
	args := []string{"--pid", "--fork", "--mount", "--uts", "--ipc", "--net", "--kill-child", "sh", "-c", setup, "machine", m.Root, readonly, b.Dir}
	for _, dir := range hosts {
		if _, err := os.Stat(dir); err == nil {
			args = append(args, dir, dir+":ro")
		}
	}
	for _, bind := range m.Binds {
		args = append(args, bind[0], bind[1])
	}
	args = append(args, "--")
	if !strings.Contains("\n"+strings.Join(b.Env, "\n"), "\nPATH=") {
		args = append(args, "PATH=/opt/hermes/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
	}
	args = append(args, b.Env...)
	args = append(args, b.Under...)
	args = append(args, privileges(b)...)
	args = append(args, b.Argv...)
	r := &Running{t: m.t, cmd: exec.Command("unshare", args...), out: new(Buffer), done: make(chan struct{})}
	r.cmd.Stdout, r.cmd.Stderr = r.out, r.out
	if b.Stdin != nil {
		r.cmd.Stdin = b.Stdin
	}
	if b.Stdout != nil {
		r.cmd.Stdout = b.Stdout
	}
	if b.Stderr != nil {
		r.cmd.Stderr = b.Stderr
	}
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: b.Terminal}
	if err := r.cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	go func() { r.cmd.Wait(); close(r.done) }()
	m.t.Cleanup(func() { r.Kill(); <-r.done })
	r.PID = r.child()
	return r
}

// privileges are the words that take PID 1's rights away.
func privileges(b Boot) []string {
	words := []string{"setpriv"}
	if b.User != "" {
		ids := strings.SplitN(b.User, ":", 3)
		words = append(words, "--reuid", ids[0], "--regid", ids[1])
		if len(ids) == 3 {
			words = append(words, "--groups", ids[2])
		} else {
			words = append(words, "--clear-groups")
		}
	}
	if b.Restricted {
		words = append(words, "--bounding-set", "-all", "--inh-caps", "-all", "--ambient-caps", "-all", "--no-new-privs")
	}
	for _, c := range b.Without {
		words = append(words, "--bounding-set", "-"+c, "--inh-caps", "-"+c)
	}
	if len(words) == 1 {
		return nil
	}
	return words
}

// child waits for the one child of unshare, PID 1, until it has the root of the machine.
func (r *Running) child() int {
	r.t.Helper()
	tasks := fmt.Sprintf("/proc/%d/task/%d/children", r.cmd.Process.Pid, r.cmd.Process.Pid)
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
		if text, err := os.ReadFile(tasks); err == nil {
			if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && inside(pid) {
				return pid
			}
		}
		select {
		case <-r.done:
			return 0 // it was quick; how it ended is for the test
		case <-time.After(time.Millisecond):
		}
	}
	r.t.Fatalf("the machine does not start: %s", r.Output())
	return 0
}

// inside says whether a process has the machine's root: whatever entered it before would be at work on the host's files.
func inside(pid int) bool {
	root, err := os.Readlink(fmt.Sprintf("/proc/%d/root", pid))
	return err == nil && root != "/"
}

// Output is what it has said so far, if the test kept no descriptor of its own for that.
func (r *Running) Output() string { return r.out.String() }

// Wait returns how PID 1 ended: its status, or something else than 0 for a signal.
func (r *Running) Wait(within time.Duration) int {
	r.t.Helper()
	select {
	case <-r.done:
	case <-time.After(within):
		r.t.Fatalf("the machine does not end; it said:\n%s", r.Output())
	}
	return r.cmd.ProcessState.ExitCode()
}

// Ended says whether PID 1 has ended.
func (r *Running) Ended() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// Signal signals PID 1 from outside, as "docker stop" does.
func (r *Running) Signal(sig syscall.Signal) {
	r.t.Helper()
	if err := syscall.Kill(r.PID, sig); err != nil && err != syscall.ESRCH {
		r.t.Fatal(err)
	}
}

// Kill ends the machine at once, as a power cut does.
func (r *Running) Kill() {
	if r.Ended() {
		return
	}
	// unshare takes PID 1 with it, unless that has changed its ids meanwhile.
	if r.PID > 0 {
		syscall.Kill(r.PID, syscall.SIGKILL)
	}
	r.cmd.Process.Kill()
}

// Exec runs a command in the machine, as root or, with a user like "10000:10000", as that one, and returns what it
// said and its status. It is what "docker exec" does.
func (r *Running) Exec(user string, argv ...string) (string, int) {
	r.t.Helper()
	if r.PID == 0 {
		r.t.Fatal("the machine has ended")
	}
	args := []string{"--target", strconv.Itoa(r.PID), "--pid", "--mount", "--uts", "--ipc", "--net", "--root", "--wd", "/usr/bin/env", "-i",
		"PATH=/opt/hermes/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	if user != "" {
		uid, gid, _ := strings.Cut(user, ":")
		args = append(args, "setpriv", "--reuid", uid, "--regid", gid, "--clear-groups")
	}
	cmd := exec.Command("nsenter", append(args, argv...)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Second
	timer := time.AfterFunc(60*time.Second, func() { cmd.Process.Kill() })
	defer timer.Stop()
	err := cmd.Run()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		r.t.Fatalf("cannot run %q in the machine: %v", argv, err)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

// Must is Exec of what has to succeed.
func (r *Running) Must(user string, argv ...string) string {
	r.t.Helper()
	out, code := r.Exec(user, argv...)
	if code != 0 {
		r.t.Fatalf("%q ended with %d: %s\nthe machine said:\n%s", argv, code, out, r.Output())
	}
	return strings.TrimSuffix(out, "\n")
}

// Eventually waits for what the machine brings about.
func (r *Running) Eventually(what string, is func() bool) {
	r.t.Helper()
	for end := time.Now().Add(30 * time.Second); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("never came true: %s; the machine said:\n%s", what, r.Output())
		}
	}
}
