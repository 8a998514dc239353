package backend

import (
	"bytes"
	"slices"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// FuzzOutput writes whatever a process may write. However it is cut into pieces, the same messages come through, nothing
// is kept beyond the bound, and what did not come through was said or is the reason of the end.
func FuzzOutput(f *testing.F) {
	for _, text := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{}}` + "\n",
		"words\n" + `{"jsonrpc":"2.0","id":"a","method":"ping"}` + "\r\n" + `{"jsonrpc":"2.0","method":"x"}` + "\n",
		`{"jsonrpc":"2.0","id":1}` + "\n", "\xff\n\n[[[[", `[{"jsonrpc":"2.0"}]` + "\n", "no end", "0\r\n\n",
	} {
		f.Add([]byte(text), uint8(3))
	}
	f.Fuzz(func(t *testing.T, text []byte, size uint8) {
		whole, said, why := written(t, text, len(text)+1)
		pieces, saidInPieces, whyInPieces := written(t, text, int(size)+1)
		if !slices.Equal(whole, pieces) || !bytes.Equal(said, saidInPieces) || why != whyInPieces {
			t.Errorf("%q: %q, %q, %q and in pieces %q, %q, %q", text, whole, said, why, pieces, saidInPieces, whyInPieces)
		}
	})
}

// written is what comes of a text that is written in pieces: messages, words, and why it ended.
func written(t *testing.T, text []byte, size int) (messages []string, said []byte, why string) {
	const most = 200
	var words bytes.Buffer
	l := newLine(most, &words, func(because string) { why = because })
	taken := make(chan struct{})
	go func() {
		defer close(taken)
		for {
			m, err := l.Read(t.Context())
			if err != nil {
				return
			}
			encoded, err := jsonrpc.EncodeMessage(m)
			if err != nil {
				t.Error(err)
			}
			messages = append(messages, string(encoded))
		}
	}()
	for piece := range slices.Chunk(text, size) {
		if _, err := (output{l}).Write(piece); err != nil {
			break
		}
		if len(l.partial) > most {
			t.Errorf("%d bytes are kept", len(l.partial))
		}
	}
	l.Close()
	<-taken
	return messages, words.Bytes(), why
}
