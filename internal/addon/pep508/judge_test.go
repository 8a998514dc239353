package pep508

import (
	"bufio"
	"encoding/json"
	"io"
	"os/exec"
	"testing"
)

// judge is Python's own reader of requirements, in a process that answers until the test ends.
type judge struct {
	questions io.WriteCloser
	answers   *bufio.Scanner
	version   string
}

// newJudge takes the first interpreter that has the library, its own copy or pip's.
func newJudge(t testing.TB) *judge {
	t.Helper()
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		cmd := exec.CommandContext(t.Context(), python, "-I", "testdata/judge.py")
		questions, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		answers, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if cmd.Start() != nil {
			continue
		}
		j := &judge{questions: questions, answers: bufio.NewScanner(answers)}
		t.Cleanup(func() {
			questions.Close()
			cmd.Wait() // how it ends says nothing: its answers did
		})
		if j.answers.Scan() && json.Unmarshal(j.answers.Bytes(), &j.version) == nil {
			return j
		}
	}
	t.Skip("no python3 here has the packaging library, or pip's copy of it")
	return nil
}

// ask says whether Python takes the requirement, and then of each version whether it is accepted.
// A version that is none is nil.
func (j *judge) ask(t testing.TB, requirement string, versions ...string) (verdicts []*bool, taken bool) {
	t.Helper()
	line, err := json.Marshal([]any{requirement, versions})
	if err == nil {
		_, err = j.questions.Write(append(line, '\n'))
	}
	if err != nil || !j.answers.Scan() {
		t.Fatalf("Python no longer answers: %v %v", err, j.answers.Err())
	}
	if err := json.Unmarshal(j.answers.Bytes(), &verdicts); err != nil {
		t.Fatal(err)
	}
	return verdicts, verdicts != nil
}
