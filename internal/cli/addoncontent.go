package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"

	"hermes.example/hermes/internal/addon/backend"
)

// block is what we know of a piece of content of the protocol.
type block struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	MIMEType string `json:"mimeType"`
	URI      string `json:"uri"`
	Data     string `json:"data"` // base64
	Resource struct {
		URI  string `json:"uri"`
		Text string `json:"text"`
	} `json:"resource"`
}

func contentBlocks(r backend.Result) (all []block) {
	_ = json.Unmarshal(r.Content, &all) // what has another form is left out, and --json has it
	return all
}

// contentText is all of the text.
func contentText(r backend.Result) string {
	var texts []string
	for _, b := range contentBlocks(r) {
		if text := b.Text + b.Resource.Text; text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n")
}

// writeContent prints an answer for people: its text, else its object; what is neither is named. What a tool has from
// the network must not drive a terminal.
func (a *app) writeContent(r backend.Result) error {
	text := contentText(r)
	if text == "" && len(r.Structured) > 0 {
		return writeJSON(a.stdout, r.Structured)
	}
	if isTerminal(a.stdout) {
		text = harmless(text)
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	for _, b := range contentBlocks(r) {
		switch {
		case b.Data != "":
			a.say("there is %s of %s, too: --json prints it", b.Type, size(int64(len(b.Data))*3/4))
		case b.Type == "resource_link":
			text += fmt.Sprintln(harmless(b.URI))
		}
	}
	_, err := io.WriteString(a.stdout, text)
	return err
}

// harmless is a text of several lines as it may be shown on a terminal.
func harmless(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return '\uFFFD'
		}
		return r
	}, text)
}
