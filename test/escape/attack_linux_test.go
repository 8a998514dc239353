package escape

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/image/hostimage"
	"hermes.example/hermes/internal/rundir"
	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/engine/local"
	"hermes.example/hermes/sandbox/engine/native"
)

// engines are those that are attacked, by name.
var engines = map[string]func() (sandbox.Engine, error){
	"native": func() (sandbox.Engine, error) { return native.New(native.Options{}) },
	"local":  func() (sandbox.Engine, error) { return local.New(local.Options{}) },
}

// attack is all attempts of one user of the host on one engine.
type attack struct {
	Engine string
	// OnImage gives its sandboxes an image as their root.
	OnImage bool
	// Dir is the user's own directory.
	Dir      string
	Programs attackers
	// Fork is where the guest's filter has an exception.
	Fork uint64
	// Control asks for the attempts outside, too.
	Control bool
	// Users are those of the sandbox that make the attempts.
	Users []string

	image string
}

// result is what came of an attack.
type result struct {
	Control []outcome
	// Isolated says that the engine claims to keep everything inside.
	Isolated bool
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
	engine, err := engines[a.Engine]()
	if err != nil {
		return found, err
	}
	if a.OnImage {
		programs, err := hostimage.FromHost("sh")
		if err != nil {
			return found, err
		}
		if a.image, err = hostimage.Write(filepath.Join(a.Dir, "image"), hostimage.Config{}, programs, hostimage.Base()); err != nil {
			return found, err
		}
	}
	can := engine.Capabilities()
	found.Isolated = can.Isolated
	m := sandbox.NewManager(engine, sandbox.Options{NoSweep: true})
	defer func() { err = errors.Join(err, m.Close()) }()
	found.Inside, found.Network = make(map[string][]outcome), make(map[string][]outcome)
	for _, user := range a.Users {
		for i, network := range can.Networks {
			into := found.Inside // with the engine's default
			if i > 0 {
				into = found.Network
			}
			b := a.box(user, network, can.Isolated)
			if into[user], err = b.attempts(ctx, m, victim); err != nil {
				return found, fmt.Errorf("user %q, network %q: %w", user, network, err)
			}
		}
	}
	if a.Control {
		b := a.box("", can.Networks[0], can.Isolated)
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
	// files is where its files are, seen from the host and from inside.
	files place
	in    place
}

// place is where the attempts find what they need.
type place struct{ bin, readOnly, shared, empty string }

func (a attack) box(user string, network sandbox.Network, isolated bool) box {
	b := box{attack: a, id: sandbox.Identity{Home: filepath.Join(a.Dir, "home"), Task: "escape"}.Normal(), spec: sandbox.Spec{Image: a.image, Cwd: "/", User: user, Network: network}}
	b.files = place{filepath.Dir(a.Programs.Attempt), filepath.Join(a.Dir, "read-only"), filepath.Join(a.Dir, "shared"), filepath.Join(a.Dir, "empty")}
	b.in = b.files
	if isolated {
		b.in = place{"/tools", "/mnt/read-only", "/mnt/shared", "/tmp"}
		b.spec.Mounts = []sandbox.Mount{
			{Source: b.files.bin, Target: b.in.bin, ReadOnly: true},
			{Source: b.files.readOnly, Target: b.in.readOnly, ReadOnly: true},
			{Source: b.files.shared, Target: b.in.shared},
		}
	}
	return b
}

// attempts makes all attempts in the sandbox, on a terminal.
func (b box) attempts(ctx context.Context, m *sandbox.Manager, victim map[string]any) ([]outcome, error) {
	held, err := m.Ensure(ctx, b.id, b.spec)
	if err != nil {
		return nil, err
	}
	defer m.Remove(context.WithoutCancel(ctx), b.id, true)
	defer held.Close()
	world, err := b.world(victim, b.in, 0)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	r, err := held.Exec(ctx, sandbox.Command{
		Argv: []string{filepath.Join(b.in.bin, "attempt"), world}, Stdout: &out, Terminal: &sandbox.Terminal{Rows: 25, Cols: 80}, Timeout: bound,
	})
	if err == nil && r.Code != 0 {
		err = fmt.Errorf("the attempts ended with %d (%s %s)\n%s", r.Code, r.Reason, r.Message, out.String())
	}
	if err != nil {
		return nil, err
	}
	return parse(out.String())
}

// control makes the same attempts outside as root, beside a sandbox that is there.
// Mounts and the host's name are its own, so that it leaves nothing behind.
func (b box) control(ctx context.Context, m *sandbox.Manager, victim map[string]any) ([]outcome, error) {
	held, err := m.Ensure(ctx, b.id, b.spec)
	if err != nil {
		return nil, err
	}
	defer m.Remove(context.WithoutCancel(ctx), b.id, true)
	defer held.Close()
	world, err := b.world(victim, b.files, victim["Outside"])
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

// world says where everything is, in the words of the program of attempts. A guest of
// 0 is whoever starts them.
func (b box) world(victim map[string]any, p place, guest any) (string, error) {
	run, err := rundir.Find()
	if err != nil {
		return "", err
	}
	sockets, err := filepath.Glob(filepath.Join(run, "*", "guest.sock"))
	if err != nil || len(sockets) != 1 {
		return "", fmt.Errorf("the sockets of guests are %q, %v", sockets, err)
	}
	state, spool, socket := "", "", sockets[0]
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
		"env": filepath.Join(b.id.Home, ".env"), "state": state, "spool": spool, "run": run, "socket": socket,
	} {
		var stat unix.Stat_t
		if unix.Lstat(path, &stat) == nil {
			files[name] = map[string]any{"Path": path, "Dev": stat.Dev, "Ino": stat.Ino}
		}
	}
	world := map[string]any{
		"Hidden": files, "Secret": filepath.Join(b.id.Home, ".env"), "Disk": disk(), "Fork": b.Fork, "Guest": guest,
		"ReadOnly": filepath.Join(p.readOnly, "file"), "Shared": p.shared, "Mountpoint": p.empty,
		"Setuid": filepath.Join(p.bin, "setuid"), "FileCaps": filepath.Join(p.bin, "filecaps"),
	}
	maps.Copy(world, victim)
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
