package gate

import (
	"testing"
	"time"
)

func TestADoorKnowsItsNames(t *testing.T) {
	loopback, every := NewHosts("127.0.0.1", true), NewHosts("0.0.0.0", false, "Agent.example")
	named, open := NewHosts("192.0.2.7", false), NewHosts("127.0.0.1", true, AnyName)
	for _, test := range []struct {
		door    string
		hosts   Hosts
		host    string
		allowed bool
	}{
		{"loopback", loopback, "127.0.0.1:8642", true},
		{"loopback", loopback, "LocalHost", true},
		{"loopback", loopback, "[::1]:8642", true},
		{"loopback", loopback, "192.0.2.7", false},
		{"loopback", loopback, "hermes", false},
		{"loopback", loopback, "evil.example", false},
		{"loopback", loopback, "localhost.evil.example", false},
		{"loopback", loopback, "", false},
		{"every address", every, "192.0.2.7:8642", true},
		{"every address", every, "[2001:db8::1]:80", true},
		{"every address", every, "hermes:8642", true},
		{"every address", every, "agent.example", true},
		{"every address", every, "localhost:1", true},
		{"every address", every, "evil.example:8642", false},
		{"every address", every, "evil.agent.example", false},
		{"every address", every, "", false},
		{"one address", named, "192.0.2.7", true},
		{"one address", named, "192.0.2.8", false},
		{"one address", named, "localhost", false},
		{"any name", open, "evil.example", true},
	} {
		if got := test.hosts.Allow(test.host); got != test.allowed {
			t.Errorf("%s: %q is allowed: %t", test.door, test.host, got)
		}
	}
}

func TestWhatOneMayDoAtOnceAndThen(t *testing.T) {
	now := time.Unix(1e9, 0)
	r := NewRate[string](3, time.Second, 10, func() time.Time { return now })
	for range 3 {
		if wait := r.Take("a"); wait != 0 {
			t.Fatalf("the first times: wait %s", wait)
		}
	}
	if wait := r.Take("a"); wait != time.Second {
		t.Errorf("wait %s", wait)
	}
	if r.Take("b") != 0 {
		t.Error("another one has to wait for the first")
	}
	now = now.Add(time.Second)
	if r.Take("a") != 0 || r.Take("a") == 0 {
		t.Error("after a second it is one more")
	}
	r.Forgive("a")
	if r.Take("a") != 0 {
		t.Error("not forgiven")
	}
}

func TestARateHasItsOwnLimit(t *testing.T) {
	now := time.Unix(1e9, 0)
	const burst, most = 5, 64
	r := NewRate[int](burst, time.Second, most, func() time.Time { return now })
	for who := range most + 2*burst {
		r.Take(who + 1)
	}
	if len(r.full) > most+1 {
		t.Errorf("%d are remembered", len(r.full))
	}
	if r.Take(1000) == 0 {
		t.Error("those beyond are not limited")
	}
	now = now.Add(time.Hour)
	if r.Take(1001) != 0 || len(r.full) > 2 {
		t.Errorf("the old ones are not forgotten: %d", len(r.full))
	}
}

func TestThereAreSoManyPlaces(t *testing.T) {
	p := NewPlaces(1)
	if !p.Take() || p.Take() {
		t.Error("there is more or less than one place")
	}
	if p.Give(); !p.Take() {
		t.Error("a place that was given back is not there")
	}
}
