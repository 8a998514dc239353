package browser

import (
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// keys presses keys where the focus is, as a keyboard does: a page that takes a key for itself gets no text of it.
func (p *tab) keys(text string, modifiers ...chromedp.Modifier) {
	p.t.Helper()
	held := int64(0)
	for _, m := range modifiers {
		held |= int64(m)
	}
	for _, r := range text {
		key, known := kb.Keys[r]
		if !known {
			p.paste(string(r))
			continue
		}
		press := input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeRawKeyDown, Key: key.Key, Code: key.Code, Modifiers: held,
			NativeVirtualKeyCode: key.Native, WindowsVirtualKeyCode: key.Windows}
		if key.Shift {
			press.Modifiers |= int64(chromedp.ModifierShift)
		}
		if types := held &^ int64(chromedp.ModifierShift); types == 0 && key.Text != "" {
			press.Type, press.Text, press.UnmodifiedText = input.DispatchKeyEventTypeKeyDown, key.Text, key.Unmodified
		}
		p.send(press)
		press.Type, press.Text, press.UnmodifiedText = input.DispatchKeyEventTypeKeyUp, "", ""
		p.send(press)
	}
}

func (p *tab) send(key input.DispatchKeyEventParams) {
	p.t.Helper()
	if _, err := chromedp.Call(p.ctx, input.DispatchKeyEvent, key); err != nil {
		p.t.Fatal(err)
	}
}

// paste gives text to what has the focus in one piece, as an input method does.
func (p *tab) paste(text string) {
	p.t.Helper()
	if _, err := chromedp.Call(p.ctx, input.InsertText, input.InsertTextParams{Text: text}); err != nil {
		p.t.Fatal(err)
	}
}

// fill replaces what a field holds.
func (p *tab) fill(role, name, text string) {
	p.t.Helper()
	p.click(role, name)
	ask[bool](p, "document.activeElement.select?.(), true")
	p.keys(kb.Delete)
	p.paste(text)
}
