package survey

import (
	"context"

	"hermes.example/hermes/internal/addon"
)

// Addons are which features are installed, of how many.
type Addons struct {
	Installed []string `json:"installed"`
	Features  int      `json:"features"`
	Problem   string   `json:"problem,omitempty"`
}

// AddonsOf counts what a manager has.
func AddonsOf(ctx context.Context, m *addon.Manager) Addons {
	status := m.Status(ctx)
	found := Addons{Installed: []string{}, Features: len(status.Features), Problem: status.Problem}
	for _, f := range status.Features {
		if f.State == addon.Installed {
			found.Installed = append(found.Installed, f.Name)
		}
	}
	return found
}
