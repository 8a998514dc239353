package shellstate

import "strings"

// functions reads the names that declare -F listed, and behind them what declare
// -f printed in the same order. A definition begins with its name on a line of its
// own, but a here-document of another may hold such a line too. Where that leaves
// more than one place for a definition to begin, it stays in one text with the one
// before and has an empty text of its own: replayed in order all is well.
func functions(s string) (all map[string]string, ok bool) {
	var names []string
	for strings.HasPrefix(s, "declare -f") {
		line, rest, ok := strings.Cut(s, "\n")
		_, name, named := strings.Cut(line[len("declare -f"):], " ")
		if !ok || !named || name == "" {
			return nil, false
		}
		names, s = append(names, name), rest
	}
	all = map[string]string{}
	if len(names) == 0 {
		return all, s == ""
	}
	heads := headers(s)
	if at := heads[names[0]]; len(at) == 0 || at[0] != 0 {
		return nil, false
	}
	owner, begin := names[0], 0
	for _, n := range names[1:] {
		at := heads[n]
		if len(at) == 0 || len(at) == 1 && at[0] <= begin {
			return nil, false
		}
		if len(at) > 1 {
			keep(all, n, "")
			continue
		}
		keep(all, owner, s[begin:at[0]])
		owner, begin = n, at[0]
	}
	keep(all, owner, s[begin:])
	return all, true
}

// headers returns the lines that can begin a definition, by name.
func headers(text string) map[string][]int {
	const end = " () \n{ \n"
	heads := map[string][]int{}
	for from := 0; ; {
		i := strings.Index(text[from:], end)
		if i < 0 {
			return heads
		}
		at := strings.LastIndexByte(text[:from+i], '\n') + 1
		name := strings.TrimPrefix(text[at:from+i], "function ")
		heads[name] = append(heads[name], at)
		from += i + 1
	}
}

// keep takes a definition into the state, unless it is one of ours or would
// stand before every report to come.
func keep(all map[string]string, name, text string) {
	if name != "builtin" && !strings.Contains(name, ours) && !strings.Contains(text, ours) {
		all[name] = text
	}
}
