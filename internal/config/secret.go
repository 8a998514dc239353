package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strings"
)

// Secret is a value that may be one: it shows itself to nobody but who asks for it
// by name, however it is printed, logged or written down.
type Secret struct{ value string }

// NewSecret hides a value.
func NewSecret(value string) Secret { return Secret{value} }

// Reveal returns the value, for where it is meant to go.
func (s Secret) Reveal() string { return s.value }

const redacted = "[redacted]"

// Format is for all verbs of package fmt.
func (s Secret) Format(f fmt.State, _ rune) { io.WriteString(f, redacted) }

// LogValue is for log/slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText is for encoders, that of JSON among them.
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// longestSecret is more than anybody types, and less than somebody notices who named the wrong file.
const longestSecret = 4 << 10

// readSecret reads the file that a setting names: what is in it, without spaces and ends of lines around it.
func readSecret(s setting) (Secret, error) {
	cannot := func(why string) error { return fmt.Errorf("cannot use %s=%q: %s", s.name, s.text(), why) }
	f, err := os.Open(s.text())
	if errors.Is(err, fs.ErrPermission) {
		return Secret{}, cannot(fmt.Sprintf("user %d may not read it; let it be readable (chmod 644) in a directory that keeps others out (chmod 700)", os.Geteuid()))
	}
	if err != nil {
		return Secret{}, cannot(reason(err))
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, longestSecret+1))
	value := strings.TrimSpace(string(data))
	switch {
	case err != nil:
		return Secret{}, cannot(reason(err))
	case len(data) > longestSecret:
		return Secret{}, cannot(fmt.Sprintf("it has more than %d bytes", longestSecret))
	case value == "":
		return Secret{}, cannot("it is empty")
	}
	return NewSecret(value), nil
}

// reason is an error of the file system without the path, which was said.
func reason(err error) string {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return err.Error()
}
