// Command intruder is a hostile program in a container. It tries to speak to the guest,
// or in its name, and prints how that ended: "done", or why not.
//
//	intruder call|hand-over|pose PATH
//	intruder claim|guess|replay
package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"time"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/contained"
	"hermes.example/hermes/internal/wire"
)

func main() {
	err := errors.New("usage: intruder ATTACK [PATH]")
	if attack, ok := attacks[os.Args[min(1, len(os.Args)-1)]]; ok {
		err = attack()
	}
	if err != nil {
		fmt.Println("refused:", err)
		return
	}
	fmt.Println("done")
}

var attacks = map[string]func() error{
	"call": func() error { return call(net.Dial("unix", os.Args[2])) },
	// Over a connection whose maker has ended, so that nobody can be asked who it was.
	"hand-over": func() error { return call(fromTheDead(os.Args[2])) },
	"connect":   func() error { return passConnection(os.Args[2]) }, // for hand-over
	"pose":      func() error { return pose(os.Args[2]) },
	"claim":     throughTheBridge(func(line net.Conn) error { return contained.Claim(line, contained.NewKey()) }),
	"guess":     throughTheBridge(func(line net.Conn) error { return answer(line, func([]byte) []byte { return random(32) }) }),
	// The guest's own proof, sent back to it.
	"replay": throughTheBridge(func(line net.Conn) error { return answer(line, func(proof []byte) []byte { return proof }) }),
}

// call speaks to a guest as a caller does.
func call(line net.Conn, err error) error {
	if err != nil {
		return err
	}
	defer line.Close()
	line.SetDeadline(time.Now().Add(10 * time.Second))
	mux, _, err := wire.Dial(line, wire.Hello{Major: wire.Major, Minor: wire.Minor, Observer: true})
	if err == nil {
		mux.Close()
	}
	return err
}

// throughTheBridge does what a bridge does, with what it may know.
func throughTheBridge(prove func(net.Conn) error) func() error {
	return func() error {
		space, err := os.Readlink("/proc/self/ns/pid")
		if err != nil {
			return err
		}
		line, err := net.Dial("unix", "@hermes-guest-"+space)
		if err != nil {
			return err
		}
		line.SetDeadline(time.Now().Add(10 * time.Second))
		if err := prove(line); err != nil {
			return err
		}
		return call(line, nil)
	}
}

// answer goes through the proof without the key.
func answer(line net.Conn, forge func(proof []byte) []byte) error {
	if _, err := line.Write(append([]byte{'P'}, random(32)...)); err != nil {
		return err
	}
	var reply [1 + 32 + 32]byte
	if _, err := io.ReadFull(line, reply[:]); err != nil {
		return err
	}
	_, err := line.Write(forge(reply[33:]))
	return err
}

func random(n int) []byte {
	b := make([]byte, n)
	rand.Read(b)
	return b
}

func fromTheDead(path string) (net.Conn, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, err
	}
	maker := exec.Command("/proc/self/exe", "connect", path)
	maker.ExtraFiles = []*os.File{os.NewFile(uintptr(pair[1]), "pair")}
	if out, err := maker.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	control := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(pair[0], make([]byte, 1), control, unix.MSG_DONTWAIT)
	if err != nil {
		return nil, err
	}
	messages, err := unix.ParseSocketControlMessage(control[:n])
	if err != nil {
		return nil, err
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return nil, err
	}
	return net.FileConn(os.NewFile(uintptr(fds[0]), "connection"))
}

// passConnection connects, hands the connection to who holds descriptor 3, and ends.
func passConnection(path string) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		err = unix.Connect(fd, &unix.SockaddrUnix{Name: path})
	}
	if err == nil {
		err = unix.Sendmsg(3, []byte{0}, unix.UnixRights(fd), nil, 0)
	}
	return err
}

// pose takes the guest's place, answers as a guest would, and prints what it is told.
func pose(path string) error {
	if err := os.Remove(path); err != nil {
		return err
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	os.Chmod(path, 0o666)
	fmt.Println("posing")
	for {
		line, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer line.Close()
			if hello, _, err := wire.Greet(line); err == nil {
				fmt.Printf("heard %+v\n", hello)
				wire.Serve(line, hello)
			}
		}()
	}
}
