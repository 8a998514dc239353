package client

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// read is all events of a stream, and how it ended.
func read(r io.Reader) ([]string, error) {
	var all []string
	for e := newEvents(r); ; {
		next, err := e.next()
		if err != nil {
			return all, err
		}
		all = append(all, fmt.Sprintf("%s|%s|%s", next.name, next.id, next.data))
	}
}

func TestEventsAreReadAsTheStandardSays(t *testing.T) {
	for name, test := range map[string]struct {
		stream string
		events []string
	}{
		"one":                                {"event: output\nid: 3-0\ndata: x\n\n", []string{"output|3-0|x"}},
		"every kind of line end":             {"data: a\r\n\r\ndata: b\r\rdata: c\n\n", []string{"||a", "||b", "||c"}},
		"several lines of data":              {"data: a\ndata:\ndata:  b\n\n", []string{"||a\n\n b"}},
		"no space after the colon":           {"event:e\ndata:x\n\n", []string{"e||x"}},
		"comments, and fields nobody knows":  {": hello\n\nretry: 5\nother: x\ndata: a\n\n", []string{"||a"}},
		"an id lasts":                        {"id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n", []string{"|1|a", "|1|b", "||c"}},
		"an id without data is kept":         {"id: 7\n\ndata: a\n\n", []string{"|7|a"}},
		"an id with NUL is none":             {"id: 1\x002\ndata: a\n\n", []string{"||a"}},
		"a name without data is no event":    {"event: x\n\ndata: a\n\n", []string{"||a"}},
		"a byte order mark":                  {"\ufeffdata: a\n\n", []string{"||a"}},
		"what was not finished is no event":  {"data: a\n\ndata: b\n", []string{"||a"}},
		"data of nothing is an event":        {"event: e\ndata\n\n", []string{"e||"}},
		"a stream without anything":          {"", nil},
		"an end between CR and LF":           {"data: a\r\n\r", []string{"||a"}},
		"an empty line after CR is one more": {"data: a\r\r\n\n", []string{"||a"}},
	} {
		for how, reader := range map[string]io.Reader{"at once": strings.NewReader(test.stream), "byte by byte": iotest.OneByteReader(strings.NewReader(test.stream))} {
			got, err := read(reader)
			if fmt.Sprint(got) != fmt.Sprint(test.events) || err != io.EOF {
				t.Errorf("%s, %s: %q, %v; it should be %q", name, how, got, err, test.events)
			}
		}
	}
}

func TestAnEventIsBounded(t *testing.T) {
	endless := io.MultiReader(strings.NewReader("data: "), &repeated{"x"})
	if _, err := read(endless); !errors.Is(err, errLongEvent) {
		t.Errorf("a line: %v", err)
	}
	if _, err := read(&repeated{"data: xxxxxxxx\n"}); !errors.Is(err, errLongEvent) {
		t.Errorf("many lines: %v", err)
	}
	// Many small ones are no long one.
	small := strings.Repeat("data: "+strings.Repeat("x", 1<<20)+"\n\n", 20)
	if got, err := read(strings.NewReader(small)); len(got) != 20 || err != io.EOF {
		t.Errorf("many events: %d, %v", len(got), err)
	}
}

// repeated is a stream without end.
type repeated struct{ text string }

func (r *repeated) Read(p []byte) (int, error) {
	n := 0
	for n+len(r.text) <= len(p) {
		n += copy(p[n:], r.text)
	}
	return n, nil
}
