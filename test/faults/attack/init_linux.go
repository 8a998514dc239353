package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// beInit is the control: PID 1 of namespaces that the test made as root, with a
// socket to knock at, a terminal, and nothing that protects it.
func beInit() error {
	if os.Getpid() != 1 {
		return fmt.Errorf("not PID 1")
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGTERM) // so that there is a second thread
	go func() {
		runtime.LockOSThread()
		for {
			time.Sleep(time.Hour)
		}
	}()
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return err
	}
	if err := unix.Mount("tmpfs", "/run", "tmpfs", 0, ""); err != nil {
		return err
	}
	l, err := net.Listen("unix", "/run/guest.sock")
	if err != nil {
		return err
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	master, slave, err := pty.Open()
	if err != nil {
		return err
	}
	defer master.Close()
	cmd := exec.Command("/proc/self/exe")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	return cmd.Run()
}
