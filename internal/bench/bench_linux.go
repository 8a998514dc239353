package bench

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/engine/native"
)

// Options of a run.
type Options struct {
	// Rounds is how often each thing is measured.
	Rounds int
	// Quick leaves out what takes long by nature: waiting for memory to settle.
	Quick bool
	// Hermes is the program whose start is measured.
	Hermes string
	// Progress is told what is being measured; may be nil.
	Progress func(what string)
}

// runner holds what the measurements share.
type runner struct {
	Options
	ctx     context.Context
	engine  sandbox.Engine
	manager *sandbox.Manager
	home    string
	report  Report

	mu    sync.Mutex
	steps map[string][]float64
	order []string
}

// Run measures everything and returns the report.
func Run(ctx context.Context, o Options) (Report, error) {
	home, err := os.MkdirTemp("", "hermes-bench-")
	if err != nil {
		return Report{}, err
	}
	defer os.RemoveAll(home)
	r := &runner{Options: o, ctx: ctx, home: home, report: newReport(), steps: make(map[string][]float64)}
	if r.engine, err = native.New(native.Options{Trace: r.trace}); err != nil {
		return Report{}, err
	}
	r.manager = sandbox.NewManager(r.engine, sandbox.Options{NoSweep: true})
	defer r.manager.Close()
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer cancel()
		r.manager.Prune(ctx, home, true)
	}()
	settled := r.beginMemory()
	for _, part := range []struct {
		name string
		do   func() error
	}{
		{"a command in a running sandbox", r.commands},
		{"a command from a new process", r.attach},
		{"cold starts", r.cold},
		{"throughput", r.throughput},
		{"many at once", r.many},
		{"memory", settled},
	} {
		r.progress(part.name)
		if err := part.do(); err != nil {
			return r.report, fmt.Errorf("cannot measure %s: %w", part.name, err)
		}
	}
	return r.report, nil
}

func (r *runner) progress(what string) {
	if r.Progress != nil {
		r.Progress(what)
	}
}

func (r *runner) trace(step string, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.steps[step]; !known {
		r.order = append(r.order, step)
	}
	r.steps[step] = append(r.steps[step], float64(took.Nanoseconds())/1e3)
}

func (r *runner) box(task string) (*sandbox.Sandbox, error) {
	return r.manager.Ensure(r.ctx, sandbox.Identity{Home: r.home, Task: task}, sandbox.Spec{})
}

// timed runs f and returns its milliseconds.
func timed(f func() error) (float64, error) {
	began := time.Now()
	err := f()
	return float64(time.Since(began).Nanoseconds()) / 1e6, err
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// interleave measures several things in turn, so that whatever else the machine
// does meets all of them alike, and returns their medians.
func (r *runner) interleave(rounds int, things ...func() error) ([]float64, error) {
	samples := make([][]float64, len(things))
	for round := range rounds + 2 {
		for i, thing := range things {
			if err := r.ctx.Err(); err != nil {
				return nil, err
			}
			took, err := timed(thing)
			if err != nil {
				return nil, err
			}
			if round >= 2 { // the first ones warm up
				samples[i] = append(samples[i], took)
			}
		}
	}
	medians := make([]float64, len(things))
	for i := range samples {
		medians[i] = median(samples[i])
	}
	return medians, nil
}

var bashTrue = []string{"bash", "-c", "true"}

const hostFork = "host fork+exec"

func hostBash() error { return exec.Command(bashTrue[0], bashTrue[1:]...).Run() }

func succeeded(res sandbox.Result, err error) error {
	if err == nil && res.Code != 0 {
		err = fmt.Errorf("exit %d: %s", res.Code, res.Message)
	}
	return err
}

func (r *runner) commands() error {
	box, err := r.box("commands")
	if err != nil {
		return err
	}
	session := box.Session("bench")
	m, err := r.interleave(r.Rounds, hostBash,
		func() error { return succeeded(box.Exec(r.ctx, sandbox.Command{Argv: bashTrue})) },
		func() error { return succeeded(session.Exec(r.ctx, sandbox.Command{Line: "true"})) })
	if err != nil {
		return err
	}
	r.report.compare("command in a running sandbox, `bash -c true`", hostFork, m[1], m[0], 1.3, "")
	r.report.compare("the same as a line of a session", hostFork, m[2], m[0], 0, "")
	return nil
}

func (r *runner) attach() error {
	if r.Hermes == "" {
		return nil
	}
	box, err := r.box("attach")
	if err != nil {
		return err
	}
	env := append(os.Environ(), "HERMES_HOME="+r.home)
	hermes := func(args ...string) func() error {
		return func() error {
			cmd := exec.CommandContext(r.ctx, r.Hermes, args...)
			cmd.Env = env
			return cmd.Run()
		}
	}
	m, err := r.interleave(max(r.Rounds/3, 5), hostBash, hermes("version"),
		hermes("sandbox", "exec", "--task", box.Identity().Task, "--", bashTrue[0], bashTrue[1], bashTrue[2]))
	if err != nil {
		return err
	}
	r.report.compare("start of `hermes` (`hermes version`)", hostFork, m[1], m[0], 0, "")
	r.report.compare("attach from a new process + one command, without the start of `hermes`", hostFork, m[2]-m[1], m[0], 3, "")
	return nil
}

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

const gibibyte = 1 << 30

// throughput sends a gibibyte through one command, checks it at the caller, and
// looks at how much memory that took at both ends.
func (r *runner) throughput() error {
	box, err := r.box("throughput")
	if err != nil {
		return err
	}
	guestBefore, err := r.guestMemory("throughput", "VmRSS")
	if err != nil {
		return err
	}
	callerBefore := peak("self")
	send := sandbox.Command{Argv: []string{"head", "-c", strconv.Itoa(gibibyte), "/dev/zero"}}
	zeros := &zeroChecker{}
	send.Stdout = zeros
	took, err := timed(func() error { return succeeded(box.Exec(r.ctx, send)) })
	if err == nil && (zeros.n != gibibyte || zeros.wrong) {
		err = fmt.Errorf("%d bytes arrived, wrong ones among them: %t", zeros.n, zeros.wrong)
	}
	if err != nil {
		return err
	}
	guestPeak, err := r.guestMemory("throughput", "VmHWM")
	if err != nil {
		return err
	}
	r.report.figure("1 GiB through one command, every byte compared", "MB/s", gibibyte/1e6/(took/1e3), 500, true, "")
	r.report.figure("peak memory of the guest above idle meanwhile", "MB", guestPeak-guestBefore, 32, false, "")
	r.report.figure("peak memory of the caller above before meanwhile", "MB", peak("self")-callerBefore, 32, false, "")
	return r.hashed(box, send)
}

// hashed sends the gibibyte again and takes its SHA-256 on the way, beside the
// same hash without any sandbox: a processor may be slower at that than we are.
func (r *runner) hashed(box *sandbox.Sandbox, send sandbox.Command) error {
	hash := sha256.New()
	send.Stdout = hash
	took, err := timed(func() error { return succeeded(box.Exec(r.ctx, send)) })
	if err != nil {
		return err
	}
	if sum := hex.EncodeToString(hash.Sum(nil)); sum != zerosDigest {
		return fmt.Errorf("what arrived has the digest %s", sum)
	}
	block := make([]byte, 64<<10)
	alone, _ := timed(func() error {
		hash.Reset()
		for range gibibyte / len(block) {
			hash.Write(block)
		}
		return nil
	})
	r.report.compare("1 GiB through one command into SHA-256", "the hash alone", took, alone, 0, "")
	return nil
}

// zerosDigest is the SHA-256 of a gibibyte of zeros.
const zerosDigest = "49bc20df15e412a64472421e13fe86ff1c5165e18b2afccf160d4dc19fe68a14"

// zeroChecker counts bytes and looks whether they are all zero.
type zeroChecker struct {
	n     int64
	wrong bool
	zeros [64 << 10]byte
}

func (z *zeroChecker) Write(p []byte) (int, error) {
	z.n += int64(len(p))
	for rest := p; len(rest) > 0; {
		n := min(len(rest), len(z.zeros))
		z.wrong = z.wrong || !bytes.Equal(rest[:n], z.zeros[:n])
		rest = rest[n:]
	}
	return len(p), nil
}

// many runs 200 commands in one sandbox, and 100 sandboxes, at once.
func (r *runner) many() error {
	box, err := r.box("many")
	if err != nil {
		return err
	}
	failed, took := together(200, func(int) error { return succeeded(box.Exec(r.ctx, sandbox.Command{Argv: bashTrue})) })
	r.report.figure("errors among 200 commands at once in one sandbox", "", float64(failed), 0, false, fmt.Sprintf("%.0f ms in all", took))
	r.report.Rows[len(r.report.Rows)-1].Met = failed == 0
	id := func(i int) sandbox.Identity { return sandbox.Identity{Home: r.home, Task: "many" + strconv.Itoa(i)} }
	failed, took = together(100, func(i int) error {
		box, err := r.manager.Ensure(r.ctx, id(i), sandbox.Spec{})
		if err != nil {
			return err
		}
		return succeeded(box.Exec(r.ctx, sandbox.Command{Argv: bashTrue}))
	})
	r.report.figure("errors among 100 sandboxes made at once, each with a command", "", float64(failed), 0, false, fmt.Sprintf("%.0f ms in all", took))
	r.report.Rows[len(r.report.Rows)-1].Met = failed == 0
	for i := range 100 {
		if err := r.manager.Remove(r.ctx, id(i), true); err != nil {
			return err
		}
	}
	return nil
}

// together runs f n times at once and counts failures.
func together(n int, f func(i int) error) (failed int, took float64) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	took, _ = timed(func() error {
		for i := range n {
			wg.Add(1)
			go func() {
				defer wg.Done()
				if f(i) != nil {
					mu.Lock()
					failed++
					mu.Unlock()
				}
			}()
		}
		wg.Wait()
		return nil
	})
	return failed, took
}

// beginMemory makes a sandbox, notes what its guest weighs, runs 200 commands in
// it, and returns what looks at it again a minute later.
func (r *runner) beginMemory() func() error {
	var fresh, private float64
	box, err := r.box("memory")
	if err == nil {
		select { // a guest tidies up after its setup
		case <-time.After(time.Second):
		case <-r.ctx.Done():
		}
		if fresh, err = r.guestMemory("memory", "VmRSS"); err == nil {
			private, err = r.guestMemory("memory", "RssAnon")
		}
	}
	for i := 0; i < 200 && err == nil; i++ {
		err = succeeded(box.Exec(r.ctx, sandbox.Command{Line: "echo " + strings.Repeat("x", 100)}))
	}
	used := time.Now()
	return func() error {
		if err != nil {
			return err
		}
		r.report.figure("memory of an idle guest, fresh", "MB", fresh, 4, false,
			fmt.Sprintf("%.1f MB of it are its own, the rest is its program, which all guests share", private))
		if r.Quick {
			return nil
		}
		select {
		case <-time.After(time.Until(used.Add(time.Minute))):
		case <-r.ctx.Done():
			return r.ctx.Err()
		}
		later, err := r.guestMemory("memory", "VmRSS")
		r.report.figure("the same, a minute after 200 commands", "MB", later, 8, false, "")
		return err
	}
}

// guestMemory reads a field of the status of a sandbox's guest, in MB.
func (r *runner) guestMemory(task, field string) (float64, error) {
	guest, ok := r.engine.(interface {
		GuestPID(sandbox.Identity) (int, error)
	})
	if !ok {
		return 0, fmt.Errorf("this engine does not tell where its guests are")
	}
	pid, err := guest.GuestPID(sandbox.Identity{Home: r.home, Task: task})
	if err != nil {
		return 0, err
	}
	return memory(strconv.Itoa(pid), field), nil
}

func peak(pid string) float64 { return memory(pid, "VmHWM") }

func memory(pid, field string) float64 {
	status, _ := os.ReadFile(filepath.Join("/proc", pid, "status"))
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			kb, _ := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 64)
			return kb * 1024 / 1e6
		}
	}
	return 0
}

func user() string {
	var uts unix.Utsname
	release := ""
	if unix.Uname(&uts) == nil {
		release = "Linux " + unix.ByteSliceToString(uts.Release[:])
	}
	if os.Geteuid() == 0 {
		return release + ", as root"
	}
	return release + ", as an ordinary user"
}
