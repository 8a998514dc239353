package native

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/guest/jail"
	"hermes.example/hermes/sandbox"
)

// takeUser finds out who the image's commands run as, where the spec does not say.
func (c *creation) takeUser() error {
	if c.Spec.User != "" || c.image.Config.User == "" {
		return nil
	}
	user, err := lookUpUser(c.layers, c.image.Config.User)
	if err != nil {
		return fmt.Errorf("cannot use image %q: %w; name a user with --user", c.Spec.Image, err)
	}
	if c.ids.Mode == idsSingle {
		c.imageUser = user // there is nobody else to be than root; the posture says so
		return nil
	}
	c.user = user
	return nil
}

// lookUpUser turns "name", "name:group" or numbers into ids, by the image's own files.
func lookUpUser(layers []string, text string) (string, error) {
	user, group, _ := strings.Cut(text, ":")
	users, err := readTopmost(layers, "etc/passwd")
	if err != nil {
		return "", err
	}
	gid := "0"
	if entry := lookUp(users, user); len(entry) > 3 {
		user, gid = entry[2], entry[3]
	}
	if group != "" {
		groups, err := readTopmost(layers, "etc/group")
		if err != nil {
			return "", err
		}
		gid = group
		if entry := lookUp(groups, group); entry != nil {
			gid = entry[2]
		}
	}
	ids := user + ":" + gid
	if _, _, err := (sandbox.Spec{User: ids}).UserIDs(); err != nil {
		return "", fmt.Errorf("its user %q is not in its /etc/passwd", text)
	}
	return ids, nil
}

// nameUser says what the image calls the user that commands run as. One that it does
// not know gets a line in its list: many programs refuse to run as nobody in particular.
func (c *creation) nameUser() (name string, files []jail.File, err error) {
	uid, gid, err := c.userIDs()
	if err != nil {
		return "", nil, err
	}
	users, err := readTopmost(c.layers, "etc/passwd")
	if err != nil {
		return "", nil, err
	}
	if entry := lookUp(users, strconv.Itoa(uid)); entry != nil {
		return entry[0], nil, nil
	}
	if users != "" && !strings.HasSuffix(users, "\n") {
		users += "\n"
	}
	line, name := userLine(uid, gid)
	return name, []jail.File{{Path: "/etc/passwd", Content: []byte(users + line)}}, nil
}

// lookUp finds the line of a name or a number in the text of /etc/passwd or /etc/group.
// It has three fields at least, or there is none.
func lookUp(list, who string) []string {
	for line := range strings.Lines(list) {
		fields := strings.Split(strings.TrimSpace(line), ":")
		if len(fields) > 2 && (fields[0] == who || fields[2] == who) {
			return fields
		}
	}
	return nil
}

// readTopmost reads a small file in the topmost layer that has it. One that none has,
// or that a layer takes away, is empty.
func readTopmost(layers []string, file string) (string, error) {
	for _, dir := range layers {
		text, err := readInside(dir, file)
		if !errors.Is(err, fs.ErrNotExist) {
			return text, err
		}
	}
	return "", nil
}

// readInside reads a small file of a layer, as hostile as it may be.
func readInside(dir, file string) (string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	f, err := root.OpenFile(file, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		// A device in the place of a file, or of its directory, takes it away.
		if info, lookErr := root.Lstat(file); errors.Is(err, unix.ENOTDIR) || lookErr == nil && info.Mode()&fs.ModeDevice != 0 {
			return "", nil
		}
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mib))
	return string(text), err
}

// userFiles tell who exists in a sandbox that has no image to say so.
func userFiles(uid, gid int) []jail.File {
	passwd, _ := userLine(0, 0)
	passwd += "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
	group := "root:x:0:\ntty:x:5:\nnogroup:x:65534:\n"
	if uid != 0 {
		line, _ := userLine(uid, gid)
		passwd += line
	}
	if gid != 0 {
		group += fmt.Sprintf("user:x:%d:\n", gid)
	}
	const order = "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nservices: files\nprotocols: files\n"
	return []jail.File{
		{Path: "/etc/passwd", Content: []byte(passwd)}, {Path: "/etc/group", Content: []byte(group)}, {Path: "/etc/nsswitch.conf", Content: []byte(order)},
	}
}

// userLine is a user's line of /etc/passwd, with the name in it.
func userLine(uid, gid int) (line, name string) {
	name = "user"
	if uid == 0 {
		name = "root"
	}
	return fmt.Sprintf("%s:x:%d:%d:%s:%s:/bin/bash\n", name, uid, gid, name, sandbox.Home), name
}
