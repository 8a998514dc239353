package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// screen is what the terminal shows, without what is empty at the ends of its lines.
const screen = `[...document.querySelectorAll(".xterm-rows > div")].map((row) => row.textContent.replaceAll("\u00a0", " ").trimEnd()).join("\n").trimEnd()`

// terminal opens the one of a sandbox and waits for its prompt.
func (p *tab) terminal(url string) {
	p.t.Helper()
	p.open(url + "/sandboxes/default/work/terminal")
	p.prompts()
}

// prompts waits until the shell does.
func (p *tab) prompts() {
	p.t.Helper()
	p.holds("the shell prompts", `/[$#] ?$/.test(`+screen+`)`)
}

// types gives a line to the shell.
func (p *tab) types(line string) {
	p.t.Helper()
	ask[bool](p, `document.querySelector(".xterm-helper-textarea").focus(), true`)
	p.keys(line)
	p.keys(kb.Enter)
}

// prints waits for text on the screen.
func (p *tab) prints(text string) {
	p.t.Helper()
	p.holds("the terminal shows "+text, screen+".includes("+quoted(text)+")")
}

func workshop(t *testing.T, env ...string) *house {
	t.Helper()
	h := newHouse(t, env...)
	h.hermes("sandbox", "exec", "--task", "work", "--", "true")
	return h
}

// What is typed reaches the shell, key by key, and what it says comes back.
func TestTypingInTheTerminal(t *testing.T) {
	h := workshop(t)
	p := h.visit("/")
	p.terminal(h.url)
	p.types("echo $((6*7)) äöü 日本")
	p.prints("42 äöü 日本")
	p.types("sh -c 'echo it be\"\"gan; sleep 1000; :'")
	p.prints("it began")
	p.keys("c", chromedp.ModifierCtrl)
	p.types("echo the status is $?")
	p.prints("the status is 130")
	p.types("echo it re\"\"ads; cat")
	p.prints("it reads") // from here on the terminal is not the prompt's any more
	p.keys("d", chromedp.ModifierCtrl)
	p.types("printf '\\033[31mred\\033[0m\\n'")
	p.holds("colours are shown", `[...document.querySelectorAll(".xterm-rows span")].some((part) => part.textContent.includes("red") && part.className.includes("xterm-fg-1"))`)
	p.image("terminal")
}

// A window that is made smaller or larger is one for the shell too.
func TestTheTerminalHasTheSizeOfItsWindow(t *testing.T) {
	h := workshop(t)
	p := h.visit("/")
	p.terminal(h.url)
	size := func(mark string) (rows, columns int) {
		p.types("echo " + mark + ": $(stty size).")
		p.holds("the size is shown", `/`+mark+`: \d+ \d+\./.test(`+screen+`)`)
		found := ask[string](p, screen+`.match(/`+mark+`: (\d+ \d+)\./)[1]`)
		if _, err := fmt.Sscan(found, &rows, &columns); err != nil {
			t.Fatal(err)
		}
		return rows, columns
	}
	rows, columns := size("first")
	if shown := ask[int](p, `document.querySelectorAll(".xterm-rows > div").length`); shown != rows {
		t.Errorf("the shell has %d rows, and the window %d", rows, shown)
	}
	p.size(700, 500)
	p.holds("it is drawn anew", fmt.Sprintf(`document.querySelectorAll(".xterm-rows > div").length < %d`, rows))
	narrowRows, narrowColumns := size("second")
	if narrowRows >= rows || narrowColumns >= columns {
		t.Errorf("the shell has %d×%d in a large window and %d×%d in a small one", rows, columns, narrowRows, narrowColumns)
	}
	p.size(1280, 800)
	p.holds("it is large again", fmt.Sprintf(`document.querySelectorAll(".xterm-rows > div").length === %d`, rows))
	if again, _ := size("third"); again != rows {
		t.Errorf("the shell has %d rows, and the window %d again", again, rows)
	}
}

// A connection that is cut loses nothing: the shell goes on, and what it said meanwhile is shown once and in its order.
func TestATerminalGoesOnAfterACut(t *testing.T) {
	h := workshop(t, withLogin...)
	w, near := newWire(t, h.url)
	h.url = near
	p := h.visit("/")
	p.size(1280, 1600)
	p.terminal(near)
	p.types("clear; for i in $(seq 1 40); do echo \"line $i.\"; sleep 0.1; done; echo all of it")
	p.prints("line 10.")
	p.expects("(?i)ERR_|WebSocket|Failed to load")
	w.cut()
	p.sees("onnection")
	p.shot("cut")
	p.holds("nothing comes through", `!`+screen+`.includes("line 40.")`)
	w.mend()
	p.prints("all of it")
	var lines []string
	for line := range strings.Lines(ask[string](p, screen)) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "line ") {
			lines = append(lines, line)
		}
	}
	for i := range 40 {
		if want := fmt.Sprintf("line %d.", i+1); i >= len(lines) || lines[i] != want {
			t.Fatalf("after the cut the terminal shows %q", lines)
		}
	}
	if len(lines) != 40 {
		t.Errorf("some lines came twice: %q", lines)
	}
	p.types("echo still $((1+1))")
	p.prints("still 2")
}

// Tab is the shell's inside of a terminal, so there is another way out for those who have no mouse.
func TestTheTerminalCanBeLeftByKeyboard(t *testing.T) {
	h := workshop(t)
	p := h.visit("/")
	p.terminal(h.url)
	ask[bool](p, `document.querySelector(".xterm-helper-textarea").focus(), true`)
	p.keys("ech")
	p.keys(kb.Tab)
	p.prints("echo")
	p.keys(kb.Backspace, chromedp.ModifierCtrl, chromedp.ModifierShift)
	p.holds("the focus is elsewhere", `!document.activeElement.closest(".xterm") && document.activeElement !== document.body`)
}
