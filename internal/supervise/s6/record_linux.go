package s6

import (
	"encoding/binary"
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/supervise"
)

// record is what s6-supervise writes to supervise/status at every change: stamps of twelve bytes, the process, since
// 2.13 its group too, how it ended the last time, and flags. There is no version in it; the length tells which it is.
type record struct {
	changed   time.Time // it went up or down
	readied   time.Time // it became ready, or was done with finish
	pid       int       // of run or, while finishing, of finish
	ended     unix.WaitStatus
	paused    bool
	finishing bool
	wantUp    bool
	ready     bool // up: it said so; down: it can be started again
}

// The lengths that are known.
const (
	lengthWithoutGroup = 35 // 2.11 and 2.12
	lengthWithGroup    = 43 // 2.13 and 2.14
)

// parseRecord understands the content of a status file.
func parseRecord(b []byte) (record, error) {
	rest := 32
	switch len(b) {
	case lengthWithoutGroup:
	case lengthWithGroup:
		rest += 8
	default:
		return record{}, fmt.Errorf("its status has %d bytes, and ours are those of s6 2.11 to 2.14 with %d or %d", len(b), lengthWithoutGroup, lengthWithGroup)
	}
	pid := binary.BigEndian.Uint64(b[24:])
	if pid > 1<<30 {
		return record{}, fmt.Errorf("its status names process %d, which cannot be", pid)
	}
	flags := b[rest+2]
	if flags > 0xf {
		return record{}, fmt.Errorf("its status has the flags %#x, which no s6 from 2.11 to 2.14 writes", flags)
	}
	return record{
		changed:   stamp(b),
		readied:   stamp(b[12:]),
		pid:       int(pid),
		ended:     unix.WaitStatus(binary.BigEndian.Uint16(b[rest:])),
		paused:    flags&1 != 0,
		finishing: flags&2 != 0,
		wantUp:    flags&4 != 0,
		ready:     flags&8 != 0,
	}, nil
}

// runs says whether there is a process of the service, and not one that cleans up after it.
func (r record) runs() bool { return r.pid > 0 && !r.finishing }

// settled says whether it is down and nothing cleans up any more.
func (r record) settled() bool { return r.pid == 0 && !r.finishing }

// stamp is a TAI64N label: seconds after 2^62 and nanoseconds, of a clock that counts leap seconds.
func stamp(b []byte) time.Time {
	return time.Unix(int64(binary.BigEndian.Uint64(b)-1<<62-leap), int64(binary.BigEndian.Uint32(b[8:])))
}

// leap is how far atomic time is ahead, since 2017.
const leap = 37

// exit is how the process ended, in the words of all drivers.
func (r record) exit(at time.Time) *supervise.Exit {
	if r.ended.Signaled() {
		sig := r.ended.Signal()
		return &supervise.Exit{Code: 128 + int(sig), Signal: unix.SignalName(syscall.Signal(sig)), At: at}
	}
	return &supervise.Exit{Code: r.ended.ExitStatus(), At: at}
}
