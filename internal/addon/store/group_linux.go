package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/userdb"
)

// onlyOurs says whether the mode of a directory lets nobody but root and this user write it. A group may, if it is one
// that an orchestrator made for a volume: Kubernetes gives a volume with an fsGroup to that group with everything in it,
// marks the directories as the group's, and puts the pod's processes into it. Nobody else is in such a group.
func onlyOurs(dir string, mode uint32, gid int) bool {
	if mode&0o022 == 0 {
		return true
	}
	return mode&0o002 == 0 && mode&unix.S_ISGID != 0 && !hasList(dir) && alone("/", gid)
}

// hasList says whether somebody may be named in a list beside the mode, which then shows as the group's.
func hasList(path string) bool {
	_, err := unix.Getxattr(path, "system.posix_acl_access", nil)
	return !errors.Is(err, unix.ENODATA) && !errors.Is(err, unix.ENOTSUP)
}

// alone says whether this user is in a group, and otherwise nobody but root, by the files below root. Where other
// sources are asked for accounts nobody can tell: a directory server does not list who is in a group.
func alone(root string, gid int) bool {
	groups, err := os.Getgroups()
	if err != nil || gid == 0 || gid != os.Getegid() && !slices.Contains(groups, gid) || !onlyFiles(root) {
		return false
	}
	files, err := userdb.Read(root)
	if err != nil {
		return false
	}
	return !slices.ContainsFunc(files.Members(gid), func(name string) bool {
		who, known := files.ByName(name)
		return !known || who.UID != 0 && who.UID != os.Geteuid()
	})
}

// onlyFiles says whether accounts are in files and nowhere else. systemd's are its own services', each in a group of its
// own.
func onlyFiles(root string) bool {
	text, err := os.ReadFile(filepath.Join(root, "etc/nsswitch.conf"))
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		database, sources, _ := strings.Cut(line, ":")
		switch strings.TrimSpace(database) {
		case "passwd", "group", "initgroups":
			if slices.ContainsFunc(strings.Fields(sources), func(s string) bool { return s != "files" && s != "systemd" }) {
				return false
			}
		}
	}
	return err == nil
}

// looser says whether a mode is the one that was published and what an orchestrator adds to it, for a group that is ours.
func looser(path string, info fs.FileInfo, published fs.FileMode) bool {
	added := published | 0o660
	if info.IsDir() {
		added |= 0o110 | fs.ModeSetgid
	}
	return info.Mode() == added && !hasList(path) && alone("/", int(info.Sys().(*syscall.Stat_t).Gid))
}
