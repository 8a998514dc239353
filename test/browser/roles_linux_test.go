package browser

import (
	"strings"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// element is something on the page that assistive programs know of.
type element struct {
	node *accessibility.Node
	name string
}

// look lists what has a role now, and with a name only what goes by that.
func (p *tab) look(role, name string) []element {
	p.t.Helper()
	document, err := chromedp.Call(p.ctx, runtime.Evaluate, runtime.EvaluateParams{Expression: "document", ObjectGroup: "look"})
	if err != nil {
		return nil // between two documents
	}
	defer chromedp.Call(p.ctx, runtime.ReleaseObjectGroup, runtime.ReleaseObjectGroupParams{ObjectGroup: "look"})
	found, err := chromedp.Call(p.ctx, accessibility.QueryAXTree,
		accessibility.QueryAXTreeParams{ObjectID: document.Result.ObjectID, Role: role, AccessibleName: name})
	if err != nil {
		return nil
	}
	var elements []element
	for _, n := range found.Nodes {
		if n.Ignored {
			continue
		}
		e := element{node: n}
		if n.Name != nil {
			e.name = strings.Trim(string(n.Name.Value), `"`)
		}
		elements = append(elements, e)
	}
	return elements
}

// has waits for an element that can be seen, and returns the first.
func (p *tab) has(role, name string) element {
	p.t.Helper()
	var found element
	p.until("there is a "+role+" "+quoted(name), func() bool {
		for _, e := range p.look(role, name) {
			if _, _, ok := p.middle(e); ok {
				found = e
				return true
			}
		}
		return false
	})
	return found
}

// middle is where a mouse would click on an element, if it is to be seen.
func (p *tab) middle(e element) (x, y float64, ok bool) {
	if _, err := chromedp.Call(p.ctx, dom.ScrollIntoViewIfNeeded, dom.ScrollIntoViewIfNeededParams{BackendNodeID: e.node.BackendDOMNodeID}); err != nil {
		return 0, 0, false
	}
	quads, err := chromedp.Call(p.ctx, dom.GetContentQuads, dom.GetContentQuadsParams{BackendNodeID: e.node.BackendDOMNodeID})
	if err != nil || len(quads.Quads) == 0 {
		return 0, 0, false
	}
	q := quads.Quads[0]
	return (q[0] + q[4]) / 2, (q[1] + q[5]) / 2, true
}

// click clicks with the mouse on an element, once it is there.
func (p *tab) click(role, name string) {
	p.t.Helper()
	x, y, ok := p.middle(p.has(role, name))
	if !ok {
		p.t.Fatalf("the %s %q has gone", role, name)
	}
	p.do(chromedp.MouseClickXY(x, y))
}

// confirm answers a question that stands before everything else.
func (p *tab) confirm(title, action string) {
	p.t.Helper()
	p.has("dialog", title)
	p.click("button", action) // whatever is behind a dialog cannot be found
	p.holds("the question is gone", "!document.querySelector('dialog')")
}
