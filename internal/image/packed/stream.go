//go:build linux

package packed

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"hermes.example/hermes/internal/image/unpack"
)

// stream is the uncompressed tar. One goroutine decompresses and another one hashes ahead of the reader, which
// waits for the disk meanwhile; close ends them and waits for them.
type stream struct {
	source    io.ReadCloser
	blob, tar hash.Hash   // blob is nil if nobody asked for it
	raw       chan []byte // from the decompressor to the hash,
	full      chan []byte // to the reader,
	empty     chan []byte // and back
	stop      chan struct{}
	once      sync.Once
	done      sync.WaitGroup
	current   []byte // what of the last full buffer is not read yet
	last      []byte
	err       error // why full was closed; read after that only
}

const (
	chunk  = 256 << 10
	chunks = 8 // and every channel has room for all, so that only the wait for an empty one blocks
	// window bounds the memory that a compressed stream may demand.
	window = 128 << 20
)

func newStream(ctx context.Context, source io.ReadCloser, o unpack.Options) (*stream, error) {
	s := &stream{
		source: source, tar: sha256.New(),
		raw: make(chan []byte, chunks), full: make(chan []byte, chunks), empty: make(chan []byte, chunks), stop: make(chan struct{}),
	}
	if o.HashBlob {
		s.blob = sha256.New()
	}
	raw := &counter{ctx: ctx, r: source, hash: s.blob, progress: o.Progress}
	plain, closePlain, err := decompress(raw)
	if err != nil {
		source.Close()
		return nil, err
	}
	for range chunks {
		s.empty <- make([]byte, chunk)
	}
	s.done.Go(func() {
		defer close(s.raw)
		defer closePlain()
		s.err = s.produce(plain, o.Limits.Bytes)
	})
	s.done.Go(func() {
		defer close(s.full)
		for buf := range s.raw {
			s.tar.Write(buf)
			s.full <- buf
		}
	})
	return s, nil
}

// produce fills buffers until the stream ends. It always ends with an error, io.EOF if all went well.
func (s *stream) produce(plain io.Reader, limit int64) error {
	var total int64
	for {
		var buf []byte
		select {
		case buf = <-s.empty:
		case <-s.stop:
			return errors.New("stopped")
		}
		n, err := fill(plain, buf[:chunk])
		if total += int64(n); total > limit {
			return refuse(fmt.Sprintf("it is larger than %d bytes", limit))
		}
		if n > 0 {
			s.raw <- buf[:n]
		}
		if err != nil {
			return err
		}
	}
}

// fill is io.ReadFull, except that it tells the end of the stream from a stream that was cut off.
func fill(r io.Reader, buf []byte) (n int, err error) {
	for n < len(buf) && err == nil {
		var m int
		m, err = r.Read(buf[n:])
		n += m
	}
	return n, err
}

func (s *stream) Read(p []byte) (int, error) {
	if len(s.current) == 0 {
		if s.last != nil {
			s.empty <- s.last
			s.last = nil
		}
		buf, ok := <-s.full
		if !ok {
			return 0, s.err
		}
		s.last, s.current = buf, buf
	}
	n := copy(p, s.current)
	s.current = s.current[n:]
	return n, nil
}

// close ends a read of the source that is under way by closing the source.
func (s *stream) close() {
	s.once.Do(func() {
		close(s.stop)
		s.source.Close()
		s.done.Wait()
	})
}

// sums is only right after the stream was read to its end.
func (s *stream) sums() (blob, tar string) {
	if s.blob != nil {
		blob = hex.EncodeToString(s.blob.Sum(nil))
	}
	return blob, hex.EncodeToString(s.tar.Sum(nil))
}

// Compressed says whether a stream that begins so is one that decompress opens.
func Compressed(head []byte) bool {
	return bytes.HasPrefix(head, gzipMagic) || bytes.HasPrefix(head, zstdMagic)
}

var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

// Decompress copies a stream that Compressed knows, up to limit bytes.
func Decompress(ctx context.Context, w io.Writer, r io.Reader, limit int64) error {
	plain, closePlain, err := decompress(&counter{ctx: ctx, r: r})
	if err != nil {
		return err
	}
	defer closePlain()
	n, err := io.Copy(w, io.LimitReader(plain, limit+1))
	if err == nil && n > limit {
		err = refuse(fmt.Sprintf("it is larger than %d bytes", limit))
	}
	return err
}

// decompress looks at the first bytes, because media types lie and archives have none. All that it returns read
// their input to its end, which the digest of the blob needs.
func decompress(raw io.Reader) (plain io.Reader, closePlain func(), err error) {
	r := bufio.NewReaderSize(raw, chunk)
	head, err := r.Peek(6)
	if err != nil && err != io.EOF {
		return nil, nil, err
	}
	switch {
	case bytes.HasPrefix(head, gzipMagic):
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, nil, fmt.Errorf("damaged gzip stream: %w", err)
		}
		return z, func() { _ = z.Close() }, nil
	case bytes.HasPrefix(head, zstdMagic):
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(window))
		if err != nil {
			return nil, nil, fmt.Errorf("damaged zstd stream: %w", err)
		}
		return z, z.Close, nil
	case bytes.HasPrefix(head, []byte("BZh")), bytes.HasPrefix(head, []byte("\xfd7zXZ\x00")):
		return nil, nil, refuse("it is compressed by bzip2 or xz; use gzip, zstd or no compression")
	}
	return r, func() {}, nil
}

// counter hashes and counts what was read from the source, and stops with its context.
type counter struct {
	ctx      context.Context
	r        io.Reader
	hash     hash.Hash
	n        int64
	progress func(int64)
}

func (c *counter) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.r.Read(p)
	if c.hash != nil {
		c.hash.Write(p[:n])
	}
	c.n += int64(n)
	if c.progress != nil && n > 0 {
		c.progress(c.n)
	}
	return n, err
}
