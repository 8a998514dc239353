package browser

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// runs says whether a command with a word in it runs in a sandbox.
func (p *reader) runs(task, mark, word string) bool {
	p.h.t.Helper()
	conn := p.dial()
	defer conn.Close()
	line := fmt.Sprintf("grep -la '[%s]%s' /proc/[0-9]*/cmdline | grep -q . && echo it runs || echo it does not run", word[:1], word[1:])
	if err := p.write(conn, "POST", "/api/profiles/default/v1/sandboxes/"+task+"/exec", mark, "application/json", fmt.Sprintf(`{"line": %q}`, line)); err != nil {
		p.h.t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		p.h.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || !strings.Contains(string(text), "it runs") && !strings.Contains(string(text), "it does not run") {
		p.h.t.Fatalf("the command does not say: %v: %s", err, text)
	}
	return strings.Contains(string(text), "it runs")
}

// A browser that goes away takes the command along that it waits for, as at the gateway's own door: also one that had
// sent more than its request, for which Go's server does not watch any more.
func TestWhoHangsUpTakesTheCommandAlong(t *testing.T) {
	h := newHouse(t)
	r := h.reader()
	mark := r.mark()
	runs := func() bool { return r.runs("work", mark, "987654") }
	until := func(what string, true func() bool) {
		again := time.NewTicker(100 * time.Millisecond)
		defer again.Stop()
		for end := time.Now().Add(bound); !true(); <-again.C {
			if time.Now().After(end) {
				t.Fatalf("never came true: %s", what)
			}
		}
	}
	for name, more := range map[string]string{"in order": "", "after a byte too many": "\r\n"} {
		conn := r.dial()
		if err := r.write(conn, "POST", "/api/profiles/default/v1/sandboxes/work/exec", mark, "application/json", `{"line": "exec sleep 987654"}`); err != nil {
			t.Fatal(err)
		}
		until("the command begins", runs)
		if _, err := io.WriteString(conn, more); err != nil {
			t.Fatal(err)
		}
		conn.Close()
		until("who hangs up "+name+" takes the command along", func() bool { return !runs() })
	}
}

// Whatever a service says, a page shows text, and goes on.
func TestOddLinesOfALogAreText(t *testing.T) {
	h := newHouse(t)
	p := h.visit("/services/gateway-default")
	p.sees("listening")
	var said strings.Builder
	for _, odd := range []string{"<img src=x onerror='document.title=1'><script>document.title=2</script>&lt;b&gt;", "\x1b[31mred\x1b[0m \x1b]0;title\a\x1b[2J\x1b[1;1H", "\x00\x01\x02\xff\xfe\xc3\x28 \xed\xa0\x80",
		"\u202eright to left\u2066", "data: x", "event: overview", strings.Repeat("long ", 250_000), strings.Repeat("\xff", 100_000), "\r\r\r", ""} {
		said.WriteString(odd + "\n")
	}
	said.WriteString("and after all that\n")
	pipe := h.mouth("gateway-default")
	defer pipe.Close()
	if _, err := io.WriteString(pipe, said.String()); err != nil {
		t.Fatal(err)
	}
	p.sees("and after all that")
	p.sees("<script>document.title=2</script>&lt;b&gt;")
	p.holds("no element came of a line", "[...document.querySelectorAll('.log > div')].every((line) => line.childElementCount === 0)")
	p.holds("no control came of a line", `!/[\x00-\x08\x0b-\x1f\x7f]/.test(document.querySelector('.log').textContent)`)
	p.holds("a long line is cut", "[...document.querySelectorAll('.log > div')].every((line) => line.textContent.length < 5000)")
	if title := ask[string](p, "document.title"); !strings.Contains(title, "gateway-default") {
		t.Errorf("the title is %q", title)
	}
}
