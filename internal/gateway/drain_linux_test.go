package gateway

import (
	"strings"
	"testing"
	"time"

	"hermes.example/hermes/client"
)

// Who follows a command with a key is told that the gateway ends, and the command goes on; one without a key has the time
// that requests have.
func TestDrainingTellsThoseWhoFollow(t *testing.T) {
	s := newSite(t, nil)
	const path = "/v1/sandboxes/work/exec"
	kept, c1 := s.stream(s.request("POST", path, command(client.Exec{Line: "echo begun; until [ -e go ]; do sleep 0.02; done; echo ended"}), client.IdempotencyKey, "kept"))
	defer c1.Close()
	short, c2 := s.stream(s.request("POST", path, command(client.Exec{Line: "echo begun; until [ -e soon ]; do sleep 0.02; done; sleep 0.5; echo ended"})))
	defer c2.Close()
	socket := s.attach("work", client.AttachRequest{Type: client.AttachStart, ID: "socket", Exec: &client.Exec{Line: "echo begun; cat"}})
	s.until(kept, client.EventOutput)
	s.until(short, client.EventOutput)
	socket.hears("begun\n")
	s.exec("work", ": >soon")
	s.stop()
	if all := s.until(kept, client.EventDraining); len(all) != 1 || !strings.Contains(all[0].data, "goes on") {
		t.Errorf("%+v", all)
	}
	if _, err := readEvent(kept); err == nil {
		t.Error("something follows the last event")
	}
	told := false
	for _, e := range s.until(short, client.EventExit) {
		told = told || e.name == client.EventDraining
		if e.name == client.EventExit && !strings.Contains(e.data, `"code":0`) {
			t.Errorf("a command that had the time was ended: %s", e.data)
		}
	}
	if !told {
		t.Error("who waits for a command was not told")
	}
	if answer := socket.until(client.AttachDraining); answer.ID != "socket" {
		t.Errorf("%+v", answer)
	}
	if err := s.end(); err != nil {
		t.Fatal(err)
	}
	status, err := s.boxes.Manager().StatusOf(t.Context(), s.boxes.Identity("work"))
	if err != nil || status.Commands != 2 {
		t.Errorf("%d commands go on, and not the two with a key: %v", status.Commands, err)
	}
}

func TestDrainingEndsWhatCannotGoOn(t *testing.T) {
	s := newSite(t, nil)
	events, c := s.stream(s.request("POST", "/v1/sandboxes/work/exec", command(client.Exec{Line: "echo begun; sleep 1000"})))
	defer c.Close()
	s.until(events, client.EventOutput)
	socket := s.attach("work", client.AttachRequest{Type: client.AttachStart, Exec: &client.Exec{Line: "echo begun; sleep 1000"}})
	socket.hears("begun\n")
	began := time.Now()
	s.stop()
	if err := s.end(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 3*DrainTime {
		t.Errorf("it took %s to end", took)
	}
	s.eventually(func() bool { return s.commands("work") == 0 })
}
