package mounts

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/sandbox"
)

// Parse reads what a caller asks for: SOURCE:TARGET[:ro].
func (h *Host) Parse(text string) (sandbox.Mount, error) {
	m, options, err := h.split(text)
	if err != nil {
		return m, err
	}
	m.Source = resolve(m.Source)
	switch options {
	case "ro":
		m.ReadOnly = true
	case "rw", "":
	default:
		return m, errors.New(`its last part is neither "ro" nor "rw"`)
	}
	return m, nil
}

// volume is one of the configuration: a file or directory of the host, or what an
// engine of containers keeps under a name.
type volume struct {
	sandbox.Mount
	name   string
	noCopy bool
}

// volume reads a volume of the configuration, which may have been written for
// Docker: SOURCE:TARGET[:OPTION,…]. Links in its source are not yet followed.
func (h *Host) volume(text string) (v volume, err error) {
	m, options, err := h.split(text)
	if err != nil {
		return v, err
	}
	v = volume{Mount: m}
	if source, _, _ := strings.Cut(text, ":"); !strings.ContainsAny(source[:1], "/~.") {
		v.name = source
	}
	v.Origin = sandbox.ByConfig
	for option := range strings.SplitSeq(options, ",") {
		switch {
		case option == "ro":
			v.ReadOnly = true
		case option == "nocopy" && v.name != "":
			v.noCopy = true
		// Labels of SELinux and the caches of Docker's desktop have no meaning here.
		case slices.Contains([]string{"rw", "z", "Z", "cached", "consistent", "delegated", ""}, option):
		default:
			return v, fmt.Errorf("its option %q is unknown here", option)
		}
	}
	return v, nil
}

// split takes the parts of a mount, with a source that is absolute.
func (h *Host) split(text string) (m sandbox.Mount, options string, err error) {
	if looksLikeWindows(text) {
		return m, "", errors.New("paths of Windows do not exist in a sandbox of this system")
	}
	parts := strings.Split(text, ":")
	if len(parts) == 3 {
		options, parts = parts[2], parts[:2]
		if options == "" {
			return m, "", errors.New("its last part is empty")
		}
	}
	if len(parts) != 2 || parts[0] == "" || parts[1] == "" {
		return m, "", errors.New("it does not have a source and a target")
	}
	source, err := config.ExpandHome(h.lookup, parts[0])
	if err == nil {
		source, err = filepath.Abs(source)
	}
	if err != nil {
		return m, "", err
	}
	return sandbox.Mount{Source: source, Target: parts[1]}, options, nil
}

// looksLikeWindows finds drive letters and backslashes where a colon separates
// source and target here.
func looksLikeWindows(text string) bool {
	parts := strings.Split(text, ":")
	drive := len(parts) > 2 && len(parts[0]) == 1 && strings.HasPrefix(parts[1], "/") && strings.HasPrefix(parts[2], "/")
	return drive || strings.HasPrefix(text, `\\`) || strings.Contains(text, `:\`)
}
