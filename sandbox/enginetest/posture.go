package enginetest

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hermes.example/hermes/sandbox"
)

var postureTests = []test{
	{"posture/every fact is there once", postureIsWhole},
	{"posture/capabilities are what a command has", capabilitiesAreReal},
	{"posture/no-new-privileges and seccomp are what a command has", filterIsReal},
	{"posture/ids are what a command has", idsAreReal},
	{"posture/namespaces are not the host's", namespacesAreReal},
	{"posture/the root cannot be written", rootIsReal},
	{"posture/the host's files are not there", hostIsHidden},
	{"posture/the guest cannot be reached from inside", guestIsOutOfReach},
	{"posture/what is tried inside is refused", trialsAreRefused},
	{"posture/what was set up is found inside", setUpIsFound},
	{"posture/what of the host is visible is listed", hostIsListed},
	{"posture/trials leave nothing behind", trialsLeaveNothing},
	{"posture/the switches of this suite are those of the posture", switchesAreReal},
}

// facts is the posture of a sandbox by name.
func (b *box) facts() map[string]sandbox.Fact {
	b.t.Helper()
	posture, err := b.Posture(bounded(b.t))
	if err != nil {
		b.t.Fatal(err)
	}
	facts := make(map[string]sandbox.Fact)
	for _, f := range posture.Facts {
		facts[f.Name] = f
	}
	return facts
}

// proc reads one line of /proc/self/status of a command.
func (p place) proc(name string) string {
	p.t.Helper()
	for line := range strings.Lines(p.run(sandbox.Command{Argv: []string{"cat", "/proc/self/status"}}).Out) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	p.t.Errorf("/proc/self/status has no %s", name)
	return ""
}

func postureIsWhole(t *testing.T, s *suite) {
	b := s.box(t)
	posture, err := b.Posture(bounded(t))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range posture.Facts {
		names = append(names, f.Name)
		if f.Value == "" {
			t.Errorf("%s has no value", f.Name)
		}
		if f.Deviation != "" {
			t.Logf("deviation: %s: %s", f.Name, f.Deviation)
		}
	}
	want := sandbox.FactNames()
	slices.Sort(names)
	slices.Sort(want)
	if !slices.Equal(names, want) {
		t.Errorf("the facts are %q, not %q", names, want)
	}
	info, again, err := s.manager.Inspect(bounded(t), b.Identity())
	if !s.engine.Capabilities().Isolated { // others mount things meanwhile
		mounts := func(f sandbox.Fact) bool { return f.Name == sandbox.FactHost }
		again.Facts, posture.Facts = slices.DeleteFunc(again.Facts, mounts), slices.DeleteFunc(posture.Facts, mounts)
	}
	if err != nil || info.State != sandbox.Running || !slices.Equal(again.Facts, posture.Facts) {
		t.Errorf("inspection says %+v %+v, %v", info, again, err)
	}
}

var capabilityNames = map[int]string{0: "CHOWN", 1: "DAC_OVERRIDE", 3: "FOWNER", 5: "KILL", 6: "SETGID", 7: "SETUID"}

func capabilitiesAreReal(t *testing.T, s *suite) {
	b := s.box(t)
	for _, set := range []string{"CapPrm", "CapEff", "CapBnd"} {
		bits, err := strconv.ParseUint(b.proc(set), 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for n := range 64 {
			if bits&(1<<n) != 0 {
				name := capabilityNames[n]
				if name == "" {
					name = strconv.Itoa(n)
				}
				names = append(names, name)
			}
		}
		got := strings.Join(names, " ")
		if got == "" {
			got = "none"
		}
		if set == "CapBnd" && os.Getuid() != 0 && !s.isolated() {
			continue // only root can drop it; without new privileges nothing comes of it
		}
		if got != b.facts()[sandbox.FactCapabilities].Value {
			t.Errorf("%s is %q, the posture says %q", set, got, b.facts()[sandbox.FactCapabilities].Value)
		}
	}
	for _, set := range []string{"CapInh", "CapAmb"} {
		if got := strings.Trim(b.proc(set), "0"); got != "" {
			t.Errorf("%s is not empty: %s", set, got)
		}
	}
	if want := "CHOWN DAC_OVERRIDE FOWNER SETGID SETUID"; s.isolated() && b.facts()[sandbox.FactCapabilities].Value != want {
		t.Errorf("the capabilities are %q, not %q", b.facts()[sandbox.FactCapabilities].Value, want)
	}
}

func filterIsReal(t *testing.T, s *suite) {
	b := s.box(t)
	for fact, real := range map[string]bool{
		sandbox.FactPrivileges: b.proc("NoNewPrivs") == "1",
		sandbox.FactSeccomp:    b.proc("Seccomp") == "2",
	} {
		if b.facts()[fact].Enforced != real {
			t.Errorf("%s: the posture says %v, the kernel %v", fact, b.facts()[fact].Enforced, real)
		}
		if s.isolated() && !real {
			t.Errorf("%s is not in force", fact)
		}
	}
	// A program of the profile's forbidden ones, as a control that it filters.
	if o := b.line("unshare -U true"); o.Code == 0 {
		t.Error("a new user namespace was made inside")
	}
}

func idsAreReal(t *testing.T, s *suite) {
	b := s.box(t)
	fact := b.facts()[sandbox.FactIDs]
	var parts []string
	host := false
	for line := range strings.Lines(b.output("cat /proc/self/uid_map") + "\n") {
		f := strings.Fields(line)
		parts = append(parts, f[0]+"→"+f[1]+"+"+f[2])
		host = host || f[1] == "0"
	}
	if !strings.HasSuffix(fact.Value, ": "+strings.Join(parts, " ")) {
		t.Errorf("the map is %q, the posture says %q", parts, fact.Value)
	}
	if !s.isolated() {
		if me := fmt.Sprint(os.Getuid()); b.output("id -u") != me || fact.Enforced || fact.Deviation == "" {
			t.Errorf("commands are %s, not %s; the posture says %+v", b.output("id -u"), me, fact)
		}
		return
	}
	if host && (s.can(OwnIDs) || fact.Deviation == "") {
		t.Errorf("root of the host is an id of the sandbox: %v; the posture says %+v", host, fact)
	}
	b.says("id -u; id -g; id -G", "0\n0\n0")
}

func namespacesAreReal(t *testing.T, s *suite) {
	b := s.box(t)
	fact := b.facts()[sandbox.FactNamespaces].Value
	for name, kind := range map[string]string{"user": "user", "mount": "mnt", "pid": "pid", "net": "net", "uts": "uts", "ipc": "ipc", "cgroup": "cgroup"} {
		outside, err := os.Readlink("/proc/self/ns/" + kind)
		if err != nil {
			t.Skip("this machine has no namespaces to compare with")
		}
		inside := b.output("readlink /proc/self/ns/" + kind)
		if own := inside != outside; own != slices.Contains(strings.Fields(fact), name) {
			t.Errorf("%s: the posture says %q; inside %s, outside %s", name, fact, inside, outside)
		}
	}
}

func rootIsReal(t *testing.T, s *suite) {
	s.need(t, ReadOnlyRoot)
	b := s.box(t)
	for _, path := range []string{"/x", "/etc/x", "/usr/x", "/usr/bin/x", "/etc/passwd", "/usr/bin/env", "/home/x", "/opt/x", "/proc/sys/kernel/hostname", "/sys/x"} {
		if o := b.line("echo x >>" + path); o.Code == 0 {
			t.Errorf("%s can be written", path)
		}
	}
	for _, line := range []string{"mount -o remount,rw /", "mount -t tmpfs x /mnt", "umount /tmp", "chroot / true", "mknod /tmp/null c 1 3"} {
		if o := b.line(line); o.Code == 0 {
			t.Errorf("%q succeeds", line)
		}
	}
	for _, dir := range strings.Fields("/tmp /var/tmp /run /dev/shm /workspace /root") {
		b.output("echo x >" + dir + "/x && rm " + dir + "/x")
	}
	b.output("cp /bin/true /tmp/true && /tmp/true && cp /bin/true ~/true && ~/true")
	b.line("cp /bin/true /var/tmp/true && /var/tmp/true").ended(126, sandbox.Exited)
}

func hostIsHidden(t *testing.T, s *suite) {
	s.need(t, OwnRoot)
	b := s.box(t)
	inside := b.output("cat /proc/self/mountinfo")
	// An image may have files of the same names.
	for _, path := range []string{s.home, "/etc/shadow", "/etc/hostname", "/var/lib", "/var/log", "/boot", "/sys/kernel"} {
		outside, err := exec.Command("stat", "-c", "%d:%i", path).Output()
		if err != nil {
			continue
		}
		if o := b.line("stat -c %d:%i " + path); o.Code == 0 && o.Out == string(outside) {
			t.Errorf("%s of the host is visible", path)
		}
	}
	if host, err := os.Hostname(); err == nil && b.output("hostname") == host {
		t.Error("it has the host's name")
	}
	if n := strings.Count(inside, " - proc "); n == 0 {
		t.Errorf("it has no /proc of its own: %s", inside)
	}
	b.says("grep -c guest /proc/1/comm", "1")
}

func guestIsOutOfReach(t *testing.T, s *suite) {
	b := s.box(t)
	guest := "/proc/" + b.output("echo $PPID")
	for _, file := range []string{"mem", "environ", "fd/0", "fd/1", "root", "cwd", "exe", "maps", "syscall", "stack"} {
		if o := b.line("cat " + guest + "/" + file + " >/dev/null || readlink " + guest + "/" + file); o.Code == 0 {
			t.Errorf("%s/%s can be read: %s", guest, file, o.Out)
		}
	}
	if o := b.line("ls -l " + guest + "/fd " + guest + "/task/*/fd 2>/dev/null"); strings.Contains(o.Out, "->") {
		t.Errorf("the guest's descriptors are visible: %s", o.Out)
	}
	// Every signal that can be sent to the guest from inside leaves it alive.
	me := b.output(whoami)
	if fact := b.facts()[sandbox.FactLandlock]; s.isolated() || fact.Enforced && fact.Deviation == "" {
		b.line("for i in $(seq 64); do kill -$i $PPID; done 2>/dev/null; true").ended(0, sandbox.Exited)
		b.says(whoami, me)
	}
	// No socket of it has a path or an abstract name inside.
	if s.isolated() && s.can(HiddenDoor) {
		b.says("find / -xdev -type s 2>/dev/null; grep -c guest /proc/net/unix || true", "0")
	}
	// A command inherits nothing but its own three descriptors.
	for _, p := range []place{b.place, b.session("s")} {
		p.run(sandbox.Command{Argv: []string{"ls", "/proc/self/fd"}}).printed("0\n1\n2\n3\n")
	}
	b.run(sandbox.Command{Line: "ls /proc/self/fd", Stdin: strings.NewReader("")}).printed("0\n1\n2\n3\n")
}

func trialsAreRefused(t *testing.T, s *suite) {
	for _, user := range []string{"", "1000:1000"} {
		if _, single := s.config.Without[ManyIDs]; single && user != "" {
			continue
		}
		posture, err := s.box(t, func(spec *sandbox.Spec) { spec.User = user }).Posture(bounded(t))
		if err != nil {
			t.Fatal(err)
		}
		if posture.Untried != "" || len(posture.Trials) < 40 {
			t.Errorf("as %q: %d trials; %s", user, len(posture.Trials), posture.Untried)
		}
		for _, trial := range posture.Trials {
			if !trial.Refused && s.engine.Capabilities().Isolated {
				t.Errorf("as %q: %s: %s", user, trial.Name, trial.Answer)
			}
		}
		if err := posture.Check([]string{sandbox.FactCalls}); err != nil && s.engine.Capabilities().Isolated {
			t.Error(err)
		}
	}
}

func setUpIsFound(t *testing.T, s *suite) {
	check := func(change func(*sandbox.Spec)) {
		for name, fact := range s.box(t, change).facts() {
			if strings.Contains(fact.Deviation, "by trial") {
				t.Errorf("%s is %q: %s", name, fact.Value, fact.Deviation)
			}
		}
	}
	for _, network := range s.engine.Capabilities().Networks {
		check(func(spec *sandbox.Spec) { spec.Network = network })
	}
	if _, single := s.config.Without[ManyIDs]; !single {
		check(func(spec *sandbox.Spec) { spec.User = "1000:1000" })
	}
}

func hostIsListed(t *testing.T, s *suite) {
	s.need(t, HostMounts)
	dir := t.TempDir()
	posture, err := s.box(t, func(spec *sandbox.Spec) {
		spec.Mounts = []sandbox.Mount{{Source: dir, Target: "/mnt/a b", ReadOnly: true}, {Source: dir, Target: "/mnt/written"}}
	}).Posture(bounded(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []sandbox.HostPath{{Path: "/mnt/a b"}, {Path: "/mnt/written", Writable: true}} {
		if !slices.Contains(posture.Host, want) {
			t.Errorf("%+v is not in %+v", want, posture.Host)
		}
	}
	if i := slices.IndexFunc(posture.Host, func(h sandbox.HostPath) bool { return h.Path == "/" }); i >= 0 && s.engine.Capabilities().Isolated {
		t.Errorf("the host's root is visible: %+v", posture.Host)
	}
}

func trialsLeaveNothing(t *testing.T, s *suite) {
	b := s.box(t)
	look := "hostname; ls -A /tmp | grep hermes-probe || true"
	if s.engine.Capabilities().Isolated { // otherwise others change it meanwhile
		look += "; wc -l </proc/self/mountinfo; ls -A /tmp /dev /dev/shm"
	}
	before := b.output(look)
	b.facts()
	if after := b.output(look); after != before {
		t.Errorf("before: %s\nafter: %s", before, after)
	}
	if st := b.status(); st.Processes > 0 || st.Commands > 0 {
		t.Errorf("it still runs: %+v", st)
	}
}

func switchesAreReal(t *testing.T, s *suite) {
	facts := s.box(t, func(spec *sandbox.Spec) { spec.Limits = sandbox.Limits{Memory: 1 << 30, Pids: 100, CPUs: 1} }).facts()
	for ability, fact := range map[Ability]string{ManyIDs: sandbox.FactIDs, MemoryLimit: sandbox.FactMemory, PidsLimit: sandbox.FactPids, OwnNetwork: sandbox.FactNetwork, ReadOnlyRoot: sandbox.FactRoot} {
		if ability == ManyIDs && !s.isolated() {
			continue // root has them there, but they are the machine's own
		}
		_, without := s.config.Without[ability]
		if facts[fact].Enforced == without {
			t.Errorf("the suite runs without %q: %v; the posture says %s", ability, without, fmt.Sprint(facts[fact]))
		}
	}
}
