package sandbox

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"hermes.example/hermes/internal/wire"
)

// posture is what the engine says of a sandbox, held against what a process
// inside finds, and less what its spec gives away.
func (m *Manager) posture(ctx context.Context, id Identity, spec Spec) (Posture, error) {
	conn, err := dial(ctx, m.engine, id, true)
	if err != nil {
		return Posture{}, err
	}
	defer conn.close()
	return m.postureBy(ctx, id, spec, conn)
}

// postureBy is posture over a connection that is there. Where engine and process
// differ the weaker counts: what was set up may not hold, and a hostile process
// inside may spoil a trial, but cannot make the sandbox look better than it was
// set up.
func (m *Manager) postureBy(ctx context.Context, id Identity, spec Spec, conn *connection) (Posture, error) {
	p, err := m.engine.Inspect(ctx, id)
	if err != nil {
		return p, err
	}
	stop := context.AfterFunc(ctx, func() { conn.close() }) // who gives up does not wait
	defer stop()
	var found wire.Probe
	frame, err := conn.askWithin(probeBound, wire.TypeProbe, struct{}{})
	if err == nil {
		err = frame.Decode(&found)
	}
	switch {
	case ctx.Err() != nil:
		return p, ctx.Err()
	case err != nil:
		p.leaveUntried(err)
	default:
		p.holdAgainst(found, lookAround())
	}
	p.weaken(spec.Deviations())
	return p, nil
}

// probeBound is how long a guest may take to try what is enforced.
const probeBound = 15 * time.Second

// outside is what this process sees of the machine: a sandbox that sees the same,
// shares it.
type outside struct {
	namespaces map[string]string // links of /proc/self/ns
	systems    map[string]bool   // major:minor of the file systems mounted here
	rootSystem string            // the one at /
	root       string            // and which part of it
}

// lookAround finds nothing where there is no /proc; then nothing is taken for shared.
func lookAround() outside {
	o := outside{namespaces: make(map[string]string), systems: make(map[string]bool)}
	for _, n := range namespaces {
		if link, err := os.Readlink("/proc/self/ns/" + n.link); err == nil {
			o.namespaces[n.link] = link
		}
	}
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(mounts)) {
		const system, root, target = 2, 3, 4
		f := strings.Fields(line)
		if len(f) <= target {
			continue
		}
		o.systems[f[system]] = true
		if f[target] == "/" {
			o.rootSystem, o.root = f[system], f[root]
		}
	}
	return o
}

// leaveUntried says that only the engine's word is known.
func (p *Posture) leaveUntried(why error) {
	p.Untried = fmt.Sprintf("cannot try what is enforced: %v", why)
	for _, name := range []string{FactHost, FactCalls} {
		p.Facts = append(p.Facts, Fact{Name: name, Value: "unknown", Deviation: p.Untried})
	}
}
