package client

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
)

// event is one of a stream of server-sent events.
type event struct {
	name string
	data []byte
	// id is the last that was given, by this event or one before it.
	id string
}

// mostEvent bounds one event.
const mostEvent = 16 << 20

var errLongEvent = errors.New("cannot understand the stream: an event is too long")

// events reads a stream of them, as the HTML standard says.
type events struct {
	from *bufio.Reader
	id   string
	size int // of the event that is read
	cr   bool
	any  bool // something was read
}

func newEvents(r io.Reader) *events { return &events{from: bufio.NewReaderSize(r, 64<<10)} }

// next is the next event. At the end of the stream it is [io.EOF]; an event that was not finished is none.
func (e *events) next() (event, error) {
	var name string
	var data bytes.Buffer
	has := false
	e.size = 0
	for {
		line, err := e.line()
		if err != nil {
			return event{}, err
		}
		if len(line) == 0 {
			if has {
				return event{name: name, data: bytes.TrimSuffix(data.Bytes(), []byte("\n")), id: e.id}, nil
			}
			name, e.size = "", 0
			continue
		}
		field, value, _ := strings.Cut(string(line), ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "event":
			name = value
		case "data":
			has = true
			data.WriteString(value)
			data.WriteByte('\n')
		case "id":
			if !strings.ContainsRune(value, 0) {
				e.id = value
			}
		}
	}
}

// line reads up to a line's end, which is LF, CR or both.
func (e *events) line() ([]byte, error) {
	var line []byte
	for {
		b, err := e.from.ReadByte()
		switch {
		case err != nil:
			return nil, err
		case b == '\n' && e.cr:
			e.cr = false // of the end before
			continue
		}
		e.cr = b == '\r'
		if b == '\n' || b == '\r' {
			if !e.any {
				line = bytes.TrimPrefix(line, []byte("\ufeff"))
			}
			e.any = true
			return line, nil
		}
		if e.size++; e.size > mostEvent {
			return nil, errLongEvent
		}
		line = append(line, b)
	}
}
