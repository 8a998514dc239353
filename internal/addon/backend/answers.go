package backend

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// answers keeps results as they came. What the library makes of one has lost digits of large numbers.
type answers struct {
	mu      sync.Mutex
	awaited map[jsonrpc.ID]*json.RawMessage
}

type answerKey struct{}

// awaiting is a context for one call, whose result is kept in raw.
func awaiting(ctx context.Context, raw *json.RawMessage) context.Context {
	return context.WithValue(ctx, answerKey{}, raw)
}

// await notes whose result has which id. The call's context is what the library hands us with its request.
func (a *answers) await(ctx context.Context, message jsonrpc.Message) {
	raw, _ := ctx.Value(answerKey{}).(*json.RawMessage)
	request, _ := message.(*jsonrpc.Request)
	if raw == nil || request == nil || !request.IsCall() {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.awaited == nil {
		a.awaited = make(map[jsonrpc.ID]*json.RawMessage)
	}
	a.awaited[request.ID] = raw
}

// keep keeps a result for whoever awaits it.
func (a *answers) keep(message jsonrpc.Message) {
	response, _ := message.(*jsonrpc.Response)
	if response == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if raw := a.awaited[response.ID]; raw != nil {
		*raw = response.Result
		delete(a.awaited, response.ID)
	}
}

// forget is for a call that is over.
func (a *answers) forget(raw *json.RawMessage) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for id, other := range a.awaited {
		if other == raw {
			delete(a.awaited, id)
		}
	}
}
