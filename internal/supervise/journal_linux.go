package supervise

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// journal tells the log what happens, from a goroutine of its own: the log may be a pipe that nobody reads, and no
// service may wait for that. What does not fit is counted. Its life: newJournal, tell, close.
type journal struct {
	log    *slog.Logger
	queue  chan entry
	missed atomic.Int64
	once   sync.Once
	stop   chan struct{}
	done   chan struct{}
}

type entry struct {
	level   slog.Level
	message string
	args    []any
}

// queued is what a machine full of services says when all of them fall.
const queued = 4096

func newJournal(log *slog.Logger) *journal {
	j := &journal{log: log, queue: make(chan entry, queued), stop: make(chan struct{}), done: make(chan struct{})}
	go j.run()
	return j
}

// tell never waits.
func (j *journal) tell(level slog.Level, message string, args ...any) {
	if !j.log.Enabled(context.Background(), level) {
		return
	}
	select {
	case j.queue <- entry{level, message, args}:
	default:
		j.missed.Add(1)
	}
}

// close returns when all was told, or nobody listens.
func (j *journal) close() {
	j.once.Do(func() { close(j.stop) })
	timer := time.NewTimer(blocked)
	defer timer.Stop()
	select {
	case <-j.done:
	case <-timer.C:
	}
}

func (j *journal) run() {
	defer close(j.done)
	for {
		select {
		case e := <-j.queue:
			j.write(e)
		case <-j.stop:
			for {
				select {
				case e := <-j.queue:
					j.write(e)
				default:
					return
				}
			}
		}
	}
}

func (j *journal) write(e entry) {
	j.log.Log(context.Background(), e.level, e.message, e.args...)
	if n := j.missed.Swap(0); n > 0 {
		j.log.Warn("the log could not keep up", "missed", n)
	}
}
