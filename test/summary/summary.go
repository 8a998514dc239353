package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// event is one line of "go test -json"; see "go doc test2json" and "go help buildjson".
type event struct {
	Action     string
	Package    string
	ImportPath string // of build-output and build-fail
	Test       string
	Output     string
	Elapsed    float64
}

// pkg is one package from its first event to its last; tests keeps the order in which they started.
type pkg struct {
	name   string
	output strings.Builder // what belongs to no test
	tests  []*test
	byName map[string]*test
	end    string
}

type test struct {
	name   string
	output strings.Builder
	end    string // pass, fail, skip; empty while it runs
	parent *test
	parted bool // has subtests, and is judged by them
}

// failure is a test that failed, or a package if it names no test.
type failure struct {
	pkg, test string
	final     bool // running it again would prove nothing
}

func (f failure) String() string { return strings.TrimSpace(f.pkg + " " + f.test) }

type summary struct {
	w        io.Writer
	pkgs     map[string]*pkg
	order    []*pkg
	builds   map[string]*strings.Builder
	broken   []string // did not build
	passed   int
	failures []failure
	unsteady []failure           // failed, and passed when they ran again
	skips    map[string][]string // reason → tests
	nSkipped int
	trouble  error
}

func newSummary(w io.Writer) *summary {
	return &summary{w: w, pkgs: map[string]*pkg{}, builds: map[string]*strings.Builder{}, skips: map[string][]string{}}
}

// read takes the stream in. A line that is not an event (the toolchain speaks too) is passed on.
func (s *summary) read(r io.Reader) {
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadString('\n')
		if line != "" {
			s.line(line)
		}
		if err != nil {
			if err != io.EOF {
				s.trouble = fmt.Errorf("cannot read the stream: %w", err)
			}
			return
		}
	}
}

func (s *summary) line(line string) {
	var e event
	if json.Unmarshal([]byte(line), &e) != nil || e.Action == "" {
		fmt.Fprint(s.w, line)
		return
	}
	if e.ImportPath != "" {
		s.build(e)
		return
	}
	p := s.pkg(e.Package)
	if e.Test == "" {
		s.packageEvent(p, e)
		return
	}
	t := p.test(e.Test)
	switch e.Action {
	case "output":
		t.output.WriteString(e.Output)
	case "pass", "fail", "skip":
		t.end = e.Action
	}
}

func (s *summary) build(e event) {
	b := s.builds[e.ImportPath]
	if b == nil {
		b = &strings.Builder{}
		s.builds[e.ImportPath] = b
	}
	switch e.Action {
	case "build-output":
		b.WriteString(e.Output)
	case "build-fail":
		s.broken = append(s.broken, e.ImportPath)
		fmt.Fprintf(s.w, "\nFAIL %s does not build\n%s\n", e.ImportPath, b)
	}
}

func (s *summary) packageEvent(p *pkg, e event) {
	switch e.Action {
	case "output":
		p.output.WriteString(e.Output)
	case "pass", "fail", "skip":
		p.end = e.Action
		s.finish(p, e.Elapsed)
	}
}

// standing is in the output of a failure that no second run can clear: a race shows itself when it likes, and who
// panics takes along the tests that would have come.
var standing = regexp.MustCompile(`(?m)DATA RACE|race detected during execution|^(panic|fatal error): `)

// finish counts a package's tests, prints its line, and its failures in full.
func (s *summary) finish(p *pkg, seconds float64) {
	before, passed, skipped := len(s.failures), 0, 0
	var full strings.Builder
	for _, t := range p.tests {
		switch {
		case t.end == "fail" || t.end == "":
			final := t.end == "" || standing.MatchString(t.output.String())
			if t.end == "" {
				t.output.WriteString("    (did not finish)\n")
			}
			fmt.Fprintf(&full, "\nFAIL %s %s\n%s", p.name, t.name, t.output.String())
			if !t.parted || !p.childFailed(t) {
				s.failures = append(s.failures, failure{p.name, t.name, final})
			}
		case t.parted:
		case t.end == "skip":
			skipped++
			s.skip(reason(t), p.name+" "+t.name)
		default:
			passed++
		}
	}
	s.passed += passed
	if p.end == "fail" && len(s.failures) == before {
		s.failures = append(s.failures, failure{pkg: p.name, final: true})
	}
	if p.end == "fail" {
		fmt.Fprintf(&full, "\nFAIL %s\n%s", p.name, p.output.String())
	}
	if failed := len(s.failures) - before; failed > 0 {
		fmt.Fprintf(s.w, "FAIL %-60s %6.1f s  %d failed\n", p.name, seconds, failed)
	} else if passed+skipped > 0 {
		fmt.Fprintf(s.w, "ok   %-60s %6.1f s  %d passed, %d skipped\n", p.name, seconds, passed, skipped)
	}
	fmt.Fprint(s.w, full.String())
}

func (s *summary) skip(reason, name string) {
	s.nSkipped++
	s.skips[reason] = append(s.skips[reason], name)
}

// commandFailed records that the command which made the stream ended badly.
func (s *summary) commandFailed(err error) {
	s.trouble = err
}

// settle judges what the stream did not bring to an end.
func (s *summary) settle() {
	for _, p := range s.order {
		if p.end == "" {
			p.end = "fail"
			p.output.WriteString("    (the package did not finish)\n")
			s.finish(p, 0)
		}
	}
	if len(s.failures) == 0 { // a build that failed takes a package along, which counts; this is for a cut stream
		for _, path := range s.broken {
			s.failures = append(s.failures, failure{pkg: path, final: true})
		}
	}
}

// close prints the end of the summary and tells whether all is well.
func (s *summary) close() bool {
	s.settle()
	s.printSkips()
	s.printList("failed, but not again when run alone (to be looked into)", s.unsteady)
	s.printList("failed", s.failures)
	failed := len(s.failures)
	good := failed == 0
	if s.trouble != nil && good {
		fmt.Fprintf(s.w, "\nno test failed, but the test command did: %v\n", s.trouble)
		good = false
	}
	if s.passed+failed == 0 {
		fmt.Fprintf(s.w, "\nno test ran\n")
		good = false
	}
	fmt.Fprintf(s.w, "\n%d passed, %d failed, %d skipped\n", s.passed, failed, s.nSkipped)
	return good
}

func (s *summary) printSkips() {
	reasons := make([]string, 0, len(s.skips))
	for r := range s.skips {
		reasons = append(reasons, r)
	}
	slices.Sort(reasons)
	if len(reasons) > 0 {
		fmt.Fprintf(s.w, "\nskipped:\n")
	}
	for _, r := range reasons {
		fmt.Fprintf(s.w, "  %d: %s\n      %s\n", len(s.skips[r]), r, strings.Join(s.skips[r], "\n      "))
	}
}

func (s *summary) printList(what string, list []failure) {
	if len(list) > 0 {
		fmt.Fprintf(s.w, "\n%s:\n", what)
	}
	for _, f := range list {
		fmt.Fprintf(s.w, "  %s\n", f)
	}
}

func (s *summary) pkg(name string) *pkg {
	p := s.pkgs[name]
	if p == nil {
		p = &pkg{name: name, byName: map[string]*test{}}
		s.pkgs[name] = p
		s.order = append(s.order, p)
	}
	return p
}

// test finds or adds a test, and marks the one that it is a subtest of.
func (p *pkg) test(name string) *test {
	if t := p.byName[name]; t != nil {
		return t
	}
	t := &test{name: name}
	if i := strings.LastIndexByte(name, '/'); i > 0 {
		t.parent = p.parentOf(name[:i])
	}
	if t.parent != nil {
		t.parent.parted = true
	}
	p.byName[name] = t
	p.tests = append(p.tests, t)
	return t
}

// parentOf looks upwards, since a subtest's own name may hold a slash.
func (p *pkg) parentOf(name string) *test {
	for {
		if t := p.byName[name]; t != nil {
			return t
		}
		i := strings.LastIndexByte(name, '/')
		if i < 0 {
			return nil
		}
		name = name[:i]
	}
}

func (p *pkg) childFailed(parent *test) bool {
	return slices.ContainsFunc(p.tests, func(t *test) bool {
		return t.parent == parent && t.end != "pass" && t.end != "skip"
	})
}

var place = regexp.MustCompile(`^\s*\S+\.go:\d+: `)

// reason is what a skipped test said, without the place and the framing of the test runner.
func reason(t *test) string {
	var said []string
	for line := range strings.Lines(t.output.String()) {
		trimmed := strings.TrimSpace(line)
		if trimmed == "" || strings.HasPrefix(trimmed, "=== ") || strings.HasPrefix(trimmed, "--- ") {
			continue
		}
		said = append(said, strings.TrimSpace(place.ReplaceAllString(line, "")))
	}
	if len(said) == 0 {
		return "no reason given"
	}
	return strings.Join(said, " ")
}
