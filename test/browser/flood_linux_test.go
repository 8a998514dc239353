package browser

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/memory"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// What a page may grow by while it follows a log that is faster than anybody reads.
const (
	floodLines  = 10_000 // a second
	floodTime   = 8 * time.Second
	mostHeap    = 16 << 20
	mostNodes   = 12_000 // 2,000 lines are an element and its text each, and what is not collected yet
	firstPaint  = 100_000
	pageAnswers = 5 * time.Second
)

// flood lets the log of a gateway grow faster than anybody reads.
func (h *house) flood() error {
	file, err := os.OpenFile(filepath.Join(h.home, "logs", "gateways", "default", "current"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	const aTick = 50 * time.Millisecond
	tick := time.NewTicker(aTick)
	defer tick.Stop()
	n := 0
	for end := time.Now().Add(floodTime); time.Now().Before(end); <-tick.C {
		var lines bytes.Buffer
		for range int(floodLines * aTick / time.Second) {
			n++
			fmt.Fprintf(&lines, "2026-01-01 00:00:00.000000000  level=INFO msg=\"a line among many\" number=%d\n", n)
		}
		if _, err := file.Write(lines.Bytes()); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintln(file, "2026-01-01 00:00:00.000000000  the flood is over")
	return err
}

// weight is what a page holds once what it let go of is collected.
func (p *tab) weight() (heap float64, nodes int64) {
	p.t.Helper()
	if _, err := chromedp.Call(p.ctx, heapprofiler.CollectGarbage, struct{}{}); err != nil {
		p.t.Fatal(err)
	}
	used, err := chromedp.Call(p.ctx, runtime.GetHeapUsage, struct{}{})
	if err != nil {
		p.t.Fatal(err)
	}
	counted, err := chromedp.Call(p.ctx, memory.GetDOMCounters, struct{}{})
	if err != nil {
		p.t.Fatal(err)
	}
	return used.UsedSize, counted.Nodes
}

// Ten thousand lines a second neither make the page grow nor keep it from answering, and the last of them is shown.
func TestAFloodOfLinesIsFollowed(t *testing.T) {
	h := newHouse(t)
	p := h.visit("/services/gateway-default")
	p.sees("listening")
	before, _ := p.weight()
	var flooding sync.WaitGroup
	var failed error
	flooding.Go(func() { failed = h.flood() })
	p.sees("a line among many")
	for range 5 {
		began := time.Now()
		ask[bool](p, "new Promise((drawn) => requestAnimationFrame(() => setTimeout(() => drawn(true))))")
		if took := time.Since(began); took > pageAnswers {
			t.Errorf("the page needed %s to answer", took)
		}
		if lines := ask[int](p, "document.querySelector('.log').childElementCount"); lines > 2000 {
			t.Errorf("the page holds %d lines", lines)
		}
	}
	flooding.Wait()
	if failed != nil {
		t.Fatal(failed)
	}
	p.sees("the flood is over")
	heap, nodes := p.weight()
	t.Logf("the heap was %.1f MB and is %.1f MB; there are %d nodes", before/1e6, heap/1e6, nodes)
	if heap-before > mostHeap {
		t.Errorf("the heap grew from %.1f MB to %.1f MB", before/1e6, heap/1e6)
	}
	if nodes > mostNodes {
		t.Errorf("the page has %d nodes", nodes)
	}
}

// What a browser really transfers for the first page is little, comes from here alone, and has nothing of the terminal.
func TestTheFirstPageIsSmall(t *testing.T) {
	h := newHouse(t, withLogin...)
	p := newTab(t)
	p.open(h.url + "/login")
	p.login(password)
	p.arrives("/")
	p.drawn("Overview")
	other := newTabBeside(p)
	if _, err := chromedp.Call(other.ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(other.ctx, network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: true}); err != nil {
		t.Fatal(err)
	}
	other.open(h.url + "/")
	other.drawn("Overview")
	other.sees("gateway-default")
	type entry struct {
		Name        string
		Size, Plain float64
	}
	sizes := ask[[]entry](other, `[...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
		.map((e) => ({ Name: e.name, Size: e.transferSize, Plain: e.decodedBodySize }))`)
	total, plain := 0.0, 0.0
	for _, e := range sizes {
		if !strings.HasPrefix(e.Name, h.url) || strings.Contains(e.Name, "xterm") || strings.HasSuffix(e.Name, "terminal.js") {
			t.Errorf("the first page loads %s", e.Name)
		}
		total, plain = total+e.Size, plain+e.Plain
	}
	t.Logf("%.1f KB in %d answers, which are %.1f KB when they are unpacked", total/1e3, len(sizes), plain/1e3)
	if total > firstPaint || total > plain*2/3 || total < 5_000 {
		t.Errorf("the first page transfers %.0f bytes: %v", total, sizes)
	}
}

// A browser has six connections to a server, and may keep pages that were left for the way back: they keep no stream.
// Whether it keeps them is its own affair, so the page is also told that it is kept, and that somebody came back.
func TestPagesThatWereLeftKeepNoConnection(t *testing.T) {
	h := newHouse(t)
	p := h.visit("/services/gateway-default")
	for range 8 {
		p.open(h.url + "/services/gateway-default")
		p.sees("listening")
	}
	p.open(h.url + "/profiles")
	p.drawn("Profiles")
	ask[bool](p, "history.back(), true") // a page that was kept is not loaded again, and so there is no load to wait for
	h.says("gateway-default", "a line for who came back")
	p.sees("a line for who came back")
	const ended = "performance.getEntriesByType('resource').filter((e) => /^.api.(events|services.*log)$/.test(new URL(e.name).pathname)).length"
	before := ask[int](p, ended)
	ask[bool](p, "dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))")
	p.until("both streams of the page that was left are ended", func() bool { return ask[int](p, ended) >= before+2 })
	if ask[bool](p, "!document.getElementById('banner').hidden") {
		t.Error("a page that let its connection go calls it lost")
	}
	h.says("gateway-default", "a line that nobody saw")
	ask[bool](p, "dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
	p.sees("a line that nobody saw")
}
