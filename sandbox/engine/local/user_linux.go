package local

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"

	"hermes.example/hermes/sandbox"
)

// commandUser is whom commands run as.
type commandUser struct {
	uid, gid int  // zero keeps the caller's
	another  bool // than the caller
	name     string
}

// userOf says whom a spec's commands run as: the caller, unless it names another one,
// whom only root can become.
func userOf(s sandbox.Spec) (commandUser, error) {
	if s.User == "" {
		return commandUser{name: nameOf(os.Getuid())}, nil
	}
	uid, gid, err := s.UserIDs()
	if err != nil {
		return commandUser{}, err
	}
	if uid == os.Getuid() && gid == os.Getgid() {
		return commandUser{name: nameOf(uid)}, nil
	}
	if os.Geteuid() != 0 {
		return commandUser{}, fmt.Errorf("commands cannot run as user %s: only root can become another user; leave --user away, or use the native engine", s.User)
	}
	return commandUser{uid: uid, gid: gid, another: true, name: nameOf(uid)}, nil
}

func nameOf(uid int) string {
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return u.Username
	}
	return strconv.Itoa(uid)
}

// give makes a directory the user's.
func (u commandUser) give(dir string) error {
	if !u.another {
		return nil
	}
	if err := os.Lchown(dir, u.uid, u.gid); err != nil {
		return fmt.Errorf("cannot give %s to user %d: %w", dir, u.uid, err)
	}
	return nil
}

// reach opens the way to the user's directory, as far as it leads through ours, and
// says where it is closed. What is in ours stays closed.
func (u commandUser) reach(dir string, ours ...string) error {
	if !u.another {
		return nil
	}
	for _, dir := range ours {
		info, err := os.Stat(dir)
		if err == nil {
			err = os.Chmod(dir, info.Mode()|0o001)
		}
		if err != nil {
			return err
		}
	}
	for dir = filepath.Dir(dir); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o001 == 0 {
			return fmt.Errorf("user %d cannot reach its files: %s is closed to it; set TERMINAL_SANDBOX_DIR to a directory that it can reach", u.uid, dir)
		}
	}
	return nil
}
