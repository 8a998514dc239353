package sealed

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"time"
)

// Starts measures how long the interpreter takes to start and end in different environments, one after the other in
// each round, and returns the median for each. Benchmarks compare a process with add-ons to one without.
func (r *Runtime) Starts(ctx context.Context, rounds int, environments ...[]string) ([]time.Duration, error) {
	took := make([][]time.Duration, len(environments))
	for round := range max(rounds, 1) + 1 {
		for i, env := range environments {
			cmd := exec.CommandContext(ctx, r.Python(), "-c", "pass")
			cmd.Env = env
			began := time.Now()
			if out, err := cmd.CombinedOutput(); err != nil {
				return nil, fmt.Errorf("cannot start %s: %w: %s", r.Python(), err, out)
			}
			if round > 0 { // the first one finds nothing in memory
				took[i] = append(took[i], time.Since(began))
			}
		}
	}
	medians := make([]time.Duration, len(environments))
	for i, all := range took {
		slices.Sort(all)
		medians[i] = all[len(all)/2]
	}
	return medians, nil
}
