package toolbox

import (
	"regexp"
	"regexp/syntax"
)

// endless is an expression for the beginning of a line: what wants the end of the line to come finds none there.
func endless(expression string) (*regexp.Regexp, error) {
	re, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return nil, err
	}
	withoutEnd(re)
	return regexp.Compile(re.String())
}

func withoutEnd(re *syntax.Regexp) {
	if re.Op == syntax.OpEndText || re.Op == syntax.OpEndLine {
		*re = syntax.Regexp{Op: syntax.OpNoMatch}
	}
	for _, sub := range re.Sub {
		withoutEnd(sub)
	}
}
