// Command summary reads the stream of "go test -json" and says what a person wants to know of it: a line per
// package while it runs, every failure in full, every skip with its reason, and the counts in the last line.
// It fails when a test failed, a package did not build or did not finish, or no test ran at all.
//
// With packages it adds them to the command, and runs tests that failed once more.
//
//	summary < stream.json
//	summary -- go test -json ./...
//	summary -packages "./cmd/... ./internal/..." -- go test -json
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

func main() {
	os.Exit(run(os.Args[1:]))
}

func run(args []string) int {
	flags := flag.NewFlagSet("summary", flag.ExitOnError)
	packages := flags.String("packages", "", "what to test, added to the command; tests that fail run once more")
	flags.Parse(args) // exits on an error
	s := newSummary(os.Stdout)
	command := flags.Args()
	if len(command) == 0 {
		s.read(os.Stdin)
	} else if err := runCommand(append(command[:len(command):len(command)], strings.Fields(*packages)...), s.read); err != nil {
		s.commandFailed(err)
	}
	if *packages != "" && len(command) > 0 {
		s.again(command)
	}
	if s.close() {
		return 0
	}
	return 1
}

// runCommand hands the command's output to read and reports how the command ended.
func runCommand(args []string, read func(io.Reader)) error {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("cannot start %s: %w", args[0], err)
	}
	read(out)
	return cmd.Wait()
}
