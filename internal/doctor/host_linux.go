package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/daemon"
	"hermes.example/hermes/internal/rundir"
	"hermes.example/hermes/sandbox/engine/native"
)

func checks(m *machine) []check {
	slow := "timeout 5 ls " + quote(m.config.Home) + " # shows whether its file system answers"
	return []check{
		{"engine", engines, Note, again},
		{"kernel", kernel, Bad, "uname -r"},
		{"user namespaces", trials, Note, again},
		{"cgroups", cgroups, Note, "ls /sys/fs/cgroup"},
		{"home", home, Bad, slow},
		{"run directory", runDirectory, Bad, "timeout 5 ls /run /tmp # shows which of them does not answer"},
		{"leftovers", leftovers, Note, slow},
		{"memory", memory, Note, "free -m"},
		{"clock", clock, Note, "date"},
		{"docker", containers(daemon.Docker), Note, m.restart("docker")},
		{"podman", containers(daemon.Podman), Note, m.podmanService()},
		{"python", interpreter("python", "python3"), Note, m.install("python3")},
		{"node", interpreter("node", "node"), Note, m.install("node")},
	}
}

// plain is an error in one line, without the advice to ask us.
func plain(err error) string {
	return strings.ReplaceAll(strings.ReplaceAll(err.Error(), native.AskDoctor, ""), "\n", "; ")
}

func kernel(_ context.Context, m *machine) []Finding {
	const name = "kernel"
	release, err := m.read("/proc/sys/kernel/osrelease")
	if err != nil {
		return []Finding{Bad.finding(name, m.sudo()+"mount -t proc proc /proc", "cannot tell which: %v", err)}
	}
	var major, minor int
	if n, _ := fmt.Sscanf(release, "%d.%d", &major, &minor); n == 2 && (major < 5 || major == 5 && minor < 12) {
		return []Finding{Bad.finding(name, m.newKernel(), "Linux %s; the native engine needs 5.12 or newer", release)}
	}
	return []Finding{ok(name, "Linux %s", release)}
}

func memory(_ context.Context, m *machine) []Finding {
	const name = "memory"
	const who = "ps -eo pid,rss,comm --sort=-rss | head # shows who has it"
	info, err := m.read("/proc/meminfo")
	if err != nil {
		return []Finding{Note.finding(name, m.sudo()+"mount -t proc proc /proc", "cannot tell how much: %v", err)}
	}
	total, free := meminfo(info, "MemTotal"), meminfo(info, "MemAvailable")
	found := fmt.Sprintf("%d MiB of %d MiB can be had", free>>10, total>>10)
	switch {
	case free < 64<<10:
		return []Finding{Bad.finding(name, who, "%s: too little for a sandbox", found)}
	case free < 512<<10:
		return []Finding{Note.finding(name, who, "%s: little for compilers and language runtimes", found)}
	}
	return []Finding{ok(name, "%s", found)}
}

// meminfo is a line of /proc/meminfo, in KiB.
func meminfo(info, key string) int64 {
	for line := range strings.Lines(info) {
		if rest, found := strings.CutPrefix(line, key+":"); found {
			n, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return n
		}
	}
	return 0
}

// home looks at where everything is kept, without writing to it.
func home(_ context.Context, m *machine) []Finding {
	const name = "home"
	dir := m.config.Home
	at := dir
	info, err := os.Stat(at)
	for errors.Is(err, os.ErrNotExist) && at != filepath.Dir(at) {
		at = filepath.Dir(at)
		info, err = os.Stat(at)
	}
	elsewhere := "export HERMES_HOME=" + m.otherHome()
	switch {
	case err != nil:
		return []Finding{Bad.finding(name, elsewhere, "%s cannot be used: %v", dir, err)}
	case !info.IsDir():
		return []Finding{Bad.finding(name, elsewhere, "%s cannot be used: %s is not a directory", dir, at)}
	}
	if err := unix.Faccessat(unix.AT_FDCWD, at, unix.R_OK|unix.W_OK|unix.X_OK, unix.AT_EACCESS); err != nil {
		fix := elsewhere
		if errors.Is(err, unix.EACCES) && at == dir {
			fix = m.sudo() + "chown -R " + quote(m.who()) + " " + quote(dir)
		}
		return []Finding{Bad.finding(name, fix, "%s cannot be written: %v", at, err)}
	}
	found := ok(name, "%s", dir)
	if at != dir {
		found.Found += " (made when it is needed)"
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(at, &fs); err != nil {
		return []Finding{found, Note.finding("disk", "df -h "+quote(at), "cannot tell how much is free: %v", err)}
	}
	return []Finding{found, m.disk(int64(fs.Bavail)*fs.Bsize, fs.Files > 0 && fs.Ffree == 0), m.fileSystem(int64(fs.Type), fs.Flags&unix.ST_NOEXEC != 0)}
}

// otherHome is a place, as a shell understands it, for a home where the present one
// is of no use.
func (m *machine) otherHome() string {
	if m.uid == 0 {
		return "/var/lib/hermes"
	}
	return "$(mktemp -d /var/tmp/hermes-XXXXXX)"
}

func (m *machine) disk(free int64, noInodes bool) Finding {
	const name = "disk"
	const mib = 1 << 20
	fix := fmt.Sprintf("du -xsh %s/* | sort -h # then: hermes sandbox rm --files TASK", quote(filepath.Join(m.config.SandboxRoot, "native")))
	switch {
	case noInodes:
		return Bad.finding(name, fix, "no more files can be made in the home's file system")
	case free < 64*mib:
		return Bad.finding(name, fix, "%d MiB are free for the home: too little", free/mib)
	case free < 1024*mib:
		return Note.finding(name, fix, "%d MiB are free for the home: little", free/mib)
	}
	return ok(name, "%.1f GiB are free for the home", float64(free)/(1024*mib))
}

// fileSystems are those that lack something, and what it is; the others have all.
var fileSystems = map[int64]struct {
	name     string
	severity Severity
	lacks    string
}{
	unix.MSDOS_SUPER_MAGIC:     {"vfat", Bad, "files have no owners"},
	unix.EXFAT_SUPER_MAGIC:     {"exfat", Bad, "files have no owners"},
	0x5346544e:                 {"ntfs", Bad, "files have no owners"},
	unix.NFS_SUPER_MAGIC:       {"nfs", Note, "no overlay can write to it"},
	unix.SMB2_SUPER_MAGIC:      {"smb", Note, "no overlay can write to it, and owners may not be kept"},
	unix.CIFS_SUPER_MAGIC:      {"cifs", Note, "no overlay can write to it, and owners may not be kept"},
	unix.V9FS_MAGIC:            {"9p", Note, "no overlay can write to it"},
	unix.FUSE_SUPER_MAGIC:      {"fuse", Note, "overlays and idmapped mounts may not work on it"},
	unix.OVERLAYFS_SUPER_MAGIC: {"overlay", Note, "no overlay can write to another one"},
	unix.ECRYPTFS_SUPER_MAGIC:  {"ecryptfs", Note, "no overlay can write to it"},
	unix.TMPFS_MAGIC:           {"tmpfs", Note, "what sandboxes keep is gone when the machine restarts"},
	unix.RAMFS_MAGIC:           {"ramfs", Note, "what sandboxes keep is gone when the machine restarts"},
}

// knownGood have names, for people.
var knownGood = map[int64]string{unix.EXT4_SUPER_MAGIC: "ext4", unix.XFS_SUPER_MAGIC: "xfs", unix.BTRFS_SUPER_MAGIC: "btrfs", unix.F2FS_SUPER_MAGIC: "f2fs", 0x2fc12fc1: "zfs", 0xca451a4e: "bcachefs"}

func (m *machine) fileSystem(magic int64, noExec bool) Finding {
	const name = "file system"
	fix := "export HERMES_HOME=" + m.otherHome() + " # or any directory on ext4, xfs or btrfs"
	if fs, lacking := fileSystems[magic]; lacking {
		return fs.severity.finding(name, fix, "%s: %s", fs.name, fs.lacks)
	}
	kind := knownGood[magic]
	if kind == "" {
		kind = fmt.Sprintf("type %#x", magic)
	}
	if noExec {
		return Note.finding(name, fix, "%s, mounted noexec: programs in a sandbox's home and workspace cannot be executed", kind)
	}
	return ok(name, "%s", kind)
}

// runDirectory looks at where sockets and the guest's program are.
func runDirectory(_ context.Context, m *machine) []Finding {
	const name = "run directory"
	dir, err := rundir.Look()
	if err != nil {
		return []Finding{Bad.finding(name, fmt.Sprintf("%sinstall -d -m 700 -o %s /run/hermes-%d", m.sudo(), quote(m.who()), m.uid), "%s", plain(err))}
	}
	at := dir
	if _, err := os.Stat(at); err != nil {
		at = filepath.Dir(dir)
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(at, &fs); err == nil {
		return []Finding{m.runFileSystem(dir, fs.Flags&unix.ST_NOEXEC != 0)}
	}
	return []Finding{ok(name, "%s", dir)}
}

func (m *machine) runFileSystem(dir string, noExec bool) Finding {
	const name = "run directory"
	if noExec {
		const fix = `export XDG_RUNTIME_DIR="$HOME/.cache/hermes-run" && install -d -m 700 "$XDG_RUNTIME_DIR"`
		return Bad.finding(name, fix, "%s is on a file system that is mounted noexec: the guest cannot be executed there", dir)
	}
	return ok(name, "%s", dir)
}

func leftovers(_ context.Context, m *machine) []Finding {
	n, err := native.Leftovers(m.engineOptions(), m.config.Home)
	return []Finding{judgeLeftovers(n, err)}
}

func judgeLeftovers(n int, err error) Finding {
	const name = "leftovers"
	const fix = "hermes sandbox prune"
	switch {
	case err != nil:
		return Note.finding(name, fix, "%s", plain(err))
	case n == 1:
		return Note.finding(name, fix, "of one sandbox that died")
	case n > 1:
		return Note.finding(name, fix, "of %d sandboxes that died", n)
	}
	return ok(name, "none")
}
