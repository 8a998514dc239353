package guard

import "strings"

// single reads '…'.
func (l *lexer) single() {
	l.inWord = true
	l.at++
	i := strings.IndexByte(l.text[l.at:], '\'')
	if i < 0 {
		l.add(len(l.text))
		return
	}
	l.add(i)
	l.at++
}

// double reads "…", in which only a backslash, a dollar and backquotes mean something.
func (l *lexer) double() {
	l.inWord = true
	l.at++
	for l.at < len(l.text) {
		switch c := l.text[l.at]; c {
		case '"':
			l.at++
			return
		case '\\':
			l.at++
			if l.next("\n") {
				l.at++
				continue
			}
			if l.at < len(l.text) && !strings.ContainsRune("$`\"\\", rune(l.text[l.at])) {
				l.word.WriteByte('\\')
			}
			l.add(1)
		case '$':
			if l.next(`$"`) || l.next(`$'`) {
				l.add(1)
				continue
			}
			l.dollar()
		case '`':
			l.backquotes()
		default:
			l.add(1)
		}
	}
}

// dollar reads what begins with one.
func (l *lexer) dollar() {
	switch {
	case l.next("$((") && l.arithmetic("$((", "))"):
	case l.next("$("):
		l.at += 2
		l.substitution()
	case l.next("${"):
		l.add(1)
		l.balanced('{', '}')
	case l.next("$'"):
		l.escaped()
	case l.next(`$"`):
		l.at++
		l.double()
	default:
		l.add(1)
	}
}

// escaped reads $'…', in which a quote can stand behind a backslash.
func (l *lexer) escaped() {
	l.inWord = true
	l.at += 2
	for l.at < len(l.text) {
		switch l.text[l.at] {
		case '\'':
			l.at++
			return
		case '\\':
			l.add(1)
		}
		l.add(1)
	}
}

// substitution reads commands up to the parenthesis that closes them; quotes within begin anew.
func (l *lexer) substitution() {
	l.inWord = true
	inner := &lexer{text: l.text, at: l.at, depth: l.depth + 1}
	if inner.depth > deepest {
		l.at = len(l.text) // nobody writes that
		return
	}
	inner.nested()
	l.at = inner.at
	l.now.inner = append(l.now.inner, inner.all)
	l.word.WriteString("$()")
}

// nested reads until a parenthesis is closed that was not opened here.
func (l *lexer) nested() {
	for level := 0; l.at < len(l.text); {
		switch {
		case l.next("(") && !l.next("((") && !l.inWord:
			level++
		case l.next(")") && level == 0:
			l.at++
			l.endCommand(false, false)
			return
		case l.next(")"):
			level--
		}
		l.step()
	}
	l.endCommand(false, false)
}

// backquotes reads `…`.
func (l *lexer) backquotes() {
	l.inWord = true
	l.at++
	start := l.at
	for l.at < len(l.text) && l.text[l.at] != '`' {
		if l.text[l.at] == '\\' {
			l.at++
		}
		l.at++
	}
	end := min(l.at, len(l.text))
	l.now.inner = append(l.now.inner, commands(l.text[start:end], l.depth+1))
	l.word.WriteString("$()")
	l.at = min(end+1, len(l.text))
}

// redirection reads an operator; the word that follows is where it goes and no word of the command.
func (l *lexer) redirection() {
	if number := l.word.String(); l.inWord && strings.Trim(number, "0123456789") == "" {
		l.word.Reset() // which descriptor
		l.inWord = false
	}
	if l.next("<(") || l.next(">(") {
		l.at += 2
		l.substitution()
		return
	}
	l.endWord()
	for _, op := range []string{"<<<", "<<-", "<<", "<&", "<>", ">>", ">&", ">|", "<", ">"} {
		if !l.next(op) {
			continue
		}
		l.at += len(op)
		if op == "<<" || op == "<<-" {
			l.announce(op == "<<-")
			return
		}
		break
	}
	l.skip = true
	for l.at < len(l.text) && (l.text[l.at] == ' ' || l.text[l.at] == '\t') {
		l.at++
	}
	if l.next("-") || l.at < len(l.text) && l.text[l.at] == '\n' {
		l.skip = l.next("-") // as in 2>&-
	}
}

// announce reads the word that ends a here-document.
func (l *lexer) announce(tabs bool) {
	for l.at < len(l.text) && (l.text[l.at] == ' ' || l.text[l.at] == '\t') {
		l.at++
	}
	word := &lexer{text: l.text, at: l.at, depth: l.depth}
	for word.at < len(word.text) && !strings.ContainsRune(" \t\r\n;|&()<>", rune(word.text[word.at])) {
		word.piece()
	}
	l.at = word.at
	if end := word.word.String(); end != "" {
		l.documents = append(l.documents, document{end, tabs})
	}
}

// passDocuments passes over the texts that were announced before the end of the line.
func (l *lexer) passDocuments() {
	for _, d := range l.documents {
		for l.at < len(l.text) {
			n := lineLength(l.text[l.at:])
			line := strings.TrimSuffix(l.text[l.at:l.at+n], "\r")
			l.at = min(l.at+n+1, len(l.text))
			if d.tabs {
				line = strings.TrimLeft(line, "\t")
			}
			if line == d.end {
				break
			}
		}
	}
	l.documents = nil
}
