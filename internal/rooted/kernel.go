//go:build linux

package rooted

import "golang.org/x/sys/unix"

// made are the file systems that the kernel makes up as they are read. What a file of them says depends on who
// opens it, and /proc/self/mem, reached through a link, would be the reader's own memory.
var made = map[int64]bool{
	unix.PROC_SUPER_MAGIC: true, unix.SYSFS_MAGIC: true, unix.CGROUP_SUPER_MAGIC: true, unix.CGROUP2_SUPER_MAGIC: true,
	unix.DEBUGFS_MAGIC: true, unix.TRACEFS_MAGIC: true, unix.SECURITYFS_MAGIC: true, unix.SELINUX_MAGIC: true,
	unix.BPF_FS_MAGIC: true, unix.EFIVARFS_MAGIC: true, unix.PSTOREFS_MAGIC: true, unix.NSFS_MAGIC: true,
}

// Devices remembers which file systems are the kernel's own, by their device number, so that a walk asks once
// for each. The zero value is ready.
type Devices struct{ kernels map[uint64]bool }

// Kernels says whether the open file belongs to a file system that the kernel makes up.
func (d *Devices) Kernels(fd int, st *unix.Stat_t) (bool, error) {
	dev := uint64(st.Dev)
	if kernels, known := d.kernels[dev]; known {
		return kernels, nil
	}
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err != nil {
		return false, err
	}
	if d.kernels == nil {
		d.kernels = make(map[uint64]bool)
	}
	d.kernels[dev] = made[int64(fs.Type)]
	return d.kernels[dev], nil
}
