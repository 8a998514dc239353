package local_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/wire"
	"hermes.example/hermes/sandbox"
)

// attackVariable makes the test binary an attacker.
const attackVariable = "HERMES_LOCAL_TEST_ATTACK"

// attack is what a hostile program does. It prints how that ended.
func attack(args []string) error {
	pid := func() int { n, _ := strconv.Atoi(args[1]); return n }
	switch args[0] {
	case "call":
		return call(args[1])
	case "hand-over":
		return callThroughTheDead(args[1])
	case "connect": // for callThroughTheDead
		return passConnection(args[1])
	case "pose":
		return pose(args[1])
	case "trace":
		runtime.LockOSThread()
		return unix.PtraceAttach(pid())
	case "read memory":
		buf := make([]byte, 8)
		_, err := unix.ProcessVMReadv(pid(), []unix.Iovec{{Base: &buf[0], Len: 8}}, []unix.RemoteIovec{{Base: 0x400000, Len: 8}}, 0)
		return err
	case "take descriptor":
		fd, err := unix.PidfdOpen(pid(), 0)
		if err == nil {
			_, err = unix.PidfdGetfd(fd, 0, 0)
		}
		return err
	case "limit":
		return unix.Prlimit(pid(), unix.RLIMIT_CPU, &unix.Rlimit{Cur: 1, Max: 1}, nil)
	case "status": // as hermes would ask
		return status(args[1], args[2])
	case "use": // as hermes would
		return use(args[1], args[2])
	case "forge":
		return forge(args[1], args[2])
	case "rise":
		return unix.Setrlimit(unix.RLIMIT_LOCKS, &unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY})
	}
	return fmt.Errorf("unknown attack %q", args[0])
}

func hello() wire.Hello { return wire.Hello{Major: wire.Major, Minor: wire.Minor, Observer: true} }

// call speaks to a guest as a caller does.
func call(path string) error {
	conn, err := net.Dial("unix", path)
	if err != nil {
		return err
	}
	defer conn.Close()
	return greet(conn)
}

func greet(conn net.Conn) error {
	mux, _, err := wire.Dial(conn, hello())
	if err == nil {
		mux.Close()
	}
	return err
}

// callThroughTheDead speaks over a connection whose maker has ended, so that nobody can
// be asked who it was.
func callThroughTheDead(path string) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	maker := exec.Command("/proc/self/exe", "connect", path)
	maker.ExtraFiles = []*os.File{os.NewFile(uintptr(pair[1]), "pair")}
	if err := maker.Run(); err != nil {
		return err
	}
	control := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(pair[0], make([]byte, 1), control, 0)
	if err != nil {
		return err
	}
	messages, err := unix.ParseSocketControlMessage(control[:n])
	if err != nil {
		return err
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return err
	}
	conn, err := net.FileConn(os.NewFile(uintptr(fds[0]), "connection"))
	if err != nil {
		return err
	}
	defer conn.Close()
	fmt.Println("connected")
	return greet(conn)
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

// pose takes a guest's place, and answers as a guest would.
func pose(path string) error {
	if err := os.Remove(path); err != nil {
		return err
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	fmt.Println("posing")
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		if _, _, err := wire.Greet(conn); err == nil {
			wire.Serve(conn, hello())
		}
	}
}

// forge writes another process into a sandbox's state.
func forge(path, pid string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var state map[string]any
	if err := json.Unmarshal(data, &state); err != nil {
		return err
	}
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return err
	}
	state["PID"], _ = strconv.Atoi(pid)
	state["Started"] = strings.Fields(string(stat))[21] // the name has no space
	state["Namespace"] = 0
	if data, err = json.Marshal(state); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}

func status(home, task string) error {
	engine, err := newEngine()
	if err != nil {
		return err
	}
	m := sandbox.NewManager(engine, sandbox.Options{NoSweep: true})
	defer m.Close()
	_, err = m.StatusOf(context.Background(), sandbox.Identity{Home: home, Task: task})
	return err
}

func use(home, task string) error {
	engine, err := newEngine()
	if err != nil {
		return err
	}
	m := sandbox.NewManager(engine, sandbox.Options{NoSweep: true})
	defer m.Close()
	box, err := m.Ensure(context.Background(), sandbox.Identity{Home: home, Task: task}, sandbox.Spec{})
	if err != nil {
		return err
	}
	_, err = box.Exec(context.Background(), sandbox.Command{Line: "echo $PPID", Stdout: os.Stdout})
	return err
}

// attacker is the whole life of a hostile process.
func attacker(args []string) int {
	err := attack(args)
	var errno unix.Errno
	switch {
	case err == nil:
		fmt.Println("done")
	case errors.As(err, &errno):
		fmt.Println(unix.ErrnoName(errno))
	default:
		fmt.Println("refused:", err)
	}
	return 0
}
