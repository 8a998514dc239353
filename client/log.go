package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"hermes.example/hermes/sandbox"
)

// Logs writes the process's output to w, and the error output among it. A reader that is slower than the process does
// not slow it, and misses what is no longer kept. One that follows goes on where it was when its connection breaks.
func (p *Process) Logs(ctx context.Context, o sandbox.LogOptions, w io.Writer) (sandbox.LogPart, error) {
	q := url.Values{"follow": {strconv.FormatBool(o.Follow)}}
	if o.Lines > 0 {
		q.Set("lines", strconv.Itoa(o.Lines))
	} else if o.Offset != 0 {
		q.Set("offset", strconv.FormatInt(o.Offset, 10))
	}
	k := p.call(http.MethodGet, "log")
	k.query = q
	l := &logReader{to: w, part: sandbox.LogPart{Offset: -1}}
	err := (&stream{client: p.task.client, call: k}).each(ctx, l.handle)
	return l.part, err
}

// logReader takes the events of a log.
type logReader struct {
	to   io.Writer
	part sandbox.LogPart
}

func (l *logReader) handle(e event) (last bool, err error) {
	switch e.name {
	case EventLog:
		var p LogPiece
		if err := decode(e, &p); err != nil {
			return false, err
		}
		return false, l.write(p)
	case EventEnd:
		var part sandbox.LogPart
		if err := decode(e, &part); err != nil {
			return false, err
		}
		if l.part.Offset < 0 {
			l.part = part
		}
		l.part.Next, l.part.Process = part.Next, part.Process
		return true, nil
	}
	return false, nil
}

func (l *logReader) write(p LogPiece) error {
	data, err := p.Bytes()
	if err != nil {
		return fmt.Errorf("cannot understand the log: %w", err)
	}
	if l.part.Offset < 0 {
		l.part.Offset = p.Offset - p.Missed
	}
	l.part.Missed += p.Missed
	if _, err := l.to.Write(data); err != nil {
		return fmt.Errorf("cannot write the log: %w", err)
	}
	l.part.Next = p.Offset + int64(len(data))
	return nil
}
