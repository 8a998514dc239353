package pep508

import (
	"errors"
	"fmt"
	"strings"
)

// Specifier says which versions are meant.
type Specifier struct {
	Operator string // one of operators
	Version  string // as it was written; may end with ".*"

	version Version
	prefix  bool // it ended so
}

// operators, those first that begin with another.
var operators = []string{"===", "==", "!=", "<=", ">=", "~=", "<", ">"}

func parseSpecifiers(text string) ([]Specifier, error) {
	var all []Specifier
	for part := range strings.SplitSeq(text, ",") {
		s, err := parseSpecifier(part)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

func parseSpecifier(text string) (s Specifier, err error) {
	for _, operator := range operators {
		if strings.HasPrefix(text, operator) {
			s.Operator = operator
			break
		}
	}
	if s.Operator == "" {
		return s, fmt.Errorf("%q does not begin with a comparison", text)
	}
	s.Version = text[len(s.Operator):]
	if strings.TrimSpace(s.Version) != s.Version {
		return s, errors.New("it has spaces in it")
	}
	equality := s.Operator == "==" || s.Operator == "!="
	bare := s.Version
	if equality {
		bare, s.prefix = strings.CutSuffix(s.Version, ".*")
	}
	// PEP 440 would take any text after "===". What is no version can be no pin of ours either.
	if s.version, err = ParseVersion(bare); err != nil {
		return s, fmt.Errorf("%q is not a version", s.Version)
	}
	v := s.version
	switch {
	case s.prefix && (v.isPreRelease() || !v.post.absent() || v.local != nil):
		return s, fmt.Errorf("%q has more than numbers before its asterisk", s.Version)
	case !equality && s.Operator != "===" && v.local != nil:
		return s, fmt.Errorf("%s does not compare local versions like %q", s.Operator, s.Version)
	case s.Operator == "~=" && len(v.release) < 2:
		return s, fmt.Errorf("~= needs two numbers or more, not %q", s.Version)
	}
	return s, nil
}

// String is the specifier as it was written.
func (s Specifier) String() string { return s.Operator + s.Version }

func (s Specifier) accepts(v Version) bool {
	switch s.Operator {
	case "===":
		return strings.EqualFold(v.text, s.Version)
	case "==":
		return s.equal(v)
	case "!=":
		return !s.equal(v)
	case "<=":
		return v.comparePublic(s.version) <= 0
	case ">=":
		return v.comparePublic(s.version) >= 0
	case "~=":
		return v.comparePublic(s.version) >= 0 && v.hasPrefix(s.version, len(s.version.release)-1)
	case "<":
		return v.comparePublic(s.version) < 0 && !v.leadsTo(s.version)
	case ">":
		return v.comparePublic(s.version) > 0 && !v.follows(s.version)
	}
	panic("pep508: no such comparison: " + s.Operator)
}

// equal leaves a local part aside that was not asked for.
func (s Specifier) equal(v Version) bool {
	switch {
	case s.prefix:
		return v.hasPrefix(s.version, len(s.version.release))
	case s.version.local == nil:
		return v.comparePublic(s.version) == 0
	}
	return v.Compare(s.version) == 0
}

// hasPrefix says whether the first n numbers of a release are those of w.
func (v Version) hasPrefix(w Version, n int) bool {
	same := v.epoch == w.epoch
	for i := 0; same && i < n; i++ {
		same = v.releaseAt(i) == w.releaseAt(i)
	}
	return same
}

// leadsTo: "<2" does not mean the versions that lead to 2, though they are before it, unless it
// is one itself.
func (v Version) leadsTo(w Version) bool {
	if w.isPreRelease() {
		return false
	}
	w.dev = segment{"dev", "0"}
	return v.comparePublic(w) >= 0
}

// follows: ">2" does not mean the post-releases of 2, though they are after it, unless it is one
// itself.
func (v Version) follows(w Version) bool {
	return !v.post.absent() && w.post.absent() && w.dev.absent() && v.compareRelease(w) == 0 && v.pre == w.pre
}

func (v Version) isPreRelease() bool { return !v.pre.absent() || !v.dev.absent() }
