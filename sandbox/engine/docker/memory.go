package docker

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/moby/moby/api/types/container"

	"hermes.example/hermes/sandbox"
)

// memoryFile is a file system in memory.
type memoryFile struct {
	path, options string
	size          int64
}

// memoryFiles are those of every sandbox, and those that an ephemeral one has besides in
// place of what others keep, the most needed first.
func (m *making) memoryFiles() map[string]string {
	const mib = 1 << 20
	list := []memoryFile{
		{"/tmp", "rw,exec,nosuid", 512 * mib}, // Docker's default is noexec
		{"/var/tmp", "rw,noexec,nosuid", 256 * mib},
		{"/run", "rw,noexec,nosuid", 64 * mib},
	}
	if !m.keeps() {
		options := "rw,exec"
		if uid, gid, err := m.spec.UserIDs(); err == nil && m.spec.User != "" {
			options += m.engine.ownedBy(uid, gid)
		}
		list = append(list, memoryFile{sandbox.Workspace, options, 10 << 30}, memoryFile{sandbox.Home, options, 1 << 30}, memoryFile{"/home", options, 1 << 30})
	}
	all := make(map[string]string, len(list))
	// What is in them counts to the memory limit. If they could fill it, a full one
	// would leave no room for any command, not even for one that empties it.
	room := m.spec.Limits.Memory / 4 * 3
	for _, f := range list {
		if m.mounted(f.path) {
			continue
		}
		if m.spec.Limits.Memory > 0 {
			f.size = max(min(f.size, room/2/mib*mib), mib)
			room -= f.size
		}
		all[f.path] = f.options + ",size=" + size(f.size)
	}
	return all
}

// size is a number of bytes as options of mounts have it.
func size(bytes int64) string {
	if bytes%(1<<30) == 0 {
		return fmt.Sprintf("%dg", bytes>>30)
	}
	return fmt.Sprintf("%dm", bytes>>20)
}

// sharedMemory is the size of /dev/shm; zero leaves it to the daemon. If nobody asked
// for a size, it is no larger than a small memory limit can bear.
func (m *making) sharedMemory() int64 {
	const usual = 64 << 20 // the daemons'
	l := m.spec.Limits
	switch {
	case l.SharedMemory != 0:
		return max(l.SharedMemory, 0)
	case l.Memory > 0 && l.Memory/8 < usual:
		return l.Memory / 8
	}
	return 0
}

// crowded says that what can be kept in memory is more than the memory limit: then a
// full directory leaves no room for any command.
func crowded(h *container.HostConfig) string {
	together := h.ShmSize
	if h.IpcMode.IsHost() || h.IpcMode.IsContainer() || h.IpcMode.IsNone() {
		together = 0
	}
	for _, options := range h.Tmpfs {
		together += min(tmpfsSize(options), math.MaxInt64-together)
	}
	if together < h.Memory {
		return ""
	}
	return "directories in memory may fill all of it, and then no command has room; give them smaller sizes"
}

// tmpfsSize reads the bound off a directory's options; one without is taken for endless.
func tmpfsSize(options string) int64 {
	bound := int64(math.MaxInt64)
	for option := range strings.SplitSeq(options, ",") {
		text, ok := strings.CutPrefix(strings.ToLower(option), "size=")
		if !ok {
			continue
		}
		shift := 0
		for i, unit := range []string{"k", "m", "g"} {
			if number, has := strings.CutSuffix(text, unit); has {
				text, shift = number, 10*(i+1)
			}
		}
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && n <= math.MaxInt64>>shift {
			bound = n << shift
		}
	}
	return bound
}
