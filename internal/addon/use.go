package addon

import (
	"context"
	"errors"
	"os"

	"hermes.example/hermes/internal/addon/feature"
	"hermes.example/hermes/internal/addon/store"
)

// ErrMoved says that there is another generation than a moment ago.
var ErrMoved = errors.New("the add-ons were changed meanwhile")

// Held is what a process that uses a feature stands on. Nobody collects its generation before it is closed.
type Held struct {
	// Python is the sealed interpreter, and Target the store.
	Python, Target string
	// Generation is the one that has the feature; the zero value if the core has all of it.
	Generation store.Generation
	lock       *os.File
}

// Feature is one of the list. The error says which were perhaps meant.
func (m *Manager) Feature(name string) (feature.Feature, error) { return m.find(name) }

// Hold holds what Ensure has just found. ErrMoved: it has to be asked again.
func (m *Manager) Hold(ctx context.Context, e Ensured) (*Held, error) {
	p, err := m.here(ctx)
	if err != nil {
		return nil, err
	}
	held := &Held{Python: p.Python(), Target: p.Target()}
	if e.Generation == "" {
		return held, nil
	}
	held.Generation, err = p.Current()
	if err != nil {
		return nil, inStore(err)
	}
	if held.Generation.Digest != e.Generation {
		return nil, ErrMoved
	}
	if held.lock, err = held.Generation.Hold(); err != nil {
		return nil, ErrMoved // it is being collected, so that there is another
	}
	return held, nil
}

// Close lets go.
func (h *Held) Close() {
	if h.lock != nil {
		h.lock.Close()
	}
}
