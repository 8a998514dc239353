package initd

import (
	"log/slog"
	"os"
	"strings"

	"hermes.example/hermes/internal/mainprog"
)

// newLog is the log of boot and supervision, on the container's standard error. Who sits at a terminal sees only what
// went wrong: the screen is the main program's.
func newLog(t mainprog.Terminal) *slog.Logger {
	level := slog.LevelInfo
	if t != mainprog.NoTerminal {
		level = slog.LevelWarn
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
}

// lookup is a variable's value in an environment.
func lookup(environ []string, name string) string {
	for _, e := range environ {
		if value, ok := strings.CutPrefix(e, name+"="); ok {
			return value
		}
	}
	return ""
}
