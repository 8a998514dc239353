package main

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

func readAttempts() []attempt {
	var all []attempt
	for _, name := range []string{"mem", "environ", "maps", "smaps", "auxv", "stack", "syscall", "io", "pagemap", "personality", "numa_maps"} {
		all = append(all, attempt{"read /proc/1/" + name, func() (string, error) { return read("/proc/1/" + name) }})
	}
	for _, name := range []string{"exe", "cwd", "root", "ns/mnt", "ns/user", "ns/net"} {
		all = append(all, attempt{"readlink /proc/1/" + name, func() (string, error) { return os.Readlink("/proc/1/" + name) }})
	}
	for _, name := range []string{"fd", "fdinfo", "map_files", "root", "cwd"} {
		all = append(all, attempt{"list /proc/1/" + name, func() (string, error) { return list("/proc/1/" + name) }})
	}
	all = append(all,
		attempt{"open /proc/1/exe", func() (string, error) { return open("/proc/1/exe", unix.O_RDONLY) }},
		attempt{"execute /proc/1/exe", func() (string, error) { return "", unix.Access("/proc/1/exe", unix.X_OK) }},
		attempt{"read a thread's mem", func() (string, error) { return open("/proc/1/task/"+otherThread()+"/mem", unix.O_RDONLY) }},
		attempt{"read a thread's environ", func() (string, error) { return read("/proc/1/task/" + otherThread() + "/environ") }},
		attempt{"list a thread's fd", func() (string, error) { return list("/proc/1/task/" + otherThread() + "/fd") }},
	)
	return all
}

func writeAttempts() []attempt {
	var all []attempt
	add := func(path, value string) {
		all = append(all, attempt{"write " + path, func() (string, error) { return write(path, value) }})
	}
	all = append(all, attempt{"open /proc/1/mem for writing", func() (string, error) { return open("/proc/1/mem", unix.O_RDWR) }})
	add("/proc/1/oom_score_adj", "1000")
	add("/proc/1/clear_refs", "1")
	add("/proc/1/coredump_filter", "0xff")
	add("/proc/1/timerslack_ns", "1000")
	add("/proc/sys/kernel/domainname", "attacked")
	add("/proc/sys/vm/overcommit_memory", value("/proc/sys/vm/overcommit_memory"))
	add("/proc/sys/kernel/core_pattern", value("/proc/sys/kernel/core_pattern"))
	add("/proc/sys/net/ipv4/ip_forward", value("/proc/sys/net/ipv4/ip_forward"))
	return all
}

// value is what is there already, so that the control changes nothing.
func value(path string) string {
	v, err := read(path)
	if err != nil || v == "" {
		return "0"
	}
	return v
}

// otherThread is a thread of PID 1 that is not its first.
func otherThread() string {
	entries, _ := os.ReadDir("/proc/1/task")
	for _, e := range entries {
		if e.Name() != "1" {
			return e.Name()
		}
	}
	return "1"
}

// threads lists all threads of PID 1.
func threads() []int {
	var tids []int
	entries, _ := os.ReadDir("/proc/1/task")
	for _, e := range entries {
		if tid, err := strconv.Atoi(e.Name()); err == nil {
			tids = append(tids, tid)
		}
	}
	return tids
}

func open(path string, flags int) (string, error) {
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	return "", unix.Close(fd)
}

func read(path string) (string, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	if path == "/proc/1/mem" || path == "/proc/1/pagemap" {
		return "", nil // what is at 0 cannot be read; that it opens is enough
	}
	buf := make([]byte, 4096)
	n, err := unix.Read(fd, buf)
	if err != nil {
		return "", err
	}
	return string(buf[:min(n, 80)]), nil
}

func write(path, value string) (string, error) {
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	_, err = unix.Write(fd, []byte(value))
	return "", err
}

func list(path string) (string, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	buf := make([]byte, 8192)
	n, err := unix.Getdents(fd, buf)
	if err != nil {
		return "", err
	}
	_, _, found := unix.ParseDirent(buf[:n], 5, nil)
	if len(found) > 0 {
		return found[0], nil
	}
	return "", nil
}

// dig makes directories deeper than any path is long. It does so in pieces that it
// puts into each other, because Landlock looks at every parent of a new one.
func dig(n int) error {
	const piece = 500
	below := "" // the piece that goes into the bottom of the next
	for i := 0; i*piece < n; i++ {
		name := "deep" + strconv.Itoa(i)
		bottom, err := digPiece(name, piece)
		if err == nil && below != "" {
			err = unix.Renameat(unix.AT_FDCWD, below, bottom, "d")
		}
		unix.Close(bottom)
		if err != nil {
			return err
		}
		below = name
	}
	return nil
}

func digPiece(name string, n int) (bottom int, err error) {
	if err := unix.Mkdir(name, 0o700); err != nil {
		return -1, err
	}
	at, err := unix.Open(name, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	for range n {
		if err != nil {
			return -1, err
		}
		if err = unix.Mkdirat(at, "d", 0o700); err == nil {
			var next int
			next, err = unix.Openat(at, "d", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
			unix.Close(at)
			at = next
		}
	}
	return at, err
}
