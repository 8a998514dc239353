package apis

import (
	"encoding/json"
	"net/http"
)

// token is what Feishu gives for an app's secret.
const token = "token-of-the-tests"

func (s *Server) feishu() {
	nobody := func(http.Header) string { return Key } // the secret is in the body
	s.post("/open-apis/auth/v3/tenant_access_token/internal", nobody, func(body map[string]any) any {
		if body["app_secret"] != Key {
			return map[string]any{"code": 10014, "msg": "app secret invalid"}
		}
		return map[string]any{"code": 0, "msg": "ok", "tenant_access_token": token, "expire": 7200}
	})
	s.mux.HandleFunc("POST /open-apis/im/v1/messages", func(w http.ResponseWriter, r *http.Request) {
		var message struct {
			To   string `json:"receive_id"`
			Type string `json:"msg_type"`
			Text string `json:"content"`
		}
		var content struct{ Text string }
		switch err := json.NewDecoder(r.Body).Decode(&message); {
		case bearer(r.Header) != token:
			refuse(w, http.StatusUnauthorized)
		case err != nil || json.Unmarshal([]byte(message.Text), &content) != nil || message.Type != "text" || content.Text == "":
			answer(w, map[string]any{"code": 230001, "msg": "invalid content"})
		case r.URL.Query().Get("receive_id_type") == "chat_id" && message.To != "oc_1":
			answer(w, map[string]any{"code": 230002, "msg": "the bot is not in the chat"})
		default:
			answer(w, map[string]any{"code": 0, "msg": "success", "data": map[string]any{"message_id": "om_1", "chat_id": "oc_1", "msg_type": "text"}})
		}
	})
}
