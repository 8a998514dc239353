package files

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/rooted"
	"hermes.example/hermes/internal/wire"
)

// rule is what a request may not do. It is judged by descriptors: a path leads wherever its links say, and then the
// directory that it led to is opened once more from the directory that it has to be beneath, by its real name and
// through no link at all. Whatever is put in its place meanwhile, only that second one is used.
type rule struct {
	whole     *rooted.Root
	bound     bool // there are directories that changes have to be beneath
	beneath   []bound
	protected []protected
}

// bound is a directory that is open, with its real path.
type bound struct {
	root *rooted.Root
	path string
}

// protected are files of a directory that is open.
type protected struct {
	dir    int
	st     unix.Stat_t
	names  string
	except string
}

var (
	errOutside   = errors.New("it is outside of the directories that may be changed")
	errProtected = errors.New("it is a protected file")
)

// openRule opens the directories that a rule speaks of. Those that do not exist hold nothing.
func openRule(req wire.File) (*rule, error) {
	switch {
	case req.Rule == nil:
		return nil, &refusal{"the rule is missing"}
	case string(req.Root) != "/":
		return nil, &refusal{"a rule holds in the whole sandbox, not below another root"}
	}
	whole, err := openRoot(req)
	if err != nil {
		return nil, err
	}
	r := &rule{whole: whole, bound: req.Rule.Beneath != nil}
	for _, dir := range req.Rule.Beneath {
		if err == nil {
			err = r.addBound(string(dir))
		}
	}
	for _, p := range req.Rule.Protected {
		if err == nil {
			err = r.addProtected(p)
		}
	}
	if err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

func (r *rule) addBound(dir string) error {
	fd, err := r.whole.Open(dir, unix.O_PATH|unix.O_DIRECTORY)
	if absent(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("the directory that may be changed, %.200q: %w", dir, err)
	}
	r.beneath = append(r.beneath, bound{root: rooted.New(fd, rooted.NoLinks)})
	at := &r.beneath[len(r.beneath)-1]
	at.path, err = os.Readlink(rooted.PathOf(fd))
	return err
}

func (r *rule) addProtected(p wire.FilePattern) error {
	if _, err := path.Match(p.Names+p.Except, ""); err != nil {
		return &refusal{fmt.Sprintf("the rule's pattern %.200q makes no sense", p.Names)}
	}
	fd, err := r.whole.Open(string(p.Dir), unix.O_PATH|unix.O_DIRECTORY)
	if absent(err) || errors.Is(err, unix.EACCES) { // whose way is closed to us, is so to whoever is asked about
		return nil
	}
	if err != nil {
		return fmt.Errorf("the directory of protected files, %.200q: %w", p.Dir, err)
	}
	r.protected = append(r.protected, protected{dir: fd, names: p.Names, except: p.Except})
	return unix.Fstat(fd, &r.protected[len(r.protected)-1].st)
}

func absent(err error) bool { return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) }

func (r *rule) close() {
	for _, b := range r.beneath {
		b.root.Close()
	}
	for _, p := range r.protected {
		unix.Close(p.dir)
	}
	r.whole.Close()
}

// settle takes a directory that a path led to, and returns the one to use in its stead. It closes the first.
func (r *rule) settle(dir int, base string) (int, error) {
	defer unix.Close(dir)
	settled, err := r.reopen(dir)
	if err != nil {
		return -1, err
	}
	var st unix.Stat_t
	exists := unix.Fstatat(settled, base, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG
	if err := r.allow(settled, base, &st, exists); err != nil {
		unix.Close(settled)
		return -1, err
	}
	return settled, nil
}

// reopen opens a directory again, from one that may be changed.
func (r *rule) reopen(dir int) (int, error) {
	if !r.bound {
		return unix.Openat(dir, ".", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	}
	real, err := os.Readlink(rooted.PathOf(dir))
	if err != nil {
		return -1, err
	}
	for _, b := range r.beneath {
		if name, ok := below(real, b.path); ok {
			if fd, err := b.root.Open(name, unix.O_PATH|unix.O_DIRECTORY); err == nil {
				return fd, nil
			}
		}
	}
	return -1, errOutside
}

// below is the name of a real path relative to a directory that it is in.
func below(real, dir string) (string, bool) {
	if real == dir {
		return "", true
	}
	return strings.CutPrefix(real, strings.TrimSuffix(dir, "/")+"/")
}

// allowFile refuses a file that is protected, when it was reached by whatever name.
func (r *rule) allowFile(fd int, st *unix.Stat_t) error {
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil
	}
	real, err := os.Readlink(rooted.PathOf(fd))
	if err != nil {
		return err
	}
	above, base := rooted.Split(real)
	dir, err := r.whole.Open(above, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		dir = -1 // renamed meanwhile: the file itself is compared all the same
	} else {
		defer unix.Close(dir)
	}
	return r.allow(dir, base, st, true)
}

// allow compares an entry of a directory with what is protected: by its place, and if it is there, by what it is.
func (r *rule) allow(dir int, base string, st *unix.Stat_t, exists bool) error {
	var above unix.Stat_t
	inDir := dir >= 0 && unix.Fstat(dir, &above) == nil
	for _, p := range r.protected {
		if inDir && same(&above, &p.st) && p.means(base) {
			return errProtected
		}
		if exists && p.holds(st) {
			return errProtected
		}
	}
	return nil
}

func (p *protected) means(name string) bool {
	meant, _ := path.Match(p.names, name) // was tried when the rule was read
	if !meant || p.except == "" {
		return meant
	}
	except, _ := path.Match(p.except, name)
	return !except
}

// holds says whether one of the protected names stands for this very file.
func (p *protected) holds(st *unix.Stat_t) bool {
	if !strings.ContainsAny(p.names, `*?[\`) {
		return p.is(p.names, st)
	}
	found := errors.New("found")
	err := rooted.Each(p.dir, "", func(_ int, name string, _ *unix.Stat_t) error {
		if p.means(name) && p.is(name, st) {
			return found
		}
		return nil
	})
	return err == found // a directory that cannot be read is known by its names alone
}

func (p *protected) is(name string, st *unix.Stat_t) bool {
	var own unix.Stat_t
	return unix.Fstatat(p.dir, name, &own, 0) == nil && same(&own, st)
}

func same(a, b *unix.Stat_t) bool { return a.Dev == b.Dev && a.Ino == b.Ino }
