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

	"hermes.example/hermes/internal/accounts"
	"hermes.example/hermes/internal/guest/jail"
	"hermes.example/hermes/sandbox"
)

// takeUser finds out who the image's commands run as, where the spec does not say.
func (c *creation) takeUser() error {
	if c.Spec.User != "" || c.image.Config.User == "" {
		return nil
	}
	account, err := accounts.Resolve(c.image.Config.User, func(file string) (string, error) { return readTopmost(c.layers, file) })
	if err != nil {
		return fmt.Errorf("cannot use image %q: %w; name a user with --user", c.Spec.Image, err)
	}
	user := fmt.Sprintf("%d:%d", account.UID, account.GID)
	if c.ids.Mode == idsSingle {
		c.imageUser = user // there is nobody else to be than root; the posture says so
		return nil
	}
	c.user = user
	return nil
}

// nameUser says what the image calls the user that commands run as. One that it does
// not know gets a line in its list: many programs refuse to run as nobody in particular.
func (c *creation) nameUser() (name string, files []jail.File, err error) {
	uid, gid, err := c.userIDs()
	if err != nil {
		return "", nil, err
	}
	users, err := readTopmost(c.layers, accounts.Users)
	if err != nil {
		return "", nil, err
	}
	known, err := accounts.Resolve(strconv.Itoa(uid), func(string) (string, error) { return users, nil })
	if err == nil && known.Name != "" {
		return known.Name, nil, nil
	}
	if users != "" && !strings.HasSuffix(users, "\n") {
		users += "\n"
	}
	line, name := accounts.Stranger(uid, gid, sandbox.Home)
	return name, []jail.File{{Path: "/etc/passwd", Content: []byte(users + line)}}, nil
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
	passwd, _ := accounts.Stranger(0, 0, sandbox.Home)
	passwd += "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
	group := "root:x:0:\ntty:x:5:\nnogroup:x:65534:\n"
	if uid != 0 {
		line, _ := accounts.Stranger(uid, gid, sandbox.Home)
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
