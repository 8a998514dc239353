package client

import (
	"encoding/binary"
	"errors"

	"hermes.example/hermes/sandbox"
)

// The kinds of messages of a WebSocket, which are JSON in text frames. Bytes travel in binary frames: what a caller
// sends is the command's input, and what it gets is a [Chunk].
const (
	// AttachStart is a caller's first message, unless it is AttachFollow.
	AttachStart = "start"
	// AttachFollow takes a command up that has an id, from a position.
	AttachFollow = "follow"
	AttachResize = "resize"
	// AttachEnd ends the command's input.
	AttachEnd = "end"
	// AttachInterrupt ends the command and its whole tree.
	AttachInterrupt = "interrupt"

	// AttachStarted is the gateway's first message. It has the command's id.
	AttachStarted = "started"
	// AttachExit has the result, and is the last.
	AttachExit     = "exit"
	AttachDraining = "draining"
	// AttachProblem is the last, too.
	AttachProblem = "problem"
)

// AttachRequest is what a caller says.
type AttachRequest struct {
	Type string `json:"type" jsonschema:"start, follow, resize, end or interrupt"`
	// ID names the command: in start it does what the header Idempotency-Key does.
	ID   string    `json:"id,omitempty" jsonschema:"of start and follow: the id of the command"`
	Exec *Exec     `json:"exec,omitempty" jsonschema:"of start: the command, without stdin; on a terminal neither line nor argv means a login shell"`
	Term *Terminal `json:"term,omitempty" jsonschema:"of start and resize; without one in start the command has pipes"`
	From *Position `json:"from,omitempty" jsonschema:"of follow: how much of the output the caller has"`
}

// Terminal is the caller's end of a command's terminal.
type Terminal struct {
	Rows uint16 `json:"rows"`
	Cols uint16 `json:"cols"`
	Term string `json:"term,omitempty" jsonschema:"its kind, as in TERM"`
}

// AttachAnswer is what the gateway says.
type AttachAnswer struct {
	Type    string          `json:"type" jsonschema:"started, exit, draining or problem"`
	ID      string          `json:"id,omitempty"`
	Result  *sandbox.Result `json:"result,omitempty"`
	Problem *Problem        `json:"problem,omitempty"`
}

// Chunk is some output of a command in a binary frame: one byte that names the stream (1 or 2), eight with the offset
// of the first byte in it (big-endian), and the bytes. Where the offset is above the end of the chunk before, what is
// in between was no longer kept.
type Chunk struct {
	Stream Stream
	Offset int64
	Bytes  []byte
}

const chunkHeader = 9

// AppendTo adds the frame to b.
func (c Chunk) AppendTo(b []byte) []byte {
	stream := byte(1)
	if c.Stream == Stderr {
		stream = 2
	}
	b = binary.BigEndian.AppendUint64(append(b, stream), uint64(c.Offset))
	return append(b, c.Bytes...)
}

// ParseChunk reads a frame, whose bytes it keeps.
func ParseChunk(frame []byte) (Chunk, error) {
	if len(frame) < chunkHeader || frame[0] < 1 || frame[0] > 2 || frame[1] > 0x7f {
		return Chunk{}, errors.New("this is no output of a command")
	}
	c := Chunk{Stream: Stdout, Offset: int64(binary.BigEndian.Uint64(frame[1:])), Bytes: frame[chunkHeader:]}
	if frame[0] == 2 {
		c.Stream = Stderr
	}
	return c, nil
}
