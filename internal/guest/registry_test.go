//go:build linux

package guest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hermes.example/hermes/internal/wire"
)

// registryIn opens the registry of a spool as a guest does.
func registryIn(t *testing.T, dir string) *registry {
	t.Helper()
	spool, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	r := openRegistry(spool)
	t.Cleanup(func() {
		spool.Close()
		if r.dir != nil {
			r.dir.Close()
		}
	})
	return r
}

// enter makes a process that has run, or runs if ended is zero.
func (r *registry) enter(t *testing.T, number int, ended time.Time) *command {
	t.Helper()
	id := fmt.Sprintf("proc_%012x", number)
	if err := r.makeDirs(id); err != nil {
		t.Fatal(err)
	}
	p := wire.Process{ID: id, State: wire.ProcessRunning, Started: time.Unix(int64(number), 0)}
	c := newCommand(wire.Exec{ID: id})
	c.background = &background{process: p}
	c.stdout = newLog(newLogFile(r.dir, id, 1000, &r.together))
	if err := r.note(c); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(c.stdout, "log of", number)
	if !ended.IsZero() {
		c.background.ended = ended
		c.close(wire.Exit{Code: number, Reason: wire.ReasonExit})
		if err := r.note(c); err != nil {
			t.Fatal(err)
		}
	}
	r.all = append(r.all, c)
	return c
}

func TestProcessesExpireByAgeAndNumber(t *testing.T) {
	r := registryIn(t, t.TempDir())
	now := time.Now()
	r.enter(t, 0, time.Time{}) // it runs: nothing is as old as that
	r.enter(t, 1, now.Add(-25*time.Hour))
	for i := range keptProcesses {
		r.enter(t, 10+i, now.Add(-time.Duration(i)*time.Minute)) // the last ended first
	}
	expired := r.expire(now)
	if len(expired) != 1 || expired[0].id != "proc_000000000001" {
		t.Fatalf("%d expired", len(expired))
	}
	r.enter(t, 5000, now)
	if expired = r.expire(now); len(expired) != 1 || expired[0].id != fmt.Sprintf("proc_%012x", 10+keptProcesses-1) {
		t.Fatalf("one too many: %d expired", len(expired))
	}
	if expired = r.expire(now.Add(25 * time.Hour)); len(expired) != keptProcesses || len(r.all) != 1 {
		t.Errorf("a day later %d expired and %d are left", len(expired), len(r.all))
	}
}

func TestTheOldestEndedProcessMakesRoom(t *testing.T) {
	r := registryIn(t, t.TempDir())
	now := time.Now()
	r.enter(t, 0, time.Time{})
	r.enter(t, 1, now)
	r.enter(t, 2, now.Add(-time.Minute))
	for _, want := range []string{"proc_000000000002", "proc_000000000001"} {
		if c := r.takeOldest(); c == nil || c.id != want {
			t.Fatalf("%+v is not %s", c, want)
		}
	}
	if c := r.takeOldest(); c != nil {
		t.Errorf("%s runs and is taken", c.id)
	}
}

// Whatever moment the guest is killed in, the record says something true.
func TestARecordThatWasCutShort(t *testing.T) {
	dir := t.TempDir()
	r := registryIn(t, dir)
	r.enter(t, 1, time.Time{})
	r.enter(t, 2, time.Now())
	r.enter(t, 3, time.Now())
	record := func(number int) string {
		return filepath.Join(dir, registryName, fmt.Sprintf("proc_%012x", number), recordName)
	}
	info, err := os.Stat(record(3))
	if err == nil {
		err = os.Truncate(record(3), info.Size()-5) // its end was being written
	}
	if err == nil {
		r.enter(t, 4, time.Time{})
		err = os.Truncate(record(4), 7) // its start was
	}
	if err == nil {
		err = os.Mkdir(filepath.Join(dir, registryName, "other"), 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	again := registryIn(t, dir)
	var states []wire.ProcessState
	for _, c := range again.load() {
		p := c.describe()
		states = append(states, p.State)
		if data, gap := readAll(t, c.stdout, 0); gap != 0 || string(data) != fmt.Sprintln("log of", len(states)) {
			t.Errorf("the log of %s is %q", p.ID, data)
		}
	}
	if fmt.Sprint(states) != fmt.Sprint([]wire.ProcessState{wire.ProcessLost, wire.ProcessExited, wire.ProcessLost}) {
		t.Errorf("the states are %q", states)
	}
	if c := again.all[1].exit.Load(); c.Code != 2 {
		t.Errorf("the second ended with %d", c.Code)
	}
	if _, err := os.Stat(filepath.Dir(record(4))); !os.IsNotExist(err) {
		t.Errorf("one that never began is still there: %v", err)
	}
	if want := again.together.Load(); want != int64(3*len("log of 1\n")) {
		t.Errorf("%d bytes are on the books", want)
	}
}
