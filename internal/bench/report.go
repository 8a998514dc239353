// Package bench measures Hermes beside what it is compared with, in one run and
// interleaved, so that what counts, the ratio, does not depend on how fast or how
// busy the machine is.
//
// `hermes bench` calls it. It must never print a figure that it did not measure
// in the same run, and never a verdict without the budget beside it.
package bench

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"hermes.example/hermes/internal/version"
)

// Options of a run.
type Options struct {
	// Rounds is how often each thing is measured.
	Rounds int
	// Quick leaves out what takes long by nature: waiting for memory to settle.
	Quick bool
	// Only is a word in the names of the parts that are measured; empty means all.
	Only string
	// Hermes is the program whose start is measured.
	Hermes string
	// Progress is told what is being measured; may be nil.
	Progress func(what string)
}

// Report is the outcome of a run.
type Report struct {
	Version string    `json:"version"`
	Date    time.Time `json:"date"`
	Machine string    `json:"machine"`
	User    string    `json:"user"`
	Rows    []Row     `json:"rows"`
	// Profile is where a cold start goes.
	Profile []Step `json:"profile"`
}

// Row is one measured thing.
type Row struct {
	What string `json:"what"`
	// Ours is the median or figure of Hermes, with its unit.
	Ours float64 `json:"ours"`
	Unit string  `json:"unit"`
	// Other is the comparator's, in the same unit; Than says what it is.
	Other float64 `json:"other,omitempty"`
	Than  string  `json:"than,omitempty"`
	// Ratio is Ours over Other.
	Ratio float64 `json:"ratio,omitempty"`
	// Budget is what the ratio, or Ours where there is none, must not pass, or
	// with AtLeast must reach. Zero means that the row has no budget.
	Budget  float64 `json:"budget,omitempty"`
	AtLeast bool    `json:"at_least,omitempty"`
	Met     bool    `json:"met"`
	Note    string  `json:"note,omitempty"`
}

// Step is one part of a cold start.
type Step struct {
	Name   string  `json:"name"`
	Micros float64 `json:"micros"`
}

func newReport() Report {
	return Report{Version: version.Current().Version, Date: time.Now().UTC(), Machine: machine(), User: user()}
}

// compare adds a row about two medians.
func (r *Report) compare(what, than string, ours, other, budget float64, note string) {
	ratio := ours / other
	r.Rows = append(r.Rows, Row{What: what, Ours: ours, Unit: "ms", Other: other, Than: than, Ratio: ratio, Budget: budget,
		Met: budget == 0 || ratio <= budget, Note: note})
}

// figure adds a row about one number.
func (r *Report) figure(what, unit string, value, budget float64, atLeast bool, note string) {
	met := budget == 0 || !atLeast && value <= budget || atLeast && value >= budget
	r.Rows = append(r.Rows, Row{What: what, Ours: value, Unit: unit, Budget: budget, AtLeast: atLeast, Met: met, Note: note})
}

// Met says whether every budget is kept.
func (r Report) Met() bool {
	for _, row := range r.Rows {
		if !row.Met {
			return false
		}
	}
	return true
}

// Print writes the report for people, as Markdown tables.
func (r Report) Print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "hermes %s, %s, %s, %s\n\n", r.Version, r.Machine, r.User, r.Date.Format("2006-01-02"))
	b.WriteString("| what | hermes | beside | ratio | budget | |\n|---|---|---|---|---|---|\n")
	for _, row := range r.Rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", row.What, row.value(), row.beside(), row.ratio(), row.budget(), row.verdict())
	}
	b.WriteString("\nWhere a cold start goes (medians):\n\n| step | µs |\n|---|---|\n")
	for _, s := range r.Profile {
		fmt.Fprintf(&b, "| %s | %.0f |\n", s.Name, s.Micros)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r Row) value() string { return fmt.Sprintf("%.4g %s", r.Ours, r.Unit) }

func (r Row) beside() string {
	if r.Than == "" {
		return ""
	}
	return fmt.Sprintf("%s %.4g %s", r.Than, r.Other, r.Unit)
}

func (r Row) ratio() string {
	if r.Ratio == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f ×", r.Ratio)
}

func (r Row) budget() string {
	switch {
	case r.Budget == 0:
		return ""
	case r.AtLeast:
		return fmt.Sprintf("≥ %.4g %s", r.Budget, r.Unit)
	case r.Ratio != 0:
		return fmt.Sprintf("%.4g ×", r.Budget)
	default:
		return fmt.Sprintf("%.4g %s", r.Budget, r.Unit)
	}
}

func (r Row) verdict() string {
	verdict := ""
	if r.Budget != 0 {
		verdict = "met"
		if !r.Met {
			verdict = "**not met**"
		}
	}
	return strings.TrimSpace(strings.Join([]string{verdict, r.Note}, " "))
}

func machine() string {
	return fmt.Sprintf("%s/%s, %d cores", runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
}
