package accounts

import (
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// Memberships are the groups that list a user by its name, in ascending order. They are what a login gives it
// besides its own group.
func Memberships(name string, read Read) ([]int, error) {
	text, err := read(Groups)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var gids []int
	for line := range strings.Lines(text) {
		fields := strings.Split(strings.TrimSpace(line), ":")
		if len(fields) < 4 || !slices.Contains(strings.Split(fields[3], ","), name) {
			continue
		}
		if gid, err := strconv.ParseUint(fields[2], 10, 31); err == nil {
			gids = append(gids, int(gid))
		}
	}
	slices.Sort(gids)
	return slices.Compact(gids), nil
}
