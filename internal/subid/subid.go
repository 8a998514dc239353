// Package subid reads which subordinate ids users have, from files like
// /etc/subuid. The native engine takes ranges from it and the doctor says what is
// missing; it never writes.
package subid

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Range is a run of ids of the host.
type Range struct{ First, Count int }

// entry is one line: a user, by name or by number, and a range of that user's.
type entry struct {
	who string
	Range
}

// Of returns the first range in file of a user, who may have no name.
func Of(file string, uid int, name string) (Range, error) {
	entries, err := read(file)
	if err != nil {
		return Range{}, err
	}
	for _, e := range entries {
		if e.who == name || e.who == strconv.Itoa(uid) {
			return e.Range, nil
		}
	}
	return Range{}, fmt.Errorf("%s has no range for user %d", file, uid)
}

// first is where useradd begins unless it is told otherwise.
const first = 100_000

// Free returns where count ids begin that nobody has in any of the files. A file
// that cannot be read gives nobody any.
func Free(count int, files ...string) int {
	var taken []entry
	for _, file := range files {
		entries, _ := read(file)
		taken = append(taken, entries...)
	}
	at := first
	for moved := true; moved; {
		moved = false
		for _, e := range taken {
			if at < e.First+e.Count && e.First < at+count {
				at, moved = e.First+e.Count, true
			}
		}
	}
	return at
}

func read(file string) ([]entry, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var entries []entry
	for line := range strings.Lines(string(data)) {
		fields := strings.Split(strings.TrimSpace(line), ":")
		if len(fields) != 3 || fields[0] == "" {
			continue
		}
		first, err1 := strconv.Atoi(fields[1])
		count, err2 := strconv.Atoi(fields[2])
		if err1 == nil && err2 == nil && first > 0 && count > 0 {
			entries = append(entries, entry{fields[0], Range{first, count}})
		}
	}
	return entries, nil
}
