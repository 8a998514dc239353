package jail

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/rooted"
)

// devices are the nodes that programs expect.
var devices = []string{"null", "zero", "full", "random", "urandom", "tty"}

// Parts of /proc that tell of the machine rather than the sandbox.
var hiddenProc = []string{"acpi", "kcore", "keys", "latency_stats", "sched_debug", "scsi", "timer_list", "asound", "interrupts"}

// buildRoot mounts the sandbox's file tree and makes it this process's root.
// Sources are opened first, while the old root is still whole. It returns why an image
// had to be copied.
func buildRoot(c Config, files map[string]*os.File) (copied string, err error) {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return "", fmt.Errorf("cannot detach from the host's mounts: %w", err)
	}
	sources, err := openTrees(imageSources(c.Image), files)
	if err != nil {
		return "", err
	}
	defer closeTrees(sources)
	trees, err := openTrees(append(deviceBinds(), c.Binds...), files)
	if err != nil {
		return "", err
	}
	defer func() { closeTrees(trees) }()

	if err := standOnScaffold(); err != nil {
		return "", err
	}
	if c.Image != nil {
		made, err := layImage(c, sources)
		trees = append(trees, made.parts...)
		if err != nil {
			return "", fmt.Errorf("cannot lay out the image: %w", err)
		}
		copied = made.copied
	} else if err := furnish(".", c); err != nil {
		return "", err
	}
	top, err := openPlace(".")
	if err != nil {
		return "", err
	}
	defer top.Close()
	if err := top.mountKernel(); err != nil {
		return "", err
	}
	for _, s := range c.Scratch {
		if err := top.mountScratch(s, c.UID, c.GID); err != nil {
			return "", err
		}
	}
	// What lies below another mount must be mounted after it.
	slices.SortStableFunc(trees, func(a, b tree) int { return strings.Compare(a.Target, b.Target) })
	for _, t := range trees {
		if t.Owned {
			if err := giveTo(t.fd, c.UID, c.GID); err != nil {
				return "", fmt.Errorf("cannot give %s to user %d: %w", t.Target, c.UID, err)
			}
		}
		if err := top.attach(t); err != nil {
			return "", err
		}
	}
	if err := top.guardProc(); err != nil {
		return "", err
	}
	return copied, leaveOldRoot(c.Image != nil)
}

// tree is a bind whose source is open, as a mount that is nowhere yet.
type tree struct {
	Bind
	fd int
}

func openTrees(binds []Bind, files map[string]*os.File) ([]tree, error) {
	trees := make([]tree, 0, len(binds))
	for _, b := range binds {
		fd, err := openTree(b, files)
		if err != nil {
			closeTrees(trees)
			return nil, err
		}
		trees = append(trees, tree{b, fd})
	}
	return trees, nil
}

func closeTrees(trees []tree) {
	for _, t := range trees {
		unix.Close(t.fd)
	}
}

// deviceBinds are bound from outside, because no device can be made in a user
// namespace.
func deviceBinds() []Bind {
	var binds []Bind
	for _, d := range devices {
		binds = append(binds, Bind{Source: "/dev/" + d, Target: "/dev/" + d, Writable: true, Device: true})
	}
	return binds
}

// leaveOldRoot comes last: the kernel lets us mount /proc only while it can see that
// we had one.
func leaveOldRoot(writable bool) error {
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("cannot pivot into the sandbox's root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("cannot leave the host's root: %w", err)
	}
	if err := unix.Chdir("/"); err != nil {
		return fmt.Errorf("cannot enter the sandbox's root: %w", err)
	}
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV}
	if !writable {
		attr.Attr_set |= unix.MOUNT_ATTR_RDONLY
	}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", 0, &attr); err != nil {
		return fmt.Errorf("cannot restrict the root: %w", err)
	}
	return nil
}

// standOnScaffold mounts an empty file system and makes it the working directory.
// Any directory of the host will do as its place, since it is left at the end.
func standOnScaffold() error {
	var err error
	for _, stand := range []string{"/tmp", "/run", "/var", "/usr", "/etc"} {
		if err = unix.Mount("root", stand, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755,size=8m,nr_inodes=8k"); err == nil {
			err = unix.Chdir(stand)
			break
		}
	}
	if err != nil {
		return fmt.Errorf("cannot mount the sandbox's root: %w", err)
	}
	return nil
}

// openTree makes a detached copy of a bind's source with the bind's rights.
func openTree(b Bind, files map[string]*os.File) (int, error) {
	var tree int
	var err error
	if b.Descriptor != "" {
		tree, err = unix.Dup(int(files[b.Descriptor].Fd()))
	} else {
		tree, err = unix.OpenTree(unix.AT_FDCWD, b.Source, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	}
	if err != nil {
		return -1, fmt.Errorf("cannot bind %s: %w", b.Source, err)
	}
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID}
	if !b.Device {
		attr.Attr_set |= unix.MOUNT_ATTR_NODEV
	}
	if !b.Writable {
		attr.Attr_set |= unix.MOUNT_ATTR_RDONLY
	}
	if err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr); err != nil {
		unix.Close(tree)
		return -1, fmt.Errorf("cannot restrict the bind of %s: %w", b.Source, err)
	}
	return tree, nil
}

// giveTo makes a user the owner of the top of a tree. Only root of the sandbox
// can: to an ordinary creator the sandbox's other users are strangers.
func giveTo(tree, uid, gid int) error {
	var stat unix.Stat_t
	if err := unix.Fstatat(tree, "", &stat, unix.AT_EMPTY_PATH); err != nil {
		return err
	}
	if int(stat.Uid) == uid && int(stat.Gid) == gid {
		return nil
	}
	return unix.Fchownat(tree, "", uid, gid, unix.AT_EMPTY_PATH)
}

// furnish makes the folders, links and files of the configuration, and the places of
// what will be mounted, below dir.
func furnish(dir string, c Config) error {
	p, err := openPlace(dir)
	if err != nil {
		return err
	}
	defer p.Close()
	folders := append([]string{"/proc", "/dev"}, c.Folders...)
	for _, s := range c.Scratch {
		if !strings.HasPrefix(s.Path, "/dev/") {
			folders = append(folders, s.Path)
		}
	}
	for _, folder := range folders {
		if _, err := p.dir(folder); err != nil {
			return fmt.Errorf("cannot make %s: %w", folder, err)
		}
	}
	for _, l := range c.Links {
		if err := p.link(l.Path, l.Target); err != nil {
			return fmt.Errorf("cannot link %s: %w", l.Path, err)
		}
	}
	for _, f := range c.Files {
		if err := p.write(f.Path, f.Content); err != nil {
			return fmt.Errorf("cannot write %s: %w", f.Path, err)
		}
	}
	return nil
}

// mountKernel mounts what comes from the kernel.
func (p place) mountKernel() error {
	const flags = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	if err := p.mount("/proc", "proc", flags, ""); err != nil {
		return fmt.Errorf("%w (inside a container this needs an unmasked /proc: systempaths=unconfined)", err)
	}
	if err := p.mount("/dev", "tmpfs", unix.MS_NOSUID|unix.MS_NOEXEC, "mode=755,size=64k,nr_inodes=64"); err != nil {
		return err
	}
	for name, target := range map[string]string{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1",
		"stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx", "core": "/proc/kcore"} {
		if err := p.link("/dev/"+name, target); err != nil {
			return fmt.Errorf("cannot link /dev/%s: %w", name, err)
		}
	}
	return p.mount("/dev/pts", "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620")
}

func (p place) mountScratch(s Scratch, uid, gid int) error {
	flags := uintptr(unix.MS_NOSUID | unix.MS_NODEV)
	if s.NoExec {
		flags |= unix.MS_NOEXEC
	}
	options := "mode=" + strconv.FormatUint(uint64(s.Mode), 8) + ",size=" + strconv.FormatInt(s.Size, 10)
	if s.Owned {
		options += ",uid=" + strconv.Itoa(uid) + ",gid=" + strconv.Itoa(gid)
	}
	return p.mount(s.Path, "tmpfs", flags, options)
}

// attach moves a prepared tree to its place.
func (p place) attach(t tree) error {
	var stat unix.Stat_t
	if err := unix.Fstatat(t.fd, "", &stat, unix.AT_EMPTY_PATH); err != nil {
		return fmt.Errorf("cannot bind %s: %w", t.Source, err)
	}
	directory := stat.Mode&unix.S_IFMT == unix.S_IFDIR
	target, err := p.target(t.Target, directory)
	if err == nil {
		defer unix.Close(target)
		err = unix.MoveMount(t.fd, "", target, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
	}
	if err != nil {
		if taken := p.taken(t.Target, directory); taken != nil {
			err = taken
		}
		return fmt.Errorf("cannot bind %s at %s: %w", t.Source, t.Target, err)
	}
	return nil
}

// guardProc hides and freezes what of /proc is the machine's, and then lets nobody
// write to any of it: what root of the sandbox could write there belongs to other
// processes, the guest among them.
func (p place) guardProc() error {
	proc, err := p.look("/proc", unix.O_DIRECTORY)
	if err != nil {
		return fmt.Errorf("cannot open /proc: %w", err)
	}
	defer unix.Close(proc)
	dev, err := p.look("/dev", unix.O_DIRECTORY)
	if err != nil {
		return fmt.Errorf("cannot open /dev: %w", err)
	}
	defer unix.Close(dev)
	for _, name := range hiddenProc {
		path := rooted.PathOf(proc) + "/" + name
		info, err := os.Stat(path)
		if err != nil {
			continue
		}
		if info.IsDir() {
			err = unix.Mount("hidden", path, "tmpfs", unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "size=0,nr_inodes=1,mode=555")
		} else {
			err = unix.Mount(rooted.PathOf(dev)+"/null", path, "", unix.MS_BIND, "")
		}
		if err != nil {
			return fmt.Errorf("cannot hide /proc/%s: %w", name, err)
		}
	}
	if err := unix.MountSetattr(proc, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
		return fmt.Errorf("cannot make /proc read-only: %w", err)
	}
	return nil
}
