package main

import (
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

func hidden(name string) func(world) error {
	return func(w world) error { return w.Hidden[name].reach() }
}

// fileAttempts read what is not on the list of what a sandbox may see.
var fileAttempts = []attempt{
	{name: "/root", try: hidden("root"), refused: gone},
	{name: "/home", try: hidden("home"), refused: gone},
	{name: "/etc/shadow", try: hidden("shadow"), refused: gone},
	{name: "/etc/ssh", try: hidden("ssh"), refused: gone},
	{name: "/var/log", try: hidden("log"), refused: gone},
	{name: "/boot", try: hidden("boot"), refused: gone},
	{name: "the home's .env", try: hidden("env"), refused: gone},
	{name: "the sandbox's own state", try: hidden("state"), refused: gone},
	{name: "the run directory", try: hidden("run"), refused: gone},
	{name: "the engine's socket", try: hidden("socket"), refused: gone},
	{name: "the host's /tmp", try: hidden("tmp"), refused: gone},
	{name: "the host's /dev/shm", try: hidden("shm"), refused: gone},
	{name: "the guest's output and journal", try: hidden("spool"), refused: gone},
}

// pathAttempts get at the same by names that lead out.
var pathAttempts = []attempt{
	{name: "`..` above a mount", try: func(w world) error {
		return readSecret(w.Shared + strings.Repeat("/..", 32) + w.Secret)
	}, refused: gone},
	{name: "`..` above /proc/self/root", try: func(w world) error { return readSecret("/proc/self/root/.." + w.Secret) }, refused: gone},
	{name: "a link in a shared directory", try: func(w world) error {
		link := filepath.Join(w.Shared, "way-out")
		if err := unix.Symlink(w.Secret, link); err != nil && err != unix.EEXIST {
			return err
		}
		defer unix.Unlink(link)
		return readSecret(link)
	}, refused: gone},
	{name: "a hard link out of a read-only mount", try: func(w world) error {
		link := filepath.Join(w.Shared, "hard-link")
		defer unix.Unlink(link)
		return unix.Link(w.ReadOnly, link)
	}, refused: []syscall.Errno{unix.EXDEV}},
	{name: "write a file of a read-only mount", try: func(w world) error { return openFile(w.ReadOnly, unix.O_RDWR) }, refused: readOnly},
	{name: "reopen it for writing through /proc/self/fd", try: func(w world) error {
		fd, err := unix.Open(w.ReadOnly, unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		return openFile(ofDescriptor(fd), unix.O_RDWR)
	}, refused: readOnly},
	{name: "change the mode of a file of a read-only mount", try: func(w world) error { return unix.Chmod(w.ReadOnly, 0o644) }, refused: readOnly},
	{name: "truncate a file of a read-only mount", try: func(w world) error { return unix.Truncate(w.ReadOnly, 6) }, refused: readOnly},
	{name: "rename out of a read-only mount", try: func(w world) error {
		away := filepath.Join(w.Shared, "away")
		if err := unix.Rename(w.ReadOnly, away); err != nil {
			return err
		}
		return unix.Rename(away, w.ReadOnly)
	}, refused: append(readOnly, unix.EXDEV)},
	{name: "break out of a chroot", try: func(w world) error {
		if err := unix.Chroot(w.Shared); err != nil {
			return err
		}
		return readSecret(strings.Repeat("../", 32) + w.Secret[1:])
	}},
}

var readOnly = []syscall.Errno{unix.EROFS}

func readSecret(path string) error { return openFile(path, unix.O_RDONLY) }
