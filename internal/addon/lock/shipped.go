package lock

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"hermes.example/hermes/internal/atomicfile"
)

// Reasons is the file beside the locks of an ABI that has a line for each feature without one, with the reason: some
// package has no wheel, or another version than the core's is needed.
const Reasons = "unlocked.txt"

// ErrNone says that there is no lock, and that nobody tried to make one: this ABI is not among the shipped.
var ErrNone = errors.New("no lock is shipped")

// Unlockable says that there cannot be a lock.
type Unlockable struct{ Feature, Reason string }

func (e *Unlockable) Error() string {
	return fmt.Sprintf("there is no lock of %s: %s", e.Feature, e.Reason)
}

// Path is where a lock is below dir.
func Path(dir, tag, feature string) string { return filepath.Join(dir, tag, feature+".txt") }

// Load reads the shipped lock of a feature. It fails with ErrNone, with *Unlockable, or because the file is wrong.
func Load(dir, tag, feature string) (Lock, error) {
	data, err := atomicfile.Read(Path(dir, tag, feature))
	if errors.Is(err, fs.ErrNotExist) {
		return Lock{}, why(dir, tag, feature)
	}
	if err != nil {
		return Lock{}, fmt.Errorf("cannot read the lock of %s: %w", feature, err)
	}
	l, err := Parse(data)
	if err != nil {
		return Lock{}, fmt.Errorf("%s: %w", Path(dir, tag, feature), err)
	}
	if l.Feature != feature || l.Tag != tag || l.Kind != Shipped {
		return Lock{}, fmt.Errorf("cannot use the lock of %s: %s holds a %s lock of %s for %s", feature, Path(dir, tag, feature), l.Kind, l.Feature, l.Tag)
	}
	return l, nil
}

// why there is no lock of a feature.
func why(dir, tag, feature string) error {
	all, err := Unlocked(dir, tag)
	if err != nil {
		return err
	}
	if reason, known := all[feature]; known {
		return &Unlockable{feature, reason}
	}
	return fmt.Errorf("%w for %s on %s", ErrNone, feature, tag)
}

// Unlocked are the features of an ABI that cannot have a lock, with the reasons.
func Unlocked(dir, tag string) (map[string]string, error) {
	path := filepath.Join(dir, tag, Reasons)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read which features have no lock: %w", err)
	}
	all := make(map[string]string)
	for line := range strings.Lines(string(data)) {
		feature, reason, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		if !ok {
			return nil, fmt.Errorf("cannot understand %q in %s", line, path)
		}
		all[feature] = reason
	}
	return all, nil
}
