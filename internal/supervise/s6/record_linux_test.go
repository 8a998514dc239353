package s6

import (
	"encoding/binary"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// What the real program wrote in each of its states, as s6-svstat reads it.
func TestTheStatusIsWhatS6SvstatReads(t *testing.T) {
	r := newScanned(t)
	ctx := t.Context()
	s := r.service("gateway-a", "exec sleep 1000")
	s.Restart.Min, s.Restart.Max = time.Hour, time.Hour
	r.ok(r.Register(ctx, s, false))
	compare := func(what string, is func(record) bool) {
		t.Helper()
		var ours record
		var theirs string
		r.eventually(what, func() bool {
			var err error
			ours, _, err = r.read("gateway-a")
			r.ok(err)
			theirs = r.svstat("gateway-a", "up,wantedup,ready,paused,pid,exitcode,signum,updownfor")
			again, _, err := r.read("gateway-a")
			r.ok(err)
			return again == ours && is(ours)
		})
		ready, pid, code, sig := ours.runs() && ours.ready, -1, -1, -1
		switch {
		case ours.runs():
			pid = ours.pid
		case ours.ended.Signaled():
			sig = int(ours.ended.Signal())
		default:
			code = ours.ended.ExitStatus()
		}
		want := fmt.Sprintf("%v %v %v %v %d %d %d", ours.runs(), ours.wantUp, ready, ours.paused, pid, code, sig)
		if fields, age, _ := cutLast(theirs); fields != want {
			t.Errorf("%s: we read %q and s6-svstat %q", what, want, fields)
		} else if ours := time.Since(ours.changed); ours < 0 || ours > 20*time.Second || age > 20 {
			t.Errorf("%s: that was %v ago for us, and %d s for s6-svstat", what, ours, age)
		}
	}
	compare("never started", func(r record) bool { return r.settled() && !r.wantUp })
	r.ok(r.Start(ctx, "gateway-a"))
	compare("up", func(r record) bool { return r.runs() && r.wantUp })
	r.ok(r.tell("gateway-a", "pause", "p"))
	compare("paused", func(r record) bool { return r.paused })
	r.ok(r.tell("gateway-a", "continue", "c"))
	r.ok(r.Stop(ctx, "gateway-a"))
	compare("stopped", func(r record) bool { return r.settled() && r.ended.Signal() == syscall.SIGTERM })
	s.Argv[2] = "exit 3"
	r.ok(r.Replace(ctx, s, true))
	compare("failed", func(r record) bool { return r.settled() && r.wantUp && r.ended.ExitStatus() == 3 })
	s.Argv[2], s.Ready.Notify = "echo >&4; exec sleep 1000", 4
	r.ok(r.Replace(ctx, s, true))
	compare("ready", func(r record) bool { return r.runs() && r.ready })
}

// svstat asks the real tool, with the rights that the test has.
func (r *real) svstat(name, fields string) string {
	r.t.Helper()
	out, err := exec.Command("s6-svstat", "-o", fields, filepath.Join(r.scan, name)).Output()
	r.ok(err)
	return strings.TrimSpace(string(out))
}

func cutLast(s string) (before string, last int, err error) {
	i := strings.LastIndexByte(s, ' ')
	_, err = fmt.Sscan(s[i+1:], &last)
	return s[:i], last, err
}

// written is a status as s6 writes it, with or without the group.
func written(length int, pid uint64, ended uint16, flags byte) []byte {
	b := make([]byte, length)
	binary.BigEndian.PutUint64(b, 1<<62+leap+2_000_000_000)
	binary.BigEndian.PutUint32(b[8:], 5)
	copy(b[12:], b[:12])
	binary.BigEndian.PutUint64(b[24:], pid)
	binary.BigEndian.PutUint16(b[length-3:], ended)
	b[length-1] = flags
	return b
}

func TestBothLengthsAreUnderstood(t *testing.T) {
	for _, length := range []int{lengthWithoutGroup, lengthWithGroup} {
		r, err := parseRecord(written(length, 77, 3<<8, 0xc))
		want := record{changed: time.Unix(2_000_000_000, 5), readied: time.Unix(2_000_000_000, 5), pid: 77, ended: 3 << 8, wantUp: true, ready: true}
		if err != nil || r != want {
			t.Errorf("%d bytes: %+v, %v", length, r, err)
		}
	}
}

func TestWhatIsNoStatusIsRefused(t *testing.T) {
	for what, b := range map[string][]byte{
		"nothing":               nil,
		"daemontools' 18 bytes": make([]byte, 18),
		"a byte too much":       written(36, 1, 0, 4),
		"flags of an older s6":  written(35, 1, 0, 0x1c),
		"no process id":         written(35, 1<<40, 0, 4),
	} {
		if r, err := parseRecord(b); err == nil {
			t.Errorf("%s: %+v", what, r)
		}
	}
}

func FuzzStatus(f *testing.F) {
	f.Add(written(lengthWithoutGroup, 12, 15, 8))
	f.Add(written(lengthWithGroup, 0, 78<<8, 0xe))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := parseRecord(b)
		if err != nil {
			return
		}
		if r.pid < 0 || r.runs() && r.settled() {
			t.Errorf("%x is %+v", b, r)
		}
		st := status("gateway-a", r, notes{})
		if st.PID < 0 || st.State == "" || st.PID > 0 != r.runs() && st.State != "backoff" {
			t.Errorf("%x is %+v", b, st)
		}
	})
}
