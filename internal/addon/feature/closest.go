package feature

import (
	"cmp"
	"slices"
	"strings"

	"hermes.example/hermes/internal/spelling"
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
	return min(spelling.Distance(f.Name, typed), spelling.Distance(short, typed))
}
