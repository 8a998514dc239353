package e2e

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// finding is what programs rely on of doctor.
type finding struct{ Name, Severity, Found, Fix string }

// doctor returns the findings by their names, and checks that each has its shape.
func (w *world) doctor(r result) map[string]finding {
	w.t.Helper()
	found := make(map[string]finding)
	bad := 0
	for _, f := range decode[[]finding](w.t, r.stdout) {
		if !slices.Contains([]string{"ok", "note", "bad"}, f.Severity) || f.Found == "" || (f.Fix == "") != (f.Severity == "ok") {
			w.t.Errorf("%+v", f)
		}
		if f.Severity == "bad" {
			bad++
		}
		found[f.Name] = f
	}
	if (r.code == 1) != (bad > 0) || r.code > 1 || (r.stderr == "") != (bad == 0) {
		w.t.Errorf("%d are bad: %v", bad, r)
	}
	return found
}

// calmDoctor asks again where the machine was too busy for an answer.
func (w *world) calmDoctor() map[string]finding {
	w.t.Helper()
	for i := 0; ; i++ {
		r := w.hermes("doctor", "--json")
		if i == 4 || !strings.Contains(r.stdout, `"no answer within `) {
			return w.doctor(r)
		}
	}
}

// is checks one finding.
func (w *world) is(f finding, severity, found, fix string) {
	w.t.Helper()
	if f.Severity != severity || !strings.Contains(f.Found, found) || f.Fix != fix {
		w.t.Errorf("%+v\nshould be %s, with %q\nFIX: %s", f, severity, found, fix)
	}
}

func TestDoctorSaysWhatHolds(t *testing.T) {
	asEveryone(t, func(t *testing.T, w *world) {
		found := w.calmDoctor()
		for _, name := range []string{"kernel", "user namespaces", "mounts", "seccomp", "pidfd", "home", "run directory", "leftovers", "clock", "sandbox"} {
			if found[name].Severity != "ok" {
				t.Errorf("%s: %+v", name, found[name])
			}
		}
		for _, name := range []string{"subordinate ids", "overlay", "landlock", "cgroups", "disk", "file system", "memory", "docker", "podman", "python", "node", "limits"} {
			if f := found[name]; f.Severity != "ok" && f.Severity != "note" {
				t.Errorf("%s: %+v", name, f)
			}
		}
		if left := append(w.tree(w.home), w.tree(w.run)...); len(left) > 0 {
			t.Errorf("it left %q", left)
		}
		// What it says of limits is what a sandbox has.
		w.must("sandbox", "exec", "--task", "x", "--cpus", "1", "--", "true")
		for _, fact := range decode[row](t, w.must("sandbox", "inspect", "x", "--json")).Posture.Facts {
			if slices.Contains([]string{"memory", "cpus", "pids"}, fact.Name) && strings.Contains(found["limits"].Found, fact.Name+" "+fact.Value) != fact.Enforced {
				t.Errorf("%+v, but doctor says %+v", fact, found["limits"])
			}
		}
	})
}

func TestDoctorForPeople(t *testing.T) {
	w := newWorld(t, nil)
	lines := strings.Split(strings.TrimSuffix(w.must("doctor"), "\n"), "\n")
	for i, line := range lines {
		severity, _, _ := strings.Cut(line, " ")
		fixed := i+1 < len(lines) && strings.HasPrefix(lines[i+1], "  FIX: ")
		switch {
		case strings.HasPrefix(line, "  FIX: "):
		case severity == "ok" && !fixed, (severity == "note" || severity == "bad") && fixed:
		default:
			t.Errorf("line %d: %q", i, line)
		}
	}
	if last := lines[len(lines)-1]; !strings.HasPrefix(last, "ok    sandbox ") {
		t.Errorf("the last line is %q", last)
	}
	s := w.onScreen(50, 200, "doctor")
	s.waitFor("sandbox")
	s.exit(0)
	if got := s.text(); !strings.Contains(got, "\x1b[32mok  \x1b[0m  kernel") {
		t.Errorf("no colours on a terminal: %q", got)
	}
}

func TestDoctorMakesNoHome(t *testing.T) {
	w := newWorld(t, nil)
	absent := *w
	absent.env = append(slices.Clone(w.env), "HERMES_HOME="+filepath.Join(w.dir, "user", "a", "b"))
	if f := absent.calmDoctor()["sandbox"]; f.Severity != "ok" {
		t.Errorf("%+v", f)
	}
	if left := w.tree(filepath.Join(w.dir, "user")); len(left) > 0 {
		t.Errorf("it left %q", left)
	}
}

func TestDoctorNamesTheOwnerOfAForeignHome(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can make a directory of another user")
	}
	w := newWorld(t, ordinary)
	foreign := filepath.Join(w.dir, "foreign")
	if err := os.Mkdir(foreign, 0o755); err != nil {
		t.Fatal(err)
	}
	w.env = append(w.env, "HERMES_HOME="+foreign)
	found := w.calmDoctor()
	w.env = w.env[:len(w.env)-1]
	who := ordinary.Name
	if who == "number" {
		who = itoa(ordinary.UID)
	}
	w.is(found["home"], "bad", "permission denied", "sudo chown -R "+who+" "+foreign)
	if found["sandbox"].Severity != "bad" {
		t.Errorf("%+v", found["sandbox"])
	}
}

// in makes the call run after a script, as root of new namespaces.
func (w *world) in(cmd *exec.Cmd, script string, unshare ...string) *exec.Cmd {
	w.t.Helper()
	path, err := exec.LookPath("unshare")
	if err != nil {
		w.t.Skip("unshare is not installed")
	}
	cmd.Args = append(append(append([]string{"unshare"}, unshare...), "sh", "-e", "-c", script+"; exec \"$@\"", "sh"), cmd.Args...)
	cmd.Path = path
	return cmd
}

func TestDoctorNamesMissingSubordinateIDs(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can hide /etc/subuid")
	}
	if ordinary.Name == "number" {
		t.Skip("no ordinary user could be made")
	}
	for _, program := range []string{"setpriv", "newuidmap", "newgidmap", "usermod"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(program + " is not installed")
		}
	}
	w := newWorld(t, ordinary)
	others := w.write("subids", "somebody:100000:65536\n")
	cmd := w.command("doctor", "--json")
	cmd.SysProcAttr.Credential = nil
	cmd.Args = append([]string{"setpriv", "--reuid=" + itoa(ordinary.UID), "--regid=" + itoa(ordinary.GID), "--clear-groups"}, cmd.Args...)
	w.in(cmd, "for f in /etc/subuid /etc/subgid; do mount --bind "+others+" $f; done", "--mount")
	found := w.doctor(w.finish(cmd))
	w.is(found["subordinate ids"], "note", "none for "+ordinary.Name,
		"sudo usermod --add-subuids 165536-231071 --add-subgids 165536-231071 "+ordinary.Name)
	if found["sandbox"].Severity != "ok" {
		t.Errorf("%+v", found["sandbox"])
	}
}

func TestDoctorWithoutUserNamespaces(t *testing.T) {
	w := newWorld(t, nil)
	cmd := w.in(w.command("doctor", "--json"), "echo 0 >/proc/sys/user/max_user_namespaces", "--user", "--map-root-user")
	r := w.finish(cmd)
	found := w.doctor(r)
	const fix = "echo 'user.max_user_namespaces = 15000' | tee -a /etc/sysctl.d/60-hermes.conf && sysctl -p /etc/sysctl.d/60-hermes.conf"
	w.is(found["user namespaces"], "bad", "user namespaces are disabled", fix)
	w.is(found["user.max_user_namespaces"], "bad", "nobody may", fix)
	if r.code != 1 || found["sandbox"].Severity != "bad" || !oneLine(r.stderr) {
		t.Errorf("%v", r)
	}
	if left := append(w.tree(w.home), w.tree(w.run)...); len(left) > 0 {
		t.Errorf("it left %q", left)
	}
}

// silent is a socket at which nobody ever says anything.
func (w *world) silent() string {
	w.t.Helper()
	dir, err := os.MkdirTemp("", "s")
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { os.RemoveAll(dir) })
	listener, err := net.Listen("unix", dir+"/s")
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { listener.Close() })
	return dir + "/s"
}

// The bound is generous; what matters is that it is not the programs'.
func TestDoctorIsNotHeldByWhatHangs(t *testing.T) {
	w := newWorld(t, nil)
	bin := filepath.Join(w.dir, "bin")
	w.mkdir(bin)
	unique := w.unique()
	for _, program := range []string{"python3", "node"} {
		path := w.write(filepath.Join(bin, program), "#!/bin/sh\nsleep "+unique+" &\nsleep "+unique+"\n")
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	hung := *w
	silent := w.silent()
	hung.env = append(slices.Clone(w.env), "PATH="+bin+":"+strings.TrimPrefix(w.env[0], "PATH="), "DOCKER_HOST=unix://"+silent, "CONTAINER_HOST=unix://"+silent)
	began := time.Now()
	found := hung.doctor(hung.hermes("doctor", "--json"))
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
	for name, words := range map[string]string{"docker": "no answer within", "podman": "no answer within", "python": "does not answer", "node": "does not answer"} {
		if f := found[name]; f.Severity != "note" || !strings.Contains(f.Found, words) {
			t.Errorf("%s: %+v", name, f)
		}
	}
	if found["sandbox"].Severity != "ok" {
		t.Errorf("%+v", found["sandbox"])
	}
	eventually(t, "all that hung is gone", func() bool { return len(running(t, "sleep", unique)) == 0 })
}

func TestDoctorFindsLeftovers(t *testing.T) {
	asEveryone(t, func(t *testing.T, w *world) {
		w.must("sandbox", "exec", "--task", "dies", "--", "true")
		w.must("sandbox", "exec", "--task", "lives", "--", "true")
		leftovers := func() finding { return w.calmDoctor()["leftovers"] }
		w.is(leftovers(), "ok", "none", "")
		w.killGuest("dies")
		w.is(leftovers(), "note", "of one sandbox that died", "hermes sandbox prune")
		w.must("sandbox", "prune")
		w.is(leftovers(), "ok", "none", "")
	})
}
