package config

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"hermes.example/hermes/internal/truth"
)

// The names by which people know the settings of add-ons.
const (
	LazyInstallsKey      = "security.allow_lazy_installs"
	DisableLazyInstalls  = "HERMES_DISABLE_LAZY_INSTALLS"
	LazyInstallTarget    = "HERMES_LAZY_INSTALL_TARGET"
	ManagedBy            = "HERMES_MANAGED"
	BuildFromSource      = "HERMES_ADDON_BUILD_FROM_SOURCE"
	defaultLazyDirectory = "lazy-packages"
)

// AddOnStore is the directory of the store of add-ons (HERMES_LAZY_INSTALL_TARGET, else "lazy-packages" in the home),
// and whether it was chosen by name.
func AddOnStore(lookup Lookup) (dir string, chosen bool, err error) {
	if dir = get(lookup, LazyInstallTarget); dir != "" {
		dir, err = absolute(lookup, LazyInstallTarget, dir)
		return dir, true, err
	}
	home, err := Home(lookup)
	if err != nil {
		return "", false, err
	}
	return filepath.Join(home, defaultLazyDirectory), false, nil
}

// AllowsLazyInstalls says whether a home's file lets add-ons be installed when they are first needed
// (security.allow_lazy_installs). Without the file, and without the key, it does. A file that cannot be understood
// does not, wherever in it the mistake is: whoever forbade it there must not be overheard.
func AllowsLazyInstalls(home string) (bool, error) {
	text, _, err := readText(File(home))
	if err != nil {
		return false, err
	}
	return allowsLazyInstalls(File(home), text)
}

func allowsLazyInstalls(path, text string) (bool, error) {
	var whole any
	if err := parse([]byte(strings.TrimPrefix(text, byteOrderMark)), &whole); err != nil {
		return false, misunderstood(path, err)
	}
	sections, ok := section(whole)
	if !ok {
		return false, fmt.Errorf("cannot use %s: expected sections with keys and values below them", path)
	}
	security, ok := section(sections["security"])
	if !ok {
		return false, fmt.Errorf("cannot use security in %s: expected keys with values below it", path)
	}
	allow := setting{value: security["allow_lazy_installs"], name: LazyInstallsKey, where: " in " + path, hidden: true}
	switch {
	case allow.value == nil || allow.text() == "":
		return true, nil
	case allow.odd():
		return false, allow.wrong("true or false")
	}
	return allow.truthy(), nil
}

// Manager is the package manager that owns this installation (HERMES_MANAGED), or "". A mere yes, and
// what cannot be shown in the middle of a line, is "system".
func Manager(lookup Lookup) string {
	name := get(lookup, ManagedBy)
	switch {
	case slices.Contains(offWords, strings.ToLower(name)):
		return ""
	case truth.InAnyCase(name) || !plainWord.MatchString(name):
		return "system"
	}
	return name
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9._-]{1,40}$`)
