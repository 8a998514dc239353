package faults

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"hermes.example/hermes/sandbox"
)

// flakyEngine has connections that break after some bytes, both ways counted.
type flakyEngine struct {
	sandbox.Engine
	mu     sync.Mutex
	r      *rand.Rand
	broken int
	direct bool
}

func (e *flakyEngine) Capabilities() sandbox.Capabilities {
	c := e.Engine.Capabilities()
	c.Direct = e.direct
	return c
}

func (e *flakyEngine) Connect(ctx context.Context, id sandbox.Identity) (io.ReadWriteCloser, error) {
	conn, err := e.Engine.Connect(ctx, id)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return &flakyConn{ReadWriteCloser: conn, engine: e, left: 600 + e.r.IntN(200_000)}, nil
}

type flakyConn struct {
	io.ReadWriteCloser
	engine *flakyEngine
	mu     sync.Mutex
	left   int
}

// use takes n bytes off what is left, and breaks the connection at the end.
func (c *flakyConn) use(n int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left <= 0 {
		return false
	}
	if c.left -= n; c.left <= 0 {
		c.engine.mu.Lock()
		c.engine.broken++
		c.engine.mu.Unlock()
		c.Close()
		return false
	}
	return true
}

func (c *flakyConn) Read(p []byte) (int, error) {
	n, err := c.ReadWriteCloser.Read(p)
	if !c.use(n) {
		return 0, io.ErrUnexpectedEOF
	}
	return n, err
}

func (c *flakyConn) Write(p []byte) (int, error) {
	if !c.use(len(p)) {
		return 0, io.ErrClosedPipe
	}
	return c.ReadWriteCloser.Write(p)
}

// A line that breaks at any byte neither runs a command twice nor loses output.
func TestD03BrokenLinesRunNothingTwice(t *testing.T) {
	everyone(t, func(t *testing.T) {
		for _, direct := range []bool{true, false} {
			a := newArena(t)
			e := &flakyEngine{Engine: a.engine, r: random(t), direct: direct}
			m := sandbox.NewManager(e, sandbox.Options{NoSweep: true})
			ctx, cancel := context.WithTimeout(t.Context(), bound)
			defer cancel()
			a.ensure("t", sandbox.Spec{}) // holds it open
			var box *sandbox.Sandbox
			for box == nil {
				var err error
				if box, err = m.Ensure(ctx, a.id("t"), sandbox.Spec{}); err != nil && ctx.Err() != nil {
					t.Fatal(err)
				}
			}
			complete, whole := 0, strings.Repeat("x", 200_000)
			const commands = 40
			for i := range commands {
				var out bytes.Buffer
				id := fmt.Sprintf("id-%v-%d", direct, i)
				line := "echo " + id + " >> ran; head -c 200000 /dev/zero | tr '\\0' x; exit 3"
				res, err := box.Exec(ctx, sandbox.Command{Line: line, ID: id, Stdout: &out, Detached: true})
				switch {
				case err != nil:
					t.Logf("%d: %v", i, err) // it may fail, but not twice
				case res.Code == 3 && out.String() == whole && res.Missed == 0:
					complete++
				default:
					t.Errorf("%d: %+v, %d bytes", i, res, out.Len())
				}
			}
			t.Logf("direct %v: %d lines broke, %d of %d commands came through", direct, e.broken, complete, commands)
			if complete < commands/2 || e.broken < commands/2 {
				t.Errorf("%d came through while %d broke", complete, e.broken)
			}
			data, _ := os.ReadFile(filepath.Join(a.home, "sandboxes", "native", "t", "workspace", "ran"))
			count := make(map[string]int)
			for _, id := range strings.Fields(string(data)) {
				if count[id]++; count[id] > 1 {
					t.Errorf("%s ran %d times", id, count[id])
				}
			}
			m.Close()
		}
	})
}
