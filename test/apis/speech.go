package apis

import (
	"encoding/binary"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/coder/websocket"
)

// Speech is what every text sounds like.
const Speech = "ID3 the sound of the tests"

// speech speaks the protocol of Edge's read-aloud service: two messages come, and audio goes. A request that is no
// WebSocket's gets the audio at once, for stand-ins.
func (s *Server) speech(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("TrustedClientToken") == "" {
		refuse(w, http.StatusForbidden)
		return
	}
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		_, _ = w.Write([]byte(Speech))
		return
	}
	c, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true}) // the origin is a browser's extension
	if err != nil {
		return
	}
	defer c.CloseNow()
	ctx := r.Context()
	for _, path := range []string{"Path:speech.config", "Path:ssml"} {
		if _, message, err := c.Read(ctx); err != nil || !strings.Contains(string(message), path) {
			return
		}
	}
	text := func(path string, body any) error {
		encoded, err := json.Marshal(body)
		if err != nil {
			return err
		}
		return c.Write(ctx, websocket.MessageText, []byte("X-RequestId:1\r\nPath:"+path+"\r\n\r\n"+string(encoded)))
	}
	if text("turn.start", struct{}{}) != nil {
		return
	}
	for _, part := range []string{Speech[:10], Speech[10:]} {
		head := "X-RequestId:1\r\nContent-Type:audio/mpeg\r\nPath:audio\r\n"
		message := binary.BigEndian.AppendUint16(nil, uint16(len(head)))
		if c.Write(ctx, websocket.MessageBinary, append(append(message, head...), part...)) != nil {
			return
		}
	}
	if text("turn.end", struct{}{}) == nil {
		_ = c.Close(websocket.StatusNormalClosure, "")
	}
}
