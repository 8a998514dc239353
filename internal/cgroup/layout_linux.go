package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// system is where the hierarchies of this machine are, as this process sees them.
type system struct {
	v1   map[string]string // controller → mount point
	v2   string            // mount point, "" without one
	own  string            // own group below v2, "" when it is outside what is mounted
	euid int
}

func detect() (system, error) {
	mountinfo, err := readFile("/proc/self/mountinfo")
	if err != nil {
		return system{}, fmt.Errorf("cannot find the cgroup hierarchies: %w", err)
	}
	self, err := readFile("/proc/self/cgroup")
	if err != nil {
		return system{}, fmt.Errorf("cannot find the own cgroup: %w", err)
	}
	return parseSystem(mountinfo, self, os.Geteuid()), nil
}

// parseSystem takes the contents of /proc/self/mountinfo and /proc/self/cgroup.
func parseSystem(mountinfo, self string, euid int) system {
	s := system{v1: map[string]string{}, euid: euid}
	own := groupIn(self, "")
	for line := range strings.Lines(mountinfo) {
		m, ok := parseMount(line)
		if !ok {
			continue
		}
		if m.v2 {
			// A later mount may show more: one that holds the own group wins.
			if s.v2 == "" || s.own == "" {
				if dir, ok := m.dirOf(own); ok {
					s.v2, s.own = m.point, dir
				} else if s.v2 == "" {
					s.v2 = m.point
				}
			}
			continue
		}
		for _, c := range limitControllers {
			if s.v1[c] == "" && slices.Contains(m.options, c) {
				s.v1[c] = m.point
			}
		}
	}
	return s
}

type mount struct {
	point, root string
	v2          bool
	options     []string // of the super block; in v1 they name the controllers
}

// parseMount reads "36 35 98:0 /root /point opts [optional …] - type source options".
func parseMount(line string) (mount, bool) {
	// Most lines are other file systems: the quick look keeps long tables cheap.
	if !strings.Contains(line, " - cgroup") {
		return mount{}, false
	}
	before, after, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " - ")
	pre, post := strings.Fields(before), strings.Fields(after)
	if !ok || len(pre) < 6 || len(post) < 3 {
		return mount{}, false
	}
	if post[0] != "cgroup" && post[0] != "cgroup2" {
		return mount{}, false
	}
	return mount{
		root:    unescape(pre[3]),
		point:   unescape(pre[4]),
		v2:      post[0] == "cgroup2",
		options: strings.Split(post[2], ","),
	}, true
}

// The kernel writes these four as octal in mountinfo.
var mountEscapes = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

func unescape(s string) string { return mountEscapes.Replace(s) }

// dirOf maps a group's path to its directory below this mount.
func (m mount) dirOf(group string) (string, bool) {
	if group == "" {
		return "", false
	}
	if m.root == "/" || m.root == group {
		return filepath.Join(m.point, strings.TrimPrefix(group, m.root)), true
	}
	if rest, ok := strings.CutPrefix(group, m.root+"/"); ok {
		return filepath.Join(m.point, rest), true
	}
	return "", false
}

// chain is the own group's ancestors up to the mount point, nearest first, and then
// the own group itself. It comes last because we live in it: it can hand no
// controller to children, and what is below it ends with us.
func (s system) chain() []string {
	if s.own == "" {
		return nil
	}
	var dirs []string
	for d := s.own; d != s.v2 && d != "/"; {
		d = filepath.Dir(d)
		dirs = append(dirs, d)
	}
	return append(dirs, s.own)
}

// v2Bases returns the directories in which groups may be made, best first.
// writable is a parameter so that other machines' layouts can be tested.
func (s system) v2Bases(writable func(string) error) ([]string, error) {
	if s.v2 == "" {
		return nil, fmt.Errorf("no cgroup v2 hierarchy is mounted")
	}
	// Root takes the root of the hierarchy, and only that: what systemd has
	// configured below it is not ours to change.
	if s.euid == 0 && writable(s.v2) == nil {
		return []string{s.v2}, nil
	}
	var bases []string
	for _, dir := range s.chain() {
		// A process is moved by who may write cgroup.procs of the common ancestor
		// of both groups, which is the base.
		if writable(dir) == nil && writable(filepath.Join(dir, "cgroup.procs")) == nil {
			bases = append(bases, dir)
		}
	}
	if len(bases) > 0 {
		return bases, nil
	}
	if s.own == "" {
		return nil, fmt.Errorf("the own cgroup is outside the mounted hierarchy %s", s.v2)
	}
	if s.euid == 0 {
		return nil, fmt.Errorf("cgroup v2 at %s is not writable: %w", s.v2, writable(s.v2))
	}
	return nil, fmt.Errorf("neither the own cgroup %s nor one above it is delegated to uid %d; start below the systemd user manager (systemd-run --user --scope …)", s.own, s.euid)
}

// searchDirs are all directories in which a group may have been made, by this
// process or by an earlier one that ran elsewhere in the tree.
func (s system) searchDirs() (v1, v2 []string) {
	for _, c := range limitControllers {
		if p := s.v1[c]; p != "" && !slices.Contains(v1, p) {
			v1 = append(v1, p)
		}
	}
	if s.v2 == "" {
		return v1, nil
	}
	v2 = append([]string{s.v2}, s.chain()...)
	if s.euid != 0 {
		// A user's other processes may run in another slice of the same delegation.
		user := filepath.Join(s.v2, "user.slice", fmt.Sprintf("user-%d.slice", s.euid), fmt.Sprintf("user@%d.service", s.euid))
		for _, deeper := range []string{"", "*.slice", "*.slice/*"} {
			found, _ := filepath.Glob(filepath.Join(user, deeper, parentName))
			for _, dir := range found {
				v2 = append(v2, filepath.Dir(dir))
			}
		}
	}
	slices.Sort(v2)
	return v1, slices.Compact(v2)
}
