package backend

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"
)

// A hundred calls at a time over five processes: each gets its own answer.
func TestAHundredCallsOverFiveBackends(t *testing.T) {
	d := newDesk(t)
	p := d.pool()
	const backends, callers, rounds = 5, 100, 10
	var calls sync.WaitGroup
	for n := range callers {
		vars := map[string]string{"API_KEY": fmt.Sprintf("key-%d", n%backends)}
		calls.Go(func() {
			for round := range rounds {
				args := marshal(object{"caller": n, "round": round, "text": fmt.Sprintf("%0*d", 10+n*round, n)})
				result, err := p.Call(d.ctx(), "core.server", "echo", args, vars)
				var got, want object
				if err == nil {
					err = json.Unmarshal(result.Structured, &got)
				}
				json.Unmarshal(args, &want)
				if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("caller %d: %v, %v", n, got, err)
				}
			}
		})
	}
	calls.Wait()
	d.becomes(p, Ready, Ready, Ready, Ready, Ready)
}

// A warm call of a backend and of a pool, beside the same exchange with the same server over two pipes and nothing
// between: by turns, because the machine is not always as quick, and medians.
func BenchmarkWarmCall(b *testing.B) {
	d := newDesk(b)
	p, backend, pipes := d.pool(), d.start(d.launch()), newPipes(b)
	d.asks(p, "sdk.one", "echo", nil, nil)
	ways := []struct {
		name string
		call func() error
	}{
		{"pipes-µs", pipes.call},
		{"backend-µs", func() error {
			_, err := backend.Call(b.Context(), "echo", []byte(`{"a":1}`))
			return err
		}},
		{"pool-µs", func() error {
			_, err := p.Call(b.Context(), "sdk.one", "echo", []byte(`{"a":1}`), nil)
			return err
		}},
	}
	took := make(map[string][]time.Duration)
	for b.Loop() {
		for _, way := range ways {
			began := time.Now()
			if err := way.call(); err != nil {
				b.Fatal(err)
			}
			took[way.name] = append(took[way.name], time.Since(began))
		}
	}
	for name, all := range took {
		slices.Sort(all)
		b.ReportMetric(float64(all[len(all)/2].Microseconds()), name)
	}
}

// pipes is the server without anything of ours.
type pipes struct {
	in    io.Writer
	lines *bufio.Reader
	calls int
}

func newPipes(b *testing.B) *pipes {
	cmd := exec.Command(interpreter, "-I", "-S", "testdata/server.py")
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { in.Close(); cmd.Wait() })
	return &pipes{in: in, lines: bufio.NewReader(out)}
}

func (p *pipes) call() error {
	p.calls++
	fmt.Fprintf(p.in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"a":1}}}`+"\n", p.calls)
	_, err := p.lines.ReadBytes('\n')
	return err
}
