package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"hermes.example/hermes/internal/wire"
)

// Files is the file tree of a sandbox below one directory, as its commands see it: with their user's rights, and
// what they may not do to a file, cannot be done here either.
//
// Every path is taken below that directory, whether it begins with a slash or not. The kernel holds links and
// dots inside of it, also while somebody inside moves them. Only files and directories are opened, never devices,
// pipes or sockets, and nothing that the kernel makes up, as in /proc. Names are bytes, as Linux has them.
//
// Errors are about one path each. [errors.Is] tells them apart by [fs.ErrNotExist], [fs.ErrExist],
// [fs.ErrPermission], [ErrTooLarge] and [ErrRefused], and under a rule by [ErrOutside] and [ErrProtected].
type Files struct {
	box  *Sandbox
	root string
	rule *FileRule
}

// Files returns the file tree below a directory of the sandbox. Empty is all of it, and then a path that does not
// begin with a slash lies where commands begin. Whether the directory exists shows when it is used.
func (s *Sandbox) Files(root string) Files { return Files{box: s, root: root} }

// ErrTooLarge means that a limit of the request was reached.
var ErrTooLarge = errors.New("larger than the limit")

// ErrRefused means that what was asked for makes no sense here: the content of a directory, a name that leads out, input
// for a process that takes none. Asked again, it is refused again.
var ErrRefused = errors.New("it cannot be done")

// fileError is what the guest said about a file.
type fileError struct{ failure *wire.Failure }

func (e *fileError) Error() string { return e.failure.Message }

func (e *fileError) Is(target error) bool {
	switch e.failure.Code {
	case wire.FailureNotFound:
		return target == fs.ErrNotExist
	case wire.FailureExists:
		return target == fs.ErrExist
	case wire.FailureDenied:
		return target == fs.ErrPermission
	case wire.FailureTooLarge:
		return target == ErrTooLarge
	case wire.FailureRefused, wire.FailureBadRequest:
		return target == ErrRefused
	case wire.FailureOutside:
		return target == ErrOutside
	case wire.FailureProtected:
		return target == ErrProtected
	}
	return false
}

// fileStream is one request about files, from its first frame to its end.
type fileStream struct {
	*stream
	box     *Sandbox
	ctx     context.Context
	stop    func() bool // of the watch over ctx
	closing sync.Once
}

// begin sends a request.
func (f Files) begin(ctx context.Context, req wire.File) (*fileStream, error) {
	req.Root = []byte(f.root)
	if f.rule != nil {
		req.Rule, req.Op = f.rule.request(req.Op), wire.FileRuled
	}
	conn, _, err := f.box.connected(ctx)
	if err != nil {
		return nil, err
	}
	s, err := conn.openFile(ctx, req)
	if errors.Is(err, ErrGone) || errors.Is(err, ErrNotFound) {
		// That the connection is dead too will only be noticed in a moment.
		conn.close()
		if conn, _, err = f.box.connected(ctx); err == nil {
			s, err = conn.openFile(ctx, req)
		}
	}
	if err != nil {
		return nil, err
	}
	x := &fileStream{stream: s, box: f.box, ctx: ctx}
	f.box.track(x, true)
	x.stop = context.AfterFunc(ctx, x.hangUp)
	if f.box.isClosed() {
		x.hangUp() // closed meanwhile, and this stream was not there to be hung up
	}
	return x, nil
}

func (c *connection) openFile(ctx context.Context, req wire.File) (*stream, error) {
	if !c.hello.Can(wire.CanFiles) {
		return nil, errUnsupported
	}
	return c.openCommand(ctx, wire.TypeFile, req)
}

// hangUp breaks the stream: a request that is not done yet is given up by the guest.
func (x *fileStream) hangUp() { x.closing.Do(x.stream.hangUp) }

// end is called once for every stream that was begun.
func (x *fileStream) end() {
	x.stop()
	x.hangUp()
	x.box.track(x, false)
}

// answer returns the next frame that is one.
func (x *fileStream) answer() (wire.Frame, error) {
	for {
		frame, err := x.NextMessage()
		if err != nil {
			return frame, x.why(err)
		}
		if frame.Type != wire.TypeHello {
			return frame, fileFailure(frameError(frame))
		}
	}
}

// why replaces an error of the connection by the reason that it broke.
func (x *fileStream) why(err error) error {
	var odd *wire.UnexpectedFrame
	switch {
	case x.ctx.Err() != nil:
		return x.ctx.Err()
	case x.box.isClosed():
		return ErrClosed
	case errors.As(err, &odd):
		if failure := frameError(odd.Frame); failure != nil {
			return fileFailure(failure)
		}
		return err
	case cutOff(err):
		return fmt.Errorf("the sandbox ended, or broke the connection: %w", err)
	}
	return err
}

func fileFailure(err error) error {
	var failure *wire.Failure
	if errors.As(err, &failure) {
		return &fileError{failure}
	}
	return err
}

// ask makes a request with one answer.
func (f Files) ask(ctx context.Context, req wire.File) (wire.Frame, error) {
	x, err := f.begin(ctx, req)
	if err != nil {
		return wire.Frame{}, err
	}
	defer x.end()
	return x.answer()
}

// send makes a request with a stream of bytes, and waits for the answer. The guest may answer before it has
// everything, when it cannot go on; then the rest is not sent.
//
// A source that is silent holds up neither an error nor the end of ctx; a read of it that is under way then is left
// to itself, as with any file that may block for ever.
func (f Files) send(ctx context.Context, req wire.File, from io.Reader) (wire.FileResult, error) {
	x, err := f.begin(ctx, req)
	if err != nil {
		return wire.FileResult{}, err
	}
	defer x.end()
	if file, ok := from.(*os.File); ok {
		from = struct{ io.Reader }{file} // its own way to copy itself takes small steps
	}
	poured := make(chan error, 1)
	go func() {
		err := x.pour(from)
		poured <- err
		if err != nil {
			x.hangUp() // what is cut off here has not taken place
		}
	}()
	var res wire.FileResult
	frame, err := x.answer()
	if err == nil {
		err = frame.Decode(&res)
	}
	x.hangUp() // whoever still writes has nobody to read it
	_, writesItself := from.(io.WriterTo)
	if err == nil || writesItself {
		return res, cmp.Or(<-poured, err)
	}
	select {
	case readErr := <-poured:
		return res, cmp.Or(readErr, err)
	default:
		return res, err
	}
}

// pour sends all of from. Its error is that of reading: one of writing means that the answer says more.
func (x *fileStream) pour(from io.Reader) error {
	out := &pouring{to: wire.NewDataWriter(x.Writer)}
	_, err := io.CopyBuffer(out, from, make([]byte, wire.DataChunk))
	if out.err != nil {
		return nil
	}
	if err == nil {
		_ = out.to.End(nil) // see above
	}
	return err
}

// pouring remembers that it could not be written to.
type pouring struct {
	to  *wire.DataWriter
	err error
}

func (p *pouring) Write(b []byte) (n int, err error) {
	n, p.err = p.to.Write(b)
	return n, p.err
}

// SendFile hands a whole file on to the connection.
func (p *pouring) SendFile(fd int, size int64) (n int64, err error) {
	n, p.err = p.to.SendFile(fd, size)
	if errors.Is(p.err, errors.ErrUnsupported) {
		p.err = nil
		return 0, errors.ErrUnsupported
	}
	return n, p.err
}

// cannotFile says what could not be done to which path.
func cannotFile(what, path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("cannot %s %q: %w", what, path, err)
}
