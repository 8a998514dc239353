package cli

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// meter counts what is copied.
type meter struct{ bytes atomic.Int64 }

// reader counts what is read from r.
func (m *meter) reader(r io.Reader) io.Reader { return &meteredReader{r, m} }

type meteredReader struct {
	io.Reader
	meter *meter
}

func (r *meteredReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.meter.bytes.Add(int64(n))
	return n, err
}

// showAfter is how long a copy takes before its progress is of interest, and how often it is shown then.
const showAfter = time.Second

// watch shows on a terminal how far a long copy is. The returned function takes that away; it may be called twice.
func (c *copying) watch() func() {
	if !isTerminal(c.stderr) {
		return func() {}
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(showAfter)
		defer tick.Stop()
		for shown := false; ; shown = true {
			select {
			case <-tick.C:
				fmt.Fprintf(c.stderr, "\rcopied %.1f MB\x1b[K", float64(c.bytes.Load())/1e6)
			case <-stop:
				if shown {
					fmt.Fprint(c.stderr, "\r\x1b[K")
				}
				return
			}
		}
	}()
	return sync.OnceFunc(func() {
		close(stop)
		<-stopped
	})
}
