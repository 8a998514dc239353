package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"hermes.example/hermes/internal/addon/backend"
)

func TestAnAnswerAsText(t *testing.T) {
	for name, test := range map[string]struct{ content, structured, out, said string }{
		"a text":                {`[{"type":"text","text":"one"}]`, ``, "one\n", ""},
		"two, one with an end":  {`[{"type":"text","text":"one"},{"type":"text","text":"two\n"}]`, ``, "one\ntwo\n", ""},
		"text before an object": {`[{"type":"text","text":"one"}]`, `{"a":1}`, "one\n", ""},
		"an object alone":       {`[]`, `{"a":1}`, "{\n  \"a\": 1\n}\n", ""},
		"a file":                {`[{"type":"resource","resource":{"uri":"file:///x","text":"inside"}}]`, ``, "inside\n", ""},
		"a link":                {`[{"type":"resource_link","uri":"file:///x\u001b[31m"}]`, ``, "file:///x\uFFFD[31m\n", ""},
		"a sound":               {`[{"type":"audio","mimeType":"audio/mpeg","data":"AAAAAAAA"}]`, ``, "", "hermes: there is audio of 6 B, too: --json prints it\n"},
		"nothing":               {`[]`, ``, "", ""},
		"something else":        {`{"odd":1}`, ``, "", ""},
	} {
		a, stdout, stderr := testApp()
		r := backend.Result{Content: json.RawMessage(test.content), Structured: json.RawMessage(test.structured)}
		if err := a.writeContent(r); err != nil || stdout.String() != test.out || stderr.String() != test.said {
			t.Errorf("%s: %q, %q, %v", name, stdout, stderr, err)
		}
	}
}

func TestATextDoesNotDriveATerminal(t *testing.T) {
	if got := harmless("a\tb\n\x1b]0;title\x07\u009b31m\r"); got != "a\tb\n\uFFFD]0;title\uFFFD\uFFFD31m\uFFFD" {
		t.Errorf("%q", got)
	}
}

func TestTheArgumentsOfATool(t *testing.T) {
	for name, test := range map[string]struct {
		stdin string
		args  []string
		want  string
	}{
		"none":           {"", nil, "{}"},
		"an object":      {"", []string{` {"a":1} `}, `{"a":1}`},
		"from a pipe":    {"{\"b\":2}\n", []string{"-"}, `{"b":2}`},
		"a list":         {"", []string{"[]"}, ""},
		"null":           {"", []string{"null"}, ""},
		"two":            {"", []string{"{}{}"}, ""},
		"nothing":        {"", []string{""}, ""},
		"an empty pipe":  {"", []string{"-"}, ""},
		"more than ever": {`{"a":"` + strings.Repeat("x", largestArguments) + `"}`, []string{"-"}, ""},
	} {
		got, err := readArguments(strings.NewReader(test.stdin), test.args)
		if string(got) != test.want || (err != nil) != (test.want == "") || err != nil && !isA[*usageError](err) {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}
