// Package accounts reads who an image's users are, by its own /etc/passwd and
// /etc/group. What is in them decides nothing but names, numbers and homes: an image
// may be hostile.
package accounts

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// The files, as an image has them.
const (
	Users  = "etc/passwd"
	Groups = "etc/group"
)

// Read returns the content of one of the files, or fs.ErrNotExist.
type Read func(file string) (string, error)

// Account is who a process runs as.
type Account struct {
	Name     string // empty for a number that has none
	UID, GID int
	Home     string // empty for a number that has none
}

// Resolve turns "name", "name:group", or numbers in their place, into an account. The
// group of a number that the image does not know is root's.
func Resolve(text string, read Read) (a Account, err error) {
	user, group, _ := strings.Cut(text, ":")
	entry, err := find(read, Users, user)
	if err != nil {
		return a, err
	}
	uid, gid := user, "0"
	if len(entry) > 3 {
		a.Name, uid, gid = entry[0], entry[2], entry[3]
	}
	if len(entry) > 5 {
		a.Home = entry[5]
	}
	if group != "" {
		entry, err := find(read, Groups, group)
		if err != nil {
			return a, err
		}
		if gid = group; len(entry) > 2 {
			gid = entry[2]
		}
	}
	uid64, err1 := strconv.ParseUint(uid, 10, 31)
	gid64, err2 := strconv.ParseUint(gid, 10, 31)
	if err1 != nil || err2 != nil {
		return a, fmt.Errorf("its user %q is not in its /etc/passwd", text)
	}
	a.UID, a.GID = int(uid64), int(gid64)
	return a, nil
}

// Stranger is the line of a user that an image does not know: many programs refuse to
// run as nobody in particular.
func Stranger(uid, gid int, home string) (line, name string) {
	name = "user"
	if uid == 0 {
		name = "root"
	}
	return fmt.Sprintf("%s:x:%d:%d:%s:%s:/bin/bash\n", name, uid, gid, name, home), name
}

// find returns the fields of the line of a name or a number, or none.
func find(read Read, file, who string) ([]string, error) {
	text, err := read(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(text) {
		fields := strings.Split(strings.TrimSpace(line), ":")
		if len(fields) > 2 && (fields[0] == who || fields[2] == who) {
			return fields, nil
		}
	}
	return nil, nil
}
