// Package wire is the protocol between a caller and the guest, PID 1 of a
// sandbox.
//
// A connection begins with one hello frame each way, then becomes a multiplexer.
// Every stream of it is one request: its first frame says what is wanted, the
// frames that follow belong to it. Control payloads are JSON, so that either side
// may know fields that the other does not; output and input are raw bytes.
//
// Both the sandbox package and the guest use it. It must stay small, because the
// guest lives in every sandbox, and it must never trust a length it reads.
package wire

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Type says what a frame carries.
type Type byte

// The frames. Numbers are part of the protocol and are never reused.
const (
	TypeHello       Type = 1  // both ways, once, before the multiplexer
	TypeError       Type = 2  // the request failed: Failure
	TypeUnsupported Type = 3  // the frame's type is not known here: payload is that type
	TypeOK          Type = 4  // done
	TypeExec        Type = 10 // start a command: Exec
	TypeAttach      Type = 11 // follow a command started earlier: Attach
	TypeStarted     Type = 12 // the command runs: Started
	TypeStdout      Type = 13 // raw bytes
	TypeStderr      Type = 14 // raw bytes
	TypeGap         Type = 15 // bytes that are no longer kept: Gap
	TypeExit        Type = 16 // the command ended: Exit
	TypeStdin       Type = 20 // raw bytes
	TypeStdinEOF    Type = 21
	TypeControl     Type = 22 // acts on a running command: Control
	TypeStatus      Type = 30 // asks for Status, and answers with it
	TypeRetire      Type = 31 // end the sandbox if it is unused: Retire
	TypeRetired     Type = 32 // it ends now
	TypeBusy        Type = 33 // it is in use: Status
	TypeSession     Type = 34 // asks for the named session's Session, and answers with it
)

// MaxPayload bounds what a reader allocates for one frame, MaxMessage for one
// request: a command line may hold a file, an environment megabytes.
const (
	MaxPayload = 1 << 20
	MaxMessage = 16 << 20
)

const headerSize = 5

var (
	// ErrTooLarge means that a peer announced a frame that no correct peer sends.
	ErrTooLarge = fmt.Errorf("frame larger than %d bytes", MaxPayload)
	// ErrMessageTooLarge is a request that no peer would take.
	ErrMessageTooLarge = fmt.Errorf("it is larger than %d bytes", MaxMessage)
)

// Frame is one message of a stream.
type Frame struct {
	Type    Type
	Payload []byte
}

// Writer writes frames. It is not safe for concurrent use.
type Writer struct {
	w      io.Writer
	buf    []byte
	queued int // bytes at the start of buf that wait for the next frame
}

// NewWriter returns a Writer on w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Write sends one frame in one write, so that frames of different writers on
// one stream never mix as long as their calls do not.
func (w *Writer) Write(t Type, payload []byte) error {
	if len(payload) > MaxPayload {
		return ErrTooLarge
	}
	w.add(t, payload)
	w.queued = 0
	_, err := w.w.Write(w.buf)
	return err
}

func (w *Writer) add(t Type, payload []byte) {
	w.buf = append(w.buf[:w.queued], byte(t), 0, 0, 0, 0)
	binary.BigEndian.PutUint32(w.buf[w.queued+1:], uint32(len(payload)))
	w.buf = append(w.buf, payload...)
}

// QueueMessage keeps m back to be sent together with the next frame: waking the
// peer costs more than the bytes do.
func (w *Writer) QueueMessage(t Type, m any) error {
	payload, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if len(payload) > MaxPayload {
		return ErrTooLarge
	}
	w.add(t, payload)
	w.queued = len(w.buf)
	return nil
}

// Flush sends what is kept back, if anything is.
func (w *Writer) Flush() error {
	if w.queued == 0 {
		return nil
	}
	kept := w.buf[:w.queued]
	w.queued = 0
	_, err := w.w.Write(kept)
	return err
}

// WriteMessage sends m as JSON. What is too large for one frame travels in full
// ones, and one that is not full is the last.
func (w *Writer) WriteMessage(t Type, m any) error {
	payload, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if len(payload) > MaxMessage {
		return ErrMessageTooLarge
	}
	for len(payload) >= MaxPayload {
		if err := w.Write(t, payload[:MaxPayload]); err != nil {
			return err
		}
		payload = payload[MaxPayload:]
	}
	return w.Write(t, payload)
}

// Reader reads frames.
type Reader struct {
	r      io.Reader
	header [headerSize]byte
	buf    []byte
}

// NewReader returns a Reader on r. It reads no further than the frame it returns,
// so that r can be handed on.
func NewReader(r io.Reader) *Reader { return &Reader{r: r} }

// NewBufferedReader returns a Reader that owns r from now on.
func NewBufferedReader(r io.Reader) *Reader { return &Reader{r: bufio.NewReaderSize(r, 1<<10)} }

// Next returns the next frame. Its payload is valid until the next call.
// The error is io.EOF only at the boundary between two frames.
func (r *Reader) Next() (Frame, error) {
	t, n, err := r.nextHeader()
	if err != nil {
		return Frame{}, err
	}
	return r.payload(t, n)
}

func (r *Reader) nextHeader() (Type, int, error) {
	if _, err := io.ReadFull(r.r, r.header[:]); err != nil {
		return 0, 0, err
	}
	n := binary.BigEndian.Uint32(r.header[1:])
	if n > MaxPayload {
		return 0, 0, ErrTooLarge
	}
	return Type(r.header[0]), int(n), nil
}

func (r *Reader) payload(t Type, n int) (Frame, error) {
	if cap(r.buf) < n {
		r.buf = make([]byte, n)
	}
	payload := r.buf[:n]
	if _, err := io.ReadFull(r.r, payload); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return Frame{}, err
	}
	return Frame{t, payload}, nil
}

// NextMessage returns the next message, which may have come in several frames.
func (r *Reader) NextMessage() (Frame, error) {
	f, err := r.Next()
	if err != nil || len(f.Payload) < MaxPayload {
		return f, err
	}
	whole := bytes.Clone(f.Payload)
	for len(f.Payload) == MaxPayload {
		t := f.Type
		if f, err = r.Next(); err != nil {
			return Frame{}, err
		}
		if f.Type != t || len(whole)+len(f.Payload) > MaxMessage {
			return Frame{}, ErrMessageTooLarge
		}
		whole = append(whole, f.Payload...)
	}
	return Frame{f.Type, whole}, nil
}

// Decode reads the frame's JSON payload into m.
func (f Frame) Decode(m any) error {
	if err := json.Unmarshal(f.Payload, m); err != nil {
		return fmt.Errorf("malformed frame of type %d: %w", f.Type, err)
	}
	return nil
}
