//go:build unix

package cli

import (
	"os"
	"os/signal"
	"syscall"
)

// watchSize calls changed whenever the terminal's size does, until the returned
// function is called.
func watchSize(changed func()) (stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGWINCH)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range signals {
			changed()
		}
	}()
	return func() {
		signal.Stop(signals)
		close(signals)
		<-done
	}
}
