package api

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strconv"

	"hermes.example/hermes/client"
	"hermes.example/hermes/sandbox"
)

// How much of a log an answer in JSON has, and how much one event.
const (
	usualLog  = 1 << 20
	mostLog   = 16 << 20
	mostPiece = 32 << 10
)

// readLog answers with a part of a log, or follows it.
func (a *API) readLog(q *query) processAction {
	o := sandbox.LogOptions{Offset: q.Int("offset", 0), Lines: int(q.Int("lines", 0)), Follow: q.Bool("follow")}
	limit := q.Int("limit", usualLog)
	streams := wantsEvents(q.r)
	switch last := q.r.Header.Get("Last-Event-ID"); {
	case q.err != nil:
	case o.Lines < 0:
		q.err = bad("lines must not be negative")
	case limit < 1 || limit > mostLog:
		q.err = bad("limit must be 1 to " + strconv.Itoa(mostLog))
	case o.Follow && !streams:
		q.err = bad("to follow a log, ask for a stream: Accept: " + mediaEvents)
	case streams && last != "":
		offset, err := strconv.ParseUint(last, 10, 63)
		if err != nil {
			q.err = bad("Last-Event-ID must be an offset in the log, and not " + quote(last))
		}
		o.Offset, o.Lines = int64(offset), 0
	}
	if !streams {
		return func(p *sandbox.Process, w http.ResponseWriter, r *http.Request) error {
			return readLogPart(p, w, r, o, limit)
		}
	}
	return func(p *sandbox.Process, w http.ResponseWriter, r *http.Request) error {
		if _, err := p.Poll(r.Context()); err != nil { // while it can still be answered
			return err
		}
		return a.follow(w, r, func(ctx context.Context, s *eventStream) error { return followLog(ctx, p, o, s) })
	}
}

// errFull ends the reading of a log.
var errFull = errors.New("the part is full")

// readLogPart answers with at most limit bytes, and with where to go on.
func readLogPart(p *sandbox.Process, w http.ResponseWriter, r *http.Request, o sandbox.LogOptions, limit int64) error {
	kept := &bounded{most: int(limit)}
	part, err := p.Logs(r.Context(), o, kept)
	if err != nil && !errors.Is(err, errFull) {
		return err
	}
	if errors.Is(err, errFull) {
		part.Next -= int64(kept.over)
		if part.Process, err = p.Poll(r.Context()); err != nil {
			return err
		}
	}
	return answer(w, http.StatusOK, client.LogAnswer{Data: client.NewData(kept.Bytes()), LogPart: part})
}

// bounded keeps the first bytes, and counts those of the last write that it did not keep.
type bounded struct {
	bytes.Buffer
	most, over int
}

func (b *bounded) Write(p []byte) (int, error) {
	room := b.most - b.Len()
	if len(p) <= room {
		return b.Buffer.Write(p)
	}
	b.Buffer.Write(p[:room])
	b.over = len(p) - room
	return room, errFull
}

// followLog sends a log as events. How much was missed is what the offsets leave out.
func followLog(ctx context.Context, p *sandbox.Process, o sandbox.LogOptions, s *eventStream) error {
	pieces := &logPieces{to: s, end: -1}
	if o.Offset > 0 && o.Lines == 0 {
		pieces.end = o.Offset
	}
	o.At = func(offset int64) { pieces.at = offset }
	part, err := p.Logs(ctx, o, pieces)
	if err != nil {
		return err
	}
	return s.end(client.EventEnd, strconv.FormatInt(part.Next, 10), part)
}

// logPieces makes events of what is written to it.
type logPieces struct {
	to *eventStream
	// at is where the next write begins, end where the one before ended; below zero there was none.
	at, end int64
}

func (l *logPieces) Write(p []byte) (int, error) {
	for done := 0; done < len(p); {
		data := p[done:min(len(p), done+mostPiece)]
		piece := client.LogPiece{Data: client.NewData(data), Offset: l.at + int64(done)}
		if l.end >= 0 {
			piece.Missed = piece.Offset - l.end
		}
		done += len(data)
		l.end = l.at + int64(done)
		if err := l.to.send(client.EventLog, strconv.FormatInt(l.end, 10), piece); err != nil {
			return done, err
		}
	}
	return len(p), nil
}
