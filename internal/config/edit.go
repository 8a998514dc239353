package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// edit returns the text of a file of YAML in which a key has another value, and everything else, comments too,
// stands as it stood. The parser says where things are; the lines themselves are changed by hand, because no
// parser writes a file as a person wrote it. What comes out is read again and must mean what was asked for.
func edit(text string, path []string, value string) (string, error) {
	var before, after, wanted any
	if err := parse([]byte(text), &before); err != nil {
		return "", err
	}
	if err := parse([]byte(value), &wanted); err != nil {
		return "", err
	}
	edited, err := editLines(text, path, value)
	if err != nil {
		return "", err
	}
	if err := parse([]byte(edited), &after); err != nil || !reflect.DeepEqual(after, with(before, path, wanted)) {
		return "", errors.New("it is written in a way in which a change would change more than that; edit it by hand")
	}
	return edited, nil
}

// with is a copy of a value in which what is at the path is another one.
func with(value any, path []string, wanted any) any {
	if len(path) == 0 {
		return wanted
	}
	section := map[string]any{}
	if old, ok := value.(map[string]any); ok {
		for name, v := range old {
			section[name] = v
		}
	}
	section[path[0]] = with(section[path[0]], path[1:], wanted)
	return section
}

// page is a file on the way to being changed: its lines, with their ends.
type page struct{ lines []string }

func editLines(text string, path []string, value string) (string, error) {
	file, err := parser.ParseBytes([]byte(text), parser.ParseComments, parser.AllowDuplicateMapKey())
	if err != nil {
		return "", err
	}
	if len(file.Docs) > 1 {
		return "", errors.New("it holds several documents; edit it by hand")
	}
	p := &page{slices.Collect(strings.Lines(text))}
	if err := p.set(file.Docs[0].Body, path, value); err != nil {
		return "", err
	}
	return strings.Join(p.lines, ""), nil
}

// set goes down from the document's body to the last section that exists.
func (p *page) set(body ast.Node, path []string, value string) error {
	end := len(p.lines)
	for depth := range path {
		section, ok := body.(*ast.MappingNode)
		switch {
		case depth == 0 && (body == nil || body.Type() == ast.CommentType):
			p.insert(end, lines(path, value, 0))
			return nil
		case !ok:
			return fmt.Errorf("%s is not a section with keys below it", strings.Join(path[:depth], "."))
		case section.IsFlowStyle:
			return errors.New("its section is written in braces; write it as lines, or edit it by hand")
		}
		entry, next := find(section, path[depth])
		indent := section.Values[0].Key.GetToken().Position.Column - 1
		if entry == nil {
			p.insert(p.lastLine(end, indent-1), lines(path[depth:], value, indent))
			return nil
		}
		if next != nil {
			end = next.Key.GetToken().Position.Line - 1
		}
		e := p.entry(entry, end, indent)
		switch inner, isSection := entry.Value.(*ast.MappingNode); {
		case depth == len(path)-1 && isSection && len(inner.Values) > 0:
			return errors.New("it is a section with keys below it; name one of them")
		case depth == len(path)-1:
			e.replace(value)
			return nil
		case entry.Value.Type() == ast.NullType, isSection && len(inner.Values) == 0:
			e.replace("")
			p.insert(e.first+1, lines(path[depth+1:], value, indent+2))
			return nil
		}
		body = entry.Value
	}
	return nil
}

// find returns the entry of a section that counts, which is the last of its name, and the one after it.
func find(section *ast.MappingNode, name string) (entry, next *ast.MappingValueNode) {
	for i, v := range section.Values {
		if v.Key.GetToken().Value != name {
			continue
		}
		entry, next = v, nil
		if i+1 < len(section.Values) {
			next = section.Values[i+1]
		}
	}
	return entry, next
}

// lines are new ones, for a key of its section and what is below it.
func lines(path []string, value string, indent int) []string {
	var made []string
	for i, name := range path {
		line := strings.Repeat(" ", indent+2*i) + keyText(name) + ":"
		if i == len(path)-1 {
			line += " " + value
		}
		made = append(made, line)
	}
	return made
}

func keyText(name string) string {
	if heading.MatchString(name + ":") {
		return name
	}
	return quoted(name)
}

// quoted is a text in double quotes, which JSON and YAML write in the same way.
func quoted(text string) string {
	data, _ := json.Marshal(text) // a text always has some
	return string(data)
}

// insert puts new lines before a line. They end as the others do.
func (p *page) insert(at int, made []string) {
	if at > 0 && !strings.HasSuffix(p.lines[at-1], "\n") {
		p.lines[at-1] += p.lineEnd()
	}
	for i := range made {
		made[i] += p.lineEnd()
	}
	p.lines = slices.Insert(p.lines, at, made...)
}

func (p *page) lineEnd() string {
	if len(p.lines) > 0 && strings.HasSuffix(p.lines[0], "\r\n") {
		return "\r\n"
	}
	return "\n"
}

// lastLine goes back from the end of an entry or a section over empty lines, and over comments that are indented no
// more than that: those are about what follows.
func (p *page) lastLine(end, indent int) int {
	for end > 0 {
		line := strings.TrimRight(p.lines[end-1], " \t\r\n")
		text := strings.TrimLeft(line, " ")
		if text != "" && (text[0] != '#' || len(line)-len(text) > indent) {
			break
		}
		end--
	}
	return end
}

// entry is a key with its value: the lines from first up to the one before last, and where its colon is.
type entry struct {
	*page
	first, last, colon int
}

func (p *page) entry(v *ast.MappingValueNode, end, indent int) entry {
	return entry{p, v.Key.GetToken().Position.Line - 1, p.lastLine(end, indent), v.Start.Position.Column - 1}
}

// replace gives the entry another value, or none. A comment on its first line stays.
func (e entry) replace(value string) {
	line := []rune(strings.TrimRight(e.lines[e.first], "\r\n"))
	if value != "" {
		value = " " + value
	}
	colon := min(e.colon+1, len(line))
	e.lines[e.first] = string(line[:colon]) + value + comment(string(line[colon:])) + e.lineEnd()
	e.page.lines = slices.Delete(e.lines, e.first+1, max(e.last, e.first+1))
}

// comment is the one that ends a line, with the spaces before it. A quote counts where a value can begin.
func comment(rest string) string {
	quote, before := byte(0), byte(' ')
	for i := 0; i < len(rest); i++ {
		switch c := rest[i]; {
		case quote == '"' && c == '\\', quote == '\'' && strings.HasPrefix(rest[i:], "''"):
			i++ // and what it makes harmless
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
		case (c == '"' || c == '\'') && strings.IndexByte(" [{,:", before) >= 0:
			quote = c
		case c == '#' && (before == ' ' || before == '\t'):
			return rest[len(strings.TrimRight(rest[:i], " \t")):]
		}
		before = rest[min(i, len(rest)-1)]
	}
	return ""
}
