package initd

import (
	"log/slog"
	"os"

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
