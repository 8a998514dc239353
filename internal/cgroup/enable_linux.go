package cgroup

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// domains leaves out threaded groups: what is made below one can hold no process.
func domains(bases []string) ([]string, error) {
	var fit []string
	for _, dir := range bases {
		kind, _ := readFile(filepath.Join(dir, "cgroup.type"))
		if kind == "domain\n" || isRoot(dir) {
			fit = append(fit, dir)
		}
	}
	if len(fit) == 0 {
		return nil, fmt.Errorf("cgroup %s is threaded, and no process can live below it", bases[0])
	}
	return fit, nil
}

// enableInBase refuses a group with processes even where the kernel would not: cpu
// and pids could be enabled there, but turn the group into a threaded one.
func enableInBase(dir string, wants []want) (got []want, missing map[string]Enforcement) {
	if len(wants) > 0 && !isRoot(dir) {
		if procs, err := readFile(filepath.Join(dir, "cgroup.procs")); err == nil && procs != "" {
			missing = map[string]Enforcement{}
			for _, w := range wants {
				missing[w.controller] = Enforcement{Reason: whyNotEnabled(dir, w.controller, unix.EBUSY)}
			}
			return nil, missing
		}
	}
	return enable(dir, wants)
}

// isRoot: only the root of the hierarchy has no type. It may hold processes and hand
// down controllers too.
func isRoot(dir string) bool { return !exists(filepath.Join(dir, "cgroup.type")) }

// enable hands the wanted controllers to the children of dir. It reads first: a
// needless write waits until groups that died lately are gone.
func enable(dir string, wants []want) (got []want, missing map[string]Enforcement) {
	missing = map[string]Enforcement{}
	if len(wants) == 0 {
		return nil, missing
	}
	file := filepath.Join(dir, "cgroup.subtree_control")
	content, err := readFile(file)
	if err != nil {
		content = "" // the write below says why
	}
	there := strings.Fields(content)
	var toWrite []want
	for _, w := range wants {
		if slices.Contains(there, w.controller) {
			got = append(got, w)
		} else {
			toWrite = append(toWrite, w)
		}
	}
	if len(toWrite) > 1 && writeFile(file, plus(toWrite)) == nil {
		return append(got, toWrite...), missing
	}
	// The kernel takes all of a line or nothing: one at a time shows which.
	for _, w := range toWrite {
		if err := writeFile(file, plus([]want{w})); err != nil {
			missing[w.controller] = Enforcement{Reason: whyNotEnabled(dir, w.controller, err)}
		} else {
			got = append(got, w)
		}
	}
	return got, missing
}

func whyNotEnabled(dir, controller string, err error) string {
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.EINVAL):
		if isRoot(dir) {
			return fmt.Sprintf("the kernel offers no %s controller (switched off on its command line, or not built in)", controller)
		}
		return fmt.Sprintf("the %s controller is not available in %s; with systemd, delegate it (systemctl edit user@.service: [Service] Delegate=cpu memory pids)", controller, dir)
	case errors.Is(err, unix.EBUSY):
		return fmt.Sprintf("the %s controller cannot be handed down from %s: processes live in that group itself", controller, dir)
	default:
		return fmt.Sprintf("the %s controller cannot be enabled: %v", controller, err)
	}
}

func plus(wants []want) string {
	var line strings.Builder
	for _, w := range wants {
		line.WriteString("+" + w.controller + " ")
	}
	return line.String()
}
