package cgroup

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// FreezerOf returns the file that says whether a process is held still by its group or by
// one above it. Where that cannot be seen from here it is an error.
func FreezerOf(pid int) (string, error) {
	mountinfo, err := readFile("/proc/self/mountinfo")
	if err != nil {
		return "", fmt.Errorf("cannot find the cgroup hierarchies: %w", err)
	}
	groups, err := readFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
	if err != nil {
		return "", fmt.Errorf("cannot find the cgroup of process %d: %w", pid, err)
	}
	file := freezerIn(mountinfo, groups)
	if file == "" || !exists(file) {
		return "", fmt.Errorf("cannot find the freezer of process %d: its cgroup is not mounted here", pid)
	}
	return file, nil
}

// freezerIn takes the contents of /proc/self/mountinfo and of a process's file cgroup. Where
// the freezer has a hierarchy of its own, that is what engines use.
func freezerIn(mountinfo, groups string) string {
	v2 := ""
	for line := range strings.Lines(mountinfo) {
		m, ok := parseMount(line)
		switch {
		case !ok:
		case m.v2 && v2 == "":
			if dir, ok := m.dirOf(groupIn(groups, "")); ok {
				v2 = filepath.Join(dir, "cgroup.events")
			}
		case !m.v2 && slices.Contains(m.options, "freezer"):
			if dir, ok := m.dirOf(groupIn(groups, "freezer")); ok {
				return filepath.Join(dir, "freezer.state")
			}
			return ""
		}
	}
	return v2
}

// groupIn is the path of a process's group in the hierarchy of a controller, "" for that of
// version 2. It is "" when it cannot be named from here: outside the cgroup namespace, or
// removed.
func groupIn(groups, controller string) string {
	for line := range strings.Lines(groups) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(fields) < 3 || !slices.Contains(strings.Split(fields[1], ","), controller) {
			continue
		}
		if group := fields[2]; path.IsAbs(group) && !strings.HasPrefix(group, "/..") && !strings.HasSuffix(group, " (deleted)") {
			return group
		}
		return ""
	}
	return ""
}

// IsFrozen reads what FreezerOf found.
func IsFrozen(freezer string) (bool, error) {
	content, err := readFile(freezer)
	if err != nil {
		return false, err
	}
	if path.Base(freezer) == "freezer.state" {
		return strings.TrimSpace(content) != "THAWED", nil
	}
	for line := range strings.Lines(content) {
		if state, ok := strings.CutPrefix(line, "frozen "); ok {
			return strings.TrimSpace(state) != "0", nil
		}
	}
	return false, errors.New("the kernel does not say whether it is frozen")
}
