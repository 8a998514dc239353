package escape

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/rundir"
	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/engine/native"
)

// attack is all attempts of one user of the host.
type attack struct {
	// Dir is the user's own directory.
	Dir      string
	Programs programs
	// Fork is where the guest's filter has an exception.
	Fork uint64
	// Control asks for the attempts outside, too.
	Control bool
	// Users are those of the sandbox that make the attempts.
	Users []string
}

// result is what came of an attack.
type result struct {
	Control []outcome
	// Inside is by the user of the sandbox, Network the same with the host's network.
	Inside, Network map[string][]outcome
}

// outcome is a line of the program of attempts.
type outcome struct{ Group, Name, Verdict, Answer string }

// bound is how long a part of an attack may take before it is stuck.
const bound = 3 * time.Minute

func (a attack) run() (found result, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	victim, stop, err := a.startVictim(ctx)
	if err != nil {
		return found, err
	}
	defer stop()
	engine, err := native.New(native.Options{})
	if err != nil {
		return found, err
	}
	m := sandbox.NewManager(engine, sandbox.Options{NoSweep: true})
	defer func() { err = errors.Join(err, m.Close()) }()
	found.Inside, found.Network = make(map[string][]outcome), make(map[string][]outcome)
	for _, user := range a.Users {
		for network, into := range map[sandbox.Network]map[string][]outcome{sandbox.NetworkNone: found.Inside, sandbox.NetworkHost: found.Network} {
			b := a.box(user, network)
			if into[user], err = b.attempts(ctx, m, victim); err != nil {
				return found, fmt.Errorf("user %q, network %q: %w", user, network, err)
			}
		}
	}
	if a.Control {
		b := a.box("", sandbox.NetworkNone)
		found.Control, err = b.control(ctx, m, victim)
	}
	return found, err
}

// startVictim starts a process of our own user outside of all sandboxes.
func (a attack) startVictim(ctx context.Context) (map[string]any, func(), error) {
	cmd := exec.CommandContext(ctx, a.Programs.Attempt, "victim")
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	stop := func() {
		in.Close()
		cmd.Wait()
	}
	victim := make(map[string]any)
	decoder := json.NewDecoder(out)
	decoder.UseNumber() // addresses are larger than what a float holds exactly
	if err := decoder.Decode(&victim); err != nil {
		stop()
		return nil, nil, fmt.Errorf("cannot start the victim: %w", err)
	}
	return victim, stop, nil
}

// box is a sandbox to be attacked from inside.
type box struct {
	attack
	id   sandbox.Identity
	spec sandbox.Spec
}

// Where things are inside.
const (
	toolsInside    = "/tools"
	readOnlyInside = "/mnt/read-only"
	sharedInside   = "/mnt/shared"
	emptyInside    = "/srv"
)

func (a attack) box(user string, network sandbox.Network) box {
	mount := func(source, target string, readOnly bool) sandbox.Mount {
		return sandbox.Mount{Source: source, Target: target, ReadOnly: readOnly}
	}
	return box{a, sandbox.Identity{Home: filepath.Join(a.Dir, "home"), Task: "escape"}.Normal(), sandbox.Spec{
		User: user, Network: network,
		Mounts: []sandbox.Mount{
			mount(filepath.Dir(a.Programs.Attempt), toolsInside, true),
			mount(filepath.Join(a.Dir, "read-only"), readOnlyInside, true),
			mount(filepath.Join(a.Dir, "shared"), sharedInside, false),
		},
	}}
}

// attempts makes all attempts in the sandbox, on a terminal.
func (b box) attempts(ctx context.Context, m *sandbox.Manager, victim map[string]any) ([]outcome, error) {
	held, err := m.Ensure(ctx, b.id, b.spec)
	if err != nil {
		return nil, err
	}
	defer m.Remove(context.WithoutCancel(ctx), b.id, true)
	defer held.Close()
	world, err := b.world(victim, map[string]any{
		"Guest": 1, "ReadOnly": filepath.Join(readOnlyInside, "file"), "Shared": sharedInside, "Mountpoint": emptyInside,
		"Setuid": b.inside(b.Programs.Setuid), "FileCaps": b.inside(b.Programs.FileCaps),
	})
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	r, err := held.Exec(ctx, sandbox.Command{
		Argv: []string{b.inside(b.Programs.Attempt), world}, Stdout: &out, Terminal: &sandbox.Terminal{Rows: 25, Cols: 80}, Timeout: bound,
	})
	if err == nil && r.Code != 0 {
		err = fmt.Errorf("the attempts ended with %d (%s %s)\n%s", r.Code, r.Reason, r.Message, out.String())
	}
	if err != nil {
		return nil, err
	}
	return parse(out.String())
}

func (b box) inside(program string) string { return filepath.Join(toolsInside, filepath.Base(program)) }

// control makes the same attempts outside as root, beside a sandbox that is there.
// Mounts and the host's name are its own, so that it leaves nothing behind.
func (b box) control(ctx context.Context, m *sandbox.Manager, victim map[string]any) ([]outcome, error) {
	held, err := m.Ensure(ctx, b.id, b.spec)
	if err != nil {
		return nil, err
	}
	defer m.Remove(context.WithoutCancel(ctx), b.id, true)
	defer held.Close()
	empty := filepath.Join(b.Dir, "empty")
	if err := os.Mkdir(empty, 0o755); err != nil {
		return nil, err
	}
	world, err := b.world(victim, map[string]any{
		"Guest": victim["Outside"], "ReadOnly": filepath.Join(b.Dir, "read-only", "file"), "Shared": filepath.Join(b.Dir, "shared"),
		"Mountpoint": empty, "Setuid": b.Programs.Setuid, "FileCaps": b.Programs.FileCaps,
	})
	if err != nil {
		return nil, err
	}
	master, slave, err := pty.Open()
	if err != nil {
		return nil, err
	}
	defer master.Close()
	defer slave.Close()
	leak, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	defer leak.Close()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, b.Programs.Attempt, world)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = slave, &out, &errs, []*os.File{leak}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Unshareflags: unix.CLONE_NEWNS | unix.CLONE_NEWUTS}
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("the control failed: %w\n%s", err, errs.String())
	}
	return parse(out.String())
}

// world says where everything is, in the words of the program of attempts.
func (b box) world(victim, more map[string]any) (string, error) {
	run, err := rundir.Find()
	if err != nil {
		return "", err
	}
	state, spool := "", ""
	err = filepath.WalkDir(b.id.Home, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil // of another user of the sandbox
		case d.Name() == "state.json":
			state = path
		case d.Name() == "spool":
			spool = path
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	files := map[string]any{}
	for name, path := range map[string]string{
		"root": "/root", "home": "/home", "shadow": "/etc/shadow", "ssh": "/etc/ssh", "log": "/var/log", "boot": "/boot", "tmp": "/tmp", "shm": "/dev/shm",
		"env": filepath.Join(b.id.Home, ".env"), "state": state, "spool": spool, "run": run, "socket": filepath.Join(run, b.id.Key(), "guest.sock"),
	} {
		var stat unix.Stat_t
		if unix.Lstat(path, &stat) == nil {
			files[name] = map[string]any{"Path": path, "Dev": stat.Dev, "Ino": stat.Ino}
		}
	}
	world := map[string]any{"Hidden": files, "Secret": filepath.Join(b.id.Home, ".env"), "Disk": disk(), "Fork": b.Fork}
	for _, part := range []map[string]any{victim, more} {
		for name, value := range part {
			world[name] = value
		}
	}
	text, err := json.Marshal(world)
	return string(text), err
}

// disk is a block device of this machine, or "".
func disk() string {
	entries, _ := os.ReadDir("/sys/block")
	for _, e := range entries {
		path := "/dev/" + e.Name()
		if _, err := os.Stat(path); err == nil && !strings.HasPrefix(e.Name(), "loop") {
			return path
		}
	}
	return ""
}

func parse(out string) ([]outcome, error) {
	var all []outcome
	for lines := bufio.NewScanner(strings.NewReader(out)); lines.Scan(); {
		var o outcome
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			return nil, fmt.Errorf("cannot read %q of\n%s", lines.Text(), out)
		}
		all = append(all, o)
	}
	return all, nil
}
