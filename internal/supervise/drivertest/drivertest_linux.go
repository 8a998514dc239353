// Package drivertest is the one suite that everything passes that keeps services running. What it says is what the
// roster may rely on, with the built-in supervisor as well as with s6.
//
// Drivers call it from their tests; nothing else does. Its services are shell scripts that run for real.
package drivertest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes.example/hermes/internal/roster"
	"hermes.example/hermes/internal/supervise"
)

// Fixture is a driver that is ready, without services.
type Fixture struct {
	Driver roster.Driver
	// User is who services run as.
	User *supervise.User
	// Dir is a directory that this user can write, for a trial's own files.
	Dir string
	// Output is all that the supervisor passed on so far.
	Output func() string
}

// patience is far more than anything takes that works. Nothing waits for its end.
const patience = 30 * time.Second

// Run runs the suite. Each trial has a fixture of its own.
func Run(t *testing.T, fresh func(t *testing.T) Fixture) {
	for _, c := range []struct {
		name string
		test func(*trial)
	}{
		{"RegisteredDownStaysDown", registeredDown},
		{"RegisteredUpRuns", registeredUp},
		{"RegisteringTwiceIsAnError", registeredTwice},
		{"ReplacingIsNone", replaced},
		{"UnregisteringEndsIt", unregistered},
		{"WhatIsUnknownCannotBeUsed", unknown},
		{"TheListIsSorted", listed},
		{"StartingTwiceIsOnce", startedTwice},
		{"StoppingTwiceIsOnce", stoppedTwice},
		{"ARestartIsANewProcess", restarted},
		{"ARestartOfWhatIsDownStartsIt", restartedDown},
		{"ARestartBringsBackWhatEndsWell", restartedWell},
		{"ACrashBringsItBack", crashed},
		{"AKillBringsItBack", killed},
		{"SomeEndsParkIt", parked},
		{"AStopOfWhatIsParkedLeavesItDown", stoppedParked},
		{"AskingForARestartIsNoFailure", askedForRestart},
		{"AskingForNothingElseIsOne", askedForNothingElse},
		{"ACrashLoopIsParked", crashLoop},
		{"AStartEndsAPause", startInPause},
		{"AStopEndsAPause", stopInPause},
		{"WhatHangsIsKilled", hanging},
		{"ItsProcessesEndWithIt", family},
		{"ItGetsExactlyItsWords", words},
		{"ItRunsAsItsUser", user},
		{"ItCanSayWhenItIsReady", readiness},
		{"ItsLimitsAreSet", limits},
		{"WhatItSaysIsKept", logs},
		{"OneOfManyRegistersIt", onlyOne},
		{"FiftyAtOnce", fifty},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := fresh(t)
			ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
			t.Cleanup(cancel)
			c.test(&trial{T: t, Fixture: f, ctx: ctx})
		})
	}
}

// trial is one test with its fixture.
type trial struct {
	*testing.T
	Fixture
	ctx context.Context
}

// one is the name of the service in trials that have but one.
const one = "gateway-one"

// service is a shell script. Its failures do not cost the suite much time.
func (t *trial) service(name, script string) supervise.Service {
	return supervise.Service{
		Name: name, Argv: []string{"/bin/sh", "-c", script}, Env: []string{"PATH=/usr/bin:/bin"}, Dir: t.Dir, User: t.User,
		Stop:    supervise.Stopping{Grace: 500 * time.Millisecond},
		Restart: supervise.Restarting{Min: 10 * time.Millisecond, Max: 40 * time.Millisecond, Burst: 4, Window: time.Minute},
	}
}

// sleeper is a service that does nothing for long.
func (t *trial) sleeper(name string) supervise.Service { return t.service(name, "exec sleep 1000") }

func (t *trial) register(s supervise.Service, up bool) {
	t.Helper()
	t.ok(t.Driver.Register(t.ctx, s, up))
}

// do calls one of the driver's methods that take a name.
func (t *trial) do(f func(context.Context, string) error, name string) {
	t.Helper()
	t.ok(f(t.ctx, name))
}

func (t *trial) ok(err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (t *trial) status(name string) supervise.Status {
	t.Helper()
	st, err := t.Driver.Status(t.ctx, name)
	t.ok(err)
	return st
}

// until waits for a status.
func (t *trial) until(name, what string, is func(supervise.Status) bool) supervise.Status {
	t.Helper()
	var st supervise.Status
	t.eventually(what, func() bool { st = t.status(name); return is(st) }, func() any { return st })
	return st
}

func (t *trial) eventually(what string, is func() bool, last func() any) {
	t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never came true: %s; the last was %+v; the output is\n%s", what, last(), t.Output())
		}
	}
}

func runs(st supervise.Status) bool {
	return st.State == supervise.Ready && st.PID > 1 && st.Want == "up"
}
func isDown(st supervise.Status) bool {
	return st.State == supervise.Down && st.PID == 0 && st.Want == "down"
}
func isParked(st supervise.Status) bool { return st.State == supervise.Parked && st.PID == 0 }

// running waits until it runs as another process than one that ran before.
func (t *trial) running(name string, before int) supervise.Status {
	t.Helper()
	return t.until(name, "it runs", func(st supervise.Status) bool { return runs(st) && st.PID != before })
}

// kill signals a process of a service; other numbers would mean many.
func (t *trial) kill(pid int, sig syscall.Signal) {
	t.Helper()
	if pid <= 1 {
		t.Fatalf("%d is no process of a service", pid)
	}
	t.ok(syscall.Kill(pid, sig))
}

// alive says whether a process is there and no zombie.
func alive(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", itoa(pid), "stat"))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}

// file is what a service has written, when it has.
func (t *trial) file(name string) string {
	t.Helper()
	var text []byte
	t.eventually(name+" is written", func() (ok bool) {
		text, _ = os.ReadFile(filepath.Join(t.Dir, name))
		return strings.HasSuffix(string(text), "\n")
	}, func() any { return string(text) })
	return string(text)
}
