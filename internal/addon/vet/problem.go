package vet

import (
	"cmp"
	"fmt"
	"slices"
)

// Rule is what a tree broke.
type Rule string

// The rules, each with what it refuses.
const (
	CoreModule       Rule = "core-module"       // a name that the core imports
	StandardLibrary  Rule = "standard-library"  // a name of the standard library
	CoreNamespace    Rule = "core-namespace"    // a part of a namespace package of the core, or a package over it
	Startup          Rule = "startup"           // what the interpreter runs by itself
	EntryPoint       Rule = "entry-point"       // what the core would load as its own
	Script           Rule = "script"            // among the scripts and none
	CoreDistribution Rule = "core-distribution" // one that the core has
	Unlocked         Rule = "unlocked"          // not what the lock says
	Missing          Rule = "missing"           // in the lock and not here
	Duplicate        Rule = "duplicate"         // a distribution twice
	Empty            Rule = "empty"             // metadata of nothing
	Metadata         Rule = "metadata"          // not to be read, or another's
	Record           Rule = "record"            // files and RECORD differ
	Outside          Rule = "outside"           // a path that leads out of the tree
	Link             Rule = "link"              // a symbolic link
	Special          Rule = "special"           // neither file nor directory, or with more rights than its reader
	Name             Rule = "name"              // a name that is another one on some system
	Bytecode         Rule = "bytecode"          // compiled from what is not there
)

// Problem is one reason against publication.
type Problem struct {
	Rule         Rule
	File         string // relative to the tree; empty where there is none
	Distribution string // name and version; empty where no RECORD names the file
	Why          string
}

func (p Problem) String() string {
	of := ""
	if p.Distribution != "" {
		of = " of " + p.Distribution
	}
	if p.File == "" {
		return fmt.Sprintf("%s: %s (%s)", p.Distribution, p.Why, p.Rule)
	}
	return fmt.Sprintf("%.200q%s: %s (%s)", p.File, of, p.Why, p.Rule)
}

// Refused is the error of a tree that must not be published.
type Refused struct{ Problems []Problem }

func (r *Refused) Error() string {
	more := ""
	if n := len(r.Problems) - 1; n > 0 {
		more = fmt.Sprintf(", and %d more", n)
	}
	return fmt.Sprintf("cannot publish what was installed: %s%s; the core stays as it is", r.Problems[0], more)
}

// Err is nil if the tree may be published, and a *Refused otherwise.
func (r *Report) Err() error { return refusal(r.Problems) }

func refusal(problems []Problem) error {
	if len(problems) == 0 {
		return nil
	}
	return &Refused{problems}
}

func (t *contents) sortedProblems() []Problem {
	slices.SortFunc(t.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Distribution, b.Distribution), cmp.Compare(a.Why, b.Why))
	})
	return t.problems
}
