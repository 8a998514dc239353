// Command attack tries to reach PID 1 of its pid namespace, and what is outside of
// it, by direct system calls. The fault tests run it inside sandboxes, where every
// attempt has to fail, and as root beside a PID 1 that is not protected, where it
// has to succeed.
//
//	attack                 make all attempts, one line of JSON each
//	attack NAME…           make only these
//	attack init            be the unprotected PID 1 of the control, and run the attempts
//	attack signals         send every signal in every way to PID 1 and its threads
//	attack stop SECONDS    stop every process that can be stopped, again and again
//	attack limits          take resources from PID 1
//	attack deep N          make N directories, each in the one before
//	attack traced          ask to be traced, get a signal, and end with 7
//	attack fill            start processes until no more can be started, and wait
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// Attempt is one thing tried. Errno 0 means that it succeeded.
type Attempt struct {
	Name  string
	Errno int
	Text  string // the errno in words, or what was found
}

type attempt struct {
	name string
	try  func() (found string, err error)
}

func main() {
	args := os.Args[1:]
	if len(args) == 0 {
		attempts(nil)
		return
	}
	switch args[0] {
	case "init":
		exitWith(beInit())
	case "signals":
		sendSignals()
	case "limits":
		takeLimits()
	case "deep":
		n, _ := strconv.Atoi(args[1])
		exitWith(dig(n))
	case "traced":
		beTraced()
	case "fill":
		fill()
	case "stop":
		seconds, _ := strconv.Atoi(args[1])
		stopAll(time.Duration(seconds) * time.Second)
	default:
		attempts(args)
	}
}

func attempts(only []string) {
	var all []attempt
	all = append(all, readAttempts()...)
	all = append(all, writeAttempts()...)
	all = append(all, traceAttempts()...)
	all = append(all, escapeAttempts()...)
	all = append(all, socketAttempts()...)
	for _, a := range all {
		if len(only) > 0 && !slices.Contains(only, a.name) {
			continue
		}
		found, err := a.try()
		report(a.name, found, err)
	}
}

func report(name, found string, err error) {
	r := Attempt{Name: name, Text: found}
	var errno syscall.Errno
	switch {
	case errors.As(err, &errno):
		r.Errno, r.Text = int(errno), errno.Error()
	case err != nil:
		r.Errno, r.Text = -1, err.Error()
	}
	line, _ := json.Marshal(r)
	fmt.Println(string(line))
}

func exitWith(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "attack:", err)
		os.Exit(2)
	}
}
