package patch

import (
	"fmt"
	"strconv"
	"strings"
)

const (
	// margin is how many lines of a diff are shown around a change.
	margin = 3
	// furthest is how many lines may be different before everything between the first and the last of them counts
	// as different.
	furthest = 1000
)

// Difference is what makes one text of another.
type Difference struct {
	Added, Removed int
	// Unified is the diff that patch and git read too. Empty if the texts are the same.
	Unified string
}

// Diff compares two texts. The names are those of the files; empty stands for one that does not exist.
func Diff(from, to, before, after string) Difference {
	if before == after && (from == "") == (to == "") {
		return Difference{}
	}
	a, b := split(before), split(after)
	steps := compare(a.marked(), b.marked())
	d := Difference{}
	for _, s := range steps {
		switch s.kind {
		case add:
			d.Added++
		case remove:
			d.Removed++
		}
	}
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", nameOr(from), nameOr(to))
	writeHunks(&out, steps)
	d.Unified = out.String()
	return d
}

func nameOr(name string) string {
	switch {
	case name == "":
		return nobody
	case strings.ContainsAny(name, "\n\r\t\"\\") || strings.TrimSpace(name) != name:
		return strconv.Quote(name)
	}
	return name
}

// unended is what a diff says below a line that does not end. No line holds a line feed, so that a marked one is
// another than the same one unmarked.
const unended = "\n\\ No newline at end of file"

func (t text) marked() []string {
	if !t.open {
		return t.lines
	}
	lines := append([]string(nil), t.lines...)
	lines[len(lines)-1] += unended
	return lines
}

// compare finds the steps from a to b.
func compare(a, b []string) []step {
	begin := 0
	for begin < len(a) && begin < len(b) && a[begin] == b[begin] {
		begin++
	}
	end := 0
	for end < len(a)-begin && end < len(b)-begin && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	steps := make([]step, 0, len(a)+len(b))
	for _, line := range a[:begin] {
		steps = append(steps, step{keep, line})
	}
	steps = append(steps, shortest(a[begin:len(a)-end], b[begin:len(b)-end])...)
	for _, line := range a[len(a)-end:] {
		steps = append(steps, step{keep, line})
	}
	return steps
}

// shortest is Myers' way to a shortest list of steps: the furthest that is reached with d of them, on each diagonal,
// for growing d.
func shortest(a, b []string) []step {
	most := min(len(a)+len(b), furthest)
	reached := make([]int, 2*most+3)
	var history [][]int
	for d := 0; d <= most; d++ {
		history = append(history, append([]int(nil), reached[most+1-d:most+2+d]...))
		for k := -d; k <= d; k += 2 {
			at := most + 1 + k
			x := reached[at-1] + 1
			if k == -d || k != d && reached[at-1] < reached[at+1] {
				x = reached[at+1]
			}
			for y := x - k; x < len(a) && y < len(b) && a[x] == b[y]; y++ {
				x++
			}
			if reached[at] = x; x >= len(a) && x-k >= len(b) {
				return trace(a, b, history)
			}
		}
	}
	var all []step
	for _, line := range a {
		all = append(all, step{remove, line})
	}
	for _, line := range b {
		all = append(all, step{add, line})
	}
	return all
}

// trace goes back from the end. The history of d has the diagonals from -d to d, as they were before step d.
func trace(a, b []string, history [][]int) []step {
	var back []step
	x, y := len(a), len(b)
	for d := len(history) - 1; d > 0; d-- {
		before := func(k int) int { return history[d][k+d] }
		k := x - y
		from := k - 1
		if k == -d || k != d && before(k-1) < before(k+1) {
			from = k + 1
		}
		fromX := before(from)
		fromY := fromX - from
		for x > fromX && y > fromY {
			x, y = x-1, y-1
			back = append(back, step{keep, a[x]})
		}
		if from == k+1 {
			y--
			back = append(back, step{add, b[y]})
		} else {
			x--
			back = append(back, step{remove, a[x]})
		}
	}
	for x > 0 && y > 0 {
		x, y = x-1, y-1
		back = append(back, step{keep, a[x]})
	}
	steps := make([]step, 0, len(back))
	for i := len(back) - 1; i >= 0; i-- {
		steps = append(steps, back[i])
	}
	return steps
}

// writeHunks writes the changes with some lines around each.
func writeHunks(out *strings.Builder, steps []step) {
	oldLine, newLine := 1, 1
	for i := 0; i < len(steps); {
		if steps[i].kind == keep {
			i, oldLine, newLine = i+1, oldLine+1, newLine+1
			continue
		}
		begin := max(0, i-margin)
		end, same := i, 0
		for j := i; j < len(steps) && same <= 2*margin; j++ {
			if same++; steps[j].kind != keep {
				end, same = j+1, 0
			}
		}
		end = min(len(steps), end+margin)
		back := i - begin
		oldLine, newLine = writeHunk(out, steps[begin:end], oldLine-back, newLine-back)
		i = end
	}
}

// writeHunk writes one hunk, and returns the lines after it.
func writeHunk(out *strings.Builder, steps []step, oldLine, newLine int) (int, int) {
	olds, news := 0, 0
	for _, s := range steps {
		if s.kind != add {
			olds++
		}
		if s.kind != remove {
			news++
		}
	}
	fmt.Fprintf(out, "@@ -%s +%s @@\n", span(oldLine, olds), span(newLine, news))
	for _, s := range steps {
		out.WriteByte(byte(s.kind))
		out.WriteString(s.line)
		out.WriteByte('\n')
	}
	return oldLine + olds, newLine + news
}

// span is the place of a hunk in one of the files. Of no lines it is that after which they would be.
func span(line, n int) string {
	switch n {
	case 0:
		return fmt.Sprintf("%d,0", line-1)
	case 1:
		return fmt.Sprint(line)
	}
	return fmt.Sprintf("%d,%d", line, n)
}
