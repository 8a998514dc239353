package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/cgroup"
	"hermes.example/hermes/sandbox/engine/native"
)

// facts are what the trials gave.
type facts struct {
	native.Trial
	features
}

// trials tries all that needs a process of its own, and judges it.
func trials(ctx context.Context, m *machine) []Finding {
	cmd := exec.CommandContext(ctx, m.inside[0], m.inside[1:]...)
	cmd.WaitDelay = 50 * time.Millisecond
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	t := facts{Trial: native.Try(ctx, m.engineOptions(), m.config.Home, cmd)}
	if ctx.Err() != nil {
		// Not that it does not work: the sandbox at the end tells.
		return []Finding{Note.finding("user namespaces", again, noAnswer, checkBound)}
	}
	if t.Start == nil && t.Map == nil && t.Run == nil {
		t.Run = json.Unmarshal([]byte(stdout.String()), &t.features)
	} else if line := firstLine(stderr.String()); t.Run != nil && line != "" {
		t.Run = errors.New(strings.TrimPrefix(line, "hermes: "))
	}
	return m.unlessChosen(m.judge(t))
}

func (m *machine) engineOptions() native.Options {
	return native.Options{Root: m.config.SandboxRoot}
}

func (m *machine) judge(t facts) []Finding {
	found := append([]Finding{m.userNamespaces(t)}, m.switches(t.Start == nil && t.Run == nil)...)
	if m.uid != 0 || t.Start == nil {
		found = append(found, m.subordinate(t))
	}
	if t.Start != nil || t.Map != nil || t.Run != nil {
		return found // nothing could be tried
	}
	found = append(found, m.needed("mounts", t.Mounts, "open_tree and mount_setattr work"))
	if t.IDs == "range" {
		found = append(found, m.shift(t.Shift))
	}
	return append(found, m.overlay(t.Overlay), m.needed("seccomp", t.Seccomp, "filters work"), m.landlock(t.features), m.needed("pidfd", t.Pidfd, "works"))
}

func (m *machine) userNamespaces(t facts) Finding {
	const name = "user namespaces"
	switch {
	case t.Start != nil:
		return Bad.finding(name, m.mendNamespaces(t.Start), "%s", plain(t.Start))
	case t.Run != nil && t.Map == nil:
		return Bad.finding(name, m.mendNamespaces(t.Run), "one can be made, but nothing can be done in it: %v", t.Run)
	}
	return ok(name, "one was made")
}

func (m *machine) mendNamespaces(why error) string {
	for _, s := range userNamespaceSwitches {
		if value, err := m.read(s.file); err == nil && value == s.blocks {
			return m.sysctl(s.key, s.allows)
		}
	}
	switch {
	case errors.Is(why, unix.ENOSPC):
		return m.sysctl("user.max_user_namespaces", "15000")
	case m.inContainer():
		return m.anew("--security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined")
	}
	return m.newKernel()
}

// userNamespaceSwitches are the sysctls that forbid user namespaces, or all that
// one could do in them.
var userNamespaceSwitches = []struct{ key, file, blocks, allows, what string }{
	{"user.max_user_namespaces", "/proc/sys/user/max_user_namespaces", "0", "15000", "nobody may make user namespaces"},
	{"kernel.unprivileged_userns_clone", "/proc/sys/kernel/unprivileged_userns_clone", "0", "1", "only root may make user namespaces"},
	{"kernel.apparmor_restrict_unprivileged_userns", "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1", "0", "AppArmor takes all rights from user namespaces of ordinary users"},
}

// switches looks for them. One that did not keep us from it is worth a note: it will
// keep others.
func (m *machine) switches(works bool) []Finding {
	severity := Bad
	if works {
		severity = Note
	}
	var found []Finding
	for _, s := range userNamespaceSwitches {
		if value, err := m.read(s.file); err == nil && value == s.blocks {
			found = append(found, severity.finding(s.key, m.sysctl(s.key, s.allows), "%s: %s", value, s.what))
		}
	}
	if found == nil {
		found = append(found, ok("kernel switches", "none forbids user namespaces"))
	}
	return found
}

// needed judges a feature that the native engine cannot do without.
func (m *machine) needed(name, reason, works string) Finding {
	if reason == "" {
		return ok(name, "%s", works)
	}
	fix := m.newKernel()
	if m.inContainer() {
		fix = m.anew("--security-opt seccomp=unconfined")
	}
	return Bad.finding(name, fix, "%s", reason)
}

func (m *machine) shift(err error) Finding {
	const name = "idmapped mounts"
	if err == nil {
		return ok(name, "work on the home's file system")
	}
	return Note.finding(name, "export HERMES_HOME=/var/lib/hermes # or any directory on ext4, xfs or btrfs", "directories of the host's cannot be mounted from here: %v", err)
}

func (m *machine) overlay(reason string) Finding {
	const name = "overlay"
	if reason == "" {
		return ok(name, "works in a user namespace")
	}
	fix := m.newKernel()
	if known, err := m.read("/proc/filesystems"); err == nil && !strings.Contains(known, "\toverlay") {
		fix = m.sudo() + "modprobe overlay"
	}
	return Note.finding(name, fix, "does not work in a user namespace, so that roots have to be copied: %s", reason)
}

// scopedABI is the first Landlock that keeps signals and abstract sockets inside.
const scopedABI = 6

func (m *machine) landlock(f features) Finding {
	const name = "landlock"
	switch {
	case f.Landlock == "" && f.LandlockABI >= scopedABI:
		return ok(name, "ABI %d", f.LandlockABI)
	case f.Landlock == "":
		return Note.finding(name, m.newKernel(), "ABI %d; signals and abstract sockets are scoped from ABI %d on", f.LandlockABI, scopedABI)
	case f.NoLandlock == unix.EOPNOTSUPP:
		return Note.finding(name, m.enableLandlock(), "built into the kernel, but switched off when it starts")
	}
	return Note.finding(name, m.newKernel(), "a second line of defence is missing: %s", f.Landlock)
}

func (m *machine) enableLandlock() string {
	list := "landlock"
	if others, err := m.read("/sys/kernel/security/lsm"); err == nil && others != "" {
		list += "," + others
	}
	if m.hasAdmin("grubby") {
		return m.sudo() + "grubby --update-kernel=ALL --args=lsm=" + list + " && " + m.sudo() + "reboot"
	}
	return fmt.Sprintf(`echo 'GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX lsm=%s"' | %[2]stee -a /etc/default/grub && %[2]supdate-grub && %[2]sreboot`, list, m.sudo())
}

// cgroups says which hierarchies there are, and whether a process can be born in
// one. What limits a caller can set there is what the sandbox at the end shows.
func cgroups(_ context.Context, m *machine) []Finding {
	layout, err := cgroup.Look()
	if err != nil {
		return []Finding{Note.finding("cgroups", m.sudo()+"mount -t cgroup2 cgroup2 /sys/fs/cgroup", "%v", err)}
	}
	found := []Finding{m.hierarchies(layout)}
	if layout.V2 != "" {
		found = append(found, m.birth(tryBirth(layout)))
	}
	return found
}

func (m *machine) hierarchies(l cgroup.Layout) Finding {
	const name = "cgroups"
	v1 := "v1 for " + strings.Join(l.V1, ", ")
	switch {
	case l.V2 == "" && len(l.V1) == 0:
		return Note.finding(name, m.sudo()+"mount -t cgroup2 cgroup2 /sys/fs/cgroup", "none is mounted: no limit but resource limits can be set")
	case l.V2 == "":
		return Note.finding(name, m.sudo()+"mkdir -p /sys/fs/cgroup/unified && "+m.sudo()+"mount -t cgroup2 cgroup2 /sys/fs/cgroup/unified", "%s, and no v2: commands have no group of their own", v1)
	case len(l.V1) > 0:
		return ok(name, "%s; v2 at %s", v1, l.V2)
	}
	return ok(name, "v2 at %s", l.V2)
}

// tryBirth lets clone3 bear a process into our own group. The process ends at its
// exec, because there is no such program, and that is how we know that it was born.
func tryBirth(l cgroup.Layout) error {
	path := l.Own
	if path == "" {
		path = l.V2
	}
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	_, err = os.StartProcess("/proc/self/no-such-program", []string{"none"},
		&os.ProcAttr{Sys: &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(dir.Fd())}})
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	return err
}

func (m *machine) birth(err error) Finding {
	const name = "clone3 into cgroup"
	switch {
	case err == nil:
		return ok(name, "works")
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EINVAL), errors.Is(err, unix.E2BIG):
		fix := m.newKernel()
		if m.inContainer() {
			fix = m.anew("--security-opt seccomp=unconfined")
		}
		return Note.finding(name, fix, "the kernel cannot, or a filter forbids it: sandboxes start some milliseconds later (%v)", err)
	}
	// A refusal is an answer: the kernel knows the call, and whether the caller
	// has a group to use it in is what "limits" says.
	return ok(name, "the kernel can; our own group is not ours to use")
}
