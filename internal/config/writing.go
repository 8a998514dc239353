package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// WriteSafeRoot is the variable that names the directories that may be written in.
const WriteSafeRoot = "HERMES_WRITE_SAFE_ROOT"

// WriteRoots are the directories of the host that tools may write in, and that sandboxes may have mounted writable. Nil
// means all: the variable is not set. One that names no directory is an error, because to pass over it would allow
// everything.
func (c Config) WriteRoots() ([]string, error) {
	value := get(c.settings.lookup, WriteSafeRoot)
	if value == "" {
		return nil, nil
	}
	var roots []string
	for part := range strings.SplitSeq(value, ":") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		root, err := ExpandHome(c.settings.lookup, part)
		if err != nil {
			return nil, fmt.Errorf("cannot use %s: %w", WriteSafeRoot, err)
		}
		if !filepath.IsAbs(root) {
			return nil, fmt.Errorf("cannot use %s: %q is not an absolute path", WriteSafeRoot, part)
		}
		roots = append(roots, filepath.Clean(root))
	}
	if roots == nil {
		return nil, fmt.Errorf("cannot use %s=%q: it names no directory; unset it to allow writing everywhere", WriteSafeRoot, value)
	}
	return roots, nil
}

// ProtectedFiles are files of one directory that hold credentials.
type ProtectedFiles struct {
	Dir string
	// Names is a pattern as of path.Match, and Except another one, of names that are not meant.
	Names, Except string
}

// personal are the credentials that people have in their home directories. Public keys are nobody's secret.
var personal = []ProtectedFiles{
	{Dir: ".ssh", Names: "id_*", Except: "*.pub"},
	{Dir: ".ssh", Names: "*.pem"},
	{Dir: ".ssh", Names: "*.key"},
	{Dir: ".ssh", Names: "authorized_keys"},
	{Dir: ".gnupg", Names: "secring.gpg"},
	{Dir: ".gnupg/private-keys-v1.d", Names: "*"},
	{Dir: ".aws", Names: "credentials"},
	{Dir: ".azure", Names: "*token*"},
	{Dir: ".azure", Names: "msal_token_cache*"},
	{Dir: ".config/gcloud", Names: "*credentials*"},
	{Dir: ".config/gh", Names: "hosts.yml"},
	{Dir: ".kube", Names: "config"},
	{Dir: ".docker", Names: "config.json"},
	{Dir: "", Names: ".netrc"},
	{Dir: "", Names: ".git-credentials"},
	{Dir: "", Names: ".pgpass"},
	{Dir: "", Names: ".npmrc"},
	{Dir: "", Names: ".pypirc"},
}

// ofHome are the credentials of a home of Hermes, and of a profile in it.
var ofHome = []string{".env", "auth.json"}

// protected lists the files with credentials: of the home and of all profiles in it, those that the configuration names,
// and those of the person that Hermes runs as.
func (c Config) protected() []ProtectedFiles {
	var list []ProtectedFiles
	homes := []string{c.Home, c.RootHome()}
	others, _ := os.ReadDir(filepath.Join(c.RootHome(), "profiles")) // a home without any has no such directory
	for _, other := range others {
		homes = append(homes, filepath.Join(c.RootHome(), "profiles", other.Name()))
	}
	slices.Sort(homes)
	for _, home := range slices.Compact(homes) {
		for _, name := range ofHome {
			list = append(list, ProtectedFiles{Dir: home, Names: name})
		}
	}
	var ignored []string
	for _, name := range c.settings.inFile("credential_files").texts(&ignored) {
		if filepath.IsLocal(name) { // or else it is mounted nowhere either
			list = append(list, exactly(filepath.Join(c.Home, name)))
		}
	}
	if own, err := ExpandHome(c.settings.lookup, "~"); err == nil {
		for _, p := range personal {
			list = append(list, ProtectedFiles{Dir: filepath.Join(own, p.Dir), Names: p.Names, Except: p.Except})
		}
	}
	return list
}

// exactly is one file, whatever characters its name has.
func exactly(path string) ProtectedFiles {
	dir, name := filepath.Split(path)
	return ProtectedFiles{Dir: filepath.Clean(dir), Names: literal.Replace(name)}
}

var literal = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)
