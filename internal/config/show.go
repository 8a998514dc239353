package config

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
)

// IsSecret says whether a key holds, by its name, what is not for everybody's eyes.
func IsSecret(key string) bool {
	name := strings.ToLower(key[strings.LastIndex(key, ".")+1:])
	for _, end := range []string{"key", "token", "secret", "password", "passwd", "password_hash", "credential", "credentials"} {
		if name == end || strings.HasSuffix(name, "_"+end) || strings.HasSuffix(name, "-"+end) {
			return true
		}
	}
	return false
}

// Show is a value as a person reads it: a text as it is, everything else as YAML. Secrets below it are left out
// unless they are asked for.
func Show(value any, reveal bool) (string, error) {
	if text, ok := value.(string); ok {
		return text, nil
	}
	if !reveal {
		value = withoutSecrets(value)
	}
	data, err := yaml.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("cannot show the value: %w", err)
	}
	return strings.TrimRight(string(data), "\n"), nil
}

func withoutSecrets(value any) any {
	switch v := value.(type) {
	case map[string]any:
		shown := make(map[string]any, len(v))
		for name, inner := range v {
			if _, isSection := inner.(map[string]any); IsSecret(name) && !isSection && inner != nil {
				shown[name] = redacted
				continue
			}
			shown[name] = withoutSecrets(inner)
		}
		return shown
	case []any:
		shown := make([]any, len(v))
		for i, inner := range v {
			shown[i] = withoutSecrets(inner)
		}
		return shown
	}
	return value
}
