package image

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// rounds is how often each way is measured; the medians count.
const rounds = 5

// bootBudget is what a boot may take on a clean volume, from PID 1's first instruction to the main program's.
const bootBudget = 50 * time.Millisecond

// How long the engine takes from the order to start a container to the first instruction of the main program, beside the
// same program in the same image below the engine's own init; and what of it is the boot, by its own log. Times are printed,
// because a machine may be busy; only what cannot be explained by that is an error.
func TestHowLongAStartTakes(t *testing.T) {
	e := dockerd(t)
	volume := "-v " + e.volume("") + ":/opt/data"
	e.run(opts(volume), "true") // seeds the volume
	ways := []struct {
		options []string
		words   []string
	}{
		{opts(volume), []string{"date", "+%s%N"}},
		{opts(volume + " --init --entrypoint date"), []string{"+%s%N"}},
	}
	took := make([][]time.Duration, len(ways))
	var boots []time.Duration
	for range rounds {
		for i, way := range ways { // in turn, so that a busy moment hits both
			c := e.create(way.options, way.words...)
			began := time.Now()
			r := e.call("start", "--attach", c.name)
			e.remove(c.name)
			stamp, err := strconv.ParseInt(strings.TrimSpace(r.stdout), 10, 64)
			if err != nil || r.code != 0 {
				t.Fatal(r)
			}
			took[i] = append(took[i], time.Unix(0, stamp).Sub(began))
			if i == 0 {
				boots = append(boots, bootTime(t, r.stderr))
			}
		}
	}
	ours, init, boot := median(took[0]), median(took[1]), median(boots)
	t.Logf("start to main program: %v, under the engine's init %v (%.2f ×); the boot by its log: %v (budget %v)", ours, init, float64(ours)/float64(init), boot, bootBudget)
	if boot > 20*bootBudget {
		t.Errorf("a boot takes %v", boot)
	}
}

var started = regexp.MustCompile(`msg=boot step="main program" at=(\S+)`)

// bootTime is when the main program was about to be started, since the boot began.
func bootTime(t *testing.T, log string) time.Duration {
	t.Helper()
	found := started.FindStringSubmatch(log)
	if found == nil {
		t.Fatalf("the log does not say when the main program was started: %s", log)
	}
	at, err := time.ParseDuration(found[1])
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func median(all []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(all))[len(all)/2].Round(100 * time.Microsecond)
}
