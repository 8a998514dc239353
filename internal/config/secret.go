package config

import (
	"fmt"
	"io"
	"log/slog"
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
