package boot

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fixture is a machine in a directory: its files are real, and its ids are those of this machine.
type fixture struct {
	t *testing.T
	Machine
	log bytes.Buffer
}

func newFixture(t *testing.T, environ ...string) *fixture {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	root, err := os.MkdirTemp("", "boot")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	f := &fixture{t: t}
	f.Machine = Machine{Root: root, Install: "/opt/hermes", Account: "hermes", Environ: environ, Run: run, Log: slog.New(slog.NewTextHandler(&f.log, nil)),
		Began: time.Now(), Now: time.Now, Random: rand.Reader}
	f.must(os.Chmod(root, 0o755))
	for _, dir := range []string{"etc", "opt/data", "opt/hermes/seeds", "run", "var", "tmp"} {
		f.must(os.MkdirAll(f.at(dir), 0o755))
	}
	f.must(os.Chmod(f.at("tmp"), 0o777|os.ModeSticky))
	f.must(os.Symlink("/run", f.at("var/run")))
	f.write("etc/passwd", "root:x:0:0:root:/root:/bin/bash\nnode:x:1000:1000::/home/node:/bin/sh\nhermes:x:10000:10000::/opt/data:/bin/bash\n")
	f.write("etc/group", "root:x:0:\ndialout:x:20:\nvideo:x:44:\nusers:x:100:\nhermes:x:10000:\n")
	f.write("opt/hermes/seeds/.env", "# keys\n")
	f.write("opt/hermes/seeds/config.yaml", "# settings\n")
	f.write("opt/hermes/seeds/SOUL.md", "You are Hermes.\n")
	return f
}

func (f *fixture) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// at is where a file of the machine is.
func (f *fixture) at(inside string) string { return filepath.Join(f.Root, inside) }

// write writes a file of root's.
func (f *fixture) write(inside, content string) {
	f.t.Helper()
	f.must(os.MkdirAll(filepath.Dir(f.at(inside)), 0o755))
	f.must(os.WriteFile(f.at(inside), []byte(content), 0o644))
}

func (f *fixture) read(inside string) string {
	f.t.Helper()
	text, err := os.ReadFile(f.at(inside))
	f.must(err)
	return string(text)
}

func (f *fixture) exists(inside string) bool {
	_, err := os.Lstat(f.at(inside))
	return err == nil
}

// owner is "uid:gid" of a file, and not of what it leads to.
func (f *fixture) owner(inside string) [2]int {
	f.t.Helper()
	info, err := os.Lstat(f.at(inside))
	f.must(err)
	st := info.Sys().(*syscall.Stat_t)
	return [2]int{int(st.Uid), int(st.Gid)}
}

func (f *fixture) mode(inside string) os.FileMode {
	f.t.Helper()
	info, err := os.Lstat(f.at(inside))
	f.must(err)
	return info.Mode().Perm()
}

// boot boots as root, and ends what the boot holds.
func (f *fixture) boot() *Result {
	f.t.Helper()
	r, err := f.try()
	if err != nil {
		f.t.Fatalf("%v\n%s", err, f.log.String())
	}
	return r
}

func (f *fixture) try() (*Result, error) {
	f.log.Reset()
	r, err := Run(f.t.Context(), f.Machine)
	if r != nil {
		f.t.Cleanup(r.Lease.Release)
	}
	return r, err
}

// again is a boot after the end of the one before.
func (f *fixture) again(r *Result) *Result {
	f.t.Helper()
	r.Lease.Release()
	return f.boot()
}

// refused says whether the boot warned of a path.
func (f *fixture) refused(inside string) bool {
	for line := range strings.Lines(f.log.String()) {
		if strings.Contains(line, "refusing") && strings.Contains(line, inside) {
			return true
		}
	}
	return false
}

var hermes = [2]int{10000, 10000}

// run runs what belongs to a boot.
func run(ctx context.Context, c Command) ([]byte, error) {
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	cmd.Env, cmd.Dir = c.Env, c.Dir
	if c.User != nil {
		groups := []uint32{}
		for _, g := range c.User.Groups {
			groups = append(groups, uint32(g))
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(c.User.UID), Gid: uint32(c.User.GID), Groups: groups}}
	}
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = errors.New(exit.String())
	}
	return out, err
}

// changeTime is when anything of a file was changed last.
func changeTime(t *testing.T, file string) string {
	t.Helper()
	info, err := os.Lstat(file)
	if err != nil {
		t.Fatal(err)
	}
	st := info.Sys().(*syscall.Stat_t)
	return time.Unix(st.Ctim.Unix()).String() + time.Unix(st.Mtim.Unix()).String()
}
