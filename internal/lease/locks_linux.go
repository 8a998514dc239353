package lease

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Locks is what a file system can do for a lease. Lock and Test fail with ErrLocked or ErrNoLocks.
type Locks interface {
	// Lock locks the file until it is closed, however that comes about.
	Lock(*os.File) error
	// Test does so as if, and needs only to read it.
	Test(*os.File) error
	// Reach says whether a lock is seen by everybody who can see the file.
	Reach(*os.File) bool
}

// How an attempt to lock fails.
var (
	ErrLocked  = errors.New("another process has locked it")
	ErrNoLocks = errors.New("the file system has no locks")
)

// kernel is the real thing: locks that belong to the open file, not to the process, so that no other close of the
// same file gives them back.
type kernel struct{}

func (kernel) Lock(f *os.File) error {
	lock := unix.Flock_t{Type: unix.F_WRLCK}
	return explain(unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &lock))
}

func (kernel) Test(f *os.File) error {
	lock := unix.Flock_t{Type: unix.F_WRLCK}
	err := unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &lock)
	if err == nil && lock.Type != unix.F_UNLCK {
		return ErrLocked
	}
	return explain(err)
}

func explain(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EACCES):
		return ErrLocked
	case errors.Is(err, unix.ENOLCK), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.EINVAL):
		return ErrNoLocks
	}
	return fmt.Errorf("cannot lock %s of the home: %w", File, err)
}

// local are the file systems of one machine: whoever sees the file asks the same kernel. All others may be
// mounted by several, and whether their locks reach all of these is up to how they were mounted.
var local = map[int64]bool{
	unix.EXT4_SUPER_MAGIC: true, unix.XFS_SUPER_MAGIC: true, unix.BTRFS_SUPER_MAGIC: true, unix.TMPFS_MAGIC: true,
	unix.RAMFS_MAGIC: true, unix.OVERLAYFS_SUPER_MAGIC: true, unix.F2FS_SUPER_MAGIC: true, unix.REISERFS_SUPER_MAGIC: true,
	0x2fc12fc1: true, // ZFS
	0xca451a4e: true, // bcachefs
}

func (kernel) Reach(f *os.File) bool {
	var fs unix.Statfs_t
	return unix.Fstatfs(int(f.Fd()), &fs) == nil && local[int64(fs.Type)]
}
