package native

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/accounts"
	"hermes.example/hermes/internal/guest/jail"
	"hermes.example/hermes/sandbox"
)

const guestArch = runtime.GOARCH

// What of the host is visible inside, read-only: its programs, and of /etc what
// is public and what programs need to run. Nothing else of the host is there.
var (
	systemDirs = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}
	publicEtc  = []string{
		"alternatives", "bash.bashrc", "bash_completion.d", "ca-certificates", "ca-certificates.conf", "debian_version", "fonts", "gai.conf",
		"inputrc", "java-17-openjdk", "java-21-openjdk", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "locale.alias", "locale.conf", "localtime",
		"magic", "mailcap", "mime.types", "nanorc", "os-release", "perl", "pki", "profile", "profile.d", "protocols", "python3", "python3.11",
		"python3.12", "python3.13", "redhat-release", "rpc", "services", "shells", "skel", "ssl", "terminfo", "timezone", "vim", "xattr.conf",
	}
)

// Sizes of the file systems in memory.
const (
	mib = 1 << 20
	gib = 1 << 30
)

// describe makes the configuration of the sandbox.
func (c *creation) describe(ctx context.Context) error {
	var err error
	if c.Config, err = c.describeRoot(); err != nil {
		return err
	}
	if err := c.describeImage(); err != nil {
		return err
	}
	if err := c.addBinds(); err != nil {
		return err
	}
	if err := c.GiveDoor(ctx); err != nil {
		return err
	}
	return c.giveGroup()
}

// describeRoot describes everything that is the same for all sandboxes of a spec.
func (c *creation) describeRoot() (jail.Config, error) {
	uid, gid, err := c.userIDs()
	if err != nil {
		return jail.Config{}, err
	}
	_, name := accounts.Stranger(uid, gid, sandbox.Home)
	users := userFiles(uid, gid)
	if c.image != nil {
		if name, users, err = c.nameUser(); err != nil {
			return jail.Config{}, err
		}
	}
	config := jail.Config{
		Hostname:  hostname(c.ID),
		UID:       uid,
		GID:       gid,
		SetGroups: c.ids.Mode != idsSingle,
		Loopback:  c.Spec.Network == sandbox.NetworkNone,
		Env:       c.environment(name),
		Cwd:       c.cwd(),
		Ephemeral: c.Spec.Ephemeral,
		Successor: c.Spec.Successor,
		Build:     c.engine.Build(),
		Folders:   []string{"/etc", sandbox.Home, sandbox.Workspace},
		Files:     append(users, networkFiles(c.ID, c.Spec.Network)...),
		Scratch: []jail.Scratch{
			{Path: "/tmp", Size: 512 * mib, Mode: 0o1777},
			{Path: "/var/tmp", Size: 256 * mib, Mode: 0o1777, NoExec: true},
			{Path: "/run", Size: 64 * mib, Mode: 0o755, NoExec: true},
			{Path: "/dev/shm", Size: gib, Mode: 0o1777},
		},
	}
	if !c.verdict.Pids.Enforced() {
		config.Processes = uint64(max(c.Spec.Limits.Pids, 0))
	}
	if c.Spec.Ephemeral {
		config.Scratch = append(config.Scratch, jail.Scratch{Path: sandbox.Home, Size: gib, Mode: 0o700, Owned: true},
			jail.Scratch{Path: "/home", Size: gib, Mode: 0o755, Owned: true})
		if !c.mounts(sandbox.Workspace) {
			config.Scratch = append(config.Scratch, jail.Scratch{Path: sandbox.Workspace, Size: 10 * gib, Mode: 0o755, Owned: true})
		}
	}
	if c.verdict.Memory.Enforced() && c.Spec.Limits.Memory > 0 {
		fit(config.Scratch, c.Spec.Limits.Memory/2)
	}
	switch {
	case c.image == nil:
		showHost(&config)
	case !c.hasFile(config.Cwd):
		config.Folders = append(config.Folders, config.Cwd) // images name places that nothing has made
	}
	return config, nil
}

// cwd is where commands start: where the spec says, else where the image says.
func (c *creation) cwd() string {
	switch {
	case c.Spec.Cwd != "":
		return c.Spec.Cwd
	case c.image != nil && path.IsAbs(c.image.Config.WorkDir):
		return path.Clean(c.image.Config.WorkDir)
	}
	return sandbox.Workspace
}

// showHost makes the host's programs the sandbox's.
func showHost(config *jail.Config) {
	config.Folders = append(config.Folders, "/var", "/opt", "/mnt", "/srv", "/home")
	for _, dir := range systemDirs {
		target, err := os.Readlink(dir)
		switch {
		case err == nil:
			config.Links = append(config.Links, jail.Link{Path: dir, Target: target})
		case exists(dir):
			config.Binds = append(config.Binds, jail.Bind{Source: dir, Target: dir})
		}
	}
	for _, name := range publicEtc {
		p := "/etc/" + name
		target, err := os.Readlink(p)
		switch {
		case err == nil && strings.HasPrefix(path.Join("/etc", target), "/usr/") || err == nil && strings.HasPrefix(target, "/usr/"):
			config.Links = append(config.Links, jail.Link{Path: p, Target: target})
		default:
			addPublic(config, p)
		}
	}
}

// fit makes file systems in memory fit into so much of it together: what they hold
// counts as the sandbox's memory, and whoever has filled that can run nothing, not
// even rm. All get the same, but none more than it has.
func fit(scratch []jail.Scratch, total int64) {
	bySize := make([]*jail.Scratch, len(scratch))
	for i := range scratch {
		bySize[i] = &scratch[i]
	}
	slices.SortFunc(bySize, func(a, b *jail.Scratch) int { return cmp.Compare(a.Size, b.Size) })
	for i, s := range bySize {
		s.Size = min(s.Size, total/int64(len(bySize)-i))
		total -= s.Size
	}
}

// addPublic shows a file or directory of /etc. A small file is copied, because a
// mount costs more than its content.
func addPublic(config *jail.Config, p string) {
	info, err := os.Stat(p)
	if err != nil {
		return
	}
	if info.Mode().IsRegular() && info.Size() <= 4<<10 {
		if content, err := os.ReadFile(p); err == nil {
			config.Files = append(config.Files, jail.File{Path: p, Content: content})
		}
		return
	}
	config.Binds = append(config.Binds, jail.Bind{Source: p, Target: p})
}

func exists(p string) bool {
	_, err := os.Stat(p)
	return err == nil
}

// mounts says whether the spec itself mounts something at target.
func (c *creation) mounts(target string) bool {
	for _, m := range c.Spec.Mounts {
		if path.Clean(m.Target) == target {
			return true
		}
	}
	return false
}

// addBinds adds the sandbox's own directories and what the spec mounts. An
// ordinary user's guest binds them itself, with that user's rights. A root
// engine's guest has ids that may not even reach them, so they are opened here:
// the sandbox's own as they are, the host's with ids shifted to the sandbox's.
func (c *creation) addBinds() error {
	if !c.Spec.Ephemeral {
		for name, target := range map[string]string{"home": sandbox.Home, "workspace": sandbox.Workspace} {
			if target == sandbox.Workspace && c.mounts(target) || c.stacked(target) {
				continue
			}
			if err := c.addBind(jail.Bind{Source: filepath.Join(c.Dir, name), Target: target, Writable: true, Owned: true}, false); err != nil {
				return err
			}
		}
	}
	for _, m := range c.Spec.Mounts {
		if err := c.addBind(jail.Bind{Source: m.Source, Target: path.Clean(m.Target), Writable: !m.ReadOnly}, true); err != nil {
			return err
		}
	}
	return nil
}

func (c *creation) addBind(b jail.Bind, shift bool) error {
	if !exists(b.Source) {
		return fmt.Errorf("cannot mount %s: it does not exist", b.Source)
	}
	if err := c.handOverTree(&b, shift); err != nil {
		return err
	}
	c.Config.Binds = append(c.Config.Binds, b)
	return nil
}

// handOverTree gives the guest a tree that it could not open itself.
func (c *creation) handOverTree(b *jail.Bind, shift bool) error {
	if c.ids.Mode != idsRange {
		return nil
	}
	guest := 0
	if shift {
		guest = c.PID()
	}
	tree, err := openTree(b.Source, guest)
	if err != nil {
		return err
	}
	b.Descriptor = jail.MountFD + strconv.Itoa(len(c.Config.Descriptors))
	c.Give(b.Descriptor, tree)
	return nil
}

// openTree makes a detached mount of source that a guest can put into place, with ids
// shifted to those of the guest, if one is given.
func openTree(source string, guest int) (*os.File, error) {
	fd, err := unix.OpenTree(unix.AT_FDCWD, source, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return nil, fmt.Errorf("cannot mount %s: %w", source, err)
	}
	tree := os.NewFile(uintptr(fd), source)
	if guest == 0 {
		return tree, nil
	}
	users, err := os.Open("/proc/" + strconv.Itoa(guest) + "/ns/user")
	if err == nil {
		err = unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE,
			&unix.MountAttr{Attr_set: unix.MOUNT_ATTR_IDMAP, Userns_fd: uint64(users.Fd())})
		users.Close()
	}
	if err != nil {
		tree.Close()
		return nil, fmt.Errorf("cannot mount %s with the sandbox's ids: %w (its file system may not support idmapped mounts; copy it to one that does)", source, err)
	}
	return tree, nil
}

// environment is what commands outside sessions start with: what every sandbox has,
// over it what its image says, and over that what the spec says.
func (c *creation) environment(user string) []string {
	env := map[string]string{
		"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME": sandbox.Home, "LANG": "C.UTF-8", "USER": user, "LOGNAME": user, "SHELL": "/bin/sh",
	}
	if c.hasFile("/bin/bash") || c.hasFile("/usr/bin/bash") {
		env["SHELL"] = "/bin/bash"
	}
	if c.image == nil && exists("/usr/local/go/bin/go") {
		env["PATH"] = "/usr/local/go/bin:" + env["PATH"]
	}
	if c.image != nil {
		for _, entry := range c.image.Config.Env {
			name, value, _ := strings.Cut(entry, "=")
			env[name] = value
		}
	}
	for name, value := range c.Spec.Env {
		env[name] = value
	}
	list := make([]string, 0, len(env))
	for name, value := range env {
		list = append(list, name+"="+value)
	}
	return list
}

// hasFile says whether a file is in the root that the sandbox will have.
func (c *creation) hasFile(file string) bool {
	if c.image == nil {
		return exists(file)
	}
	return slices.ContainsFunc(c.layers, func(dir string) bool {
		_, err := os.Lstat(filepath.Join(dir, file))
		return err == nil
	})
}

func hostname(id sandbox.Identity) string {
	name := strings.Trim(strings.ReplaceAll(id.Name(), "_", "-"), "-.")
	return name[:min(len(name), 63)]
}

// networkFiles are the parts of /etc that must tell of the sandbox's place in the
// network, and not of the host's or of its image's.
func networkFiles(id sandbox.Identity, network sandbox.Network) []jail.File {
	name := hostname(id)
	hosts := "127.0.0.1 localhost " + name + "\n::1 localhost ip6-localhost ip6-loopback\n"
	resolv := "# this sandbox has no network: its guest refuses every lookup\nnameserver 127.0.0.1\noptions timeout:1 attempts:1\n"
	if network == sandbox.NetworkHost {
		if data, err := os.ReadFile("/etc/resolv.conf"); err == nil {
			resolv = string(data)
		}
		if data, err := os.ReadFile("/etc/hosts"); err == nil {
			hosts = string(data) + "127.0.0.1 " + name + "\n"
		}
	}
	return []jail.File{
		{Path: "/etc/hostname", Content: []byte(name + "\n")}, {Path: "/etc/hosts", Content: []byte(hosts)}, {Path: "/etc/resolv.conf", Content: []byte(resolv)},
	}
}
