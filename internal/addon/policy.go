package addon

import (
	"strconv"
	"strings"
	"time"

	"hermes.example/hermes/internal/addon/install"
	"hermes.example/hermes/internal/config"
)

// anyAge switches the policy off.
const anyAge = -1

// minAge is how old a release has to be before it is chosen, where no lock has chosen already. What is no number of
// days leaves the policy as it is: a mistake must not weaken it.
func minAge(lookup config.Lookup) time.Duration {
	value, _ := lookup(install.MinAgeVariable)
	days, err := strconv.Atoi(strings.TrimSpace(value))
	switch {
	case err != nil || days < 0:
		return install.DefaultMinAge
	case days == 0:
		return anyAge
	}
	return time.Duration(days) * 24 * time.Hour
}
