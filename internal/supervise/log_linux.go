package supervise

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"hermes.example/hermes/internal/supervise/logdir"
)

func (s *Supervisor) place(service *Service) logdir.Place {
	return logdir.Place{Dir: service.Log, Volume: s.options.Volume, Hand: s.options.Hand}
}

// Log is what the service said: its last lines with their times and, to follow, what it says from now on until
// ctx ends or the reader is closed.
func (s *Supervisor) Log(ctx context.Context, name string, lines int, follow bool) (io.ReadCloser, error) {
	u, err := s.find(name)
	if err != nil {
		return nil, fmt.Errorf("cannot show the log of service %q: %w", name, err)
	}
	var place logdir.Place
	u.on(func() { place = s.place(u.service) })
	if place.Dir == "" {
		return nil, fmt.Errorf("cannot show the log of service %q: it keeps none, what it says is in the supervisor's output", name)
	}
	r, err := place.Read(ctx, lines, follow)
	if err != nil {
		return nil, fmt.Errorf("cannot show the log of service %q: %w", name, err)
	}
	return r, nil
}

// listen carries what a process says to its log and to the output.
func (s *Supervisor) listen(service *Service, pipe *os.File) *output {
	if service.Log == "" {
		return newOutput(pipe, s.speak, func() {})
	}
	log := &logdir.Writer{Place: s.place(service), Warn: func(err error, lost int) {
		if err != nil {
			s.journal.tell(slog.LevelWarn, "the log of a service cannot be written; it goes on without", "service", service.Name, "error", err)
			return
		}
		s.journal.tell(slog.LevelWarn, "the log of a service is written again", "service", service.Name, "lost lines", lost)
	}}
	give := func(lines []byte) {
		log.Write(time.Now(), lines)
		s.speak(lines)
	}
	return newOutput(pipe, give, log.Release)
}

// speak writes whole lines, so that those of two services never mix. Nobody can be told if it fails.
func (s *Supervisor) speak(lines []byte) {
	s.spoken.Lock()
	defer s.spoken.Unlock()
	_, _ = s.options.Output.Write(lines)
}
