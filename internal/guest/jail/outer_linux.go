package jail

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/wire"
)

// Outer is the creator's end of the setup conversation.
type Outer struct {
	conn *net.UnixConn
}

// SocketPair makes the two ends of a setup conversation. The inner one is
// inherited by the guest as its descriptor 3.
func SocketPair() (*Outer, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	near := os.NewFile(uintptr(fds[0]), "setup")
	defer near.Close()
	inner := os.NewFile(uintptr(fds[1]), "setup")
	conn, err := net.FileConn(near)
	if err != nil {
		inner.Close()
		return nil, nil, err
	}
	return &Outer{conn.(*net.UnixConn)}, inner, nil
}

// Conn is the connection, for deadlines.
func (o *Outer) Conn() net.Conn { return o.conn }

// Configure sends the configuration with its descriptors, named in order by
// c.Descriptors, and waits for the guest's report.
func (o *Outer) Configure(c Config, files []*os.File) (Report, error) {
	fds := make([]int, len(files))
	for i, f := range files {
		fds[i] = int(f.Fd())
	}
	if _, _, err := o.conn.WriteMsgUnix([]byte{0}, unix.UnixRights(fds...), nil); err != nil {
		return Report{}, fmt.Errorf("cannot hand over descriptors: %w", err)
	}
	var report Report
	if err := send(wire.NewWriter(o.conn), frameConfig, c); err != nil {
		return Report{}, fmt.Errorf("cannot configure the guest: %w", err)
	}
	if err := receive(wire.NewReader(o.conn), frameReport, &report); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("it ended during its setup")
		}
		return Report{}, fmt.Errorf("cannot set up the guest: %w", err)
	}
	if report.Error != "" {
		return report, errors.New(report.Error)
	}
	return report, nil
}

// Keep hands the sandbox over to itself. Until then, closing the conversation
// makes the guest end.
func (o *Outer) Keep() error {
	if err := wire.NewWriter(o.conn).Write(frameKeep, nil); err != nil {
		return fmt.Errorf("cannot hand over the sandbox: %w", err)
	}
	// The guest closes its end when it has taken over.
	if _, err := wire.NewReader(o.conn).Next(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("cannot hand over the sandbox: %v", err)
	}
	return o.conn.Close()
}

// Close gives the sandbox up if it was not handed over.
func (o *Outer) Close() error { return o.conn.Close() }
