package install

import (
	"os"
	"strings"
	"sync"
	"time"

	"hermes.example/hermes/internal/addon/lock"
)

// Phase is what an installer is doing.
type Phase string

// The phases, in their order. Resolving is only where no lock is shipped, Building where there is no wheel.
const (
	Resolving   Phase = "resolving"
	Downloading Phase = "downloading"
	Installing  Phase = "installing"
	Building    Phase = "building"
)

// Event is how far an installer is.
type Event struct {
	Phase Phase
	// Done of Total packages. Those that a cache has are not downloaded, so that the phase may end before all are.
	Done, Total int
	// Size is how many bytes all of them are to download, 0 where the lock does not say.
	Size int64
}

const glance = 200 * time.Millisecond

// observe reports the progress of an installation until it is stopped. It looks at what is on the disk, because the
// tools' words change from version to version.
func (s *session) observe(packages []lock.Package, into string, fetched func() int) (stop func()) {
	return s.watch(func() Event {
		e := Event{Downloading, max(0, min(fetched(), len(packages))), len(packages), lock.Size(packages)}
		if n := entries(into, ".dist-info"); n > 0 {
			e.Phase, e.Done = Installing, min(n, len(packages))
		}
		return e
	})
}

// watch reports what has changed since the last glance, until it is stopped.
func (s *session) watch(now func() Event) (stop func()) {
	if s.Progress == nil {
		return func() {}
	}
	var last Event
	look := func() {
		if e := now(); e != last {
			s.Progress(e)
			last = e
		}
	}
	look()
	ended := make(chan struct{})
	var watcher sync.WaitGroup
	watcher.Go(func() {
		ticker := time.NewTicker(glance)
		defer ticker.Stop()
		for {
			select {
			case <-ended:
				return
			case <-ticker.C:
				look()
			}
		}
	})
	return func() {
		close(ended)
		watcher.Wait()
		look()
	}
}

// entries is how many names of a directory end in this way.
func entries(dir, ending string) int {
	all, _ := os.ReadDir(dir) // none, if it is not there
	n := 0
	for _, e := range all {
		if strings.HasSuffix(e.Name(), ending) {
			n++
		}
	}
	return n
}
