package jail

import (
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// devices are the nodes that programs expect. They are bound from outside,
// because no device can be made in a user namespace.
var devices = []string{"null", "zero", "full", "random", "urandom", "tty"}

// Parts of /proc that tell of, or change, the machine rather than the sandbox.
var (
	hiddenProc   = []string{"acpi", "kcore", "keys", "latency_stats", "sched_debug", "scsi", "timer_list", "asound", "interrupts"}
	readOnlyProc = []string{"bus", "fs", "irq", "sys", "sysrq-trigger"}
)

// buildRoot mounts the sandbox's file tree and makes it this process's root.
// Sources are opened first, while the old root is still whole; from then on all
// work is done relative to the new root, in which only we have made the paths.
func buildRoot(c Config, files map[string]*os.File) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("cannot detach from the host's mounts: %w", err)
	}
	binds := append([]Bind(nil), c.Binds...)
	for _, d := range devices {
		binds = append(binds, Bind{Source: "/dev/" + d, Target: "/dev/" + d, Writable: true, Device: true})
	}
	trees := make([]int, len(binds))
	for i, b := range binds {
		tree, err := openTree(b, files)
		if err != nil {
			return err
		}
		defer unix.Close(tree)
		trees[i] = tree
	}

	if err := standOnNewRoot(); err != nil {
		return err
	}
	if err := furnish(c); err != nil {
		return err
	}
	for i, b := range binds {
		if b.Owned {
			if err := giveTo(trees[i], c.UID, c.GID); err != nil {
				return fmt.Errorf("cannot give %s to user %d: %w", b.Target, c.UID, err)
			}
		}
		if err := attach(b, trees[i]); err != nil {
			return err
		}
	}
	if err := guardProc(); err != nil {
		return err
	}
	// The old root is left last: the kernel lets us mount /proc only while it
	// can see that we had one.
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("cannot pivot into the sandbox's root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("cannot leave the host's root: %w", err)
	}
	if err := unix.Chdir("/"); err != nil {
		return fmt.Errorf("cannot enter the sandbox's root: %w", err)
	}
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", 0, &attr); err != nil {
		return fmt.Errorf("cannot make the root read-only: %w", err)
	}
	return nil
}

// standOnNewRoot mounts the new, empty root and makes it the working directory.
// Any directory of the host will do as its place, since it is left at the end.
func standOnNewRoot() error {
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

// in is the place of a sandbox path while the new root is the working directory.
func in(p string) string { return "." + path.Clean("/"+p) }

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

// furnish makes the folders, links and files of the root and mounts what comes
// from the kernel.
func furnish(c Config) error {
	for _, dir := range append([]string{"/proc", "/dev"}, c.Folders...) {
		if err := os.MkdirAll(in(dir), 0o755); err != nil {
			return fmt.Errorf("cannot make %s: %w", dir, err)
		}
	}
	for _, l := range c.Links {
		if err := os.Symlink(l.Target, in(l.Path)); err != nil {
			return fmt.Errorf("cannot link %s: %w", l.Path, err)
		}
	}
	for _, f := range c.Files {
		if err := os.MkdirAll(in(path.Dir(f.Path)), 0o755); err != nil {
			return fmt.Errorf("cannot make %s: %w", f.Path, err)
		}
		if err := os.WriteFile(in(f.Path), f.Content, 0o644); err != nil {
			return fmt.Errorf("cannot write %s: %w", f.Path, err)
		}
	}
	const flags = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	if err := unix.Mount("proc", in("/proc"), "proc", flags, ""); err != nil {
		return fmt.Errorf("cannot mount /proc: %w (inside a container this needs an unmasked /proc: systempaths=unconfined)", err)
	}
	if err := furnishDev(); err != nil {
		return err
	}
	for _, s := range c.Scratch {
		if err := os.MkdirAll(in(s.Path), 0o755); err != nil {
			return fmt.Errorf("cannot make %s: %w", s.Path, err)
		}
		scratchFlags := uintptr(unix.MS_NOSUID | unix.MS_NODEV)
		if s.NoExec {
			scratchFlags |= unix.MS_NOEXEC
		}
		options := "mode=" + strconv.FormatUint(uint64(s.Mode), 8) + ",size=" + strconv.FormatInt(s.Size, 10)
		if s.Owned {
			options += ",uid=" + strconv.Itoa(c.UID) + ",gid=" + strconv.Itoa(c.GID)
		}
		if err := unix.Mount("tmpfs", in(s.Path), "tmpfs", scratchFlags, options); err != nil {
			return fmt.Errorf("cannot mount %s: %w", s.Path, err)
		}
	}
	return nil
}

func furnishDev() error {
	if err := unix.Mount("dev", in("/dev"), "tmpfs", unix.MS_NOSUID|unix.MS_NOEXEC, "mode=755,size=64k,nr_inodes=64"); err != nil {
		return fmt.Errorf("cannot mount /dev: %w", err)
	}
	for _, dir := range []string{"/dev/pts"} {
		if err := os.Mkdir(in(dir), 0o755); err != nil {
			return err
		}
	}
	for name, target := range map[string]string{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1",
		"stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx", "core": "/proc/kcore"} {
		if err := os.Symlink(target, in("/dev/"+name)); err != nil {
			return err
		}
	}
	if err := unix.Mount("devpts", in("/dev/pts"), "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620"); err != nil {
		return fmt.Errorf("cannot mount /dev/pts: %w", err)
	}
	return nil
}

// attach moves a prepared tree to its place. The place is found component by
// component without following links, because it may lie in a tree that somebody
// else can write.
func attach(b Bind, tree int) error {
	var stat unix.Stat_t
	if err := unix.Fstatat(tree, "", &stat, unix.AT_EMPTY_PATH); err != nil {
		return fmt.Errorf("cannot bind %s: %w", b.Source, err)
	}
	target, err := makeTarget(b.Target, stat.Mode&unix.S_IFMT == unix.S_IFDIR)
	if err != nil {
		return fmt.Errorf("cannot bind %s at %s: %w", b.Source, b.Target, err)
	}
	defer unix.Close(target)
	if err := unix.MoveMount(tree, "", target, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH); err != nil {
		return fmt.Errorf("cannot bind %s at %s: %w", b.Source, b.Target, err)
	}
	return nil
}

// makeTarget opens, and makes where it is missing, a mount point.
func makeTarget(target string, directory bool) (int, error) {
	at, err := unix.Open(".", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	parts := strings.Split(strings.Trim(path.Clean(target), "/"), "/")
	for i, part := range parts {
		next, err := makePart(at, part, i < len(parts)-1 || directory)
		unix.Close(at)
		if err != nil {
			return -1, fmt.Errorf("/%s %w", path.Join(parts[:i+1]...), err)
		}
		at = next
	}
	return at, nil
}

// makePart opens one component of a mount point. Of what is there already only the
// kind matters: commands of an earlier run may have made it, a link or a pipe.
func makePart(at int, part string, directory bool) (int, error) {
	next, err := openPart(at, part)
	if err == unix.ENOENT {
		if directory {
			err = unix.Mkdirat(at, part, 0o755)
		} else {
			var made int
			if made, err = unix.Openat(at, part, unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o644); err == nil {
				unix.Close(made)
			}
		}
		if err == nil {
			next, err = openPart(at, part)
		}
	}
	if err != nil {
		return -1, fmt.Errorf("cannot be made: %w", err)
	}
	var stat unix.Stat_t
	if err := unix.Fstatat(next, "", &stat, unix.AT_EMPTY_PATH); err != nil {
		unix.Close(next)
		return -1, fmt.Errorf("cannot be looked at: %w", err)
	}
	if is := stat.Mode & unix.S_IFMT; (is == unix.S_IFDIR) != directory {
		unix.Close(next)
		needed := uint32(unix.S_IFREG)
		if directory {
			needed = unix.S_IFDIR
		}
		return -1, fmt.Errorf("is %s where %s is needed; remove it, or mount elsewhere", kindName(is), kindName(needed))
	}
	return next, nil
}

func openPart(at int, part string) (int, error) {
	return unix.Openat(at, part, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
}

func kindName(kind uint32) string {
	switch kind {
	case unix.S_IFDIR:
		return "a directory"
	case unix.S_IFLNK:
		return "a link"
	case unix.S_IFREG:
		return "a file"
	}
	return "a special file"
}

// guardProc hides and freezes what of /proc is the machine's.
func guardProc() error {
	for _, name := range hiddenProc {
		p := in("/proc/" + name)
		info, err := os.Stat(p)
		if err != nil {
			continue
		}
		if info.IsDir() {
			err = unix.Mount("hidden", p, "tmpfs", unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "size=0,nr_inodes=1,mode=555")
		} else {
			err = unix.Mount(in("/dev/null"), p, "", unix.MS_BIND, "")
		}
		if err != nil {
			return fmt.Errorf("cannot hide %s: %w", p, err)
		}
	}
	for _, name := range readOnlyProc {
		p := in("/proc/" + name)
		if _, err := os.Stat(p); err != nil {
			continue
		}
		tree, err := unix.OpenTree(unix.AT_FDCWD, p, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
		if err == nil {
			err = unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOEXEC})
			if err == nil {
				err = unix.MoveMount(tree, "", unix.AT_FDCWD, p, unix.MOVE_MOUNT_F_EMPTY_PATH)
			}
			unix.Close(tree)
		}
		if err != nil {
			return fmt.Errorf("cannot make %s read-only: %w", p, err)
		}
	}
	return nil
}
