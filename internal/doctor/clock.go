package doctor

import (
	"context"
	"fmt"
	"time"
)

// clock finds only what is certainly wrong: a time before this program was made.
func clock(_ context.Context, m *machine) []Finding {
	const name = "clock"
	if !m.now.Before(m.built) {
		return []Finding{ok(name, "%s", m.now.UTC().Format(time.RFC3339))}
	}
	fix := fmt.Sprintf("%sdate -u -s %q # or the time that it really is", m.sudo(), m.built.UTC().Format(time.DateTime))
	if m.has("timedatectl") && m.hasSystemd() {
		fix = m.sudo() + "timedatectl set-ntp true"
	}
	return []Finding{Bad.finding(name, fix, "%s is before this program was made (%s): certificates and idle times will be wrong",
		m.now.UTC().Format(time.DateOnly), m.built.UTC().Format(time.DateOnly))}
}
