package boot

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/asuser"
	"hermes.example/hermes/internal/atomicfile"
	"hermes.example/hermes/internal/userdb"
)

// identity finds out who we are and who the service user is.
func identity(_ context.Context, b *boot) (err error) {
	if err := b.machineFiles(); err != nil {
		return err
	}
	if b.users, err = userdb.Read(b.Root); err != nil {
		return fmt.Errorf("cannot read who the users are: %w", err)
	}
	account, known := b.users.ByName(b.Account)
	if b.result.Root {
		if !known {
			return fmt.Errorf("cannot find the user %q in /etc/passwd: this image has no service user", b.Account)
		}
		b.result.User = account
		return nil
	}
	b.stranger = !known || account.UID != b.UID
	if b.stranger {
		account, _ = b.users.ByID(b.UID)
	}
	// What the kernel says of this process counts, and not what the files say of its user.
	account.UID, account.GID, account.Groups = b.UID, b.GID, b.Groups
	b.result.User = account
	return nil
}

// remap gives the service user the ids that the operator asked for.
func remap(_ context.Context, b *boot) error {
	uid := b.wanted("HERMES_UID", "PUID", b.result.User.UID)
	gid := b.wanted("HERMES_GID", "PGID", b.result.User.GID)
	if uid == b.result.User.UID && gid == b.result.User.GID {
		return nil
	}
	if other, taken := b.users.ByID(uid); taken && other.Name != b.Account {
		b.Log.Warn("the user shares its id with another one, which keeps it too", "user", b.Account, "uid", uid, "other", other.Name)
	}
	if err := b.saveUsers(b.users.SetIDs(b.Account, uid, gid)); err != nil {
		return fmt.Errorf("cannot give %s the ids %d:%d, it stays %d:%d: %w", b.Account, uid, gid, b.result.User.UID, b.result.User.GID, err)
	}
	return nil
}

// wanted is the id that a variable, or else its other name, asks for; what is not a legal id asks for none.
func (b *boot) wanted(name, alias string, now int) int {
	text := b.env(name)
	if text == "" {
		name, text = alias, b.env(alias)
	}
	if text == "" {
		return now
	}
	id, ok := legalID(text)
	if !ok {
		b.Log.Warn(fmt.Sprintf("cannot use %s=%.40q: expected a number from 1 to 65534; it is ignored", name, text))
		return now
	}
	return id
}

func legalID(text string) (int, bool) {
	if strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	id, err := strconv.Atoi(text)
	return id, err == nil && legal(id)
}

// legal says whether an id can be the service user's.
func legal(id int) bool { return id >= 1 && id <= 65534 }

// dockerGroup lets the service user use the Docker socket, if the container has one: also that of group 0, which
// whoever mounts the socket has given away with it.
func dockerGroup(_ context.Context, b *boot) error {
	for _, path := range []string{"var/run/docker.sock", "run/docker.sock"} {
		var st unix.Stat_t
		fd, err := b.system.Open(path, unix.O_PATH)
		if err == nil {
			err = unix.Fstat(fd, &st)
			unix.Close(fd)
		}
		if err == nil && st.Mode&unix.S_IFMT == unix.S_IFSOCK {
			return b.join(int(st.Gid), "hostdocker", "the Docker socket")
		}
	}
	return nil
}

// graphicsGroups lets it use the graphics devices. Those of group 0 are root's and stay so.
func graphicsGroups(_ context.Context, b *boot) error {
	fd, err := b.system.OpenDir("dev/dri", 0)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot look at /dev/dri: %w", err)
	}
	dir := os.NewFile(uintptr(fd), "/dev/dri")
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return fmt.Errorf("cannot look at /dev/dri: %w", err)
	}
	for _, name := range names {
		var st unix.Stat_t
		if unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil || st.Mode&unix.S_IFMT != unix.S_IFCHR || st.Gid == 0 {
			continue
		}
		if err := b.join(int(st.Gid), "hostdri"+strconv.Itoa(int(st.Gid)), "/dev/dri/"+name); err != nil {
			return err
		}
	}
	return nil
}

// join puts the service user into a group, which gets the name if it has none.
func (b *boot) join(gid int, fallback, what string) error {
	user, _ := b.users.ByName(b.Account)
	if user.GID == gid {
		return nil
	}
	changed := b.users.Join(b.Account, gid, fallback)
	if changed == b.users {
		return nil
	}
	if err := b.saveUsers(changed); err != nil {
		return fmt.Errorf("cannot let %s use %s (group %d): %w", b.Account, what, gid, err)
	}
	name, _ := b.users.GroupName(gid)
	b.Log.Info("Added the service user to a group", "user", b.Account, "group", name, "gid", gid, "for", what)
	return nil
}

// saveUsers writes what changed. Shadow files hold no ids, and who is in a group stands in /etc/group.
func (b *boot) saveUsers(changed userdb.Files) error {
	// The groups come first: a user whose group has no name is odder than a group that nobody is in.
	for _, f := range []struct{ path, now, then string }{
		{userdb.Group, b.users.Group, changed.Group}, {userdb.Passwd, b.users.Passwd, changed.Passwd},
	} {
		if f.now == f.then {
			continue
		}
		if err := atomicfile.Write(b.path(f.path), []byte(f.then), 0o644); err != nil {
			return err
		}
	}
	b.users = changed
	b.result.User, _ = changed.ByName(b.Account)
	return nil
}

// become prepares the use of files as the service user.
func become(_ context.Context, b *boot) (err error) {
	if b.hand, err = asuser.New(b.result.Files()); err != nil {
		return fmt.Errorf("%w; root needs the capabilities SETUID and SETGID, or start as user %d", err, b.result.User.UID)
	}
	for _, v := range []*volume{b.home, b.rootHome} {
		if v != nil {
			v.hand = b.hand
		}
	}
	return nil
}
