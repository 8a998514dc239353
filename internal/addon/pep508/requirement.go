// Package pep508 reads requirements (PEP 508) and versions (PEP 440), as far as add-ons need
// them: a name, extras and version specifiers, and nothing by which a requirement could lead
// elsewhere than to an index: no address, no file, no marker, no option, no space. All that it
// takes, Python's own tools take, and mean the same by it.
//
// It knows nothing of features, locks and installers, which all rely on it.
package pep508

import (
	"errors"
	"fmt"
	"strings"
)

// maxLength of a requirement, and of a version. What is longer was not written by a person.
const maxLength = 200

// Requirement is a distribution that is needed, and in which versions.
type Requirement struct {
	Name       string   // as it was written; see Normalize
	Extras     []string // as they were written
	Specifiers []Specifier
}

// Parse reads a requirement like "mautrix[encryption]>=0.20,<1".
func Parse(text string) (Requirement, error) {
	r, err := parse(text)
	if err != nil {
		return Requirement{}, fmt.Errorf("cannot understand the requirement %.*q: %w", maxLength, text, err)
	}
	return r, nil
}

func parse(text string) (r Requirement, err error) {
	if len(text) > maxLength {
		return r, fmt.Errorf("it is longer than %d characters", maxLength)
	}
	end := strings.IndexAny(text, "[<>=!~")
	if end < 0 {
		end = len(text)
	}
	r.Name = text[:end]
	if !isWords(r.Name, "-_.") {
		return r, errors.New("it does not begin with the name of a package, and a version after it")
	}
	rest := text[end:]
	if strings.HasPrefix(rest, "[") {
		inside, after, closed := strings.Cut(rest[1:], "]")
		if !closed {
			return r, errors.New("its extras have no end")
		}
		if r.Extras, err = parseExtras(inside); err != nil {
			return r, err
		}
		rest = after
	}
	if rest != "" {
		if r.Specifiers, err = parseSpecifiers(rest); err != nil {
			return r, err
		}
	}
	// A version can end like a file too: "1.0+b.whl" is one.
	if isArchive(r.Name) || isArchive(text) {
		return r, errors.New("it could be the name of a file")
	}
	return r, nil
}

func parseExtras(text string) ([]string, error) {
	extras := strings.Split(text, ",")
	for _, extra := range extras {
		if !isWords(extra, "-_") {
			return nil, fmt.Errorf("%q is not the name of an extra", extra)
		}
	}
	return extras, nil
}

// String is the requirement as it was written.
func (r Requirement) String() string {
	var b strings.Builder
	b.WriteString(r.Name)
	if len(r.Extras) > 0 {
		b.WriteString("[" + strings.Join(r.Extras, ",") + "]")
	}
	for i, s := range r.Specifiers {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(s.String())
	}
	return b.String()
}

// Pin is the one version that the requirement allows, if it is of the form "name==version".
func (r Requirement) Pin() (version string, exact bool) {
	if len(r.Specifiers) != 1 {
		return "", false
	}
	s := r.Specifiers[0]
	return s.Version, s.Operator == "==" && !s.prefix
}

// Accepts says whether a version that is there is one that the requirement asks for. A
// pre-release counts like any other: who has it has chosen it. The error is about the version.
func (r Requirement) Accepts(version string) (bool, error) {
	v, err := ParseVersion(version)
	if err != nil {
		return false, err
	}
	for _, s := range r.Specifiers {
		if !s.accepts(v) {
			return false, nil
		}
	}
	return true, nil
}
