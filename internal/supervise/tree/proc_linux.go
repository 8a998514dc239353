package tree

import (
	"strings"
	"sync"

	"hermes.example/hermes/internal/proc"
)

// census lists the machine's processes. Those who ask at the same time share one look, which begins after they asked:
// a thousand services that end together cost a few looks and not a thousand.
type census struct {
	mu   sync.Mutex // for next
	next *look      // that has not begun
	turn sync.Mutex // one look at a time
}

type look struct {
	once sync.Once
	all  []proc.Process
}

func (c *census) take() []proc.Process {
	c.mu.Lock()
	if c.next == nil {
		c.next = new(look)
	}
	l := c.next
	c.mu.Unlock()
	c.turn.Lock()
	defer c.turn.Unlock()
	l.once.Do(func() {
		c.mu.Lock()
		c.next = nil
		c.mu.Unlock()
		l.all = proc.All()
	})
	return l.all
}

// isGuest knows the guest of a sandbox by its name: that of its program, "guest-" and a digest, as far as the kernel
// keeps it. It tells nobody more of itself.
func isGuest(p proc.Process) bool {
	digest, ok := strings.CutPrefix(p.Name, "guest-")
	return ok && len(p.Name) == 15 && strings.Trim(digest, "0123456789abcdef") == ""
}
