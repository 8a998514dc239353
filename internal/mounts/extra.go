package mounts

import (
	"fmt"
	"os"
	"slices"

	"hermes.example/hermes/sandbox"
)

// Extra follows the links in the sources of mounts that are asked for beside others,
// and refuses what nobody may mount.
func (h *Host) Extra(asked, beside []sandbox.Mount) ([]sandbox.Mount, error) {
	all := slices.Concat(beside, asked)
	var list []sandbox.Mount
	for _, m := range asked {
		written := m.Source
		m.Source = resolve(written)
		err := leadsOut(written, m.Source, all)
		if err == nil {
			err = h.Allowed(m)
		}
		if err == nil {
			if _, missing := os.Stat(m.Source); missing != nil {
				err = reason(missing)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("cannot mount %s at %s: %w", written, m.Target, err)
		}
		list = append(list, m)
	}
	return list, nil
}
