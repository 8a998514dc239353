package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"

	"hermes.example/hermes/internal/addon/pep508"
	"hermes.example/hermes/internal/addon/unavailable"
)

// platform is one that the image is built for.
type platform struct {
	name string // for people
	tag  string // of its ABI
	uv   string // as uv calls it: Debian 12 has glibc 2.36
}

var platforms = []platform{
	{"x86_64", "cpython-311-x86_64-linux-gnu", "x86_64-manylinux_2_36"},
	{"aarch64", "cpython-311-aarch64-linux-gnu", "aarch64-manylinux_2_36"},
}

var pinned = regexp.MustCompile(`(?m)^([a-z0-9-]+)==([^ ;\n]+)`)

// readCore are the versions that the runtime's own lock has.
func readCore(path string) (map[string]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the core's versions: %w", err)
	}
	core := make(map[string]string)
	for _, m := range pinned.FindAllStringSubmatch(string(text), -1) {
		core[m[1]] = m[2]
	}
	if len(core) == 0 {
		return nil, fmt.Errorf("cannot read the core's versions: %s has none", path)
	}
	return core, nil
}

var (
	noWheel       = regexp.MustCompile(`\b([a-z0-9._-]+)==(\S+) has no (?:usable )?wheels`)
	unsatisfiable = regexp.MustCompile(`(?s)cause: (.*?) we can conclude`)
)

// withoutWheel is the package that a resolution failed for because there is no wheel of it.
func withoutWheel(err error) (name string, ok bool) {
	var e *unavailable.Error
	if !errors.As(err, &e) {
		return "", false
	}
	m := noWheel.FindStringSubmatch(strings.Join(strings.Fields(e.Reason), " "))
	if m == nil {
		return "", false
	}
	return pep508.Normalize(m[1]), true
}

// shorten is a reason in a few words, if it is one that will be there tomorrow: an index that did not answer says
// nothing of a feature.
func shorten(e *unavailable.Error) (string, bool) {
	reason := strings.Join(strings.Fields(e.Reason), " ")
	if m := noWheel.FindStringSubmatch(reason); m != nil {
		return fmt.Sprintf("%s %s has no wheel", m[1], m[2]), true
	}
	if m := unsatisfiable.FindStringSubmatch(reason); m != nil {
		return strings.TrimSuffix(m[1], ","), true
	}
	return reason, e.Kind == unavailable.Conflict
}
