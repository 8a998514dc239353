package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	parentName = "hermes"
	cmdName    = "cmd"
	guestName  = "guest"
)

// Create makes the groups of a sandbox and sets the limits. ownerUID and ownerGID
// are the guest's ids on the host; the guest may make groups of its own in the v2
// cmd directory, and change nothing else.
//
// A limit that cannot be enforced is no error: the verdict says so, and the caller
// decides. The group is never nil without an error; where nothing could be made it
// is empty, and its methods do nothing. On an error nothing is left behind.
func Create(name string, l Limits, ownerUID, ownerGID int) (*Group, Verdict, error) {
	err := checkName(name)
	if err == nil {
		err = l.check()
	}
	if err != nil {
		return nil, Verdict{}, fmt.Errorf("cannot make cgroup %q: %w", name, err)
	}
	sys, err := detect()
	if err != nil {
		return nil, Verdict{}, err
	}
	return sys.create(name, l.wants(), ownerUID, ownerGID)
}

func (s system) create(name string, wants []want, uid, gid int) (*Group, Verdict, error) {
	b := builder{sys: s, group: &Group{name: name}, uid: uid, gid: gid, verdict: map[string]Enforcement{}}
	if err := b.build(wants); err != nil {
		return nil, Verdict{}, fmt.Errorf("cannot make cgroup %q: %w", name, err)
	}
	return b.group, b.result(), nil
}

func (b *builder) result() Verdict {
	verdict := Verdict{Kill: b.kill}
	for c, e := range map[string]*Enforcement{"memory": &verdict.Memory, "cpu": &verdict.CPU, "pids": &verdict.Pids} {
		*e = Enforcement{Reason: "no limit was asked for"}
		if found, ok := b.verdict[c]; ok {
			*e = found
		}
	}
	return verdict
}

// checkName allows no dot, so that no name is that of an interface file; two such
// files have none.
func checkName(name string) error {
	bad := func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '_')
	}
	if name == "" || len(name) > 200 || strings.ContainsFunc(name, bad) || name == "tasks" || name == "notify_on_release" {
		return errors.New("a name has 1 to 200 letters, digits, - and _ and is not that of a control file")
	}
	return nil
}

type builder struct {
	sys      system
	group    *Group
	uid, gid int
	verdict  map[string]Enforcement // by controller
	kill     Enforcement
}

// build begins with v2, so that of two concurrent calls one loses before it has
// made anything.
func (b *builder) build(wants []want) (err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, b.group.Remove())
		}
	}()
	var v1, v2 []want
	for _, w := range wants {
		if b.sys.v1[w.controller] != "" {
			v1 = append(v1, w)
		} else {
			v2 = append(v2, w)
		}
	}
	if err := b.buildV2(v2); err != nil {
		return err
	}
	return b.buildV1(v1)
}

func (b *builder) buildV1(wants []want) error {
	made := map[string]string{} // mount point → group; several controllers may share one
	for _, w := range wants {
		base := b.sys.v1[w.controller]
		if err := writable(base); err != nil {
			b.verdict[w.controller] = Enforcement{Reason: fmt.Sprintf("the %s controller belongs to cgroup v1, which is not delegated: %v", w.controller, err)}
			continue
		}
		dir := made[base]
		if dir == "" {
			var err error
			if dir, err = b.makeGroup(base); err != nil {
				return err
			}
			made[base] = dir
			b.group.places = append(b.group.places, place{dir: dir})
			if err := mkdir(filepath.Join(dir, cmdName)); err != nil {
				return err
			}
		}
		b.verdict[w.controller] = apply(filepath.Join(dir, cmdName), "v1", w.v1)
	}
	return nil
}

func (b *builder) buildV2(wants []want) error {
	bases, err := b.sys.v2Bases(writable)
	if err == nil {
		bases, err = domains(bases)
	}
	if err != nil {
		b.kill = Enforcement{Reason: err.Error()}
		for _, w := range wants {
			b.verdict[w.controller] = Enforcement{Reason: fmt.Sprintf("no usable cgroup hierarchy has the %s controller: %v", w.controller, err)}
		}
		return nil
	}
	base, handed := b.chooseBase(bases, wants)
	dir, err := b.makeGroup(base)
	if err != nil {
		return err
	}
	b.group.places = append(b.group.places, place{dir: dir, v2: true})
	children := []string{cmdName}
	if len(handed) > 0 {
		for _, d := range []string{filepath.Dir(dir), dir} {
			if _, missing := enable(d, handed); len(missing) > 0 {
				return fmt.Errorf("controllers of %s cannot be handed down: %v", base, missing)
			}
		}
		children = append(children, guestName)
	}
	for _, c := range children {
		if err := mkdir(filepath.Join(dir, c)); err != nil {
			return err
		}
	}
	cmd := filepath.Join(dir, cmdName)
	for _, w := range handed {
		b.verdict[w.controller] = apply(cmd, "v2", w.v2)
	}
	b.kill = Enforcement{By: "v2"}
	if !exists(filepath.Join(cmd, "cgroup.kill")) {
		b.kill = Enforcement{Reason: "this kernel has no cgroup.kill (Linux 5.14)"}
	}
	return b.giveToOwner(dir)
}

// giveToOwner lets the guest make groups in cmd, and lets it put processes into
// them: for that the kernel asks for write permission on cgroup.procs of the target
// (its own) and of the common ancestor of both places. The files that hold the
// limits stay ours.
func (b *builder) giveToOwner(dir string) error {
	if b.uid == os.Geteuid() && b.gid == os.Getegid() {
		return nil
	}
	cmd := filepath.Join(dir, cmdName)
	for _, p := range []string{cmd, filepath.Join(cmd, "cgroup.procs"), filepath.Join(dir, "cgroup.procs")} {
		if err := os.Chown(p, b.uid, b.gid); err != nil {
			return err
		}
	}
	return nil
}

// chooseBase takes the first base that can hand down all controllers, else the one
// that can hand down most, and records what it lacks.
func (b *builder) chooseBase(bases []string, wants []want) (base string, handed []want) {
	var best map[string]Enforcement
	for _, candidate := range bases {
		got, missing := enableInBase(candidate, wants)
		if base == "" || len(got) > len(handed) {
			base, handed, best = candidate, got, missing
		}
		if len(missing) == 0 {
			break
		}
	}
	for c, e := range best {
		b.verdict[c] = e
	}
	return base, handed
}

const makeTimeout = time.Second

// makeGroup makes <base>/hermes/<name>. The parent is shared and removed by whoever
// leaves it last, so until the group is in it, it may vanish: then it is made again.
func (b *builder) makeGroup(base string) (string, error) {
	dir := filepath.Join(base, parentName, b.group.name)
	for pause := newPause(time.Now().Add(makeTimeout)); ; {
		if err := mkdir(filepath.Dir(dir)); err != nil && !errors.Is(err, fs.ErrExist) {
			return "", err
		}
		err := mkdir(dir)
		vanished := errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENODEV)
		switch {
		case err == nil:
			return dir, nil
		case errors.Is(err, fs.ErrExist):
			return "", fmt.Errorf("it exists already; remove what an earlier run has left: %w", err)
		case !vanished || !pause.wait():
			return "", err
		}
	}
}

// apply sets one limit; a file that cannot be written makes it unenforced, or
// weaker when the file is optional.
func apply(cmd, by string, settings []setting) Enforcement {
	verdict := Enforcement{By: by}
	for _, s := range settings {
		err := writeFile(filepath.Join(cmd, s.file), s.value)
		switch {
		case err == nil:
		case s.weaker != "":
			verdict.Reason = fmt.Sprintf("%s: %v", s.weaker, err)
		default:
			return Enforcement{Reason: fmt.Sprintf("the limit cannot be set: %v", err)}
		}
	}
	return verdict
}
