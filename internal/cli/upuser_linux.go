package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/internal/userdb"
)

// serviceAccount is who services run as where root asks for them.
const serviceAccount = "hermes"

// stepDown becomes the service user, for good and with everything, where root calls and does not insist: nothing here
// needs root's rights. It starts this program anew and returns only if it cannot.
func (a *app) stepDown() error {
	if os.Geteuid() != 0 || config.Switch(a.lookup, allowRoot) {
		return nil
	}
	files, err := userdb.Read("/")
	if err != nil {
		return cannot("read the password database", err)
	}
	user, found := files.ByName(serviceAccount)
	if !found || user.UID == 0 {
		return settings(fmt.Errorf("cannot run the services as root: what they do must not have all rights; run this as another user, make one for them "+
			"(useradd --system --create-home --home-dir /var/lib/%s %s), or set %s=1", serviceAccount, serviceAccount, allowRoot))
	}
	home, _ := a.lookup("HERMES_HOME")
	if home == "" {
		home = user.Home
	}
	if !filepath.IsAbs(home) || filepath.Clean(home) == "/" {
		return settings(fmt.Errorf("cannot use the home %q of the user %s: set HERMES_HOME to a directory of its own", home, user.Name))
	}
	if err := give(home, user); err != nil {
		return settings(fmt.Errorf("cannot run this home as the user %s: %w", user.Name, err))
	}
	// A place for sockets that the user could not make. Without it there is another one.
	_ = give("/run/hermes-"+strconv.Itoa(user.UID), user)
	a.say("running as the user %s, in %s; from another terminal: HERMES_HOME=%s hermes status", user.Name, home, home)
	return cannot("become the user "+user.Name, become(user, userEnvironment(user, home, os.Environ())))
}

// give makes a directory that is the user's. One that is there must be the user's, or empty.
func give(dir string, user userdb.User) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	// By descriptor, so that nobody puts another one in its place meanwhile.
	f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
	if errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP) {
		return fmt.Errorf("%s is not a directory", dir)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	owner := int(info.Sys().(*syscall.Stat_t).Uid)
	if owner == user.UID {
		return nil
	}
	if names, err := f.Readdirnames(1); len(names) > 0 || !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s belongs to user %d; give it to that user (chown -R %s %s), name another one with HERMES_HOME, or set %s=1", dir, owner, user.Name, dir, allowRoot)
	}
	return f.Chown(user.UID, user.GID)
}

// userEnvironment is the caller's environment, but for what says who and where the caller is.
func userEnvironment(user userdb.User, home string, environ []string) []string {
	own := []string{"HOME", "USER", "LOGNAME", "HERMES_HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"}
	environ = slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(own, name)
	})
	return append(environ, "HOME="+home, "USER="+user.Name, "LOGNAME="+user.Name, "HERMES_HOME="+home)
}

// become takes on the user's ids and starts this program anew, by the kernel's name for it: its path may lead through
// directories that are root's alone.
func become(user userdb.User, environ []string) error {
	if err := syscall.Setgroups(append([]int{user.GID}, user.Groups...)); err != nil {
		return os.NewSyscallError("setgroups", err)
	}
	if err := syscall.Setgid(user.GID); err != nil {
		return os.NewSyscallError("setgid", err)
	}
	if err := syscall.Setuid(user.UID); err != nil {
		return os.NewSyscallError("setuid", err)
	}
	// Where the caller was may be closed to the user.
	if unix.Access(".", unix.X_OK) != nil {
		_ = os.Chdir("/")
	}
	return os.NewSyscallError("execve", syscall.Exec("/proc/self/exe", os.Args, environ))
}
