package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"unsafe"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// world is where everything is, seen from where the attempts are made.
type world struct {
	Victim
	// Guest is who started the attempts, unless it is given: outside it is the victim.
	Guest int
	// Hidden are files of the host that must not be seen inside.
	Hidden map[string]Hidden
	// Secret is one of them by its path, for tricks with paths.
	Secret string
	// ReadOnly is a file that is shown read-only, Shared a directory that may be
	// written, Mountpoint a directory that one can mount at.
	ReadOnly, Shared, Mountpoint string
	// Setuid is a setuid program of the host's root, FileCaps one with capabilities.
	Setuid, FileCaps string
	// Fork is the address at which the guest's filter allows what it does not allow
	// elsewhere.
	Fork uintptr
	// Disk is a block device of the machine.
	Disk string
}

// Victim is a process outside.
type Victim struct {
	Outside  int     // its process id
	Address  uintptr // where it can be read
	Abstract string  // its abstract socket
	Datagram string  // another one, for datagrams
	// SharedMemory is the key of its System V shared memory.
	SharedMemory int
	Terminal     Hidden
}

// Hidden is a file, known by more than its name.
type Hidden struct {
	Path     string
	Dev, Ino uint64
}

func parseWorld(text string) (world, error) {
	var w world
	err := json.Unmarshal([]byte(text), &w)
	return w, err
}

// reach says whether the file is visible here. Another one of that name is not it.
func (h Hidden) reach() error {
	if h.Path == "" {
		return unix.ENODATA // the machine has none: nothing can be shown with it
	}
	var stat unix.Stat_t
	if err := unix.Lstat(h.Path, &stat); err != nil {
		return err
	}
	if stat.Dev != h.Dev || stat.Ino != h.Ino {
		return unix.ENOENT
	}
	if stat.Mode&unix.S_IFMT == unix.S_IFSOCK {
		return connect(unix.SOCK_STREAM, h.Path)
	}
	return opened(unix.Open(h.Path, unix.O_RDONLY|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0))
}

var canary [16]byte

// beVictim is what a careless process outside looks like: it can be reached in
// every way that its user can.
func beVictim() error {
	v := Victim{Outside: os.Getpid(), Address: uintptr(unsafe.Pointer(&canary))}
	v.Abstract, v.Datagram = fmt.Sprintf("@hermes-victim-%d", v.Outside), fmt.Sprintf("@hermes-victim-%d-datagram", v.Outside)
	l, err := net.Listen("unix", v.Abstract)
	if err != nil {
		return err
	}
	defer l.Close()
	d, err := net.ListenPacket("unixgram", v.Datagram)
	if err != nil {
		return err
	}
	defer d.Close()
	v.SharedMemory = v.Outside
	id, err := unix.SysvShmGet(v.SharedMemory, 4096, unix.IPC_CREAT|unix.IPC_EXCL|0o666)
	if err != nil {
		return err
	}
	defer unix.SysvShmCtl(id, unix.IPC_RMID, nil)
	master, slave, err := pty.Open()
	if err != nil {
		return err
	}
	defer master.Close()
	defer slave.Close()
	var stat unix.Stat_t
	if err := unix.Fstat(int(slave.Fd()), &stat); err != nil {
		return err
	}
	v.Terminal = Hidden{slave.Name(), stat.Dev, stat.Ino}
	if err := json.NewEncoder(os.Stdout).Encode(v); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// call makes a system call.
func call(number uintptr, args ...uintptr) (uintptr, error) {
	var a [6]uintptr
	copy(a[:], args)
	r, _, errno := unix.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
	if errno != 0 {
		return 0, errno
	}
	return r, nil
}

// just is an attempt of one call whose answer is all.
func just(number uintptr, args ...uintptr) func(world) error {
	return func(world) error {
		_, err := call(number, args...)
		return err
	}
}

// opened is an attempt to get a descriptor.
func opened(fd int, err error) error {
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func openFile(path string, flags int) error {
	return opened(unix.Open(path, flags|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0))
}

// rewrite writes what a file already holds, so that a success changes nothing.
func rewrite(path string) error {
	content := make([]byte, 4096)
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	n, err := unix.Read(fd, content)
	unix.Close(fd)
	if err != nil {
		return err
	}
	if fd, err = unix.Open(path, unix.O_WRONLY|unix.O_CLOEXEC, 0); err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.Write(fd, content[:n])
	return err
}

const (
	bad        = ^uintptr(0) // a number that fits nothing
	badAddress = 1           // an address that cannot be read
)

// gone are the answers of a place where a thing is not.
var gone = []syscall.Errno{unix.ENOENT, unix.ESRCH, unix.ENXIO, unix.ENODEV, unix.ENOTDIR}
