package feature

import (
	"cmp"
	"slices"
	"strings"
)

// mostClosest is how many names a person is glad to read.
const mostClosest = 3

// Closest are the names that a person who typed another one perhaps meant, the likeliest first.
// There may be none.
func Closest(typed string) []string {
	typed = strings.ToLower(strings.TrimSpace(typed))
	if len(typed) < 2 || len(typed) > 100 {
		return nil
	}
	type candidate struct {
		name     string
		distance int
	}
	var near []candidate
	for _, f := range load() {
		if d := distanceTo(f, typed); d <= max(1, len(typed)/3) {
			near = append(near, candidate{f.Name, d})
		}
	}
	slices.SortStableFunc(near, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	var names []string
	for _, c := range near[:min(mostClosest, len(near))] {
		names = append(names, c.name)
	}
	return names
}

// distanceTo is that to the name with or without its namespace: people leave it out. A dash and a
// space are the underscore that they stand for.
func distanceTo(f Feature, typed string) int {
	typed = strings.NewReplacer("-", "_", " ", "_").Replace(typed)
	short := strings.TrimPrefix(f.Name, f.Namespace()+".")
	return min(distance(f.Name, typed), distance(short, typed))
}

// distance is how many letters have to be put in, taken out or changed to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			changed := diagonal
			if a[i] != b[j] {
				changed++
			}
			diagonal = row[j+1]
			row[j+1] = min(changed, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
