package browser

import (
	_ "embed"
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

//go:embed testdata/follow.js
var follow string

// numbered says in the page whether all that came are the numbers from 1 on, each once and in its order.
func numbered(p *tab, last int) bool {
	p.t.Helper()
	return ask[bool](p, fmt.Sprintf(`(() => {
		const found = followed.text.match(/n\d+(?=\r\n)/g) ?? [];
		return found.length === %d && found.every((line, i) => line === "n" + (i + 1));
	})()`, last))
}

// ended waits for the end of what was followed.
func (p *tab) ended() {
	p.t.Helper()
	p.within(2*time.Minute, "the shell has ended", func() bool { return ask[string](p, "followed.ended") == "The shell ended with 7." })
	if gaps := ask[int](p, "followed.gaps"); gaps != 0 {
		p.t.Errorf("%d bytes are missing", gaps)
	}
}

// However often the connection is cut, a page goes on at the very byte. The command goes on until it is told that it was cut
// often enough, however long that takes.
func TestAShellIsExactThroughManyCuts(t *testing.T) {
	h := workshop(t, withLogin...)
	w, near := newWire(t, h.url)
	h.url = near
	p := h.visit("/sandboxes")
	p.sees("work")
	p.expects("(?i)ERR_|WebSocket|Failed to load")
	ask[bool](p, "("+follow+`)("i=0; until [ -e /tmp/enough ]; do i=$((i+1)); echo n$i; sleep 0.002; done; echo these are $i", 1000)`)
	p.holds("it runs", `followed.text.includes("n1\r\n")`) // before, a cut could take with it what was typed, which is not sent again
	const cuts = 4
	came := func(connections int) {
		p.holds("some of it came over a new connection", fmt.Sprintf("followed.opened >= %d && followed.text.length > (window.before ?? 0)", connections))
	}
	for n := 1; n <= cuts; n++ {
		came(n)
		ask[int](p, "window.before = followed.text.length")
		w.cut()
		w.mend()
	}
	came(cuts + 1)
	h.hermes("sandbox", "exec", "--task", "work", "--", "touch", "/tmp/enough")
	p.ended()
	if wrong := ask[string](p, `(() => {
		const found = followed.text.match(/n\d+(?=\r\n)/g) ?? [];
		const all = Number(/these are (\d+)\r\n/.exec(followed.text)?.[1]);
		if (found.length !== all) return found.length + " lines of " + all;
		return found.find((line, i) => line !== "n" + (i + 1)) ?? "";
	})()`); wrong != "" {
		t.Errorf("over %d connections came %d bytes, and of them %s; they end with %q", ask[int](p, "followed.opened"), ask[int](p, "followed.text.length"), wrong, ask[string](p, "followed.text.slice(-200)"))
	}
}

// What a page cannot draw as fast as it comes waits in the sandbox, and not in the page; nothing of it is lost.
func TestAPageThatIsSlowKeepsLittle(t *testing.T) {
	h := workshop(t)
	p := h.visit("/sandboxes")
	p.sees("work")
	ask[bool](p, "("+follow+`)("seq -f n%.0f 1 1500000", 3)`)
	p.ended()
	if most := ask[int](p, "followed.most"); most > 5<<20 {
		t.Errorf("up to %d bytes waited in the page", most)
	}
	if opened := ask[int](p, "followed.opened"); opened < 2 || !numbered(p, 1500000) {
		t.Errorf("over %d connections came %d bytes, which end with %q", opened, ask[int](p, "followed.text.length"), ask[string](p, "followed.text.slice(-200)"))
	}
}

// Who loads the page again has the same shell, as it was; and a question that a program asked the terminal before is not
// answered a second time.
func TestAReloadKeepsTheShell(t *testing.T) {
	h := workshop(t)
	p := h.visit("/")
	p.terminal(h.url)
	p.types(`MARK=kept; printf '\033[6n'; read -rsd R -t 20 where; echo "answered ${#where}"`)
	p.holds("the terminal has answered", `/answered [1-9]/.test(`+screen+`)`)
	p.do(chromedp.Reload())
	p.prints("answered")
	p.types("echo $MARK as it was")
	p.prints("kept as it was")
	if ask[bool](p, `/1R|command not found/.test(`+screen+`)`) {
		t.Errorf("the terminal answered again: %s", ask[string](p, screen))
	}
}

// A shell that has ended says how, and another one is a button away.
func TestAShellThatEndedIsFollowedByAnother(t *testing.T) {
	h := workshop(t)
	p := h.visit("/")
	p.terminal(h.url)
	p.types("exit 3")
	p.sees("The shell ended with 3.")
	p.click("button", "New shell")
	p.prompts()
	p.types("echo number $((1+1))")
	p.prints("number 2")
	p.click("button", "End the shell")
	p.has("button", "New shell")
}

// A hermes that was built where npm was missing says so in the place of the terminal.
func TestATerminalThatIsNotThereIsToldOf(t *testing.T) {
	h := workshop(t)
	p := h.visit("/sandboxes")
	p.expects("404")
	ask[bool](p, `(() => {
		const real = fetch;
		window.fetch = (url, options) => (String(url).endsWith("/xterm.mjs") ? real("/assets/xterm/nothing.mjs", options) : real(url, options));
		return true;
	})()`)
	p.click("link", "Terminal of work")
	p.sees("built without its terminal")
	p.sees("hermes sandbox shell")
}
