package wire

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// pieces are of the sizes that a stream of data is cut into: none, small, around the batch, larger than a frame.
func pieces() [][]byte {
	var all [][]byte
	for i, n := range []int{1, 0, 500, dataBatch - 1, dataBatch, dataBatch + 1, 3, MaxPayload, 2*MaxPayload + 7, 512} {
		all = append(all, bytes.Repeat([]byte{byte(i + 1)}, n))
	}
	return all
}

func TestDataArrivesAsItWasWritten(t *testing.T) {
	var buf bytes.Buffer
	w := NewWriter(&buf)
	w.QueueMessage(TypeHello, Hello{Major: Major}) // held back until the first frame
	out := NewDataWriter(w)
	for _, p := range pieces() {
		if n, err := out.Write(p); n != len(p) || err != nil {
			t.Fatal(n, err)
		}
	}
	if err := out.End(FileResult{Bytes: 7}); err != nil {
		t.Fatal(err)
	}
	w.Write(TypeOK, nil)
	r := NewReader(&buf)
	in := NewDataReader(r)
	got, err := io.ReadAll(in)
	if err != nil || !bytes.Equal(got, bytes.Join(pieces(), nil)) {
		t.Errorf("%d bytes arrived, %v", len(got), err)
	}
	var res FileResult
	if err := in.End.Decode(&res); err != nil || res.Bytes != 7 {
		t.Errorf("%+v, %v", res, err)
	}
	if f, err := r.Next(); err != nil || f.Type != TypeOK {
		t.Errorf("what follows is %+v, %v", f, err)
	}
}

func TestDataThatIsCutOffHasNoEnd(t *testing.T) {
	var whole bytes.Buffer
	out := NewDataWriter(NewWriter(&whole))
	out.Write([]byte("some data"))
	out.End(nil)
	for n := range whole.Len() {
		if got, err := io.ReadAll(NewDataReader(NewReader(bytes.NewReader(whole.Bytes()[:n])))); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("after %d bytes: %q, %v", n, got, err)
		}
	}
}

func TestAnErrorAmongDataIsSeen(t *testing.T) {
	var buf bytes.Buffer
	w := NewWriter(&buf)
	out := NewDataWriter(w)
	out.Write([]byte("half"))
	out.Flush()
	w.WriteMessage(TypeError, Failure{Code: FailureDenied, Message: "why"})
	got, err := io.ReadAll(NewDataReader(NewReader(&buf)))
	var odd *UnexpectedFrame
	if string(got) != "half" || !errors.As(err, &odd) || odd.Frame.Type != TypeError || !strings.Contains(string(odd.Frame.Payload), "why") {
		t.Errorf("%q, %v", got, err)
	}
}

func TestAFileIsSentFromWhereItStands(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("Linux has the call")
	}
	content := bytes.Repeat([]byte("0123456789abcdef"), 200_000)
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Seek(16, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	near, far := unixPair(t)
	sent := make(chan error, 1)
	const missing = 5000
	go func() {
		defer near.Close()
		out := NewDataWriter(NewWriter(near))
		out.Write([]byte("before "))
		had, err := out.SendFile(int(f.Fd()), int64(len(content)-16+missing))
		if err == nil && had != int64(len(content)-16) {
			err = errors.New("it had another number of bytes")
		}
		out.Write([]byte(" after"))
		sent <- errors.Join(err, out.End(nil))
	}()
	got, err := io.ReadAll(NewDataReader(NewBufferedReader(far)))
	want := bytes.Join([][]byte{[]byte("before "), content[16:], make([]byte, missing), []byte(" after")}, nil)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes of %d arrived, %v", len(got), len(want), err)
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
	if _, err := NewDataWriter(NewWriter(io.Discard)).SendFile(int(f.Fd()), 10); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("without a socket: %v", err)
	}
}

func unixPair(t *testing.T) (near, far net.Conn) {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if near, err = net.Dial("unix", l.Addr().String()); err == nil {
		far, err = l.Accept()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close(); far.Close() })
	return near, far
}
