package lock

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"hermes.example/hermes/internal/addon/pep508"
)

var (
	sizeLine = regexp.MustCompile(`^# ([0-9]{1,15}) bytes$`)
	hashForm = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
)

// Parse reads a lock. It takes exactly what Format writes and nothing of what a file of requirements could say beyond
// that: no options, no addresses, no markers, no package without a hash.
func Parse(data []byte) (Lock, error) {
	l, err := parse(string(data))
	if err != nil {
		return Lock{}, fmt.Errorf("cannot read the lock: %w", err)
	}
	return l, nil
}

func parse(text string) (Lock, error) {
	text, whole := strings.CutSuffix(text, "\n")
	lines := strings.Split(text, "\n")
	if !whole || lines[0] != format {
		return Lock{}, fmt.Errorf("it does not begin with %q, or is cut short", format)
	}
	if len(lines) <= len(head) {
		return Lock{}, errors.New("its head is cut short")
	}
	var l Lock
	for i, h := range head {
		value, ok := strings.CutPrefix(lines[1+i], "# "+h.name+": ")
		if !ok || value == "" || strings.TrimSpace(value) != value {
			return Lock{}, fmt.Errorf("line %d is not its %s", 2+i, h.name)
		}
		*h.field(&l) = value
	}
	if l.Kind != Shipped && l.Kind != FirstUse {
		return Lock{}, fmt.Errorf("its kind %q is unknown", l.Kind)
	}
	if !hashForm.MatchString(l.Specs) {
		return Lock{}, errors.New("the digest of its requirements is none")
	}
	r := reader{lines: lines, at: 1 + len(head)}
	for r.at < len(r.lines) {
		p, err := r.next()
		if err != nil {
			return Lock{}, fmt.Errorf("line %d: %w", r.at+1, err)
		}
		if n := len(l.Packages); n > 0 && l.Packages[n-1].Name >= p.Name {
			return Lock{}, fmt.Errorf("%s comes after %s: packages are sorted, and each is there once", p.Name, l.Packages[n-1].Name)
		}
		l.Packages = append(l.Packages, p)
	}
	return l, nil
}

// reader takes one package after the other off the lines.
type reader struct {
	lines []string
	at    int
}

func (r *reader) next() (Package, error) {
	var p Package
	if m := sizeLine.FindStringSubmatch(r.lines[r.at]); m != nil && r.at+1 < len(r.lines) {
		p.Size, _ = strconv.ParseInt(m[1], 10, 64) // fifteen digits fit
		if p.Size == 0 || m[1][0] == '0' {
			return p, errors.New("a size that is not known is left out")
		}
		r.at++
	}
	if p.Source = r.lines[r.at] == built && r.at+1 < len(r.lines); p.Source {
		r.at++
	}
	pin, more := strings.CutSuffix(r.lines[r.at], ` \`)
	if err := p.pin(pin); err != nil {
		return p, err
	}
	for more && r.at+1 < len(r.lines) {
		r.at++
		var hash string
		hash, more = strings.CutSuffix(r.lines[r.at], ` \`)
		hash, ok := strings.CutPrefix(hash, "    --hash=")
		if !ok || !hashForm.MatchString(hash) {
			return p, errors.New("this is no hash")
		}
		p.Hashes = append(p.Hashes, hash)
	}
	if more {
		return p, errors.New("its end is missing")
	}
	if len(p.Hashes) == 0 {
		return p, fmt.Errorf("%s has no hash", p.Name)
	}
	r.at++
	return p, nil
}

// pin takes "name==version".
func (p *Package) pin(text string) error {
	r, err := pep508.Parse(text)
	if err != nil {
		return err
	}
	version, exact := r.Pin()
	if !exact || len(r.Extras) > 0 || text != r.Name+"=="+version || pep508.Normalize(r.Name) != r.Name {
		return fmt.Errorf("%q is not a normalised name with one exact version", text)
	}
	p.Name, p.Version = r.Name, version
	return nil
}
