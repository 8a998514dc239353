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

// Open are the features of an ABI that have no lock because some package of theirs has no wheel: a file beside the locks
// with a line for each, and the reason.
const Open = "no-wheels.txt"

// ErrNone says that there is no lock, and that nobody tried to make one: this ABI is not among the shipped.
var ErrNone = errors.New("no lock is shipped")

// NoWheels says that there cannot be a lock.
type NoWheels struct{ Feature, Reason string }

func (e *NoWheels) Error() string {
	return fmt.Sprintf("%s cannot be had as wheels alone: %s", e.Feature, e.Reason)
}

// Path is where a lock is below dir.
func Path(dir, tag, feature string) string { return filepath.Join(dir, tag, feature+".txt") }

// Load reads the shipped lock of a feature. It fails with ErrNone, with *NoWheels, or because the file is wrong.
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
		return &NoWheels{feature, reason}
	}
	return fmt.Errorf("%w for %s on %s", ErrNone, feature, tag)
}

// Unlocked are the features of an ABI that cannot be had as wheels alone, with the reasons.
func Unlocked(dir, tag string) (map[string]string, error) {
	path := filepath.Join(dir, tag, Open)
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
