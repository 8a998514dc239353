package contained

import (
	"errors"
	"fmt"
	"net"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestAStartSurvivesItsArguments(t *testing.T) {
	for _, s := range []Start{{}, {Ephemeral: true}, {User: "app:staff", Owned: []string{"/workspace", "/a=b"}, Offline: true, Home: "/root"}, {Build: "0123abcd"}} {
		got, err := ParseStart(s.Arguments()[1:])
		if err != nil || !reflect.DeepEqual(got, s) {
			t.Errorf("%+v became %+v, %v", s, got, err)
		}
	}
	if s, err := ParseStart([]string{"from-the-future"}); err == nil {
		t.Errorf("an unknown argument gives %+v", s)
	}
}

// meet lets a caller and a lock meet, and returns what each thinks of it.
func meet(t *testing.T, l *Lock, caller func(net.Conn) error) (admitted bool, err error) {
	t.Helper()
	outside, inside := net.Pipe()
	outside.SetDeadline(time.Now().Add(10 * time.Second))
	inside.SetDeadline(time.Now().Add(10 * time.Second))
	done := make(chan bool)
	go func() {
		done <- l.Admit(inside)
		inside.Close()
	}()
	err = caller(outside)
	outside.Close()
	return <-done, err
}

func TestOnlyTheKeyOpens(t *testing.T) {
	open := true
	l := &Lock{Open: func() bool { return open }}
	key, other := NewKey(), NewKey()
	prove := func(k Key) func(net.Conn) error { return func(c net.Conn) error { return Prove(c, k) } }
	claim := func(k Key) func(net.Conn) error { return func(c net.Conn) error { return Claim(c, k) } }
	for _, step := range []struct {
		name   string
		caller func(net.Conn) error
		want   error
	}{
		{"a proof before there is a key", prove(key), ErrUnclaimed},
		{"the first key", claim(key), nil},
		{"its proof", prove(key), nil},
		{"another key's proof", prove(other), ErrUnproven},
		{"another claim", claim(other), ErrClaimed},
		{"the proof after that", prove(key), nil},
	} {
		admitted, err := meet(t, l, step.caller)
		if admitted != (step.want == nil) || !errors.Is(err, step.want) {
			t.Errorf("%s: admitted %v, %v", step.name, admitted, err)
		}
	}
	open = false
	late := &Lock{Open: func() bool { return open }}
	if admitted, err := meet(t, late, claim(key)); admitted || !errors.Is(err, ErrClaimed) {
		t.Errorf("a claim after a command has run: admitted %v, %v", admitted, err)
	}
	late.Set(key)
	if admitted, err := meet(t, late, prove(key)); !admitted || err != nil {
		t.Errorf("a key that was set from outside: admitted %v, %v", admitted, err)
	}
}

// Whoever has not the key but hears everything that is said gets nowhere with it.
func TestWhatWasHeardIsNoProof(t *testing.T) {
	l := &Lock{Open: func() bool { return false }}
	key := NewKey()
	l.Set(key)
	if admitted, _ := meet(t, l, func(c net.Conn) error {
		// The guest's own proof, sent back to it.
		challenge := NewKey()
		c.Write(append([]byte{proves}, challenge[:]...))
		reply := make([]byte, 1+len(Key{})+32)
		if _, err := c.Read(reply[:1]); err != nil {
			return err
		}
		for n := 1; n < len(reply); {
			m, err := c.Read(reply[n:])
			if err != nil {
				return err
			}
			n += m
		}
		_, err := c.Write(reply[1+len(Key{}):])
		return err
	}); admitted {
		t.Error("the guest took its own proof for a caller's")
	}
}

func TestAKeyIsNotPrinted(t *testing.T) {
	key := NewKey()
	for _, form := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(form, key); strings.ContainsAny(text, "0123456789") {
			t.Errorf("%s prints %q", form, text)
		}
	}
}

// Words of a daemon that cannot reach the guest do not pass for the guest's, least of all
// as a wish for the key.
func TestWhatIsNoGuestIsToldNothing(t *testing.T) {
	for name, say := range map[string]func(net.Conn) error{
		"a proof": func(c net.Conn) error { return Prove(c, NewKey()) },
		"a claim": func(c net.Conn) error { return Claim(c, NewKey()) },
	} {
		outside, inside := net.Pipe()
		go func() {
			inside.Read(make([]byte, 1+len(Key{})))
			inside.Write([]byte("OCI runtime exec failed"))
			inside.Close()
		}()
		if err := say(outside); err == nil || errors.Is(err, ErrUnclaimed) || errors.Is(err, ErrClaimed) {
			t.Errorf("%s ends with %v", name, err)
		}
		outside.Close()
	}
}
