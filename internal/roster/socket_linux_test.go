package roster

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"hermes.example/hermes/internal/profile"
	"hermes.example/hermes/internal/supervise"
	"hermes.example/hermes/internal/supervise/control"
)

// over is the roster as a client of the control socket sees it.
func (b *bench) over(t *testing.T) control.Operations {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "run", control.SocketName)
	l, err := control.Listen(socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- control.Serve(ctx, l, b.Roster, b.Roster.log) }()
	client := control.Dial(socket)
	t.Cleanup(func() {
		client.Close()
		cancel()
		<-done
	})
	return client
}

func TestGatewaysOverTheSocket(t *testing.T) {
	b := newBench(t)
	b.profile("coder", `{"x":1}`)
	client := b.over(t)
	for what, do := range map[string]func(context.Context, string) error{"start": client.Start, "stop": client.Stop, "restart": client.Restart} {
		err := do(t.Context(), "gateway-nobody")
		if !errors.Is(err, supervise.ErrNotRegistered) || !strings.Contains(err.Error(), "no such gateway 'nobody'") {
			t.Errorf("%s of nobody: %v", what, err)
		}
	}
	if err := client.Register(t.Context(), "../x", true); err == nil || !strings.Contains(err.Error(), "cannot use ") {
		t.Errorf("a bad name: %v", err)
	}
	if err := client.Register(t.Context(), "coder", false); err != nil {
		t.Fatal(err)
	}
	if err := client.Register(t.Context(), "coder", false); !errors.Is(err, supervise.ErrRegistered) {
		t.Errorf("twice: %v", err)
	}
	if err := client.Start(t.Context(), "gateway-coder"); err != nil {
		t.Fatal(err)
	}
	if status, err := client.Wait(t.Context(), "gateway-coder"); err != nil || status.State != supervise.Ready {
		t.Errorf("%+v, %v", status, err)
	}
	if health, err := client.Health(t.Context()); err != nil || !health.Healthy {
		t.Errorf("%+v, %v", health, err)
	}
	if err := client.Stop(t.Context(), "gateway-coder"); err != nil {
		t.Fatal(err)
	}
	if got := b.state("coder").Desired; got != profile.Stopped {
		t.Errorf("%q is written down", got)
	}
	if err := client.Unregister(t.Context(), "coder"); err != nil || b.wants() != "" {
		t.Errorf("%v, %s", err, b.wants())
	}
}
