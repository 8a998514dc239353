package boot

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

const (
	keyName = "API_SERVER_KEY"
	// shortKey is what anybody could guess.
	shortKey = 16
)

// apiKey gives a home the key of its gateway, unless the operator or the home has one. An empty line for it in the
// file would hide the operator's, and goes.
func apiKey(_ context.Context, b *boot) error {
	text, err := b.home.read(".env")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("no key was looked for or made: %w", err)
	}
	kept, key := withoutEmptyKey(string(text))
	if operators := strings.TrimSpace(b.env(keyName)); operators != "" {
		key = operators
	}
	if key == "" {
		random := make([]byte, 32)
		if _, err := io.ReadFull(b.Random, random); err != nil {
			return fmt.Errorf("cannot make a key for the gateway: %w", err)
		}
		if kept != "" && !strings.HasSuffix(kept, "\n") {
			kept += "\n"
		}
		kept += keyName + "=" + hex.EncodeToString(random) + "\n"
	} else if len(key) < shortKey {
		b.shortfall("%s has fewer than %d characters: anybody could guess it; make it longer", keyName, shortKey)
	}
	if kept == string(text) {
		return nil
	}
	return b.home.write(".env", []byte(kept), envMode)
}

// withoutEmptyKey returns the lines of a file but those that set the key to nothing, and the key that the last of
// the others sets.
func withoutEmptyKey(text string) (kept, key string) {
	var out strings.Builder
	for line := range strings.Lines(text) {
		value, sets := keyOf(line)
		if sets && value == "" {
			continue
		}
		if sets {
			key = value
		}
		out.WriteString(line)
	}
	return out.String(), key
}

// keyOf reads a line as programs do that read such files.
func keyOf(line string) (value string, sets bool) {
	line = strings.TrimSpace(strings.TrimPrefix(line, "\ufeff"))
	if rest, exported := strings.CutPrefix(line, "export "); exported {
		line = strings.TrimSpace(rest)
	}
	name, value, found := strings.Cut(line, "=")
	if !found || strings.TrimSpace(name) != keyName {
		return "", false
	}
	value = strings.TrimSpace(value)
	for _, quote := range []string{`"`, `'`} {
		if rest, quoted := strings.CutPrefix(value, quote); quoted {
			value, _, _ = strings.Cut(rest, quote)
			return value, true
		}
	}
	if strings.HasPrefix(value, "#") {
		return "", true
	}
	value, _, _ = strings.Cut(value, " #")
	return strings.TrimSpace(value), true
}
