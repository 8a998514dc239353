package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"

	"hermes.example/hermes/internal/contained"
	"hermes.example/hermes/sandbox"
)

// A sandbox keeps its files in directories of the caller's where the daemon sees those,
// and elsewhere in volumes of the daemon's.

// keepsake is one of the directories that outlive a sandbox's container.
type keepsake struct{ name, target string }

var keepsakes = []keepsake{{"home", sandbox.Home}, {"workspace", sandbox.Workspace}, {"spool", contained.Spool}}

// kept are those of this sandbox.
func (m *making) kept() (list []keepsake) {
	for _, k := range keepsakes {
		// What the guest remembers ends with a sandbox that ends with its caller.
		if m.keeps() && !m.mounted(k.target) && !(m.spec.Ephemeral && k.target == contained.Spool) {
			list = append(list, k)
		}
	}
	return list
}

// newDoor is where the guest of a sandbox in the making has its socket. Its directory is
// in one that nobody else can enter, because all users of the container can reach it.
// No directory of another machine has its name.
func (m *making) newDoor() string {
	return filepath.Join(m.engine.runDir(m.id), "door-"+m.ticket[:8])
}

// doorOf is the door of a container; one of a daemon that does not see our files has none.
func doorOf(c container.InspectResponse) string {
	for _, m := range c.Mounts {
		if m.Destination == contained.Door && m.Type == mount.TypeBind {
			return m.Source
		}
	}
	return ""
}

// makeDirs makes the directories that are mounted, the door first: the daemon complains
// of the first that it does not see.
func (m *making) makeDirs() error {
	m.own, m.foreign = nil, nil
	if err := m.makeDir(m.door); err != nil {
		return err
	}
	if err := m.giveDoor(); err != nil {
		return err
	}
	m.own = append(m.own, bind(m.door, contained.Door, false))
	for _, k := range m.kept() {
		source := filepath.Join(m.engine.dir(m.id), k.name)
		if err := m.makeDir(source); err != nil {
			return err
		}
		mounted := bind(source, k.target, false)
		if err := m.giveDir(source); errors.Is(err, os.ErrPermission) {
			m.foreign = append(m.foreign, mounted) // the daemon may do what we may not
		} else if err != nil {
			return fmt.Errorf("cannot give its directory to user %s: %w", m.spec.User, err)
		}
		m.own = append(m.own, mounted)
	}
	return nil
}

func (m *making) makeDir(path string) error {
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.Mkdir(path, 0o711)
	}
	if err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("cannot make its directory: %w", err)
	}
	return nil
}

// giveDir gives a directory to whom the guest runs as.
func (m *making) giveDir(path string) error {
	uid, gid, given := m.user()
	if !given || belongs(path, uid, gid) {
		return nil
	}
	return os.Chown(path, uid, gid)
}

// giveDoor lets the guest make its socket. Where we may not give the door away it stays
// ours, so that we can remove it.
func (m *making) giveDoor() error {
	err := m.giveDir(m.door)
	if errors.Is(err, os.ErrPermission) {
		err = os.Chmod(m.door, 0o733)
	}
	if err != nil {
		return fmt.Errorf("cannot give its door to user %s: %w", m.spec.User, err)
	}
	return nil
}

// user is whom the guest runs as, if the spec says so and not the image.
func (m *making) user() (uid, gid int, given bool) {
	uid, gid, err := m.spec.UserIDs()
	return uid, gid, err == nil && m.spec.User != ""
}

// forgetDirs removes the directories that were made for a daemon that does not see them.
// What is in one of them stays.
func (m *making) forgetDirs() {
	os.Remove(m.door)
	for _, k := range m.kept() {
		os.Remove(filepath.Join(m.engine.dir(m.id), k.name))
	}
	os.Remove(m.engine.dir(m.id))
}

// undo removes what only a sandbox that was not made would have used. Volumes are not
// touched if somebody else has made it.
func (m *making) undo(ctx context.Context, exists bool) {
	if m.door != "" {
		os.RemoveAll(m.door)
	}
	if !m.far || !m.anew || exists {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), discardBound)
	defer cancel()
	if err := m.engine.removeVolumes(ctx, m.id); err != nil {
		m.engine.log.Warn("cannot remove volumes that were given up", "task", m.id.Task, "error", err)
	}
}
