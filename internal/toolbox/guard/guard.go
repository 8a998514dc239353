// Package guard recognises command lines that should not be waited for: what leaves something running behind the back
// of its caller, and servers, which do not end.
//
// The terminal asks it before it runs a command in the foreground. It reads lines as a shell does and runs nothing. It
// is advice for a model and no boundary: whoever wants to can get by it, and what it must never do is to refuse what
// only speaks of such a command, in quotes, in a comment or in a file that is written.
package guard

import (
	"fmt"
	"slices"
	"strings"
)

// looked is how much of a line is looked at. What is longer is mostly a file that is written.
const looked = 128 << 10

// Foreground says in one sentence why a line should not be run in the foreground, and what to do instead, or nothing.
func Foreground(line string) string { return judge(commands(line[:min(len(line), looked)], 0), 0) }

// Background says the same of a line that is started as a background process: it should not leave it at once.
func Background(line string) string {
	if len(line) > looked {
		return ""
	}
	all := commands(line, 0)
	if len(all) == 0 || !all[len(all)-1].background {
		return ""
	}
	return `the command ends with "&" though it is started in the background already, so that nobody would know how it goes on: leave the "&" out`
}

func judge(all []command, depth int) string {
	if depth > deepest {
		return ""
	}
	for i, c := range all {
		for _, inner := range c.inner {
			if why := judge(inner, depth+1); why != "" {
				return why
			}
		}
		if why := c.judge(depth); why != "" {
			return why
		}
		if c.background && !waitedFor(all[i+1:]) {
			return c.adviseBackground()
		}
	}
	return ""
}

// waitedFor says whether a plain "wait" follows, which ends when everything in the background has.
func waitedFor(rest []command) bool {
	return slices.ContainsFunc(rest, func(c command) bool {
		_, words := c.program()
		return len(words) == 1 && words[0] == "wait" && !c.background
	})
}

const instead = "start it with background=true and look after it with the process tool"

func (c command) adviseBackground() string {
	if c.glued {
		return `the command has an "&" outside of quotes, which starts what is before it in the background: put the word that it is part of in quotes, or, if it was meant, ` + instead + ` without the "&"`
	}
	return `the command starts something in the background with "&", which nobody would look after: ` + instead + ` without the "&", or add "wait" at the end`
}

func (c command) judge(depth int) string {
	bounded, words := c.program()
	if len(words) == 0 || asksForHelp(words) {
		return ""
	}
	name := base(words[0])
	switch {
	case name == "nohup", name == "disown", name == "coproc", name == "setsid" && !slices.Contains(words, "-w") && !slices.Contains(words, "--wait"):
		return fmt.Sprintf("the command uses %s to leave something running, which nobody would look after: %s without %s", name, instead, name)
	case slices.Contains(shells, name):
		return judge(commands(script(words), depth+1), depth+1)
	case name == "eval":
		return judge(commands(strings.Join(words[1:], " "), depth+1), depth+1)
	}
	if what := server(words); what != "" && !bounded {
		return fmt.Sprintf("%s starts a server, which does not end by itself: %s; or bound it with the program timeout", what, instead)
	}
	return ""
}

var shells = []string{"bash", "sh", "dash", "zsh", "ksh"}

// script is what a shell is given with -c.
func script(words []string) string {
	for i, w := range words[1:] {
		if !strings.HasPrefix(w, "-") {
			return ""
		}
		if !strings.HasPrefix(w, "--") && strings.HasSuffix(w, "c") && i+2 < len(words) {
			return words[i+2]
		}
	}
	return ""
}

// asksForHelp says whether a program is only asked what it is.
func asksForHelp(words []string) bool {
	for _, w := range words[1:] {
		if w == "--help" || w == "-h" || w == "--version" {
			return true
		}
	}
	return len(words) == 2 && slices.Contains([]string{"help", "version", "-v", "-V", "-help", "-version"}, words[1])
}

// reserved are words of the shell that stand before a command.
var reserved = []string{"if", "then", "else", "elif", "while", "until", "do", "{", "!", "time"}

// prefixes are programs that run another one, with the options of theirs that have a value.
var prefixes = map[string]string{"sudo": "ugpChDrRtT", "doas": "uC", "env": "uCS", "command": "", "exec": "a", "builtin": "", "nice": "n", "ionice": "cn",
	"stdbuf": "ioe", "time": "fo", "xargs": "IiLlnPsdEa", "timeout": "ks"}

// program is what a command runs, without what stands before it, and whether that bounds its time.
func (c command) program() (bounded bool, words []string) {
	words = c.words
	for len(words) > 0 {
		word := words[0]
		options, isPrefix := prefixes[base(word)]
		switch {
		case slices.Contains(reserved, word), assigns(word):
			words = words[1:]
		case base(word) == "command" && len(words) > 1 && (words[1] == "-v" || words[1] == "-V"):
			return bounded, nil // which only asks where a program is
		case isPrefix:
			words = passOptions(words[1:], options)
			if base(word) == "timeout" && len(words) > 0 {
				bounded, words = true, words[1:]
			}
		default:
			return bounded, words
		}
	}
	return bounded, nil
}

// passOptions leaves out the options at the beginning, those of withValue with the word after them.
func passOptions(words []string, withValue string) []string {
	for len(words) > 0 && strings.HasPrefix(words[0], "-") && words[0] != "-" {
		word := words[0]
		words = words[1:]
		if word == "--" {
			break
		}
		if len(word) == 2 && strings.Contains(withValue, word[1:]) && len(words) > 0 {
			words = words[1:]
		}
	}
	return words
}

// assigns says whether a word gives a variable a value.
func assigns(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+[]") == "" && (name[0] < '0' || name[0] > '9')
}

func base(word string) string { return word[strings.LastIndexByte(word, '/')+1:] }

// Last is the program with its words that a line runs last: usually the one whose status is the line's.
func Last(line string) []string {
	if len(line) > looked {
		return nil
	}
	all := commands(line, 0)
	for _, c := range slices.Backward(all) {
		if _, words := c.program(); len(words) > 0 && !slices.Contains(closers, words[0]) {
			return words
		}
	}
	return nil
}

// closers are words of the shell that end a compound command.
var closers = []string{"fi", "done", "esac", "}"}
