package doorbell

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"hermes.example/hermes/internal/peercred"
	"hermes.example/hermes/internal/rundir"
)

// Bell is the socket of a dashboard. Its life: Hang, Answer until its context ends, Close. A nil one is silent.
type Bell struct{ socket *net.UnixListener }

const (
	// ringTime bounds how long either side waits for the other.
	ringTime = 5 * time.Second
	// acceptPause is how long a bell waits after it could not be answered.
	acceptPause = 100 * time.Millisecond
	// longest is far above what any address has.
	longest = 4096
)

// Hang makes the bell of a home. What a dashboard that was killed has left is removed; a home whose dashboard answers
// already has its bell.
func Hang(home string) (*Bell, error) {
	dir, err := rundir.Find()
	if err != nil {
		return nil, fmt.Errorf("cannot hang up the dashboard's bell: %w", err)
	}
	path := in(dir, home)
	if c, err := net.DialTimeout("unix", path, ringTime); err == nil {
		c.Close()
		return nil, errors.New("cannot hang up the dashboard's bell: another dashboard of this home answers there")
	} else if errors.Is(err, syscall.ECONNREFUSED) {
		os.Remove(path)
	}
	// The run directory is closed to others from before the socket is there.
	socket, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("cannot hang up the dashboard's bell: %w", err)
	}
	return &Bell{socket}, nil
}

// Close takes the bell down, and its socket with it.
func (b *Bell) Close() {
	if b != nil {
		b.socket.Close()
	}
}

// in is where the bell of a home is in a run directory.
func in(dir, home string) string {
	sum := sha256.Sum256([]byte(home))
	return filepath.Join(dir, fmt.Sprintf("dashboard-%x.sock", sum[:6]))
}

// Answer gives everybody who rings and may have it an address of their own, one after the other, until ctx ends.
func (b *Bell) Answer(ctx context.Context, address func() string) {
	if b == nil {
		<-ctx.Done()
		return
	}
	defer context.AfterFunc(ctx, func() { b.socket.Close() })()
	for {
		c, err := b.socket.AcceptUnix()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // as when there are too many open files, which passes
			select {
			case <-ctx.Done():
			case <-time.After(acceptPause):
			}
			continue
		}
		if who, err := peercred.Of(c); err == nil && (who.Uid == 0 || int(who.Uid) == os.Geteuid()) {
			c.SetDeadline(time.Now().Add(ringTime))
			io.WriteString(c, address()+"\n") // who has gone away wants none
		}
		c.Close()
	}
}

// Ring asks the dashboard of a home for an address: ErrNobody if there is none.
func Ring(ctx context.Context, home string) (string, error) {
	dir, err := rundir.Look()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, ringTime)
	defer cancel()
	for _, path := range []string{in(dir, home), elsewhere(home)} {
		var c net.Conn
		if c, err = (&net.Dialer{}).DialContext(ctx, "unix", path); err != nil {
			continue
		}
		defer c.Close()
		defer context.AfterFunc(ctx, func() { c.SetDeadline(time.Now()) })()
		text, err := io.ReadAll(io.LimitReader(c, longest))
		if err != nil || !strings.HasSuffix(string(text), "\n") {
			return "", errors.New("cannot get an address of the dashboard: it does not give one; it is another user's, or stuck")
		}
		// What another user's program says is shown on a terminal, perhaps root's.
		address, err := url.Parse(strings.TrimSpace(string(text)))
		if err != nil || address.Scheme != "http" && address.Scheme != "https" {
			return "", errors.New("cannot get an address of the dashboard: what answers gives none")
		}
		return address.String(), nil
	}
	return "", ErrNobody
}

// elsewhere is where root finds the bell of a home that is another user's: in that user's run directory.
func elsewhere(home string) string {
	info, err := os.Stat(home)
	if err != nil || os.Geteuid() != 0 {
		return ""
	}
	dir, err := rundir.Of(int(info.Sys().(*syscall.Stat_t).Uid))
	if err != nil {
		return ""
	}
	return in(dir, home)
}
