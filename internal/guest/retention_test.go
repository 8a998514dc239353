//go:build linux

package guest

import (
	"testing"
	"time"

	"hermes.example/hermes/internal/wire"
)

// What took long has just ended, too: its caller may be about to come back.
func TestACommandIsRememberedFromItsEndOn(t *testing.T) {
	s := &Server{commands: make(map[string]*command)}
	long, later := newCommand(wire.Exec{ID: "long"}), newCommand(wire.Exec{ID: "later"})
	long.began -= 3 * rememberedFor
	for _, c := range []*command{long, later} {
		s.commands[c.id] = c
		s.remember(c)
	}
	if s.commands["long"] == nil {
		t.Error("a command that took three days was forgotten as soon as it had ended")
	}
	long.retained -= rememberedFor + time.Second
	s.remember(newCommand(wire.Exec{ID: "a day later"}))
	if s.commands["long"] != nil || s.commands["later"] == nil {
		t.Error("a day later the wrong one was forgotten")
	}
}
