package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/chromedp"
)

// tab is one page of a person who has no cookies yet. Its life: newTab opens it and watches what it says, the end of
// the test looks whether it said something wrong, and closes it.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu      sync.Mutex
	faults  []string
	allowed []*regexp.Regexp
}

func newTab(t *testing.T) *tab {
	t.Helper()
	if missing != "" {
		t.Skip(missing)
	}
	return watched(t, chromium, chromedp.WithNewBrowserContext())
}

// newTabBeside is another page of the same person.
func newTabBeside(p *tab) *tab {
	p.t.Helper()
	return watched(p.t, p.ctx)
}

func watched(t *testing.T, parent context.Context, options ...chromedp.ContextOption) *tab {
	t.Helper()
	ctx, end := chromedp.NewContext(parent, options...)
	// Networks of containers that come and go on this machine cut what a browser loads, also on loopback.
	p := &tab{t: t, ctx: ctx, allowed: []*regexp.Regexp{regexp.MustCompile("ERR_NETWORK_CHANGED")}}
	if err := chromedp.Do(ctx); err != nil {
		end()
		t.Fatal(err)
	}
	messages := chromedp.Console(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			p.heard(m)
		}
	})
	t.Cleanup(func() {
		if t.Failed() {
			p.shot("failed")
		}
		end()
		watching.Wait()
		for _, fault := range p.wrong() {
			t.Errorf("the page said: %s", fault)
		}
	})
	p.size(1280, 800)
	// All tabs have the focus: those of one browser would take it from each other.
	if _, err := chromedp.Call(ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *tab) heard(m chromedp.ConsoleMessage) {
	if m.Type != chromedp.ConsoleError && !m.IsException() && m.Source != string(log.EntrySourceSecurity) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(p.faults, strings.TrimSpace(fmt.Sprintf("%s %s %s", m.Source, m.Text, m.URL)))
}

// wrong is what the page said that it should not have.
func (p *tab) wrong() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(p.faults), func(fault string) bool {
		return slices.ContainsFunc(p.allowed, func(r *regexp.Regexp) bool { return r.MatchString(fault) })
	})
}

// expects names an error that the test brings about itself: browsers put every refused request on the console.
func (p *tab) expects(pattern string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.allowed = append(p.allowed, regexp.MustCompile(pattern))
}

func (p *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, bound)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		p.t.Fatal(err)
	}
}

// open loads a page. Where a network changes meanwhile, which cuts what a browser loads, it is loaded again.
func (p *tab) open(url string) {
	p.t.Helper()
	p.until("the page loads: "+url, func() bool {
		ctx, cancel := context.WithTimeout(p.ctx, bound)
		defer cancel()
		err := chromedp.Do(ctx, chromedp.Navigate(url))
		if err != nil && !strings.Contains(err.Error(), "ERR_NETWORK_CHANGED") {
			p.t.Fatal(err)
		}
		return err == nil
	})
}

// path is where the page is.
func (p *tab) path() string { return ask[string](p, "location.pathname") }

// ask evaluates an expression in the page.
func ask[T any](p *tab, expression string) T {
	p.t.Helper()
	value, err := try[T](p, expression)
	if err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// try is ask where the page may be between two documents.
func try[T any](p *tab, expression string) (T, error) {
	ctx, cancel := context.WithTimeout(p.ctx, bound)
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// until waits for something to become true.
func (p *tab) until(what string, true func() bool) {
	p.t.Helper()
	p.within(bound, what, true)
}

func (p *tab) within(bound time.Duration, what string, true func() bool) {
	p.t.Helper()
	end, again := time.After(bound), time.NewTicker(50*time.Millisecond)
	defer again.Stop()
	for !true() {
		select {
		case <-again.C:
		case <-end:
			text, _ := try[string](p, "location.pathname + '\\n' + document.body.innerText")
			p.t.Fatalf("never came true: %s; the page is %s", what, text)
		}
	}
}

// holds waits for an expression of the page.
func (p *tab) holds(what, expression string) {
	p.t.Helper()
	p.until(what, func() bool { yes, err := try[bool](p, "!!("+expression+")"); return err == nil && yes })
}

// sees waits for words anywhere on the page.
func (p *tab) sees(words string) {
	p.t.Helper()
	p.holds("the page shows "+words, "document.body.innerText.includes("+quoted(words)+")")
}

// shows says whether words are on the page now.
func (p *tab) shows(words string) bool {
	p.t.Helper()
	return ask[bool](p, "document.body.innerText.includes("+quoted(words)+")")
}

// arrives waits until the page is at a path.
func (p *tab) arrives(path string) {
	p.t.Helper()
	p.holds("the page is "+path, "location.pathname === "+quoted(path)+" && document.readyState === 'complete'")
}

func (p *tab) size(width, height int64) {
	p.t.Helper()
	p.do(chromedp.EmulateViewport(width, height))
}

// prefers chooses what the system of the person prefers, as prefers-color-scheme is dark.
func (p *tab) prefers(feature, value string) {
	p.t.Helper()
	_, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: feature, Value: value}}})
	if err != nil {
		p.t.Fatal(err)
	}
}

// quoted is a literal of JavaScript.
func quoted(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err) // every string has one
	}
	return string(b)
}
