package doctor

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/internal/programs"
	"hermes.example/hermes/internal/rundir"
	"hermes.example/hermes/sandbox"
)

func lastChecks(*machine) []check {
	return []check{{"sandbox", realSandbox, Bad, patience}}
}

const patience = "hermes run -- true # tells more, when it is given more time"

// realSandbox makes a sandbox, runs a command in it and removes it. What it says
// is the truth, whatever all other checks say.
func realSandbox(ctx context.Context, m *machine) []Finding {
	const name = "sandbox"
	if m.config.Engine != config.DefaultEngine && m.config.Engine != config.ImageEngine {
		return []Finding{ok(name, "not tried, because it would start a container; \"hermes run -- true\" does")}
	}
	began := time.Now()
	posture, err := m.trySandbox(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return []Finding{Bad.finding(name, patience, noAnswer, time.Since(began).Round(time.Millisecond))}
	}
	if err != nil {
		return []Finding{Bad.finding(name, "hermes run -- true # shows it again; the findings above say what to mend", "%s", plain(err))}
	}
	return []Finding{m.limits(posture), ok(name, "made, used and removed in %d ms", time.Since(began).Milliseconds())}
}

func (m *machine) trySandbox(ctx context.Context) (posture sandbox.Posture, err error) {
	if end, bounded := ctx.Deadline(); bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, end.Add(-removeBound))
		defer cancel()
	}
	made := m.notThere()
	defer removeMade(made)
	if err := os.MkdirAll(m.config.Home, 0o700); err != nil {
		return posture, err
	}
	engine, err := m.tried()
	if err != nil {
		return posture, err
	}
	manager := sandbox.NewManager(engine, sandbox.Options{NoSweep: true})
	defer manager.Close()
	id := sandbox.Identity{Home: m.config.Home, Profile: "default", Task: "doctor-" + strings.ToLower(rand.Text()[:10])}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeBound)
		defer cancel()
		if removeErr := manager.Remove(ctx, id, true); err == nil {
			err = removeErr
		}
	}()
	// A limit on the processors is not the default: it is asked for to see whether
	// it can be had.
	box, err := manager.Ensure(ctx, id, sandbox.Spec{Ephemeral: true, Limits: sandbox.Limits{CPUs: 1}})
	if err != nil {
		return posture, err
	}
	defer box.Close()
	result, err := box.Exec(ctx, sandbox.Command{Argv: []string{"true"}})
	if err == nil && result.Code != 0 {
		err = fmt.Errorf("true ended with status %d: %s", result.Code, result.Message)
	}
	if err == nil {
		_, posture, err = manager.Inspect(ctx, id)
	}
	return posture, err
}

// notThere lists what a first sandbox makes and leaves, in the order in which it
// can be removed, as far as it is not there yet.
func (m *machine) notThere() []string {
	paths := []string{filepath.Join(m.config.SandboxRoot, "native"), filepath.Join(m.config.SandboxRoot, "local"), m.config.Home}
	if run, err := rundir.Look(); err == nil {
		paths = append(paths, run)
		if digest, err := programs.Guest.Digest(runtime.GOARCH); err == nil {
			paths = append(paths, filepath.Join(run, "guest-"+digest))
		}
	}
	var missing []string
	for _, path := range paths {
		for ; path != filepath.Dir(path); path = filepath.Dir(path) {
			if _, err := os.Lstat(path); err == nil {
				break
			}
			missing = append(missing, path)
		}
	}
	// What is deeper is removed first.
	slices.SortFunc(missing, func(a, b string) int { return strings.Compare(b, a) })
	return slices.Compact(missing)
}

// removeMade removes those that are there now and that nobody else uses: a directory
// with something in it stays, and so does the guest's program beside a sandbox.
func removeMade(paths []string) {
	for _, path := range paths {
		if strings.HasPrefix(filepath.Base(path), "guest-") && hasDirectory(filepath.Dir(path)) {
			continue
		}
		os.Remove(path)
	}
}

func hasDirectory(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err != nil || slices.ContainsFunc(entries, os.DirEntry.IsDir)
}

// limits says which limits are really enforced for this caller.
func (m *machine) limits(p sandbox.Posture) Finding {
	const name = "limits"
	var enforced, missing []string
	for _, fact := range p.Facts {
		switch fact.Name {
		case sandbox.FactMemory, sandbox.FactCPUs, sandbox.FactPids:
			if fact.Enforced {
				enforced = append(enforced, fact.Name+" "+fact.Value)
			} else {
				missing = append(missing, fact.Name+" "+fact.Deviation)
			}
		}
	}
	if len(missing) == 0 {
		return ok(name, "%s", strings.Join(enforced, ", "))
	}
	return Note.finding(name, m.mendLimits(strings.Join(missing, " ")), "%s", strings.Join(append(missing, enforced...), "; "))
}

// mendLimits is how this caller gets groups with all controllers.
func (m *machine) mendLimits(why string) string {
	switch {
	case m.config.Engine == config.ImageEngine && m.inContainer():
		return m.anew("--memory 4g --cpus 2 --pids-limit 1024")
	case m.uid == 0 && m.inContainer():
		return m.anew("--privileged")
	case m.uid == 0:
		return "mount -o remount,rw /sys/fs/cgroup"
	case !m.hasSystemd():
		return "sudo hermes sandbox shell # only root has groups of its own here"
	case strings.Contains(why, "is not available in"):
		return m.delegate()
	}
	return "systemd-run --user --scope --property=Delegate=yes -- hermes sandbox shell"
}
