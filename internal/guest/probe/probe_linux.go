// Package probe finds out, from inside and by trial, what is enforced on the
// commands of a sandbox.
//
// The guest starts its own program once more in this mode, as it starts every
// command: same thread, user, filter, limits and cgroup. The probe tries what
// should not work, reads what the kernel says of it, and writes one report. It
// assumes nothing about the engine, and whatever it tries must be without effect
// also where nothing is enforced at all.
package probe

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/capability"
	"hermes.example/hermes/internal/wire"
)

// Mode is the guest's argument that makes it a probe.
const Mode = "probe"

// nothing is the argument that makes it end at once: what a trial starts.
const nothing = "nothing"

// Run probes, and writes the report to standard output. Its argument is the name of
// an abstract socket of the guest, which is there to be knocked at.
func Run(args []string) error {
	door := ""
	if len(args) == 1 {
		door = args[0]
	}
	if door == nothing {
		return nil
	}
	found, err := look(door)
	if err != nil {
		return fmt.Errorf("cannot probe: %w", err)
	}
	found.Trials = tryAll()
	return json.NewEncoder(os.Stdout).Encode(found)
}

// look reads what the kernel says of this process.
func look(door string) (wire.Probe, error) {
	found := wire.Probe{UID: os.Getuid(), GID: os.Getgid(), Namespaces: namespaces(), Limits: limits(), WritableRoot: writableRoot()}
	if err := readStatus(&found); err != nil {
		return found, err
	}
	for file, into := range map[string]*string{"/proc/self/uid_map": &found.UIDMap, "/proc/self/gid_map": &found.GIDMap} {
		content, err := os.ReadFile(file)
		if err != nil {
			return found, err
		}
		*into = strings.TrimSpace(string(content))
	}
	mounts, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return found, err
	}
	defer mounts.Close()
	for lines := bufio.NewScanner(mounts); lines.Scan(); {
		if m, ok := parseMount(lines.Text()); ok {
			m.Device = isDevice(m.Target)
			found.Mounts = append(found.Mounts, m)
		}
	}
	devices, err := os.ReadFile("/proc/self/net/dev")
	if err != nil {
		return found, err
	}
	for line := range strings.Lines(string(devices)) {
		if name, _, isDevice := strings.Cut(line, ":"); isDevice {
			found.Interfaces = append(found.Interfaces, strings.TrimSpace(name))
		}
	}
	found.LandlockABI, _ = ll.LandlockGetABIVersion()
	found.Landlock = landlock(found.LandlockABI, door)
	return found, nil
}

// landlock tries what only Landlock forbids: from version 6 on to reach an abstract
// socket, the guest's door, and before to write a file of our own.
func landlock(abi int, door string) string {
	var err error
	switch {
	case abi <= 0:
		return wire.LandlockLacks
	case abi >= 6 && door != "":
		err = connect(door)
	default:
		err = openFile("/proc/self/comm", unix.O_WRONLY)
	}
	switch err {
	case nil:
		return wire.LandlockLacks
	case unix.EPERM, unix.EACCES:
		return wire.LandlockHolds
	}
	return ""
}

func connect(abstract string) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Connect(fd, &unix.SockaddrUnix{Name: abstract})
}

func readStatus(found *wire.Probe) error {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	sets := make(map[string]uint64)
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		value = strings.TrimSpace(value)
		switch name {
		case "CapPrm", "CapInh", "CapAmb", "CapBnd":
			sets[name], _ = strconv.ParseUint(value, 16, 64)
		case "NoNewPrivs":
			found.NoNewPrivileges = value == "1"
		case "Seccomp":
			found.Seccomp = value == "2"
		}
	}
	can := sets["CapPrm"] | sets["CapInh"] | sets["CapAmb"]
	if !found.NoNewPrivileges {
		can |= sets["CapBnd"] // by way of a program that has them
	}
	found.Capabilities = capability.Names(can)
	return nil
}

func namespaces() map[string]string {
	links := make(map[string]string)
	for _, kind := range []string{"user", "mnt", "pid", "net", "uts", "ipc", "cgroup", "time"} {
		if link, err := os.Readlink("/proc/self/ns/" + kind); err == nil {
			links[kind] = link
		}
	}
	return links
}

func limits() map[string]uint64 {
	set := make(map[string]uint64)
	for name, resource := range map[string]int{"core": unix.RLIMIT_CORE, "nofile": unix.RLIMIT_NOFILE, "nproc": unix.RLIMIT_NPROC,
		"as": unix.RLIMIT_AS, "memlock": unix.RLIMIT_MEMLOCK} {
		var l unix.Rlimit
		if unix.Getrlimit(resource, &l) == nil && l.Max != unix.RLIM_INFINITY {
			set[name] = l.Max
		}
	}
	return set
}

func writableRoot() []string {
	var can []string
	for _, dir := range []string{"/", "/bin", "/etc", "/lib", "/sbin", "/usr", "/usr/bin", "/usr/local"} {
		if unix.Access(dir, unix.W_OK) == nil {
			can = append(can, dir)
		}
	}
	return can
}

// parseMount reads a line of /proc/self/mountinfo.
func parseMount(line string) (wire.ProbedMount, bool) {
	mount, system, ok := strings.Cut(line, " - ")
	m, s := strings.Fields(mount), strings.Fields(system)
	if !ok || len(m) < 6 || len(s) < 3 {
		return wire.ProbedMount{}, false
	}
	readOnly := func(options string) bool { return strings.HasPrefix(options+",", "ro,") }
	return wire.ProbedMount{System: m[2], Root: unescape(m[3]), Target: unescape(m[4]), Type: s[0],
		ReadOnly: readOnly(m[5]) || readOnly(s[2])}, true
}

func isDevice(path string) bool {
	var stat unix.Stat_t
	if unix.Lstat(path, &stat) != nil {
		return false
	}
	kind := stat.Mode & unix.S_IFMT
	return kind == unix.S_IFCHR || kind == unix.S_IFBLK
}

// unescape undoes what the kernel does to blanks and backslashes in paths.
func unescape(path string) string {
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		if path[i] == '\\' && i+3 < len(path) {
			if n, err := strconv.ParseUint(path[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(path[i])
	}
	return b.String()
}
