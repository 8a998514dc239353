package pep508

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Version is a version as PEP 440 has it, in any of its spellings.
type Version struct {
	text           string // as it was written, without spaces around it
	epoch          number
	release        []number
	pre, post, dev segment
	local          []string
}

// number is a whole number in digits, without zeros before it. A date with a time in it, or a
// hash, may have more of them than any integer.
type number string

// segment is a part like "rc1". The zero one is absent.
type segment struct {
	kind   string // "a", "b", "rc", "post" or "dev"
	number number
}

func (s segment) absent() bool { return s.kind == "" }

const (
	releasePattern = `v?(?:([0-9]+)!)?([0-9]+(?:\.[0-9]+)*)`
	suffixPattern  = `(?:[-_.]?(alpha|beta|preview|pre|a|b|c|rc)[-_.]?([0-9]*))?` +
		`(-[0-9]+|[-_.]?(?:post|rev|r)[-_.]?[0-9]*)?` +
		`([-_.]?dev[-_.]?[0-9]*)?`
	localPattern = `(?:\+([a-z0-9]+(?:[-_.][a-z0-9]+)*))?`
)

var versionPattern = regexp.MustCompile(`^` + releasePattern + suffixPattern + localPattern + `$`)

// preKinds are the spellings of pre-releases. Sorted, the kinds are in their order.
var preKinds = map[string]string{
	"a": "a", "alpha": "a", "b": "b", "beta": "b", "c": "rc", "rc": "rc", "pre": "rc", "preview": "rc",
}

// ParseVersion reads a version.
func ParseVersion(text string) (Version, error) {
	trimmed := strings.TrimSpace(text)
	m := versionPattern.FindStringSubmatch(strings.ToLower(trimmed))
	if m == nil || !isASCII(trimmed) || len(trimmed) > maxLength {
		return Version{}, fmt.Errorf("cannot understand the version %.*q: it is none that PEP 440 knows", maxLength, text)
	}
	v := Version{text: trimmed, epoch: digits(m[1])}
	for part := range strings.SplitSeq(m[2], ".") {
		v.release = append(v.release, digits(part))
	}
	if m[3] != "" {
		v.pre = segment{preKinds[m[3]], digits(m[4])}
	}
	if m[5] != "" {
		v.post = segment{"post", digits(m[5])}
	}
	if m[6] != "" {
		v.dev = segment{"dev", digits(m[6])}
	}
	if m[7] != "" {
		v.local = strings.FieldsFunc(m[7], isSeparator)
	}
	return v, nil
}

// isASCII keeps out letters that only become ASCII in lower case, like the Kelvin sign.
func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r > 127 })
}

// digits is the number that a text holds besides letters and separators; none means zero.
func digits(text string) number {
	text = strings.TrimLeftFunc(text, func(r rune) bool { return !isDigit(r) })
	text = strings.TrimLeft(text, "0")
	if text == "" {
		text = "0"
	}
	return number(text)
}

// String is the version as it was written.
func (v Version) String() string { return v.text }

// Compare orders versions: -1, 0 or +1. Spellings of the same version are equal.
func (v Version) Compare(w Version) int {
	return cmp.Or(v.comparePublic(w), compareLocals(v.local, w.local))
}

// comparePublic leaves the local parts aside.
func (v Version) comparePublic(w Version) int {
	return cmp.Or(
		v.compareRelease(w),
		cmp.Compare(v.preRank(), w.preRank()), v.pre.compare(w.pre),
		// Without a post part comes before any, without a dev part after all.
		v.post.compare(w.post),
		cmp.Compare(rank(v.dev.absent()), rank(w.dev.absent())), v.dev.compare(w.dev),
	)
}

// compareRelease compares what stands before all suffixes; zeros at its end do not count.
func (v Version) compareRelease(w Version) int {
	order := v.epoch.compare(w.epoch)
	for i := 0; order == 0 && i < max(len(v.release), len(w.release)); i++ {
		order = v.releaseAt(i).compare(w.releaseAt(i))
	}
	return order
}

func (v Version) releaseAt(i int) number {
	if i < len(v.release) {
		return v.release[i]
	}
	return "0"
}

// preRank puts a development version of a release before its pre-releases, and these before it.
func (v Version) preRank() int {
	switch {
	case !v.pre.absent():
		return 1
	case v.post.absent() && !v.dev.absent():
		return 0
	}
	return 2
}

func rank(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

func (s segment) compare(t segment) int {
	return cmp.Or(cmp.Compare(s.kind, t.kind), s.number.compare(t.number))
}

func (n number) compare(m number) int {
	return cmp.Or(cmp.Compare(len(n), len(m)), cmp.Compare(n, m))
}

// compareLocals: none is before any, words are before numbers.
func compareLocals(a, b []string) int {
	return slices.CompareFunc(a, b, func(x, y string) int {
		xNumber, yNumber := isNumber(x), isNumber(y)
		if xNumber && yNumber {
			return digits(x).compare(digits(y))
		}
		return cmp.Or(cmp.Compare(rank(xNumber), rank(yNumber)), cmp.Compare(x, y))
	})
}

func isNumber(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return !isDigit(r) })
}
