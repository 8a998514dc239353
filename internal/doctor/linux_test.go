//go:build linux

package doctor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/cgroup"
	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/engine/native"
)

// With this argument the test is the inner half of a trial.
const insideWord = "be-inside"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == insideWord {
		if err := Inside(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// The trials are what a sandbox needs; where one can be made they succeed.
func TestTrialsForReal(t *testing.T) {
	m := thisMachine(Options{Lookup: os.LookupEnv, Inside: []string{os.Args[0], insideWord}})
	m.config.Home = t.TempDir()
	m.config.SandboxRoot = filepath.Join(m.config.Home, "sandboxes")
	if data, _ := os.ReadFile("/proc/sys/user/max_user_namespaces"); strings.TrimSpace(string(data)) == "0" {
		t.Skip("this machine forbids user namespaces")
	}
	found := trials(t.Context(), m)
	if m.inContainer() && found[0].Severity == Bad {
		t.Skip("a container without user namespaces")
	}
	for _, f := range found {
		if f.Severity == Bad || (f.Fix == "") != (f.Severity == OK) {
			t.Errorf("%+v", f)
		}
	}
	if len(found) < 8 {
		t.Errorf("%+v", found)
	}
	if left, _ := os.ReadDir(m.config.Home); len(left) > 0 {
		t.Errorf("the home has %v", left)
	}
}

func TestKernel(t *testing.T) {
	for release, severity := range map[string]Severity{"4.19.0-27-amd64": Bad, "5.11.99": Bad, "5.12.0": OK, "6.1": OK, "10.2.3": OK, "odd": OK} {
		m := fake(t, map[string]string{"/proc/sys/kernel/osrelease": release + "\n"}, map[string]string{"apt-get": ""})
		fix := ""
		if severity == Bad {
			fix = "sudo apt-get update && sudo apt-get full-upgrade --yes && sudo reboot"
		}
		expect(t, only(t, kernel(t.Context(), m)), severity, "Linux "+release, fix)
	}
	expect(t, only(t, kernel(t.Context(), fake(t, nil, nil))), Bad, "cannot tell", "sudo mount -t proc proc /proc")
}

func TestSwitchesThatForbidUserNamespaces(t *testing.T) {
	for _, s := range userNamespaceSwitches {
		m := fake(t, map[string]string{s.file: s.blocks + "\n"}, nil)
		fix := fmt.Sprintf("echo '%s = %s' | sudo tee -a /etc/sysctl.d/60-hermes.conf && sudo sysctl -p /etc/sysctl.d/60-hermes.conf", s.key, s.allows)
		expect(t, only(t, m.switches(false)), Bad, s.what, fix)
		expect(t, only(t, m.switches(true)), Note, s.what, fix)
		if got := m.mendNamespaces(unix.EPERM); got != fix {
			t.Errorf("%s: %s", s.key, got)
		}
		m = fake(t, map[string]string{s.file: s.allows + "\n"}, nil)
		expect(t, only(t, m.switches(false)), OK, "none", "")
	}
	all := fake(t, map[string]string{userNamespaceSwitches[0].file: "0", userNamespaceSwitches[2].file: "1"}, nil)
	if found := all.switches(false); len(found) != 2 {
		t.Errorf("%+v", found)
	}
}

func TestUserNamespacesThatCannotBeMade(t *testing.T) {
	m := fake(t, map[string]string{"/.dockerenv": ""}, nil)
	expect(t, m.userNamespaces(facts{}), OK, "one was made", "")
	const run = "docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined … # when the container is made"
	expect(t, m.userNamespaces(facts{Trial: native.Trial{Start: fmt.Errorf("not allowed: %w; run \"hermes doctor\"", unix.EPERM)}}), Bad, "not allowed: operation not permitted", run)
	expect(t, m.userNamespaces(facts{Trial: native.Trial{Run: errors.New("no rights")}}), Bad, "nothing can be done in it: no rights", run)
	full := m.userNamespaces(facts{Trial: native.Trial{Start: unix.ENOSPC}})
	expect(t, full, Bad, "no space", m.sysctl("user.max_user_namespaces", "15000"))
	if found := m.judge(facts{Trial: native.Trial{Start: unix.EPERM}}); len(found) != 3 {
		t.Errorf("what could not be tried is judged: %+v", found)
	}
	m.uid = 0
	if found := m.judge(facts{Trial: native.Trial{Start: unix.EPERM}}); len(found) != 2 {
		t.Errorf("what could not be tried is judged: %+v", found)
	}
}

func TestSubordinateIDs(t *testing.T) {
	mappers := map[string]string{"newuidmap": "", "newgidmap": "", "usermod": "", "apt-get": ""}
	ranges := func(uids, gids string) map[string]string {
		return map[string]string{"/etc/subuid": uids, "/etc/subgid": gids}
	}
	for _, c := range []struct {
		name            string
		files, programs map[string]string
		user            string
		mapping         error
		severity        Severity
		found, fix      string
	}{
		{"both", ranges("ann:100000:65536\n", "ann:100000:65536\n"), mappers, "ann", nil, OK, "65536 for ann", ""},
		{"by number", ranges("1000:100000:65536\n", "1000:100000:65536\n"), mappers, "", nil, OK, "65536 for 1000", ""},
		{"no mappers", nil, map[string]string{"apt-get": ""}, "ann", nil, Note, "no newuidmap", "sudo apt-get install --yes uidmap"},
		{"none", ranges("bob:100000:65536\n", "bob:100000:65536\n"), mappers, "ann", nil, Note, "none for ann", "sudo usermod --add-subuids 165536-231071 --add-subgids 165536-231071 ann"},
		{"no files", nil, mappers, "ann", nil, Note, "none for ann", "sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 ann"},
		{"no groups", ranges("ann:100000:65536\n", ""), mappers, "ann", nil, Note, "none for ann", "sudo usermod --add-subgids 165536-231071 ann"},
		{"no name", nil, mappers, "", nil, Note, "none for 1000", "echo 1000:100000:65536 | sudo tee -a /etc/subuid /etc/subgid"},
		{"few", ranges("ann:100000:1000\n", "ann:100000:65536\n"), mappers, "ann", nil, Note, "only 1000", "sudo usermod --add-subuids 165536-231071 --add-subgids 165536-231071 ann"},
		{"powerless", ranges("ann:100000:65536\n", "ann:100000:65536\n"), mappers, "ann", errors.New("newuidmap: exit status 1"), Bad, "newuidmap: exit", "sudo chmod u+s /bin/newuidmap /bin/newgidmap"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := fake(t, c.files, c.programs)
			m.user = c.user
			expect(t, m.subordinate(facts{Trial: native.Trial{Map: c.mapping}}), c.severity, c.found, c.fix)
		})
	}
	m := fake(t, nil, nil)
	m.uid = 0
	expect(t, m.subordinate(facts{}), OK, "not needed", "")
	expect(t, m.subordinate(facts{Trial: native.Trial{Map: unix.EPERM}}), Bad, "too few ids", "exit # this user namespace: root of the host and ordinary users have more ids")
}

func TestFeaturesOfTheKernel(t *testing.T) {
	const upgrade = "sudo dnf upgrade --assumeyes && sudo reboot"
	m := fake(t, map[string]string{"/proc/filesystems": "nodev\toverlay\n", "/sys/kernel/security/lsm": "capability,apparmor\n"}, map[string]string{"dnf": ""})
	expect(t, m.needed("mounts", "", "work"), OK, "work", "")
	expect(t, m.needed("mounts", "open_tree: function not implemented", "work"), Bad, "open_tree", upgrade)
	expect(t, m.overlay(""), OK, "works", "")
	expect(t, m.overlay("mount overlay: operation not permitted"), Note, "copied", upgrade)
	expect(t, fake(t, map[string]string{"/proc/filesystems": "\text4\n"}, nil).overlay("no such device"), Note, "copied", "sudo modprobe overlay")
	expect(t, m.landlock(features{LandlockABI: 6}), OK, "ABI 6", "")
	expect(t, m.landlock(features{LandlockABI: 3}), Note, "from ABI 6 on", upgrade)
	expect(t, m.landlock(features{Landlock: "not implemented", NoLandlock: unix.ENOSYS}), Note, "is missing", upgrade)
	expect(t, m.landlock(features{Landlock: "not supported", NoLandlock: unix.EOPNOTSUPP}), Note, "switched off",
		`echo 'GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX lsm=landlock,capability,apparmor"' | sudo tee -a /etc/default/grub && sudo update-grub && sudo reboot`)
	expect(t, m.shift(nil), OK, "work", "")
	expect(t, m.shift(unix.EINVAL), Note, "cannot be mounted", "export HERMES_HOME=/var/lib/hermes # or any directory on ext4, xfs or btrfs")
	m = fake(t, map[string]string{"/run/.containerenv": ""}, nil)
	expect(t, m.needed("seccomp", "refused", ""), Bad, "refused", "podman run --security-opt seccomp=unconfined … # when the container is made")
}

func TestCgroups(t *testing.T) {
	m := fake(t, nil, map[string]string{"apk": ""})
	expect(t, m.hierarchies(cgroup.Layout{V2: "/sys/fs/cgroup"}), OK, "v2 at /sys/fs/cgroup", "")
	expect(t, m.hierarchies(cgroup.Layout{V1: []string{"cpu", "memory"}, V2: "/x"}), OK, "v1 for cpu, memory; v2 at /x", "")
	expect(t, m.hierarchies(cgroup.Layout{}), Note, "none is mounted", "sudo mount -t cgroup2 cgroup2 /sys/fs/cgroup")
	expect(t, m.hierarchies(cgroup.Layout{V1: []string{"cpu"}}), Note, "no v2", "sudo mkdir -p /sys/fs/cgroup/unified && sudo mount -t cgroup2 cgroup2 /sys/fs/cgroup/unified")
	expect(t, m.birth(nil), OK, "works", "")
	expect(t, m.birth(unix.EACCES), OK, "not ours", "")
	expect(t, m.birth(unix.ENOSYS), Note, "milliseconds later", "sudo apk upgrade && sudo reboot")
}

func TestLimitsThatAreNotEnforced(t *testing.T) {
	enforced := sandbox.Posture{Facts: []sandbox.Fact{{Name: "memory", Value: "5120 MiB (cgroup v2)", Enforced: true}, {Name: "cpus", Value: "1", Enforced: true}, {Name: "seccomp"}}}
	lacks := func(why string) sandbox.Posture {
		return sandbox.Posture{Facts: []sandbox.Fact{{Name: "memory", Value: "x", Deviation: "not enforced: " + why}, {Name: "pids", Value: "1024", Enforced: true}}}
	}
	systemd := fake(t, map[string]string{"/run/systemd/system/x": ""}, nil)
	expect(t, systemd.limits(enforced), OK, "memory 5120 MiB (cgroup v2), cpus 1", "")
	expect(t, systemd.limits(lacks("nothing is delegated")), Note, "memory not enforced: nothing is delegated; pids 1024", "systemd-run --user --scope --property=Delegate=yes -- hermes sandbox shell")
	expect(t, systemd.limits(lacks("the memory controller is not available in /x")), Note, "not available",
		`sudo mkdir -p /etc/systemd/system/user@.service.d && printf '[Service]\nDelegate=cpu memory pids\n' | sudo tee /etc/systemd/system/user@.service.d/hermes.conf && sudo systemctl daemon-reload && sudo systemctl restart user@1000`)
	expect(t, fake(t, nil, nil).limits(lacks("v1")), Note, "v1", "sudo hermes sandbox shell # only root has groups of its own here")
	root := fake(t, nil, nil)
	root.uid = 0
	expect(t, root.limits(lacks("not writable")), Note, "not writable", "mount -o remount,rw /sys/fs/cgroup")
}

func TestHome(t *testing.T) {
	m := fake(t, nil, nil)
	found := home(t.Context(), m)
	if len(found) != 3 {
		t.Fatalf("%+v", found)
	}
	expect(t, found[0], OK, "(made when it is needed)", "")
	if _, err := os.Stat(m.config.Home); !os.IsNotExist(err) {
		t.Errorf("the home was made: %v", err)
	}
	if err := os.WriteFile(m.config.Home, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	expect(t, only(t, home(t.Context(), m)), Bad, "is not a directory", "export HERMES_HOME=$(mktemp -d /var/tmp/hermes-XXXXXX)")
}

func TestDiskAndFileSystem(t *testing.T) {
	m := fake(t, nil, nil)
	m.config.SandboxRoot = "/h/sandboxes"
	const fix = "du -xsh /h/sandboxes/native/* | sort -h # then: hermes sandbox rm --files TASK"
	expect(t, m.disk(10<<30, false), OK, "10.0 GiB", "")
	expect(t, m.disk(900<<20, false), Note, "900 MiB", fix)
	expect(t, m.disk(10<<20, false), Bad, "10 MiB", fix)
	expect(t, m.disk(10<<30, true), Bad, "no more files", fix)
	const elsewhere = "export HERMES_HOME=$(mktemp -d /var/tmp/hermes-XXXXXX) # or any directory on ext4, xfs or btrfs"
	expect(t, m.fileSystem(unix.EXT4_SUPER_MAGIC, false), OK, "ext4", "")
	expect(t, m.fileSystem(0x1234, false), OK, "0x1234", "")
	expect(t, m.fileSystem(unix.EXT4_SUPER_MAGIC, true), Note, "noexec", elsewhere)
	expect(t, m.fileSystem(unix.NFS_SUPER_MAGIC, false), Note, "nfs", elsewhere)
	expect(t, m.fileSystem(unix.MSDOS_SUPER_MAGIC, false), Bad, "vfat", elsewhere)
	expect(t, m.runFileSystem("/r", false), OK, "/r", "")
	expect(t, m.runFileSystem("/r", true), Bad, "noexec", `export XDG_RUNTIME_DIR="$HOME/.cache/hermes-run" && install -d -m 700 "$XDG_RUNTIME_DIR"`)
}

func TestMemory(t *testing.T) {
	const who = "ps -eo pid,rss,comm --sort=-rss | head # shows who has it"
	for free, want := range map[int]Severity{8 << 20: OK, 300 << 10: Note, 10 << 10: Bad} {
		m := fake(t, map[string]string{"/proc/meminfo": fmt.Sprintf("MemTotal:       16777216 kB\nMemFree: 1 kB\nMemAvailable:   %d kB\n", free)}, nil)
		fix := who
		if want == OK {
			fix = ""
		}
		expect(t, only(t, memory(t.Context(), m)), want, fmt.Sprintf("%d MiB of 16384 MiB", free>>10), fix)
	}
	expect(t, only(t, memory(t.Context(), fake(t, nil, nil))), Note, "cannot tell", "sudo mount -t proc proc /proc")
}

func TestLeftovers(t *testing.T) {
	expect(t, judgeLeftovers(0, nil), OK, "none", "")
	expect(t, judgeLeftovers(1, nil), Note, "of one sandbox", "hermes sandbox prune")
	expect(t, judgeLeftovers(3, nil), Note, "of 3 sandboxes", "hermes sandbox prune")
	expect(t, judgeLeftovers(0, errors.New("a\nb")), Note, "a; b", "hermes sandbox prune")
}

// What was there before is not removed, nor what somebody uses.
func TestOnlyWhatWasMadeIsRemoved(t *testing.T) {
	m := fake(t, nil, nil)
	t.Setenv("XDG_RUNTIME_DIR", m.root)
	made := m.notThere()
	native := filepath.Join(m.config.SandboxRoot, "native")
	if err := os.MkdirAll(native, 0o700); err != nil {
		t.Fatal(err)
	}
	if len(m.notThere()) >= len(made) {
		t.Fatalf("%q, then %q", made, m.notThere())
	}
	keep := filepath.Join(m.config.Home, "keep")
	if err := os.WriteFile(keep, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	removeMade(made)
	if _, err := os.Stat(keep); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(m.config.SandboxRoot); !os.IsNotExist(err) {
		t.Errorf("still there: %v", err)
	}
}
