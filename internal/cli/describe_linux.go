package cli

import (
	"fmt"
	"strings"
	"time"

	"hermes.example/hermes/internal/supervise"
)

// describe is a service's status in one line. Scripts look for "up (pid N)", "down" and ", want up", which is only
// said of one that is down.
func describe(s supervise.Status, now time.Time) string {
	var b strings.Builder
	if s.Running() {
		fmt.Fprintf(&b, "up (pid %d) %s", s.PID, span(now.Sub(s.Since)))
	} else {
		b.WriteString("down")
		if s.Last != nil {
			fmt.Fprintf(&b, " (%s)", exitText(*s.Last))
		}
		fmt.Fprintf(&b, " %s", span(now.Sub(s.Since)))
	}
	switch s.State {
	case supervise.Up, supervise.Starting:
		b.WriteString(", not ready yet")
	case supervise.Halting:
		b.WriteString(", stopping")
	case supervise.Parked:
		b.WriteString(", parked")
	}
	switch {
	case s.Running() && s.Want == "down":
		b.WriteString(", want down")
	case !s.Running() && s.Want == "up" && s.State != supervise.Parked:
		b.WriteString(", want up")
	}
	if s.State == supervise.Backoff && !s.Next.IsZero() {
		fmt.Fprintf(&b, ", again in %s", span(max(0, s.Next.Sub(now))))
	}
	if s.Reason != "" {
		b.WriteString(": " + oneLine(s.Reason))
	}
	return b.String()
}

func exitText(e supervise.Exit) string {
	if e.Signal != "" {
		return "signal " + e.Signal
	}
	return fmt.Sprintf("exit %d", e.Code)
}
