package native

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"hermes.example/hermes/internal/subid"
	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/engine/internal/host"
)

// How a sandbox's ids relate to the host's.
const (
	// idsRange: all ids of the sandbox are a range of their own that nobody on
	// the host has. The root engine's way.
	idsRange = "range"
	// idsSubordinate: root of the sandbox is the caller, the others are the
	// caller's subordinate ids.
	idsSubordinate = "subordinate"
	// idsSingle: the caller is the only id there is.
	idsSingle = "single"
)

// idMap is the id map of one sandbox. It is kept with the sandbox's files,
// because their owners on disk depend on it.
type idMap struct {
	Mode     string
	UIDs     []idRange
	GIDs     []idRange
	UID, GID int // who root of the sandbox is on the host
}

type idRange struct{ Inside, Outside, Count int }

const idsPerSandbox = 65536

// The ids that root gives to sandboxes: above those of people and services, in
// slots of 64 Ki, below the sign bit.
const (
	firstSlot = 0x4000_0000 / idsPerSandbox
	slotCount = 0x3000_0000 / idsPerSandbox
)

// planIDs decides the map of a new sandbox.
func (e *Engine) planIDs(id sandbox.Identity) (idMap, error) {
	if os.Geteuid() == 0 {
		if base, ok := rangeOfFiles(e.options.dir(id)); ok {
			return rangeAt(base), nil
		}
		return e.planRange(id)
	}
	return callerIDs()
}

// callerIDs is the map that all sandboxes of an ordinary user have. Root's have one
// each, of which only the mode is the same.
func callerIDs() (idMap, error) {
	if os.Geteuid() == 0 {
		return idMap{Mode: idsRange}, nil
	}
	uid, gid := os.Getuid(), os.Getgid()
	single := idMap{Mode: idsSingle, UID: uid, GID: gid, UIDs: []idRange{{0, uid, 1}}, GIDs: []idRange{{0, gid, 1}}}
	if !has("newuidmap") || !has("newgidmap") {
		return single, nil
	}
	u, err1 := subordinate("/etc/subuid", uid)
	g, err2 := subordinate("/etc/subgid", uid)
	if err1 != nil || err2 != nil {
		return single, nil
	}
	return idMap{Mode: idsSubordinate, UID: uid, GID: gid,
		UIDs: []idRange{{0, uid, 1}, {1, u.Outside, u.Count}}, GIDs: []idRange{{0, gid, 1}, {1, g.Outside, g.Count}}}, nil
}

func has(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}

// planRange picks a slot by the identity, and the next free one if another
// sandbox of the home has it.
func (e *Engine) planRange(id sandbox.Identity) (idMap, error) {
	entries, err := os.ReadDir(e.options.rootOf(id.Home))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return idMap{}, err
	}
	taken := make(map[int]bool)
	for _, entry := range entries {
		if base, ok := rangeOfFiles(filepath.Join(e.options.rootOf(id.Home), entry.Name())); ok {
			taken[base] = true
		}
	}
	h := fnv.New32a()
	h.Write([]byte(id.Key()))
	for i := range slotCount {
		base := (firstSlot + (int(h.Sum32())+i)%slotCount) * idsPerSandbox
		if !taken[base] {
			return rangeAt(base), nil
		}
	}
	return idMap{}, errors.New("all id ranges are taken")
}

func rangeAt(base int) idMap {
	r := []idRange{{0, base, idsPerSandbox}}
	return idMap{Mode: idsRange, UIDs: r, GIDs: r, UID: base, GID: base}
}

// rangeOfFiles reads the range of a sandbox off the owner of its files.
func rangeOfFiles(dir string) (base int, ok bool) {
	info, err := os.Lstat(filepath.Join(dir, host.SpoolName))
	if err != nil {
		return 0, false
	}
	slot := int(info.Sys().(*syscall.Stat_t).Uid) / idsPerSandbox
	return slot * idsPerSandbox, slot >= firstSlot && slot < firstSlot+slotCount
}

// subordinate reads the caller's first range in a file like /etc/subuid.
func subordinate(file string, uid int) (idRange, error) {
	name := ""
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		name = u.Username
	}
	r, err := subid.Of(file, uid, name)
	return idRange{1, r.First, min(r.Count, idsPerSandbox)}, err
}

// apply gives the namespace of process pid its ids.
func (m idMap) apply(ctx context.Context, pid int) error {
	proc := "/proc/" + strconv.Itoa(pid) + "/"
	if m.Mode == idsSubordinate {
		done := make(chan error, 1)
		go func() { done <- runMapper(ctx, "newgidmap", pid, m.GIDs) }()
		err := runMapper(ctx, "newuidmap", pid, m.UIDs)
		if groups := <-done; err == nil {
			err = groups
		}
		return err
	}
	if m.Mode == idsSingle {
		// The kernel demands it of a caller who may not map groups.
		if err := os.WriteFile(proc+"setgroups", []byte("deny"), 0); err != nil {
			return fmt.Errorf("cannot map ids: %w", err)
		}
	}
	if err := os.WriteFile(proc+"uid_map", []byte(mapText(m.UIDs)), 0); err != nil {
		return fmt.Errorf("cannot map user ids: %w", err)
	}
	if err := os.WriteFile(proc+"gid_map", []byte(mapText(m.GIDs)), 0); err != nil {
		return fmt.Errorf("cannot map group ids: %w", err)
	}
	return nil
}

func mapText(ranges []idRange) string {
	var b strings.Builder
	for _, r := range ranges {
		fmt.Fprintf(&b, "%d %d %d\n", r.Inside, r.Outside, r.Count)
	}
	return b.String()
}

func runMapper(ctx context.Context, program string, pid int, ranges []idRange) error {
	args := []string{strconv.Itoa(pid)}
	for _, r := range ranges {
		args = append(args, strconv.Itoa(r.Inside), strconv.Itoa(r.Outside), strconv.Itoa(r.Count))
	}
	out, err := exec.CommandContext(ctx, program, args...).CombinedOutput()
	if ctx.Err() != nil {
		return ctx.Err() // rather than that it was killed
	}
	if err != nil {
		return fmt.Errorf("cannot map ids: %s: %w: %s", program, err, strings.Join(strings.Fields(string(out)), " "))
	}
	return nil
}

// covers says whether an id exists inside.
func covers(ranges []idRange, id int) bool {
	for _, r := range ranges {
		if id >= r.Inside && id < r.Inside+r.Count {
			return true
		}
	}
	return false
}
