package toolbox

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Notice is something that happened to a background process, and is told with the next answer or to who subscribed.
type Notice struct {
	Time    time.Time `json:"time" jsonschema:"when it happened"`
	Process string    `json:"process_id" jsonschema:"the process"`
	Text    string    `json:"text" jsonschema:"what happened, in one line"`
}

// mostNotices is how many are kept for the next answer.
const mostNotices = 64

// notices is a bounded queue, and those who wait here for what fills it.
type notices struct {
	ctx   context.Context
	stop  context.CancelFunc
	tasks sync.WaitGroup

	mu          sync.Mutex
	closed      bool
	queue       []Notice
	dropped     int
	subscribers map[*func(Notice)]struct{}
}

func (n *notices) open() {
	n.ctx, n.stop = context.WithCancel(context.Background())
	n.subscribers = make(map[*func(Notice)]struct{})
}

func (n *notices) close() {
	n.mu.Lock()
	n.closed = true
	n.mu.Unlock()
	n.stop()
	n.tasks.Wait()
}

// begin runs what fills the queue, unless it is closed.
func (n *notices) begin(task func(context.Context)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.closed {
		n.tasks.Go(func() { task(n.ctx) })
	}
}

func (n *notices) add(notice Notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.queue) == mostNotices {
		n.queue = n.queue[1:]
		n.dropped++
	}
	n.queue = append(n.queue, notice)
	for tell := range n.subscribers {
		(*tell)(notice)
	}
}

// Notices returns what happened since it was last asked, oldest first, and forgets it.
func (t *Toolbox) Notices() []Notice {
	n := &t.notices
	n.mu.Lock()
	defer n.mu.Unlock()
	all := n.queue
	if n.dropped > 0 {
		all = append([]Notice{{Time: t.now(), Text: fmt.Sprintf("%d earlier notices are no longer kept", n.dropped)}}, all...)
	}
	n.queue, n.dropped = nil, 0
	return all
}

// Subscribe has tell called with each notice when it happens, until cancel is called. It must return at once, and is
// told also what the next answer holds.
func (t *Toolbox) Subscribe(tell func(Notice)) (cancel func()) {
	n := &t.notices
	n.mu.Lock()
	defer n.mu.Unlock()
	n.subscribers[&tell] = struct{}{}
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.subscribers, &tell)
	}
}
