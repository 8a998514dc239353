package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// socketAttempts look for a door to PID 1 and knock at it.
func socketAttempts() []attempt {
	return []attempt{
		{"find a listening socket in /proc/net/unix", func() (string, error) {
			for _, path := range listening() {
				if err := connect(path); err == nil {
					return path, nil
				}
			}
			return "", unix.ECONNREFUSED
		}},
		{"find a socket in the file system", func() (string, error) {
			for _, path := range socketFiles() {
				if err := connect(path); err == nil {
					return path, nil
				}
			}
			return "", unix.ENOENT
		}},
		{"replace the socket", func() (string, error) {
			for _, path := range socketFiles() {
				if os.Rename(path, path+".old") == nil {
					return path, os.Rename(path+".old", path)
				}
			}
			return "", unix.ENOENT
		}},
		{"umount /proc", func() (string, error) { return "", unix.Unmount("/proc", unix.MNT_DETACH) }}, // last: others need it
	}
}

// listening returns the names of sockets that accept connections; an abstract one
// begins with @.
func listening() []string {
	table, _ := os.ReadFile("/proc/net/unix")
	var paths []string
	for line := range strings.Lines(string(table)) {
		f := strings.Fields(line)
		if len(f) == 8 && f[3] == "00010000" {
			paths = append(paths, f[7])
		}
	}
	return paths
}

func socketFiles() []string {
	var paths []string
	filepath.WalkDir("/", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if path == "/usr" || path == "/sys" || strings.HasPrefix(path, "/proc/") && strings.Count(path, "/") > 2 && !strings.HasPrefix(path, "/proc/1/") {
			return fs.SkipDir
		}
		if d.Type()&fs.ModeSocket != 0 {
			paths = append(paths, path)
		}
		return nil
	})
	return paths
}

func connect(path string) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Connect(fd, &unix.SockaddrUnix{Name: path})
}
