package keeper

import (
	"encoding/json"
	"errors"
	"os"
	"testing"
	"time"

	"hermes.example/hermes/internal/addon/unavailable"
)

// herePool is a pool of this process.
type herePool struct {
	testPool
	closed *int
}

func (p herePool) Close() { *p.closed++ }

func TestWhereThereIsNoKeeperThisProcessCalls(t *testing.T) {
	var cold []error
	made, closed := 0, 0
	o := &OrHere{Keeper: newKeeper(t, time.Minute), Cold: func(err error) { cold = append(cold, err) }, Here: func() (Pool, error) {
		made++
		return herePool{closed: &closed}, nil
	}}
	o.Program = "/nonexistent"
	for range 2 {
		r, err := o.Call(t.Context(), "ns.name", "echo", json.RawMessage(`{}`), nil)
		var s said
		if err != nil || json.Unmarshal(r.Structured, &s) != nil || s.PID != os.Getpid() {
			t.Errorf("%+v, %v", s, err)
		}
		if tools, err := o.Tools(t.Context(), "ns.name", nil); err != nil || len(tools) != 1 {
			t.Errorf("%v, %v", tools, err)
		}
	}
	o.Close()
	if made != 1 || len(cold) != 1 || closed != 1 {
		t.Errorf("made %d times, closed %d times, said %v", made, closed, cold)
	}
}

func TestWhereThereIsAKeeperThisProcessDoesNotCall(t *testing.T) {
	o := &OrHere{Keeper: newKeeper(t, time.Minute), Cold: func(err error) { t.Error(err) }, Here: func() (Pool, error) {
		t.Error("a pool was made")
		return nil, errors.New("no")
	}}
	defer o.Close()
	if _, err := o.Call(t.Context(), "ns.name", "echo", json.RawMessage(`{}`), nil); err != nil {
		t.Error(err)
	}
	// What a backend says is no reason to call it again.
	if _, err := o.Call(t.Context(), "ns.name", "unavailable", json.RawMessage(`{}`), nil); !errors.Is(err, unavailable.Backend) {
		t.Error(err)
	}
}

func TestAPoolThatCannotBeMadeIsTheError(t *testing.T) {
	why := errors.New("cannot run backends here")
	o := &OrHere{Keeper: newKeeper(t, time.Minute), Cold: func(error) {}, Here: func() (Pool, error) { return nil, why }}
	defer o.Close()
	o.Program = "/nonexistent"
	if _, err := o.Call(t.Context(), "ns.name", "echo", json.RawMessage(`{}`), nil); !errors.Is(err, why) {
		t.Error(err)
	}
	if _, err := o.Tools(t.Context(), "ns.name", nil); !errors.Is(err, why) {
		t.Error(err)
	}
}
