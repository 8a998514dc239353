package house

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"hermes.example/hermes/internal/supervise/control"
)

const (
	// usualLines are sent when nobody says how many, mostLines at most.
	usualLines = 200
	mostLines  = 2000
	// batchEvery is how often lines are sent.
	batchEvery = 100 * time.Millisecond
	// longestLine is where longer ones are cut, which is shown at their ends.
	longestLine = 16 << 10
)

// log sends what a service said, and with follow what it says from now on.
func (h *House) log(w http.ResponseWriter, r *http.Request) error {
	lines, follow, err := logQuery(r)
	if err != nil {
		return err
	}
	if !h.bounds.readers.Take() {
		return errTooManyReaders
	}
	defer h.bounds.readers.Give()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer h.whenDraining(cancel)()
	return h.supervised(ctx, func(o control.Operations) error {
		text, err := o.Log(ctx, r.PathValue("name"), lines, follow)
		if err != nil {
			return err
		}
		s := newStream(w)
		defer s.end()
		var kept backlog
		kept.more = make(chan struct{}, 1)
		var reading sync.WaitGroup
		reading.Go(func() { kept.fill(text) })
		sendLog(ctx, s, &kept)
		cancel()
		text.Close()
		reading.Wait()
		return nil
	})
}

func logQuery(r *http.Request) (lines int, follow bool, err error) {
	q := r.URL.Query()
	lines = usualLines
	if text := q.Get("lines"); text != "" {
		if lines, err = strconv.Atoi(text); err != nil || lines < 0 || lines > mostLines {
			return 0, false, &badRequest{"cannot show that many lines: give a number up to " + strconv.Itoa(mostLines)}
		}
	}
	if text := q.Get("follow"); text != "" {
		if follow, err = strconv.ParseBool(text); err != nil {
			return 0, false, &badRequest{"cannot follow: give follow=1 or follow=0"}
		}
	}
	return lines, follow, nil
}

// sendLog sends what comes in batches until it has ended, or nobody reads.
func sendLog(ctx context.Context, s *stream, kept *backlog) {
	beat, batch := time.NewTicker(beatEvery), time.NewTicker(batchEvery)
	defer beat.Stop()
	defer batch.Stop()
	var err error
	for err == nil {
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
			err = s.beat()
			continue
		case <-kept.more:
		}
		lines, dropped, over := kept.take()
		if err = sendLines(s, lines, dropped); over {
			return
		}
		select { // what comes meanwhile goes together
		case <-ctx.Done():
			return
		case <-batch.C:
		}
	}
}

func sendLines(s *stream, lines []string, dropped int) error {
	if dropped > 0 {
		data, _ := json.Marshal(map[string]int{"lines": dropped})
		if err := s.send(event("dropped", data)); err != nil {
			return err
		}
	}
	if len(lines) == 0 {
		return nil
	}
	data, err := json.Marshal(map[string][]string{"lines": lines})
	if err != nil {
		return err
	}
	return s.send(event("lines", data))
}

// The most that a backlog keeps for who is slow to read.
const (
	backlogLines = 4000
	backlogBytes = 1 << 20
)

// backlog has lines that were read and not sent yet. When there are too many the oldest go: who reads slowly goes on with
// the newest. The service itself never waits.
type backlog struct {
	more chan struct{} // there is something to take

	mu      sync.Mutex
	lines   []string
	bytes   int
	dropped int
	over    bool
}

// fill reads lines until there are no more.
func (b *backlog) fill(text io.Reader) {
	defer func() {
		b.mu.Lock()
		b.over = true
		b.mu.Unlock()
		b.tell()
	}()
	r := bufio.NewReaderSize(text, longestLine)
	for {
		line, err := r.ReadSlice('\n')
		if len(line) > 0 {
			said := strings.ToValidUTF8(strings.TrimSuffix(string(line), "\n"), "\uFFFD")
			if errors.Is(err, bufio.ErrBufferFull) {
				said += "…"
			}
			b.add(said)
		}
		for errors.Is(err, bufio.ErrBufferFull) { // the rest of one that is too long is nobody's
			_, err = r.ReadSlice('\n')
		}
		if err != nil {
			return
		}
	}
}

func (b *backlog) add(line string) {
	b.mu.Lock()
	b.lines = append(b.lines, line)
	b.bytes += len(line)
	if len(b.lines) > backlogLines || b.bytes > backlogBytes {
		b.drop()
	}
	b.mu.Unlock()
	b.tell()
}

// drop makes room for many lines at once, so that it need not be made for each.
func (b *backlog) drop() {
	first := 0
	for len(b.lines)-first > backlogLines/4*3 || b.bytes > backlogBytes/4*3 {
		b.bytes -= len(b.lines[first])
		first++
	}
	b.dropped += first
	b.lines = slices.Delete(b.lines, 0, first)
}

func (b *backlog) tell() {
	select {
	case b.more <- struct{}{}:
	default: // it is told already
	}
}

// take is all that there is, how many lines went before it, and whether nothing comes any more.
func (b *backlog) take() (lines []string, dropped int, over bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	lines, dropped, over = b.lines, b.dropped, b.over
	b.lines, b.bytes, b.dropped = nil, 0, 0
	return lines, dropped, over
}
