package patch

import (
	"fmt"
	"strings"
)

// Problem is why a text cannot be changed as it was asked. Its text is for whoever asked, and says what to do.
type Problem struct{ Text string }

func (p *Problem) Error() string { return p.Text }

func problem(format string, args ...any) *Problem { return &Problem{fmt.Sprintf(format, args...)} }

const (
	// mostPlaces is how many places of an ambiguous passage are named.
	mostPlaces = 10
	// shownLine is how much of a line is shown.
	shownLine = 160
	// around is how many lines are shown before and after a likely one.
	around = 2
	// likeliest is how many lines are compared with a passage that is nowhere.
	likeliest = 20_000
)

// ambiguous names the places of a passage that is there more than once.
func ambiguous(places []int) *Problem {
	named := make([]string, 0, mostPlaces)
	for _, at := range places[:min(len(places), mostPlaces)] {
		named = append(named, fmt.Sprint(at+1))
	}
	more := ""
	if len(places) > mostPlaces {
		more = " …"
	}
	return problem("it is there %d times, from the lines %s%s on; give more of the lines around the one that is meant", len(places), strings.Join(named, ", "), more)
}

// missing shows what is nearest to a passage that is nowhere.
func missing(lines, old []string) *Problem {
	at, ok := nearest(lines, old)
	if !ok {
		return problem("it is not there, and nothing like it; read the file again")
	}
	var b strings.Builder
	b.WriteString("it is not there as given; read the file again. The nearest lines are:")
	for i := max(0, at-around); i < min(len(lines), at+len(old)+around, at+20); i++ {
		fmt.Fprintf(&b, "\n%d|%s", i+1, Cut(ended(lines[i], false), shownLine))
	}
	return &Problem{b.String()}
}

// nearest finds where most lines of a passage are in their places, or the line that is most like its first.
func nearest(lines, old []string) (int, bool) {
	places := map[string][]int{}
	for i, line := range Indentation.forms(old) {
		if line != "" && len(places[line]) < mostPlaces {
			places[line] = append(places[line], i)
		}
	}
	votes, best := map[int]int{}, -1
	for i, line := range lines[:min(len(lines), likeliest)] {
		for _, at := range places[Indentation.form(line)] {
			start := max(0, i-at)
			votes[start]++
			if best < 0 || votes[start] > votes[best] {
				best = start
			}
		}
	}
	if best >= 0 {
		return best, true
	}
	wanted, first := "", 0
	for i, line := range old {
		if wanted = Indentation.form(line); wanted != "" {
			first = i
			break
		}
	}
	likeness := 0.5
	for i, line := range lines[:min(len(lines), likeliest)] {
		if l := alike(wanted, Indentation.form(line)); l > likeness {
			likeness, best = l, max(0, i-first)
		}
	}
	return best, best >= 0
}

// alike is how much of two lines is the same, by their pairs of bytes, from 0 to 1.
func alike(a, b string) float64 {
	a, b = a[:min(len(a), 400)], b[:min(len(b), 400)]
	if len(a) < 2 || len(b) < 2 || len(a) > 4*len(b) || len(b) > 4*len(a) {
		return 0
	}
	pairs := map[string]int{}
	for i := range len(a) - 1 {
		pairs[a[i:i+2]]++
	}
	both := 0
	for i := range len(b) - 1 {
		if pairs[b[i:i+2]] > 0 {
			pairs[b[i:i+2]]--
			both++
		}
	}
	return 2 * float64(both) / float64(len(a)+len(b)-2)
}

// Cut shortens a line to a number of bytes, between two characters, and says so.
func Cut(line string, most int) string {
	if len(line) <= most {
		return line
	}
	for most > 0 && line[most]&0xC0 == 0x80 {
		most--
	}
	return fmt.Sprintf("%s… [%d bytes more]", line[:most], len(line)-most)
}
