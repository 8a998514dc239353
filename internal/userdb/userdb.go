// Package userdb reads and changes the text of /etc/passwd and /etc/group: who the service user is, which ids it
// has and which groups it is in.
//
// Boot changes them with it, and everything that becomes the service user finds the ids with it at that moment,
// because they are not known before. Every line but the one that is changed stays as it is, byte by byte. It opens
// no file itself, but for Read.
package userdb

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// The files below a machine's root.
const (
	Passwd = "etc/passwd"
	Group  = "etc/group"
)

// User is one account.
type User struct {
	// Name is empty for ids that have none.
	Name     string
	UID, GID int
	// Groups are those that it is in beside GID.
	Groups []int
	Home   string
}

// Files are the texts of the two files.
type Files struct{ Passwd, Group string }

// Read reads the files below root. One that is missing knows nobody.
func Read(root string) (Files, error) {
	passwd, err := text(filepath.Join(root, Passwd))
	if err != nil {
		return Files{}, err
	}
	group, err := text(filepath.Join(root, Group))
	return Files{passwd, group}, err
}

func text(path string) (string, error) {
	data, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		err = nil
	}
	return string(data), err
}

// The fields of lines: name, password, id, and of users the group, a comment, the home and the shell.
const (
	name = iota
	_
	id
	userGroup
	_
	userHome
	groupMembers = 3
)

// ByName finds the account of a name.
func (f Files) ByName(who string) (User, bool) {
	return f.find(func(fields []string) bool { return fields[name] == who })
}

// ByID finds the first account of an id.
func (f Files) ByID(uid int) (User, bool) {
	return f.find(func(fields []string) bool { return fields[id] == strconv.Itoa(uid) })
}

func (f Files) find(is func([]string) bool) (User, bool) {
	for line := range strings.Lines(f.Passwd) {
		fields := split(line)
		if len(fields) <= userHome || !is(fields) {
			continue
		}
		uid, err1 := strconv.Atoi(fields[id])
		gid, err2 := strconv.Atoi(fields[userGroup])
		if err1 != nil || err2 != nil || uid < 0 || gid < 0 {
			continue
		}
		u := User{Name: fields[name], UID: uid, GID: gid, Home: fields[userHome]}
		u.Groups = f.groupsOf(u)
		return u, true
	}
	return User{}, false
}

// groupsOf are the groups that list a user, sorted.
func (f Files) groupsOf(u User) []int {
	var groups []int
	for line := range strings.Lines(f.Group) {
		fields := split(line)
		if len(fields) <= groupMembers || !slices.Contains(members(fields), u.Name) {
			continue
		}
		if gid, err := strconv.Atoi(fields[id]); err == nil && gid >= 0 && gid != u.GID {
			groups = append(groups, gid)
		}
	}
	slices.Sort(groups)
	return slices.Compact(groups)
}

// GroupName is the first name of a group's id.
func (f Files) GroupName(gid int) (string, bool) {
	for line := range strings.Lines(f.Group) {
		if fields := split(line); len(fields) > groupMembers && fields[id] == strconv.Itoa(gid) {
			return fields[name], true
		}
	}
	return "", false
}

// Members are the names of those who are in a group: as their own, or by its list, whether or not there is such an
// account.
func (f Files) Members(gid int) (names []string) {
	for line := range strings.Lines(f.Passwd) {
		if fields := split(line); len(fields) > userGroup && fields[userGroup] == strconv.Itoa(gid) {
			names = append(names, fields[name])
		}
	}
	for line := range strings.Lines(f.Group) {
		if fields := split(line); len(fields) > groupMembers && fields[id] == strconv.Itoa(gid) {
			names = append(names, members(fields)...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// SetIDs gives an account and the group of its name other ids. Others may have them too: who they are is found by
// name.
func (f Files) SetIDs(who string, uid, gid int) Files {
	f.Passwd = change(f.Passwd, who, func(fields []string) {
		if len(fields) > userGroup {
			fields[id], fields[userGroup] = strconv.Itoa(uid), strconv.Itoa(gid)
		}
	})
	return f.setGroup(who, gid)
}

// setGroup gives a group another id, or makes it.
func (f Files) setGroup(group string, gid int) Files {
	if !has(f.Group, group) {
		f.Group = ended(f.Group) + group + ":x:" + strconv.Itoa(gid) + ":\n"
		return f
	}
	f.Group = change(f.Group, group, func(fields []string) { fields[id] = strconv.Itoa(gid) })
	return f
}

// Join puts an account into the group of an id, which gets the given name if it has none.
func (f Files) Join(who string, gid int, fallback string) Files {
	group, named := f.GroupName(gid)
	if !named {
		group = fallback
		f = f.setGroup(group, gid)
	}
	f.Group = change(f.Group, group, func(fields []string) {
		if len(fields) > groupMembers && !slices.Contains(members(fields), who) {
			fields[groupMembers] = strings.Join(append(members(fields), who), ",")
		}
	})
	return f
}

func split(line string) []string { return strings.Split(strings.TrimRight(line, "\r\n"), ":") }

func members(fields []string) []string {
	if fields[groupMembers] == "" {
		return nil
	}
	return strings.Split(fields[groupMembers], ",")
}

func has(text, who string) bool {
	for line := range strings.Lines(text) {
		if fields := split(line); len(fields) > id && fields[name] == who {
			return true
		}
	}
	return false
}

// change edits the first line of a name and keeps the others.
func change(text, who string, edit func(fields []string)) string {
	var out strings.Builder
	done := false
	for line := range strings.Lines(text) {
		if fields := split(line); !done && len(fields) > id && fields[name] == who {
			done = true
			end := line[len(strings.TrimRight(line, "\r\n")):]
			edit(fields)
			line = strings.Join(fields, ":") + end
		}
		out.WriteString(line)
	}
	return out.String()
}

// ended is a text whose last line has an end.
func ended(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}
