package cli

import (
	"encoding/json"
	"io"
	"strings"
	"unicode/utf8"
)

// Colours, as terminals know them.
const (
	bold   = "1"
	red    = "31"
	green  = "32"
	yellow = "33"
	faint  = "2"
)

// cell is a text with its colour, which may be none.
type cell struct{ text, colour string }

// paint gives texts their colour where there is a terminal for it.
type paint bool

// paint says whether results are coloured: on terminals only, and not where
// NO_COLOR is set or the terminal is a dumb one.
func (a *app) paint() paint {
	if value, _ := a.lookup("NO_COLOR"); value != "" {
		return false
	}
	kind, _ := a.lookup("TERM")
	return kind != "dumb" && paint(isTerminal(a.stdout))
}

func (p paint) of(c cell) string {
	if !p || c.colour == "" || c.text == "" {
		return c.text
	}
	return "\x1b[" + c.colour + "m" + c.text + "\x1b[0m"
}

// writeTable writes rows with columns as wide as their widest cell. What ends a row,
// like a title, may be wider.
func writeTable(w io.Writer, p paint, rows [][]cell) error {
	var widths []int
	for _, row := range rows {
		for i, c := range row[:max(len(row)-1, 0)] {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(c.text))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		for i, c := range row {
			b.WriteString(p.of(c))
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c.text)+2))
			}
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}
