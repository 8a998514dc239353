package cgroup

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

const userID = 54321

// hugetlb is a controller that v1 machines often leave to v2: through it the v2 way
// with controllers runs for real also where memory, cpu and pids belong to v1.
var hugetlb = want{"hugetlb", nil, []setting{{"hugetlb.2MB.max", "4194304", ""}}}

// v2Wants are limits that this machine's v2 hierarchy can enforce.
func v2Wants(t *testing.T, sys system) []want {
	t.Helper()
	content, err := readFile(filepath.Join(sys.v2, "cgroup.controllers"))
	if err != nil {
		t.Fatal(err)
	}
	var wants []want
	for _, w := range append(Limits{64 << 20, 1, 20}.wants(), hugetlb) {
		if slices.Contains(strings.Fields(content), w.controller) {
			wants = append(wants, w)
		}
	}
	if len(wants) == 0 {
		t.Skip("the cgroup v2 hierarchy has no controller to test with")
	}
	return wants
}

// handDown enables controllers in dir and takes them back at the end.
func handDown(t *testing.T, dir string, wants []want) {
	t.Helper()
	file := filepath.Join(dir, "cgroup.subtree_control")
	before, err := readFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got, missing := enable(dir, wants)
	if len(missing) > 0 {
		t.Fatalf("%v", missing)
	}
	t.Cleanup(func() {
		for _, w := range got {
			if !slices.Contains(strings.Fields(before), w.controller) {
				if err := writeFile(file, "-"+w.controller); err != nil {
					t.Error(err)
				}
			}
		}
	})
}

// mkgroup makes a group, given to uid as systemd gives a delegated one.
func mkgroup(t *testing.T, dir string, uid int) {
	t.Helper()
	if exists(dir) && uid == 0 {
		return
	}
	if err := mkdir(dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := removeTree(dir); err != nil {
			t.Error(err)
		}
	})
	if uid != 0 {
		for _, f := range []string{"", "cgroup.procs", "cgroup.threads", "cgroup.subtree_control"} {
			if err := os.Chown(filepath.Join(dir, f), uid, uid); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// userTree builds what systemd builds for a user, with a terminal's scope in the
// delegated part and a login session beside it.
func userTree(t *testing.T, sys system, wants []want) (scope, session string) {
	t.Helper()
	handDown(t, sys.v2, wants)
	slice := filepath.Join(sys.v2, "user.slice")
	mkgroup(t, slice, 0)
	handDown(t, slice, wants)
	user := filepath.Join(slice, fmt.Sprintf("user-%d.slice", userID))
	mkgroup(t, user, 0)
	handDown(t, user, wants)
	service := filepath.Join(user, fmt.Sprintf("user@%d.service", userID))
	mkgroup(t, service, userID)
	handDown(t, service, wants)
	app := filepath.Join(service, "app.slice")
	mkgroup(t, app, userID)
	scope, session = filepath.Join(app, "term.scope"), filepath.Join(user, "session-1.scope")
	mkgroup(t, scope, userID)
	mkgroup(t, session, 0)
	return scope, session
}

type userReport struct {
	Err     string
	Verdict Verdict
	Dirs    []string
	Values  map[string]string // of the interface files, by controller
	Guest   string            // v2 group
	Signal  int               // what ended the command
}

// asUser lets an ordinary user's process in group dir do one thing.
func asUser(t *testing.T, dir, do, name string, wants []want) userReport {
	t.Helper()
	d, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var controllers []string
	for _, w := range wants {
		controllers = append(controllers, w.controller)
	}
	cmd := helper("user")
	cmd.Args = []string{"user", do, name, strings.Join(controllers, ",")}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		UseCgroupFD: true, CgroupFD: int(d.Fd()),
		Credential: &syscall.Credential{Uid: userID, Gid: userID},
	}
	out, err := cmd.Output()
	var r userReport
	if err == nil {
		err = json.Unmarshal(out, &r)
	}
	if err != nil || r.Err != "" {
		t.Fatalf("%s as user: %v %s", do, err, r.Err)
	}
	return r
}

func runUser() {
	var r userReport
	if err := r.run(os.Args[1], os.Args[2], strings.Split(os.Args[3], ",")); err != nil {
		r.Err = err.Error()
	}
	json.NewEncoder(os.Stdout).Encode(r)
}

func (r *userReport) run(do, name string, controllers []string) error {
	if do == "clean" {
		g, err := Open(name)
		if err != nil {
			return err
		}
		return g.Remove()
	}
	sys, err := detect()
	if err != nil {
		return err
	}
	var wants []want
	for _, w := range append(Limits{64 << 20, 1, 20}.wants(), hugetlb) {
		if slices.Contains(controllers, w.controller) || w.controller != "hugetlb" {
			wants = append(wants, w)
		}
	}
	g, v, err := sys.create(name, wants, os.Getuid(), os.Getgid())
	if err != nil {
		return err
	}
	r.Verdict, r.Values = v, map[string]string{}
	for _, p := range g.places {
		r.Dirs = append(r.Dirs, p.dir)
		for _, w := range wants {
			value, _ := readFile(filepath.Join(p.cmd(), w.v2[0].file))
			r.Values[w.controller] = strings.TrimSpace(value)
		}
	}
	if do == "leave" || len(g.places) == 0 {
		return nil
	}
	if err := r.useGroup(g); err != nil {
		return err
	}
	if err := g.Kill(); err != nil {
		return err
	}
	return g.Remove()
}

func (r *userReport) useGroup(g *Group) error {
	guest := exec.Command("sleep", "600")
	if err := startWith(g, guest); err != nil {
		return err
	}
	defer guest.Wait()
	defer guest.Process.Kill()
	r.Guest = groupsOf(guest.Process.Pid)[""]

	h, err := g.Files()
	if err != nil {
		return err
	}
	defer h.Close()
	leaf := filepath.Join(g.places[0].cmd(), "exec1")
	if err := mkdir(leaf); err != nil {
		return err
	}
	command := exec.Command("sleep", "600")
	if err := command.Start(); err != nil {
		return err
	}
	if err := writeFile(filepath.Join(leaf, "cgroup.procs"), strconv.Itoa(command.Process.Pid)); err != nil {
		return err
	}
	if err := writeFile(filepath.Join(leaf, "cgroup.kill"), "1"); err != nil {
		return err
	}
	r.Signal = waitSignal(command)
	return nil
}

func TestOrdinaryUserInADelegatedSlice(t *testing.T) {
	sys := needV2(t)
	wants := v2Wants(t, sys)
	scope, _ := userTree(t, sys, wants)
	name := freshName(t)
	r := asUser(t, scope, "use", name, wants)

	base := filepath.Join(filepath.Dir(scope), parentName, name)
	if !slices.Equal(r.Dirs, []string{base}) {
		t.Errorf("made %v, want %s", r.Dirs, base)
	}
	if want := strings.TrimPrefix(base, sys.v2) + "/guest"; r.Guest != want {
		t.Errorf("the guest is in %s, want %s", r.Guest, want)
	}
	if !r.Verdict.Kill.Enforced() || r.Signal != int(unix.SIGKILL) {
		t.Errorf("kill %+v, signal %d", r.Verdict.Kill, r.Signal)
	}
	limits := map[string]Enforcement{"memory": r.Verdict.Memory, "cpu": r.Verdict.CPU, "pids": r.Verdict.Pids}
	for _, w := range wants {
		if e, ok := limits[w.controller]; ok && e.By != "v2" {
			t.Errorf("%s: %+v", w.controller, e)
		}
		delete(limits, w.controller)
		if r.Values[w.controller] != w.v2[0].value {
			t.Errorf("%s is %q, want %q", w.v2[0].file, r.Values[w.controller], w.v2[0].value)
		}
	}
	for c, e := range limits {
		if e.Enforced() || e.Reason == "" || sys.v1[c] != "" && !strings.Contains(e.Reason, "v1") {
			t.Errorf("%s belongs to root's v1, or is switched off: %+v", c, e)
		}
	}
}

func TestOrdinaryUserInALoginSessionGetsReasons(t *testing.T) {
	sys := needV2(t)
	wants := v2Wants(t, sys)
	scope, session := userTree(t, sys, wants)
	name := freshName(t)
	r := asUser(t, session, "use", name, wants)
	if v := r.Verdict; v.Memory.Enforced() || v.CPU.Enforced() || v.Pids.Enforced() || v.Kill.Enforced() || len(r.Dirs) != 0 {
		t.Errorf("made %v, verdict %+v", r.Dirs, v)
	}
	if !strings.Contains(r.Verdict.Kill.Reason, "systemd-run --user --scope") {
		t.Errorf("the reason gives no way out: %q", r.Verdict.Kill.Reason)
	}

	// What the same user made in the delegated part is found from here.
	asUser(t, scope, "leave", name, wants)
	asUser(t, session, "clean", name, wants)
	if exists(filepath.Join(filepath.Dir(scope), parentName)) {
		t.Error("it is not removed")
	}
}

func TestGuestBesideControllersMayStillGroupCommands(t *testing.T) {
	sys := needV2(t)
	wants := v2Wants(t, sys)
	handDown(t, sys.v2, wants)
	private := privateBase(t, sys)
	g, _, err := private.create("x", wants, mapped, mapped)
	if err != nil {
		t.Fatal(err)
	}
	endLater(t, g)
	r, _ := runTask(t, g, mapped, guestTask{Do: "killleaf", Count: 3})
	base := strings.TrimPrefix(private.v2, sys.v2) + "/hermes/x"
	if want := base + "/guest"; r.Own[""] != want {
		t.Errorf("the guest is in %s, want %s", r.Own[""], want)
	}
	if want := base + "/cmd/exec1"; r.Groups[""] != want || r.Signal != int(unix.SIGKILL) {
		t.Errorf("the command was in %s, want %s; signal %d", r.Groups[""], want, r.Signal)
	}
}

// baseInUse is a group of our own as the base, with a process in it, as is the top
// of a container's cgroup namespace.
func baseInUse(t *testing.T, sys system, wants []want) system {
	t.Helper()
	handDown(t, sys.v2, wants)
	sys = privateBase(t, sys)
	g := &Group{name: "base", places: []place{{dir: sys.v2, v2: true}}}
	startIn(t, g, exec.Command("sleep", "600"))
	t.Cleanup(func() { g.Kill() })
	return sys
}

// privateBase is this machine with a v2 group of the test's own as the root, where
// no other sandbox comes and goes.
func privateBase(t *testing.T, sys system) system {
	t.Helper()
	base := filepath.Join(sys.v2, fmt.Sprintf("hermes-test-%d", os.Getpid()))
	mkgroup(t, base, 0)
	sys.v2, sys.own = base, base
	return sys
}

func TestProcessesInTheBaseAreAReason(t *testing.T) {
	sys := needV2(t)
	wants := v2Wants(t, sys)
	sys = baseInUse(t, sys, wants)
	b := builder{sys: sys, group: &Group{name: freshName(t)}, uid: mapped, gid: mapped, verdict: map[string]Enforcement{}}
	if err := b.build(wants); err != nil {
		t.Fatal(err)
	}
	endLater(t, b.group)
	for _, w := range wants {
		if e := b.verdict[w.controller]; e.Enforced() || !strings.Contains(e.Reason, "processes live in that group") {
			t.Errorf("%s: %+v", w.controller, e)
		}
	}
	if !b.kill.Enforced() {
		t.Errorf("kill %+v", b.kill)
	}
	runTask(t, b.group, mapped, guestTask{Do: "killleaf", Count: 1})
}

func TestAThreadedBaseIsAReason(t *testing.T) {
	sys := baseInUse(t, needV2(t), nil)
	child := filepath.Join(sys.v2, "child")
	mkgroup(t, child, 0)
	if err := writeFile(filepath.Join(child, "cgroup.type"), "threaded"); err != nil {
		t.Fatal(err)
	}
	g, v, err := sys.create(freshName(t), Limits{}.wants(), mapped, mapped)
	if err != nil {
		t.Fatal(err)
	}
	if v.Kill.Enforced() || !strings.Contains(v.Kill.Reason, "threaded") || len(g.places) != 0 {
		t.Errorf("made %v, kill %+v", g.places, v.Kill)
	}
}
