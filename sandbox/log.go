package sandbox

import (
	"context"
	"io"

	"hermes.example/hermes/internal/wire"
)

// LogOptions say which part of a log is wanted: all that is kept unless they say
// something else.
type LogOptions struct {
	// Offset is where to begin. Below zero it is so many bytes before the end.
	Offset int64
	// Lines, if it is above zero, begins so many lines before the end instead.
	Lines int
	// Follow goes on until the process has ended.
	Follow bool
	// At is called before each write with the offset of its first byte; may be nil.
	// What lies between a write and the next was no longer kept.
	At func(offset int64)
}

// LogPart is what was read of a log.
type LogPart struct {
	// Offset is that of the first byte, Next of the first that was not read:
	// where to go on.
	Offset int64 `json:"offset"`
	Next   int64 `json:"next"`
	// Missed is how many bytes in between were no longer kept.
	Missed int64 `json:"missed,omitempty"`
	// Process is what was known of the process after the last byte.
	Process ProcessInfo `json:"process"`
}

// Logs writes the process's output to w, and the error output among it. A reader
// that is slower than the process does not slow it, and misses what is no longer
// kept.
func (p *Process) Logs(ctx context.Context, o LogOptions, w io.Writer) (LogPart, error) {
	var part LogPart
	begun := false
	request := func() any {
		if begun {
			return wire.Log{ID: p.ID, Offset: part.Next, Follow: o.Follow}
		}
		return wire.Log{ID: p.ID, Offset: o.Offset, Lines: o.Lines, Follow: o.Follow}
	}
	err := dialogue{box: p.box, what: "read the log", kind: wire.TypeLog, request: request, answer: func(f wire.Frame) (bool, error) {
		switch f.Type {
		case wire.TypeLog:
			var head wire.Log
			if err := f.Decode(&head); err != nil || begun {
				return false, err
			}
			begun, part.Offset, part.Next = true, head.Offset, head.Offset
		case wire.TypeStdout:
			if o.At != nil {
				o.At(part.Next)
			}
			part.Next += int64(len(f.Payload))
			if _, err := w.Write(f.Payload); err != nil {
				return true, err
			}
		case wire.TypeGap:
			var gap wire.Gap
			if err := f.Decode(&gap); err != nil {
				return false, err
			}
			part.Next += gap.Bytes
			part.Missed += gap.Bytes
		case wire.TypeProcess:
			var last wire.Process
			err := f.Decode(&last)
			part.Process = publicProcess(last)
			return true, err
		}
		return false, nil
	}}.run(ctx)
	return part, err
}
