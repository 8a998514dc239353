package browser

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// A log that cannot be shown now says why, and is shown as soon as it can be.
func TestThePageSaysWhyThereIsNoLog(t *testing.T) {
	h := newHouse(t)
	reader := h.reader()
	var others []io.Closer
	for range 100 { // which is as many as there may be
		others = append(others, reader.follow("/api/services/dashboard/log?follow=1"))
	}
	p := h.visit("/services/gateway-default")
	p.expects("status of 429")
	p.sees("too many are followed at once")
	p.sees("It is tried again.")
	for _, o := range others {
		o.Close()
	}
	p.within(time.Minute, "the log is there", func() bool {
		return p.shows("listening") && !p.shows("followed at once") && !p.shows("It is tried again")
	})
	h.says("gateway-default", "and goes on")
	p.sees("and goes on")
}

// mouth is where a service says what its supervisor writes down, to be closed.
func (h *house) mouth(name string) *os.File {
	h.t.Helper()
	pipe, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/2", h.service(name).PID), os.O_WRONLY, 0)
	if err != nil {
		h.t.Fatal(err)
	}
	return pipe
}

// pours lets a service say numbered lines of some length, through its own pipe to the supervisor and so through its log
// and its rotation: ticks times, twenty a second, as many as make ten thousand lines a second. It calls said after each.
func (h *house) pours(name string, length, ticks int, said func()) (total int, err error) {
	pipe := h.mouth(name)
	defer pipe.Close()
	const aTick = 50 * time.Millisecond
	tick := time.NewTicker(aTick)
	defer tick.Stop()
	filler := strings.Repeat("x", length)
	for range ticks {
		var lines bytes.Buffer
		for range int(floodLines * aTick / time.Second) {
			total++
			fmt.Fprintf(&lines, "pour %d %s\n", total, filler)
		}
		if _, err := pipe.Write(lines.Bytes()); err != nil {
			return total, err
		}
		said()
		<-tick.C
	}
	_, err = io.WriteString(pipe, "that was all\n")
	return total, err
}

// resident is the memory of a process.
func resident(t *testing.T, pid int) (bytes int) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}

// tally is what came of numbered lines.
type tally struct {
	last, came, missing, dropped int
	over                         bool
	wrong                        string
}

func (n *tally) take(b batch) (more bool) {
	n.dropped += b.dropped
	for _, line := range b.lines {
		if strings.HasSuffix(line, "that was all") {
			n.over = true
		}
		_, text, is := strings.Cut(line, "pour ")
		if !is {
			continue
		}
		number, _, _ := strings.Cut(text, " ")
		now, err := strconv.Atoi(number)
		if err != nil || now <= n.last {
			n.wrong = fmt.Sprintf("after line %d comes %.80q", n.last, line)
			return false
		}
		n.came++
		n.missing += now - n.last - 1
		n.last = now
	}
	return !n.over
}

// slowly is a stream of which a piece is read whenever there is a reason to go on, and all when there is none left.
type slowly struct {
	io.Reader
	on <-chan struct{}
}

func (s slowly) Read(p []byte) (int, error) {
	<-s.on
	return s.Reader.Read(p[:min(len(p), 4<<10)])
}

// What a service says at ten thousand lines a second comes in order, to who reads as fast and to who does not; what was
// left out for the slow one is told to the line, and the processes that carry it do not grow.
func TestEveryLineOfAFloodIsTheReadersOrToldOf(t *testing.T) {
	const ticks, mostGrowth = 160, 24 << 20
	h := newHouse(t)
	r := h.reader()
	processes := map[string]int{"the supervisor": h.cmd.Process.Pid, "the dashboard": h.service("dashboard").PID}
	before := map[string]int{}
	on := make(chan struct{}, ticks)
	fast, slow := r.follow("/api/services/gateway-default/log?lines=0&follow=1"), r.follow("/api/services/gateway-default/log?lines=0&follow=1")
	defer fast.Close()
	defer slow.Close()
	stuck := time.AfterFunc(3*time.Minute, func() { fast.Close(); slow.Close() })
	defer stuck.Stop()
	var tallies [2]tally
	var failures [2]error
	var reading sync.WaitGroup
	reading.Go(func() { failures[0] = batches(fast, tallies[0].take) })
	reading.Go(func() { failures[1] = batches(slowly{slow, on}, tallies[1].take) })
	said := 0
	total, err := h.pours("gateway-default", 150, ticks, func() {
		on <- struct{}{}
		if said++; said == ticks/4 {
			for name, pid := range processes {
				before[name] = resident(t, pid)
			}
		}
	})
	for name, pid := range processes {
		now := resident(t, pid)
		t.Logf("%s has %.1f MB, after %.1f MB", name, float64(now)/1e6, float64(before[name])/1e6)
		if now-before[name] > mostGrowth {
			t.Errorf("%s has grown from %d to %d bytes", name, before[name], now)
		}
	}
	close(on)
	if err != nil {
		t.Fatal(err)
	}
	reading.Wait()
	for i, who := range []string{"the fast reader", "the slow reader"} {
		n := tallies[i]
		t.Logf("%s got %d of %d lines, %d are missing, %d were told to be", who, n.came, total, n.missing, n.dropped)
		if failures[i] != nil || n.wrong != "" || !n.over || n.last > total || n.missing+total-n.last > n.dropped || n.dropped > n.missing+total-n.last+20 {
			t.Errorf("%s: %v, %+v", who, failures[i], n)
		}
	}
	if tallies[1].dropped == 0 {
		t.Error("nothing was left out: this shows nothing")
	}
}
