package cli

import (
	"fmt"
	"os"
	"strings"

	"hermes.example/hermes/internal/config"
)

// environment puts together what a command is given: the files first, then the
// flags. A value never gets into an error, nor does a text that might be one.
func environment(lookup config.Lookup, files, flags []string) (map[string]string, error) {
	env := make(map[string]string)
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, cannot("read --env-file", err)
		}
		if err := parseEnvFile(path, string(data), env); err != nil {
			return nil, err
		}
	}
	for i, flag := range flags {
		name, value, given := strings.Cut(flag, "=")
		if !config.IsName(name) {
			return nil, usagef("cannot use --env number %d: it is neither NAME=VALUE nor NAME", i+1)
		}
		if !given {
			if value, given = lookup(name); !given {
				continue // what the caller does not have cannot be handed on
			}
		}
		if strings.ContainsRune(value, 0) {
			return nil, usagef("cannot use --env number %d: the value of %s contains a NUL byte", i+1, name)
		}
		env[name] = value
	}
	return env, nil
}

// parseEnvFile reads NAME=VALUE lines. Values are taken as they stand: quotes,
// dollars and backslashes mean nothing.
func parseEnvFile(path, content string, env map[string]string) error {
	number := 0
	for line := range strings.SplitSeq(content, "\n") {
		number++
		line = strings.TrimSuffix(line, "\r")
		if trimmed := strings.TrimSpace(line); trimmed == "" || trimmed[0] == '#' {
			continue
		}
		name, value, given := strings.Cut(line, "=")
		name = strings.TrimSpace(name)
		if !given || !config.IsName(name) {
			return usagef("cannot read %s: line %d is not NAME=VALUE", path, number)
		}
		if strings.ContainsRune(value, 0) {
			return usagef("cannot read %s: the value of %s in line %d contains a NUL byte", path, name, number)
		}
		env[name] = value
	}
	return nil
}

// plural is for counts in sentences.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
