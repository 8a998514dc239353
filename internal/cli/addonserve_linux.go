package cli

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/addon"
	"hermes.example/hermes/internal/addon/keeper"
	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/internal/configured"
	"hermes.example/hermes/internal/supervise/logdir"
)

// addAddonServe adds the process that keeps backends warm. "hermes addon call" starts it, and nobody types it.
func addAddonServe(a *app, group *cobra.Command) {
	group.AddCommand(&cobra.Command{
		Use:                   "serve",
		Hidden:                true,
		DisableFlagsInUseLine: true,
		Short:                 "Keep backends warm for other commands",
		Long: "Serves the socket that it was started with, which the first \"hermes addon call\" does, and leaves when nobody has called\n" +
			"for a while (addons.idle, 10m). What it has to say is in logs/addons in the home.",
		Example:     "hermes addon serve\nhermes -p coder addon serve",
		Args:        noArguments,
		Annotations: map[string]string{kindAnnotation: serves},
		RunE:        func(cmd *cobra.Command, _ []string) error { return runAddonServe(cmd.Context(), a) },
	})
}

func runAddonServe(ctx context.Context, a *app) error {
	socket, err := keeper.Inherit()
	if err != nil {
		return err
	}
	defer socket.Close()
	c, err := config.Load(a.lookup)
	if err != nil {
		return settings(err)
	}
	log, release := keeperLog(c.Home)
	defer release()
	idle, err := c.AddOnIdle()
	if err != nil {
		log.Warn(err.Error())
		idle = config.DefaultAddOnIdle
	}
	// What is missing was installed by whoever calls; who is asked here has no terminal, and not his environment.
	pool, err := configured.NewPool(c, a.addons(func(o *addon.Options) { o.Offline, o.Log = true, log }), idle, log)
	if err != nil {
		log.Error(err.Error())
		return err
	}
	a.drains.Store(true)
	err = keeper.Serve(ctx, socket, keeper.Serving{Pool: pool, Build: keeper.Build(), Idle: idle, Log: log})
	if err != nil {
		log.Error(err.Error())
	}
	return err
}

// keeperLog is where a keeper says what happens: it has no terminal, and nobody reads what it would print.
func keeperLog(home string) (log *slog.Logger, release func()) {
	w := &logdir.Writer{Place: logdir.Place{Dir: filepath.Join(home, "logs", "addons"), Volume: home}, Warn: func(error, int) {}}
	leaveTime := func(_ []string, attr slog.Attr) slog.Attr {
		if attr.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return attr
	}
	return slog.New(slog.NewTextHandler(logWriter{w}, &slog.HandlerOptions{ReplaceAttr: leaveTime})).With("pid", os.Getpid()), w.Release
}

// logWriter gives every line its time.
type logWriter struct{ *logdir.Writer }

func (w logWriter) Write(line []byte) (int, error) {
	w.Writer.Write(time.Now(), line)
	return len(line), nil
}
