package shellstate

import "strings"

// reached is what a line can come to run, as far as its text tells.
type reached struct {
	// words holds every word of the line and of the functions and aliases
	// that it names.
	words map[string]bool
	// plain says that the line can neither call a function that it does not
	// name, nor see or change the functions and aliases of its shell.
	plain bool
}

// notPlain are the commands that reach functions or aliases by other ways than
// their names, or run text that stands somewhere else.
var notPlain = strings.Fields(`. source eval trap exec declare typeset type command builtin compgen
	complete set unset export readonly local function alias unalias enable shopt hash fc history
	bind mapfile readarray coproc`)

// reach follows a line through the functions and aliases of a session. A
// word too many costs a little time, a missed one the state of a command.
func reach(line string, st *State) reached {
	r := reached{words: map[string]bool{}, plain: true}
	todo := []string{line}
	for len(todo) > 0 {
		text := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		r.plain = r.plain && isLiteral(text)
		words(text, func(w string) {
			if r.words[w] {
				return
			}
			r.words[w] = true
			if f, ok := st.Functions[w]; ok {
				// The first line is the function's name, the rest what it runs.
				_, body, found := strings.Cut(f, "\n")
				if !found {
					r.plain, body = false, f
				}
				todo = append(todo, body)
			}
			if a, ok := st.Aliases[w]; ok {
				todo = append(todo, a)
			}
		})
	}
	for _, w := range notPlain {
		r.plain = r.plain && !r.words[w]
	}
	_, hasEnv := st.Env["BASH_ENV"]
	_, hasHandler := st.Functions["command_not_found_handle"]
	r.plain = r.plain && !hasEnv && !hasHandler
	return r
}

// words calls visit for each thing in shell text that could be a command's name,
// which the name of a variable is not. It knows no quoting.
func words(text string, visit func(string)) {
	start := -1
	for i := 0; i <= len(text); i++ {
		if i < len(text) && strings.IndexByte(" \t\r\n;&|()<>`\"'$={},\\!", text[i]) < 0 {
			if start < 0 {
				start = i
			}
			continue
		}
		isVariable := i < len(text) && text[i] == '=' || start > 0 && strings.HasSuffix(strings.TrimSuffix(text[:start], "{"), "$")
		if start >= 0 && !isVariable {
			visit(text[start:i])
		}
		start = -1
	}
}

// isLiteral tells whether each command of a text stands in it as it is: nothing
// is expanded, no word is put together from quoted parts, no function is defined.
// What would make it hard to tell, a comment or a here-document, is not literal.
func isLiteral(text string) bool {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '$', '`', '\\', '#':
			return false
		case '<':
			if strings.HasPrefix(text[i:], "<<") {
				return false
			}
		case '(':
			if strings.HasPrefix(strings.TrimLeft(text[i+1:], " \t"), ")") {
				return false
			}
		case '\'', '"':
			n := strings.IndexByte(text[i+1:], c)
			if n < 0 || c == '"' && strings.ContainsAny(text[i+1:i+1+n], "$`\\") || !endsWord(text, i-1) || !endsWord(text, i+n+2) {
				return false
			}
			i += n + 1
		}
	}
	return true
}

// endsWord tells whether no word goes on at text[i].
func endsWord(text string, i int) bool {
	return i < 0 || i >= len(text) || strings.IndexByte(" \t\n;&|()<>=", text[i]) >= 0
}
