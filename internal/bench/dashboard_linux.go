package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"hermes.example/hermes/internal/roster"
)

// What the dashboard is measured with.
const (
	openPages      = 100
	linesASecond   = 10_000
	followed       = 10 * time.Second
	watched        = 5 * time.Second
	firstPaintKB   = 100
	growthMB       = 8
	pagesMB        = 32
	pagesCPU       = 10 // percent of one core
	loggingService = "gateway-default"
)

// dashboard measures what a browser loads, and what pages that are open take of the server.
func (r *runner) dashboard() error {
	if r.Hermes == "" {
		r.progress("the dashboard is left out: there is no program to start")
		return nil
	}
	h, err := r.wholeHome()
	if err != nil {
		return err
	}
	defer h.end()
	first, files, err := h.firstPage()
	if err != nil {
		return err
	}
	all, _, err := h.allPages()
	if err != nil {
		return err
	}
	r.report.figure("dashboard: transferred for the first page, compressed", "KB", float64(first)/1000, firstPaintKB, false,
		fmt.Sprintf("%d files; %.3g KB for all pages but the terminal", files, float64(all)/1000))
	if err := r.watchers(h); err != nil { // before the followers, after whom there is room in the heap
		return err
	}
	return r.followers(h)
}

// followers measures the server while a log grows fast and is followed: by a page that reads, and by one that does not.
func (r *runner) followers(h *homeProcess) error {
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	address := h.url + "/api/services/" + loggingService + "/log?lines=100&follow=1"
	reading, err := h.stream(ctx, address)
	if err != nil {
		return err
	}
	defer reading.Close()
	silent, err := h.stream(ctx, address)
	if err != nil {
		return err
	}
	defer silent.Close()
	var got atomic.Int64
	var all sync.WaitGroup
	all.Go(func() { count(reading, &got) })
	defer all.Wait()
	defer cancel()
	growth, written, err := h.growth(func() (int, error) { return h.chatter(ctx) })
	if err != nil {
		return err
	}
	r.report.figure(fmt.Sprintf("dashboard: growth of its memory while %d log lines a second are followed, by one page that reads and one that does not", linesASecond),
		"MB", growth, growthMB, false, fmt.Sprintf("%d lines in %.0f s, of which %d had come by then", written, followed.Seconds(), got.Load()))
	return nil
}

// watchers measures many pages that are open and see nothing happen.
func (r *runner) watchers(h *homeProcess) error {
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	before := memory(h.pid, "VmRSS")
	var got atomic.Int64
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	for range openPages {
		page, err := h.stream(ctx, h.url+"/api/events")
		if err != nil {
			return err
		}
		all.Go(func() { defer page.Close(); count(page, &got) })
	}
	used, err := r.cpuOf(h.pid, watched)
	if err != nil {
		return err
	}
	r.report.figure(fmt.Sprintf("dashboard: memory that %d open pages take", openPages), "MB", memory(h.pid, "VmRSS")-before, pagesMB, false, "")
	r.report.figure("the same: processor time, while nothing happens", "%", used, pagesCPU, false, "of one core")
	if got.Load() < openPages {
		return fmt.Errorf("only %d lines came to %d pages", got.Load(), openPages)
	}
	return nil
}

// cpuOf is the percentage of a core that a process needs.
func (r *runner) cpuOf(pid string, during time.Duration) (float64, error) {
	before, err := ticks(pid)
	if err != nil {
		return 0, err
	}
	select {
	case <-time.After(during):
	case <-r.ctx.Done():
		return 0, r.ctx.Err()
	}
	after, err := ticks(pid)
	const ticksASecond = 100 // of every Linux that Go runs on
	return 100 * (after - before) / ticksASecond / during.Seconds(), err
}

// ticks is the processor time of a process.
func ticks(pid string) (float64, error) {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 13 {
		return 0, errors.New("cannot read the processor time of " + pid)
	}
	own, _ := strconv.ParseFloat(fields[11], 64)
	kernel, _ := strconv.ParseFloat(fields[12], 64)
	return own + kernel, nil
}

// count counts the lines of a log in a stream of events, or the events of another, until it ends.
func count(stream io.Reader, got *atomic.Int64) {
	lines := bufio.NewReaderSize(stream, 1<<16)
	for {
		line, err := lines.ReadString('\n')
		if data, ok := strings.CutPrefix(line, "data:"); ok {
			got.Add(max(1, int64(strings.Count(data, chatterMark))))
		}
		if err != nil {
			return
		}
	}
}

// chatterMark is in every line that the log grows by.
const chatterMark = "a line of the bench"

// chatter lets the log of a gateway grow, as fast as it says, and returns by how many lines.
func (h *homeProcess) chatter(ctx context.Context) (written int, err error) {
	name, _ := roster.ProfileOf(loggingService)
	file, err := os.OpenFile(path.Join(h.home, "logs", "gateways", name, "current"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	const aTick = 50 * time.Millisecond
	tick := time.NewTicker(aTick)
	defer tick.Stop()
	for end := time.Now().Add(followed); time.Now().Before(end); {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return written, ctx.Err()
		}
		var lines bytes.Buffer
		for range int(linesASecond * aTick / time.Second) {
			fmt.Fprintf(&lines, "2026-01-01 00:00:00.000000000  level=INFO msg=%q number=%d\n", chatterMark, written)
			written++
		}
		if _, err := file.Write(lines.Bytes()); err != nil {
			return written, err
		}
	}
	return written, nil
}

// growth is by how much the server's memory grew at most, above what it was when two tenths of something were done.
func (h *homeProcess) growth(do func() (int, error)) (mb float64, done int, err error) {
	ended := make(chan struct{})
	go func() { defer close(ended); done, err = do() }()
	began := time.NewTimer(followed / 5)
	defer began.Stop()
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	base := 0.0
	for {
		select {
		case <-began.C:
			base = memory(h.pid, "VmRSS")
		case <-look.C:
			if base > 0 {
				mb = max(mb, memory(h.pid, "VmRSS")-base)
			}
		case <-ended:
			return mb, done, err
		}
	}
}
