package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"hermes.example/hermes/internal/gateway"
	"hermes.example/hermes/sandbox"
)

func TestErrorsBecomeExitStatuses(t *testing.T) {
	for _, c := range []struct {
		name string
		kind kind
		err  error
		want int
		line string
	}{
		{"nothing", plain, nil, 0, ""},
		{"nothing", runner, nil, 0, ""},
		{"usage", plain, usagef("cannot x"), 2, "cannot x"},
		{"usage", runner, usagef("cannot x"), 2, "cannot x"},
		{"other", plain, errors.New("cannot y"), 1, "cannot y"},
		{"other", runner, errors.New("cannot y"), 125, "cannot y"},
		{"interrupted", plain, fmt.Errorf("cannot z: %w", context.Canceled), 130, "cannot go on: interrupted"},
		{"interrupted", runner, fmt.Errorf("cannot z: %w", context.Canceled), 130, "cannot go on: interrupted"},
		{"broken pipe", plain, fmt.Errorf("cannot z: %w", syscall.EPIPE), 130, ""},
		{"broken pipe", runner, fmt.Errorf("cannot z: %w", syscall.EPIPE), 130, ""},
		{"not enforceable", runner, &sandbox.PostureError{Missing: []string{"x"}}, 125, "cannot enforce what was required here: x"},
		{"a command's own", runner, end(sandbox.Result{Code: 7}), 7, ""},
		{"a command's own 2", runner, end(sandbox.Result{Code: 2}), 2, ""},
		{"success", runner, end(sandbox.Result{}), 0, ""},
		{"lost", runner, end(sandbox.Result{Code: -1, Reason: sandbox.Lost}), 125, ""},
		{"restart", server, gateway.ErrRestart, 75, ""},
		{"setting", server, settings(errors.New("cannot s")), 78, "cannot s"},
		{"setting", plain, settings(errors.New("cannot s")), 78, "cannot s"},
		{"usage", server, settings(usagef("cannot x")), 2, "cannot x"},
		{"other", server, errors.New("cannot y"), 1, "cannot y"},
		{"signal", runner, end(sandbox.Result{Code: 137, Reason: sandbox.Signaled}), 137, ""},
	} {
		if got := exitStatus(c.kind, c.err); got != c.want {
			t.Errorf("%s, kind %d: status %d, want %d", c.name, c.kind, got, c.want)
		}
		if got := errorLine(c.err); got != c.line {
			t.Errorf("%s: line %q, want %q", c.name, got, c.line)
		}
	}
}

func TestTheErrorIsSaidInOneLine(t *testing.T) {
	var stderr bytes.Buffer
	a := &app{stderr: &stderr}
	a.say("%s", errors.Join(errors.New("cannot a\x1b[31m"), errors.New("b\rc")))
	if got := stderr.String(); got != "hermes: cannot a\uFFFD[31m; b\uFFFDc\n" {
		t.Errorf("got %q", got)
	}
	if got := cannot("run", cannot("make", errors.New("no"))).Error(); got != "cannot make: no" {
		t.Errorf("got %q", got)
	}
}

func TestWhatTheResultDoesNotTellIsSaid(t *testing.T) {
	for _, c := range []struct {
		result sandbox.Result
		want   string
	}{
		{sandbox.Result{Code: 3}, ""},
		{sandbox.Result{Code: 127, Message: `cannot run "x": not found`}, "hermes: cannot run \"x\": not found\n"},
		{sandbox.Result{Code: -1, Message: "it ended"}, "hermes: cannot tell how the command ended: it ended\n"},
		{sandbox.Result{Recreated: true}, "hermes: the sandbox had ended and was made anew; its sessions and processes are gone\n"},
		{sandbox.Result{Missed: 5}, "hermes: 5 bytes of the command's output were lost\n"},
		{sandbox.Result{Code: 124, Survivors: []int{1, 2}}, "hermes: 2 processes of the command would not end\n"},
		{sandbox.Result{Code: 124, Survivors: []int{1}}, "hermes: 1 process of the command would not end\n"},
	} {
		var stderr bytes.Buffer
		(&app{stderr: &stderr}).remark(c.result)
		if stderr.String() != c.want {
			t.Errorf("%+v: got %q, want %q", c.result, stderr.String(), c.want)
		}
	}
}

func TestNamesAreSafeToShow(t *testing.T) {
	for in, want := range map[string]string{"build": "build", "a b": "a b", "": `""`, " x": `" x"`, "a\nb": `"a\nb"`, "\x1b[2J": `"\x1b[2J"`, "漢字": "漢字", "\xff": `"\xff"`} {
		if got := printable(in); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}

func TestTable(t *testing.T) {
	rows := [][]cell{{{"NAME", bold}, {"X", ""}}, {{"é", green}, {"1", ""}}, nil}
	var plainText, coloured strings.Builder
	writeTable(&plainText, false, rows)
	if got := plainText.String(); got != "NAME  X\né     1\n\n" {
		t.Errorf("got %q", got)
	}
	writeTable(&coloured, true, rows)
	if got := coloured.String(); got != "\x1b[1mNAME\x1b[0m  X\n\x1b[32mé\x1b[0m     1\n\n" {
		t.Errorf("got %q", got)
	}
}
