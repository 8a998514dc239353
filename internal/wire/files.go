package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
)

// The frames of requests about files. Each request has a stream of its own. Bytes of files and archives travel
// raw; an upload ends with an empty TypeFileEnd, and one that is cut off before that has not taken place.
const (
	TypeFile        Type = 40 // the request: File
	TypeFileData    Type = 41 // raw bytes, either way
	TypeFileEnd     Type = 42 // no more bytes come; from the guest: FileResult
	TypeFileEntries Type = 43 // what a listing or a look found: []FileEntry
	TypeFileEvents  Type = 44 // what a watch saw: []FileEvent
)

// CanFiles is a guest that serves files.
const CanFiles = "files"

// FileOp is what is asked for.
type FileOp string

// The operations.
const (
	FileRead    FileOp = "read"
	FileWrite   FileOp = "write"
	FileStat    FileOp = "stat"
	FileList    FileOp = "list"
	FileMkdir   FileOp = "mkdir"
	FileRemove  FileOp = "remove"
	FileRename  FileOp = "rename"
	FileWatch   FileOp = "watch"
	FileCopyIn  FileOp = "copy in"
	FileCopyOut FileOp = "copy out"
	// FileRuled is another operation, under a rule. It has a name of its own so that a guest that knows no rules
	// refuses it, instead of carrying it out without.
	FileRuled FileOp = "ruled"
	// FileCheck says whether a rule would allow to write a file, and changes nothing. There is none without a rule.
	FileCheck FileOp = "check"
)

// File asks for something about files. Names are bytes, because Linux holds them to nothing else.
type File struct {
	Op FileOp `json:"op"`
	// Root is a directory of the sandbox that no path, link or dot leads out of. Empty is all of it, and then a
	// path that does not begin with a slash lies where commands begin.
	Root []byte `json:"root,omitempty"`
	Path []byte `json:"path"`
	// To is the new name of a renaming, and the name of what a copy out packs.
	To []byte `json:"to,omitempty"`
	// Mode is of a new file or directory; zero is the default.
	Mode   uint32 `json:"mode,omitempty"`
	Offset int64  `json:"offset,omitempty"`
	// Limit bounds bytes, Entries what is listed or copied; zero is the default, which for reading is none.
	Limit   int64 `json:"limit,omitempty"`
	Entries int   `json:"entries,omitempty"`
	// Depth is how many directories below the first a listing goes into.
	Depth int `json:"depth,omitempty"`
	// Follow looks at what a link leads to instead of at the link.
	Follow bool `json:"follow,omitempty"`
	// Append adds to a file instead of replacing it.
	Append bool `json:"append,omitempty"`
	// All makes missing parents, or removes what is in a directory too.
	All bool `json:"all,omitempty"`
	// Rule is there with FileRuled, and with nothing else.
	Rule *FileRule `json:"rule,omitempty"`
}

// FileRule is an operation together with what it may not do.
type FileRule struct {
	Op FileOp `json:"op"`
	// Beneath are directories, with absolute paths, outside of which nothing is changed. Nil is no such bound.
	Beneath [][]byte `json:"beneath"`
	// Protected are files that are neither read nor changed, under whatever name.
	Protected []FilePattern `json:"protected,omitempty"`
}

// FilePattern is files of one directory by their names.
type FilePattern struct {
	Dir []byte `json:"dir"`
	// Names is a pattern as of path.Match, and Except another one, of names that are not meant.
	Names  string `json:"names"`
	Except string `json:"except,omitempty"`
}

// FileEntry is a file as a listing tells of it.
type FileEntry struct {
	Name []byte `json:"name"` // relative to what was listed
	// Mode is the kernel's, with the file's type.
	Mode uint32 `json:"mode"`
	Size int64  `json:"size"`
	// Time is when it was changed, in nanoseconds of Unix time.
	Time int64  `json:"time"`
	UID  uint32 `json:"uid"`
	GID  uint32 `json:"gid"`
	Link []byte `json:"link,omitempty"` // where a symbolic link leads
}

// FileEvent is something that happened to a watched file, or in a watched directory.
type FileEvent struct {
	Name []byte `json:"name,omitempty"` // of the entry of a directory
	Mask uint32 `json:"mask"`           // inotify's
}

// FileResult is what a request moved.
type FileResult struct {
	Bytes   int64 `json:"bytes"`
	Entries int   `json:"entries,omitempty"`
	Skipped int   `json:"skipped,omitempty"`
	Changed int   `json:"changed,omitempty"`
}

// What a caller can act on.
const (
	FailureNotFound FailureCode = "not found"
	FailureExists   FailureCode = "exists"
	FailureDenied   FailureCode = "denied"
	FailureTooLarge FailureCode = "too large"
	FailureRefused  FailureCode = "refused"
	// FailureOutside and FailureProtected are what a rule refuses.
	FailureOutside   FailureCode = "outside"
	FailureProtected FailureCode = "protected"
)

const (
	// dataBatch is how many bytes of small writes travel in one frame.
	dataBatch = 128 << 10
	// DataChunk is a good size for reads and writes of a stream of data.
	DataChunk = 256 << 10
)

// DataWriter sends a stream of bytes as frames: small writes together, large ones without copying them.
type DataWriter struct {
	w   *Writer
	buf []byte
}

// NewDataWriter returns a DataWriter on w, which nobody else may use before Flush.
func NewDataWriter(w *Writer) *DataWriter { return &DataWriter{w: w} }

func (d *DataWriter) Write(p []byte) (int, error) {
	if len(d.buf)+len(p) <= dataBatch {
		if d.buf == nil {
			d.buf = make([]byte, 0, dataBatch)
		}
		d.buf = append(d.buf, p...)
		return len(p), nil
	}
	if err := d.Flush(); err != nil {
		return 0, err
	}
	for rest := p; len(rest) > 0; {
		n := min(len(rest), MaxPayload)
		if err := d.send(rest[:n]); err != nil {
			return 0, err
		}
		rest = rest[n:]
	}
	return len(p), nil
}

// Flush sends what is held back.
func (d *DataWriter) Flush() error {
	if len(d.buf) == 0 {
		return nil
	}
	err := d.send(d.buf)
	d.buf = d.buf[:0]
	return err
}

func (d *DataWriter) send(p []byte) error {
	frame := net.Buffers{d.header(len(p)), p}
	_, err := frame.WriteTo(d.w.w)
	return err
}

// header is that of a frame of data, after what the Writer holds back.
func (d *DataWriter) header(n int) []byte {
	head := append(d.w.buf[:d.w.queued], byte(TypeFileData), 0, 0, 0, 0)
	binary.BigEndian.PutUint32(head[d.w.queued+1:], uint32(n))
	d.w.buf, d.w.queued = head, 0
	return head
}

// End flushes, and sends the last frame.
func (d *DataWriter) End(result any) error {
	if err := d.Flush(); err != nil {
		return err
	}
	return d.w.WriteMessage(TypeFileEnd, result)
}

// DataReader reads a stream of bytes out of frames, without copying them. It ends with io.EOF after the frame that
// says so, and with io.ErrUnexpectedEOF where the stream is cut off before that. Any other frame is an
// UnexpectedFrame.
type DataReader struct {
	r    *Reader
	left int
	err  error
	// End is the last frame, once it was read. It is valid until the Reader reads on.
	End Frame
}

// NewDataReader returns a DataReader on r.
func NewDataReader(r *Reader) *DataReader { return &DataReader{r: r} }

// UnexpectedFrame is a frame that has no place among data.
type UnexpectedFrame struct{ Frame Frame }

func (e *UnexpectedFrame) Error() string {
	return fmt.Sprintf("a frame of type %d among data", e.Frame.Type)
}

func (d *DataReader) Read(p []byte) (int, error) {
	for d.left == 0 && d.err == nil {
		d.err = d.nextFrame()
	}
	if d.left == 0 {
		return 0, d.err
	}
	n, err := d.r.r.Read(p[:min(len(p), d.left)])
	d.left -= n
	if n == 0 && err != nil {
		d.left, d.err = 0, cutOff(err)
	}
	return n, d.err
}

func (d *DataReader) nextFrame() error {
	t, n, err := d.r.nextHeader()
	if err != nil {
		return cutOff(err)
	}
	if t == TypeFileData {
		d.left = n
		return nil
	}
	frame, err := d.r.payload(t, n)
	switch {
	case err != nil:
		return cutOff(err)
	case t == TypeFileEnd:
		d.End = frame
		return io.EOF
	case t == TypeHello: // a direct connection's, before everything else
		return nil
	}
	return &UnexpectedFrame{frame}
}

func cutOff(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
