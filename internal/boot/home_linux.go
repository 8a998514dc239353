package boot

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/rooted"
)

// DefaultHome is the data directory where HERMES_HOME names none.
const DefaultHome = "/opt/data"

// systems are directories of the machine itself; nothing of them is ever a home, nor are those in between one.
var (
	systems = []string{"/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/sbin", "/sys", "/usr"}
	between = []string{"/", "/home", "/mnt", "/opt", "/root", "/run", "/srv", "/tmp", "/var", "/var/lib", "/var/tmp"}
)

// home finds the data directory and makes it, with all above it.
func home(_ context.Context, b *boot) error {
	dir := b.env("HERMES_HOME")
	if dir == "" {
		dir = DefaultHome
	}
	if !path.IsAbs(dir) {
		return fmt.Errorf("cannot use HERMES_HOME %q: it is not an absolute path", dir)
	}
	dir = path.Clean(dir)
	b.result.Home, b.result.RootHome = dir, rootHome(dir)
	var err error
	b.rootHome, err = b.openHome(b.result.RootHome)
	if b.home = b.rootHome; err == nil && dir != b.result.RootHome {
		b.home, err = b.openHome(dir)
	}
	if errors.Is(err, errLink) {
		b.shortfall("refusing to repair, seed or lease it: %v; name in HERMES_HOME the directory that it leads to", err)
		return nil
	}
	if err != nil && b.stranger {
		return b.guidance(err)
	}
	return err
}

// openHome opens a directory that can be a home.
func (b *boot) openHome(dir string) (*volume, error) {
	if why := b.unfit(dir); why != "" {
		return nil, fmt.Errorf("cannot use %q as a home: %s; name a directory of its own in HERMES_HOME, as %s", dir, why, DefaultHome)
	}
	fd, real, err := b.chase(dir)
	if err != nil {
		return nil, fmt.Errorf("cannot use the home %q: %w", dir, err)
	}
	if why := b.unfit(real); why != "" {
		unix.Close(fd)
		return nil, fmt.Errorf("cannot use %q as a home: it leads to %s, and %s", dir, real, why)
	}
	return &volume{root: rooted.New(fd, rooted.NoLinks), name: dir}, nil
}

// rootHome is the home of all profiles: a named one's is in it, in "profiles".
func rootHome(dir string) string {
	if profiles := path.Dir(dir); path.Base(profiles) == "profiles" {
		return path.Dir(profiles)
	}
	return dir
}

// unfit says why a directory cannot be a home: it is given to the service user.
func (b *boot) unfit(dir string) string {
	for _, d := range append(systems, b.Install) {
		if dir == d || strings.HasPrefix(dir, d+"/") {
			return d + " is the system's"
		}
	}
	for _, d := range between {
		if dir == d {
			return d + " is not for one program alone"
		}
	}
	return ""
}

// guidance is for people who started the container as somebody who cannot work in it.
func (b *boot) guidance(why error) error {
	ids := fmt.Sprintf("HERMES_UID=%d and HERMES_GID=%d (or PUID and PGID)", b.UID, b.GID)
	if !legal(b.GID) {
		ids = fmt.Sprintf("HERMES_UID=%d (or PUID)", b.UID)
	}
	return fmt.Errorf("cannot run as user %d: it may not write %s (%w); start the container as root and set %s instead, "+
		"or let the user write the volume (fsGroup)", b.UID, b.result.Home, why, ids)
}

var errLink = errors.New("it is a link")

// chase opens a directory, made if it is missing, and says where it really is. Links on the way are followed where
// only root can have made them; whoever can write a directory could swap one for a link to anywhere.
func (b *boot) chase(dir string) (fd int, real string, err error) {
	links := rooted.New(b.system.FD(), rooted.NoLinks) // not closed: the descriptor is system's
	todo := parts(dir)
	var done []string
	for followed := 0; len(todo) > 0; {
		part := todo[0]
		todo = todo[1:]
		if part == ".." {
			done = done[:max(len(done)-1, 0)]
			continue
		}
		target, err := b.stepInto(links, done, part)
		switch {
		case err != nil:
			return -1, "", err
		case target == "":
			done = append(done, part)
			continue
		case len(todo) == 0:
			return -1, "", errLink
		}
		if followed++; followed > 40 {
			return -1, "", unix.ELOOP
		}
		if path.IsAbs(target) {
			done = nil
		}
		todo = append(parts(target), todo...)
	}
	fd, err = links.Open(path.Join(done...), unix.O_PATH|unix.O_DIRECTORY)
	return fd, "/" + path.Join(done...), err
}

// stepInto looks at one part of a path. It returns the target if that is a link which may be followed, and makes
// a directory if nothing is there.
func (b *boot) stepInto(links *rooted.Root, done []string, part string) (target string, err error) {
	above, err := links.Open(path.Join(done...), unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return "", err
	}
	defer unix.Close(above)
	var st, aboveStat unix.Stat_t
	err = unix.Fstatat(above, part, &st, unix.AT_SYMLINK_NOFOLLOW)
	if err == unix.ENOENT {
		if err = unix.Mkdirat(above, part, 0o755); err == nil || err == unix.EEXIST {
			err = unix.Fstatat(above, part, &st, unix.AT_SYMLINK_NOFOLLOW)
		}
	}
	if err == nil {
		err = unix.Fstat(above, &aboveStat)
	}
	switch {
	case err != nil:
		return "", err
	case st.Mode&unix.S_IFMT == unix.S_IFDIR:
		return "", nil
	case st.Mode&unix.S_IFMT != unix.S_IFLNK:
		return "", unix.ENOTDIR
	case aboveStat.Uid != 0 || aboveStat.Mode&0o022 != 0:
		return "", fmt.Errorf("refusing to follow the link %q: others than root can write the directory that it is in", "/"+path.Join(append(done, part)...))
	}
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(above, part, buf)
	if err == nil && n == 0 {
		err = unix.ENOENT
	}
	return string(buf[:max(n, 0)]), err
}

func parts(p string) []string {
	return strings.FieldsFunc(p, func(r rune) bool { return r == '/' })
}

// writable checks that the service user can work with the volume.
func writable(_ context.Context, b *boot) error {
	err := b.hand.Do(func() error { return unix.Faccessat(b.home.root.FD(), ".", unix.W_OK|unix.X_OK, unix.AT_EACCESS) })
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EROFS):
		return fmt.Errorf("cannot use %s: it is mounted read-only; mount it writable", b.home.name)
	case b.stranger:
		return b.guidance(err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(b.home.root.FD(), &st); err != nil {
		return b.home.failed("look at", "", err)
	}
	remedy := fmt.Sprintf("give it to user %d", b.result.User.UID)
	if b.result.Root && st.Uid != 0 && st.Gid != 0 {
		remedy = fmt.Sprintf("set HERMES_UID=%d and HERMES_GID=%d (or PUID and PGID), or %s", st.Uid, st.Gid, remedy)
	}
	err = fmt.Errorf("cannot use %s: it belongs to %d:%d, and user %d may not write it; %s", b.home.name, st.Uid, st.Gid, b.result.User.UID, remedy)
	if b.result.Holder != nil {
		b.shortfall("%v", err) // it is as the holder wants it; what can do without may run
		return nil
	}
	return err
}

// homeMode gives the home the mode that the operator asked for; without that it keeps its own.
func homeMode(_ context.Context, b *boot) error {
	text := b.env("HERMES_HOME_MODE")
	if text == "" {
		return nil
	}
	mode, legal := octal(text)
	if !legal {
		return fmt.Errorf("cannot use HERMES_HOME_MODE %q: it is not an octal mode that lets the owner in, as 0750", text)
	}
	return b.home.chmod("", mode)
}

// octal reads a mode of a directory. One that shuts out its owner, or gives more than rights, is none.
func octal(text string) (mode uint32, legal bool) {
	if text == "" || len(text) > 5 || strings.Trim(text, "01234567") != "" {
		return 0, false
	}
	for _, digit := range text {
		mode = mode<<3 | uint32(digit-'0')
	}
	return mode, mode&0o700 == 0o700 && mode&^0o3777 == 0
}
