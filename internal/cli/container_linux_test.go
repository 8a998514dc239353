package cli

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"hermes.example/hermes/internal/configured"
	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/engine/native"
)

// pretended makes native sandboxes and takes them for containers, so that what the
// command line does with those is seen without a service that makes real ones.
type pretended struct {
	sandbox.Engine
	mu    sync.Mutex
	specs map[string]sandbox.Spec
}

func (e *pretended) Capabilities() sandbox.Capabilities {
	c := e.Engine.Capabilities()
	c.Containers, c.Networks = true, []sandbox.Network{sandbox.NetworkBridge, sandbox.NetworkNone}
	return c
}

func (e *pretended) Create(ctx context.Context, id sandbox.Identity, spec sandbox.Spec) (sandbox.Info, error) {
	e.mu.Lock()
	e.specs[id.Key()] = spec
	e.mu.Unlock()
	info, err := e.Engine.Create(ctx, id, sandbox.Spec{Env: spec.Env, Cwd: spec.Cwd, Ephemeral: spec.Ephemeral, Network: sandbox.NetworkNone})
	return e.asAsked(info), err
}

func (e *pretended) Find(ctx context.Context, id sandbox.Identity) (sandbox.Info, error) {
	info, err := e.Engine.Find(ctx, id)
	return e.asAsked(info), err
}

func (e *pretended) asAsked(info sandbox.Info) sandbox.Info {
	e.mu.Lock()
	defer e.mu.Unlock()
	if spec, ok := e.specs[info.Identity.Key()]; ok {
		info.Spec, info.SpecHash = spec.Public(), spec.Hash()
	}
	return info
}

// caller runs command lines with an environment, as one profile would.
type caller struct {
	t      *testing.T
	makers map[string]configured.Maker
	vars   map[string]string
	stdin  *os.File
}

func newCaller(t *testing.T, home string, makers map[string]configured.Maker, configuration, stored string) *caller {
	t.Helper()
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"config.yaml": configuration, ".env": stored} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return &caller{t: t, makers: makers, vars: map[string]string{"HERMES_HOME": home, "HOME": home}}
}

func (c *caller) run(args ...string) (stdout, stderr string, status int) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	out, errs := new(bytes.Buffer), new(bytes.Buffer)
	a := &app{makers: c.makers, stdin: c.stdin, stdout: out, stderr: errs, lookup: lookupIn(c.vars)}
	status = a.run(ctx, args)
	return out.String(), errs.String(), status
}

// says expects what a line prints.
func (c *caller) says(want string, args ...string) {
	c.t.Helper()
	if out, errs, status := c.run(args...); strings.TrimSpace(out) != want || errs != "" || status != 0 {
		c.t.Errorf("%q prints %q and %q, status %d; want %q", args, out, errs, status, want)
	}
}

// pretend returns a home, and the engines with that one.
func pretend(t *testing.T) (home string, makers map[string]configured.Maker) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	run, err := os.MkdirTemp("", "hermes-cli-") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(run) })
	t.Setenv("XDG_RUNTIME_DIR", run)
	e, err := native.New(native.Options{Root: filepath.Join(base, "sandboxes")})
	if err != nil {
		t.Skip(err)
	}
	makers = with("pretended", &pretended{Engine: e, specs: make(map[string]sandbox.Spec)})
	home = filepath.Join(base, "home")
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		m := sandbox.NewManager(e, sandbox.Options{NoSweep: true})
		if _, err := m.Prune(ctx, home, true); err != nil {
			t.Error(err)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return home, makers
}

func TestForwardedVariablesReachEveryCommand(t *testing.T) {
	const (
		configuration = "terminal:\n  backend: pretended\n  docker_forward_env: [TOKEN, BOTH, ABSENT, OPENAI_API_KEY]\n  env_passthrough: [PASSED]\n  docker_env: {BOTH: literal, OWN: literal}\n"
		show          = `echo "$TOKEN $BOTH $OWN ${ABSENT-absent} $OPENAI_API_KEY ${PASSED-none}"`
	)
	home, makers := pretend(t)
	c := newCaller(t, home, makers, configuration, "TOKEN=stored\nOPENAI_API_KEY=key\n")
	c.vars["BOTH"] = "forwarded"
	c.says("stored forwarded literal absent key none", "sandbox", "exec", "-c", show)
	c.vars["TOKEN"], c.vars["PASSED"] = "rotated", "through"
	for _, args := range [][]string{{"sandbox", "exec"}, {"sandbox", "exec", "--session", "s"}, {"sandbox", "exec", "--session", "s"}, {"run"}} {
		c.says("rotated forwarded literal absent key through", append(args, "-c", show)...)
	}
	c.says("given", "sandbox", "exec", "--env", "TOKEN=given", "--", "printenv", "TOKEN")
	delete(c.vars, "BOTH")
	c.says("literal", "sandbox", "exec", "--session", "s", "-c", "echo $BOTH")

	id, errs, status := c.run("sandbox", "start", "--session", "s", "-c", show)
	if status != 0 {
		t.Fatalf("start: %s", errs)
	}
	c.says("rotated literal literal absent key through", "sandbox", "logs", "-f", strings.TrimSpace(id))

	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer slave.Close()
	go io.Copy(io.Discard, master)
	if _, err := master.WriteString("echo \"<$TOKEN>\"; exit\n"); err != nil {
		t.Fatal(err)
	}
	c.stdin = slave
	if out, errs, status := c.run("sandbox", "shell"); !strings.Contains(out, "<rotated>") || status != 0 {
		t.Errorf("the shell prints %q and %q, status %d", out, errs, status)
	}
}

// Two profiles share a container, and a session in it, but not their secrets.
func TestOneProfilesValueIsUnsetForAnother(t *testing.T) {
	home, makers := pretend(t)
	const shared = "terminal:\n  backend: pretended\n  docker_shared_container_key: team\n"
	a := newCaller(t, home, makers, shared+"  docker_forward_env: [TOKEN]\n", "TOKEN=of-a\n")
	b := newCaller(t, filepath.Join(home, "profiles", "b"), makers, shared+"  docker_forward_env: [TOKEN]\n", "")
	a.says("of-a", "sandbox", "exec", "--session", "s", "-c", "echo $TOKEN; export TOKEN=$TOKEN; echo here >/tmp/a")
	b.says("unset here", "sandbox", "exec", "--session", "s", "-c", `echo "${TOKEN-unset} $(cat /tmp/a)"`)
	b.vars["TOKEN"] = "of-b"
	b.says("of-b", "sandbox", "exec", "--session", "s", "-c", "echo $TOKEN")
	a.says("of-a", "sandbox", "exec", "--session", "s", "-c", "echo $TOKEN")
}

func TestNoValueShows(t *testing.T) {
	const secret = "hunter2"
	home, makers := pretend(t)
	c := newCaller(t, home, makers, "terminal:\n  backend: pretended\n  docker_forward_env: [TOKEN, 'X="+secret+"']\n  docker_env: {LITERAL: "+secret+", LIST: ["+secret+"]}\n", "TOKEN="+secret+"\n")
	// Every process that the command can see; its own environment has the values.
	out, errs, status := c.run("sandbox", "exec", "--session", "s", "-c", `cat /proc/*/cmdline | tr '\0' ' '; printenv TOKEN LITERAL | wc -l`)
	if status != 0 || strings.Contains(out, secret) || strings.Contains(errs, secret) || !strings.Contains(out, "2") {
		t.Errorf("prints %q and %q, status %d", out, errs, status)
	}
	for _, args := range [][]string{{"sandbox", "ls", "--json"}, {"sandbox", "inspect", "--json"}, {"sandbox", "inspect"}} {
		if out, errs, status := c.run(args...); status != 0 || strings.Contains(out+errs, secret) {
			t.Errorf("%q prints %q and %q, status %d", args, out, errs, status)
		}
	}
}

// What is configured anew is noticed by a caller who says nothing, and what somebody
// chose stays.
func TestChangedSettingsAreDrift(t *testing.T) {
	const before = "terminal:\n  backend: pretended\n  docker_env: {A: 1}\n"
	home, makers := pretend(t)
	c := newCaller(t, home, makers, before, "")
	c.says("1", "sandbox", "exec", "--memory", "64m", "-c", "echo $A; touch /tmp/first")
	c.says("1 first", "sandbox", "exec", "-c", "echo $A $(ls /tmp)")
	for _, test := range []struct{ setting, difference string }{
		{"docker_env: {A: 1}\n  container_memory: 1", ""}, // somebody chose it
		{"docker_env: {A: 1}\n  docker_image: other", "image"},
		{"docker_env: {A: 1}\n  docker_network: false", "network"},
		{"docker_env: {A: 2}", "the value of a variable"},
		{"docker_env: {B: 1}", "variables"},
	} {
		c := newCaller(t, home, makers, before, "")
		c.says("", "sandbox", "exec", "--memory", "64m", "-c", "touch /tmp/before")
		holder, _, _ := c.run("sandbox", "start", "--", "sleep", "60")
		changed := newCaller(t, home, makers, "terminal:\n  backend: pretended\n  "+test.setting+"\n", "")
		_, errs, status := changed.run("sandbox", "exec", "--", "true")
		if (status != 0) != (test.difference != "") || !strings.Contains(errs, test.difference) {
			t.Errorf("%s, in use: status %d, %q", test.setting, status, errs)
		}
		if _, errs, status := changed.run("sandbox", "kill", strings.TrimSpace(holder)); status != 0 {
			t.Fatal(errs)
		}
		out, errs, status := changed.run("sandbox", "exec", "-c", "ls /tmp")
		if status != 0 || strings.Contains(out, "before") != (test.difference == "") {
			t.Errorf("%s, idle: %q, %q, status %d", test.setting, out, errs, status)
		}
		if _, errs, status := c.run("sandbox", "rm", "default"); status != 0 {
			t.Fatal(errs)
		}
	}
}
