//go:build linux

// Command gen computes the syscall filters of package seccomp, one Go file for
// each architecture, from moby's default profile. It runs through go generate;
// nothing of it is linked into a program.
//
// It must never guess: a name without a number, a kind of rule that it does not
// know or a list entry that has become useless stops it, so that an upgrade of
// moby's profile or of the syscall table is read by a person.
package main

import (
	"fmt"
	"os"

	moby "github.com/moby/profiles/seccomp"
)

func main() {
	for _, t := range targets() {
		file := "filter_" + t.goarch + ".go"
		text, count, err := generate(t)
		if err == nil {
			err = os.WriteFile(file, text, 0o644)
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "cannot generate %s: %v\n", file, err)
			os.Exit(1)
		}
		fmt.Printf("%s: %d instructions\n", file, count)
	}
}

// generate returns the Go source of one architecture's filter and the number
// of its instructions.
func generate(t target) ([]byte, int, error) {
	p, err := resolve(moby.DefaultProfile(), t)
	if err != nil {
		return nil, 0, err
	}
	if err := harden(p, t); err != nil {
		return nil, 0, err
	}
	program, err := compile(p, t)
	if err != nil {
		return nil, 0, err
	}
	text, err := render(program, t)
	return text, len(program), err
}
