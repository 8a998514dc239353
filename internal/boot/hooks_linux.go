package boot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/rooted"
)

// What an image may bring for s6-overlay.
const (
	hookDir    = "etc/cont-init.d"
	serviceDir = "etc/s6-overlay/s6-rc.d"
)

// hookTime is what a hook may take: some install packages.
const hookTime = 5 * time.Minute

// hooks runs the image's own programs of the boot, as root, in the order of their names. One that fails does not
// keep the others from running.
func hooks(ctx context.Context, b *boot) error {
	names, err := b.trustedDir(hookDir)
	var failed []error
	for _, name := range names {
		failed = append(failed, b.hook(ctx, path.Join(hookDir, name)))
	}
	return b.each(append(failed, err))
}

func (b *boot) hook(ctx context.Context, file string) error {
	if err := b.trusted(file, unix.S_IFREG, 0o100); err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, hookTime)
	defer stop()
	if _, err := b.Run(ctx, Command{Argv: []string{b.path(file)}, Env: b.hookEnvironment(), Dir: "/"}); err != nil {
		return fmt.Errorf("the hook /%s failed: %w", file, err)
	}
	return nil
}

// hookEnvironment is everybody's but for the home, because what root leaves in its own does not belong on the volume, and
// for the search path: a place in it that others can write, as that for the agent's own programs on the volume is, would
// let them choose what root runs. Nor does root run a browser that was found in such a place.
func (b *boot) hookEnvironment() []string {
	e := environment(b.result.Environ())
	e.set("PATH", b.trustedPath(e.get("PATH")))
	if b.env(browserVariable) == "" {
		e.unset(browserVariable)
	}
	if home, set := environment(b.Environ).lookup("HOME"); set {
		e.set("HOME", home)
	} else {
		e.unset("HOME")
	}
	return e
}

// trustedPath leaves of a search path what only root can write. A link in it, as /bin often is, gives way to where it
// leads now: it may itself be in a place that others can write.
func (b *boot) trustedPath(list string) string {
	var kept []string
	for dir := range strings.SplitSeq(list, ":") {
		if real := b.realDir(dir); real != "" && !slices.Contains(kept, real) && b.trusted(real[1:], unix.S_IFDIR, 0) == nil {
			kept = append(kept, real)
		}
	}
	if len(kept) == 0 {
		return systemPath // an empty one would be wherever somebody stands
	}
	return strings.Join(kept, ":")
}

const systemPath = "/usr/sbin:/usr/bin:/sbin:/bin"

// realDir is the path without links of a directory of the machine, or nothing.
func (b *boot) realDir(dir string) string {
	if !path.IsAbs(dir) {
		return ""
	}
	fd, err := b.system.Open(dir, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return ""
	}
	defer unix.Close(fd)
	real, err := os.Readlink(rooted.PathOf(fd))
	if err != nil {
		return ""
	}
	return path.Join("/", strings.TrimPrefix(real, strings.TrimSuffix(b.Root, "/")))
}

// foreignServices lists what the image brings to be supervised. What is more than a program to keep running is
// left out, in one line.
func foreignServices(_ context.Context, b *boot) error {
	names, err := b.trustedDir(serviceDir)
	if err != nil {
		return err
	}
	var unsupported []string
	for _, name := range names {
		if others(name) {
			continue
		}
		dir := path.Join(serviceDir, name)
		kind, err := os.ReadFile(b.path(path.Join(dir, "type")))
		if err != nil || strings.TrimSpace(string(kind)) != "longrun" {
			unsupported = append(unsupported, name)
			continue
		}
		run := path.Join(dir, "run")
		if err := errors.Join(b.trusted(dir, unix.S_IFDIR, 0), b.trusted(run, unix.S_IFREG, 0o100)); err != nil {
			b.shortfall("%v", err)
			continue
		}
		b.result.Foreign = append(b.result.Foreign, Foreign{Name: name, Dir: "/" + dir, Run: "/" + run})
	}
	if len(unsupported) > 0 {
		return fmt.Errorf("not supported in /%s, only longruns are: %s", serviceDir, strings.Join(unsupported, ", "))
	}
	return nil
}

// others are s6-overlay's own parts, its bundles, and the services that ours take the place of.
func others(name string) bool {
	return slices.Contains([]string{"base", "user", "user2", "top", "main-hermes", "dashboard"}, name) ||
		strings.HasPrefix(name, "s6rc-") || strings.HasPrefix(name, "s6-linux-")
}

// trustedDir lists a directory that only root can write, sorted as bytes are. One that is missing has nothing in it.
func (b *boot) trustedDir(dir string) ([]string, error) {
	if err := b.trusted(dir, unix.S_IFDIR, 0); err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil, nil
		}
		return nil, err
	}
	f, err := os.Open(b.path(dir))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil && err != io.EOF {
		return nil, err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, ".") })
	slices.Sort(names)
	return names, nil
}

// trusted refuses a file that root would run, or look for such files in, if others could have had a hand in it, or
// in a directory above it.
func (b *boot) trusted(file string, kind uint32, mode uint32) error {
	links := rooted.New(b.system.FD(), rooted.NoLinks) // not closed: the descriptor is system's
	for end := range len(file) + 1 {
		if end < len(file) && file[end] != '/' {
			continue
		}
		fd, err := links.Open(file[:end], unix.O_PATH|unix.O_NOFOLLOW)
		if err != nil {
			return fmt.Errorf("cannot look at /%s: %w", file[:end], err)
		}
		var st unix.Stat_t
		err = unix.Fstat(fd, &st)
		unix.Close(fd)
		if err != nil {
			return fmt.Errorf("cannot look at /%s: %w", file[:end], err)
		}
		if st.Uid != 0 || st.Mode&0o022 != 0 {
			return fmt.Errorf("refusing to run /%s: others than root can write /%s", file, file[:end])
		}
		if end == len(file) && (st.Mode&unix.S_IFMT != kind || st.Mode&mode != mode) {
			return fmt.Errorf("refusing to run /%s: it is not a program", file)
		}
	}
	return nil
}
