package guard

import "strings"

// A command is what a shell runs as one: its words, and what ends it.
type command struct {
	words []string // without their quotes; what a shell would put in for a $ is left as it stands
	// background says that it ends with an "&", glued that there is no space on either side of it.
	background, glued bool
	// inner are the lists of commands that are run to make its words: $(…), `…`, <(…).
	inner [][]command
}

// lexer reads a line as a shell does, as far as it takes to tell commands from words. What no shell would understand is
// read somehow: to refuse it is the shell's business.
type lexer struct {
	text string
	at   int
	// depth is how far inside of others these commands are; what is too deep is not looked at.
	depth int

	all       []command
	now       command
	word      strings.Builder
	inWord    bool
	documents []document // whose text begins after the line
	// skip makes the next word no word of the command: it is where a redirection goes.
	skip bool
}

// document is a here-document that was announced.
type document struct {
	end  string
	tabs bool // tabs before its lines do not count
}

const deepest = 8

// commands reads all commands of a text.
func commands(text string, depth int) []command {
	if depth > deepest {
		return nil
	}
	l := &lexer{text: text, depth: depth}
	for l.at < len(l.text) {
		l.step()
	}
	l.endCommand(false, false)
	return l.all
}

// step reads one sign that means something, or one character.
func (l *lexer) step() {
	switch c := l.text[l.at]; c {
	case ' ', '\t', '\r':
		l.endWord()
		l.at++
	case '\n':
		l.endCommand(false, false)
		l.at++
		l.passDocuments()
	case '#':
		if l.inWord {
			l.add(1)
			return
		}
		l.at += lineLength(l.text[l.at:])
	case ';':
		l.endCommand(false, false)
		l.at++
		if l.next("&") { // of a case
			l.at++
		}
	case '&':
		l.ampersand()
	case '|':
		l.endCommand(false, false)
		l.at++
		if l.next("&") || l.next("|") {
			l.at++
		}
	case '(':
		l.parenthesis()
	case ')':
		l.endCommand(false, false)
		l.at++
	case '<', '>':
		l.redirection()
	default:
		l.piece()
	}
}

// piece reads a part of a word.
func (l *lexer) piece() {
	switch c := l.text[l.at]; c {
	case '\\':
		l.at++
		if l.next("\n") { // the line goes on
			l.at++
		} else {
			l.add(1)
		}
	case '\'':
		l.single()
	case '"':
		l.double()
	case '$':
		l.dollar()
	case '`':
		l.backquotes()
	default:
		l.add(1)
	}
}

// add takes n bytes into the word.
func (l *lexer) add(n int) {
	n = min(n, len(l.text)-l.at)
	l.word.WriteString(l.text[l.at : l.at+n])
	l.inWord = true
	l.at += n
}

func (l *lexer) next(s string) bool { return strings.HasPrefix(l.text[l.at:], s) }

func (l *lexer) endWord() {
	if !l.inWord {
		return
	}
	if !l.skip {
		l.now.words = append(l.now.words, l.word.String())
	}
	l.word.Reset()
	l.inWord, l.skip = false, false
}

func (l *lexer) endCommand(background, glued bool) {
	l.endWord()
	l.skip = false
	if len(l.now.words) > 0 || len(l.now.inner) > 0 || background {
		l.now.background, l.now.glued = background, glued
		l.all = append(l.all, l.now)
	}
	l.now = command{}
}

// ampersand tells "&&" and redirections from what starts a command in the background.
func (l *lexer) ampersand() {
	switch {
	case l.next("&&"):
		l.endCommand(false, false)
		l.at += 2
	case l.next("&>"):
		l.endWord()
		l.at++
		l.redirection()
	default:
		after := l.text[l.at+1:]
		glued := l.inWord && after != "" && !strings.ContainsRune(" \t\r\n;|&)", rune(after[0]))
		l.endCommand(true, glued)
		l.at++
	}
}

// parenthesis is arithmetic, the words of a list or a pattern, or a group of commands.
func (l *lexer) parenthesis() {
	switch {
	case l.next("((") && !l.inWord && l.arithmetic("((", "))"):
	case l.inWord && strings.ContainsRune("=?*+@!", rune(l.text[l.at-1])):
		l.balanced('(', ')')
	default:
		l.endCommand(false, false)
		l.at++
	}
}

// arithmetic passes over a calculation, in which signs mean something else. It says no where it has no end: then it is
// a group in a group.
func (l *lexer) arithmetic(open, closing string) bool {
	level := 0
	end := min(len(l.text), l.at+longestCalculation)
	if !strings.Contains(l.text[l.at:end], closing) {
		return false
	}
	for i := l.at + len(open); i < end; i++ {
		switch {
		case l.text[i] == '(':
			level++
		case level == 0 && strings.HasPrefix(l.text[i:], closing):
			l.add(i + len(closing) - l.at)
			return true
		case l.text[i] == ')':
			if level--; level < 0 {
				return false
			}
		case l.text[i] == '\n' && open == "((":
			return false
		}
	}
	return false
}

// longestCalculation bounds how far is looked for its end, which may be nowhere.
const longestCalculation = 4 << 10

// balanced takes everything up to the sign that closes this one into the word, quotes and all.
func (l *lexer) balanced(open, closing byte) {
	level := 0
	for l.at < len(l.text) {
		switch c := l.text[l.at]; c {
		case open:
			level++
			l.add(1)
		case closing:
			level--
			l.add(1)
			if level == 0 {
				return
			}
		default:
			l.piece()
		}
	}
}

func lineLength(text string) int {
	if i := strings.IndexByte(text, '\n'); i >= 0 {
		return i
	}
	return len(text)
}
