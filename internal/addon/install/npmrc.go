package install

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// npmrc are npm's settings, by their names; one whose name ends in "[]" has several values.
type npmrc map[string][]string

// honouredByNPM are the settings that say where packages come from and how to get there. All others could move the
// installation elsewhere, run something or weaken it.
var honouredByNPM = []string{
	"registry", "proxy", "https-proxy", "http-proxy", "noproxy", "no-proxy", "ca", "ca[]", "cafile", "cert", "key", "strict-ssl", "local-address",
	"fetch-timeout", "fetch-retries", "fetch-retry-factor", "fetch-retry-mintimeout", "fetch-retry-maxtimeout", "maxsockets",
}

// ofHost are the settings that npm has for one registry, as "//host/path/:_authToken".
var ofHost = []string{"_authToken", "_auth", "username", "_password", "email", "certfile", "keyfile"}

// secretOfHost are those of them that nobody may see.
var secretOfHost = []string{"_authToken", "_auth", "_password"}

func honours(name string) bool {
	if slices.Contains(honouredByNPM, name) {
		return true
	}
	if scope, isScope := strings.CutSuffix(name, ":registry"); isScope && strings.HasPrefix(scope, "@") {
		return true
	}
	at := strings.LastIndexByte(name, ':')
	return strings.HasPrefix(name, "//") && at >= 0 && slices.Contains(ofHost, name[at+1:])
}

// npmSettings are what npm would find in its files and in the environment, in its order: the later wins.
func (i Installer) npmSettings() (npmrc, error) {
	all := make(npmrc)
	for _, file := range i.npmFiles() {
		data, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, failed("make it readable, or set npm_config_userconfig to "+os.DevNull, "cannot read npm's settings: %w", err)
		}
		maps.Copy(all, i.readNPMRC(string(data)))
	}
	for _, entry := range i.Environ {
		name, value, _ := strings.Cut(entry, "=")
		if len(name) < len(npmVariable) || !strings.EqualFold(name[:len(npmVariable)], npmVariable) || value == "" {
			continue
		}
		name = name[len(npmVariable):]
		if !strings.HasPrefix(name, "//") && name != "" {
			name = strings.ToLower(name[:1] + strings.ReplaceAll(name[1:], "_", "-"))
		}
		if honours(name) {
			all[name] = []string{value}
		}
	}
	return all, nil
}

// npmVariable is how the names of npm's variables begin, in any case.
const npmVariable = "npm_config_"

// npmFiles are the files that npm reads, the strongest last: the machine's, and the user's.
func (i Installer) npmFiles() []string {
	files := []string{filepath.Join(i.FilesRoot, "/etc/npmrc")}
	if node := i.onPath("node"); node != "" {
		files = append(files, filepath.Join(filepath.Dir(filepath.Dir(node)), "etc/npmrc"))
	}
	user := orElse(i.getenv("npm_config_userconfig"), i.getenv("NPM_CONFIG_USERCONFIG"))
	if user == "" && i.getenv("HOME") != "" {
		user = filepath.Join(i.getenv("HOME"), ".npmrc")
	}
	if user != "" {
		files = append(files, user) // the null device is an empty file
	}
	return files
}

// readNPMRC is what is honoured of a file: lines of names and values, with variables in them. What stands below a
// heading npm does not read either.
func (i Installer) readNPMRC(text string) npmrc {
	found := make(npmrc)
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			break
		}
		if line == "" || line[0] == ';' || line[0] == '#' {
			continue
		}
		name, value, _ := strings.Cut(line, "=")
		name = i.expand(strings.TrimSpace(name))
		if !honours(name) {
			continue
		}
		value = i.expand(unquoted(strings.TrimSpace(value)))
		if strings.HasSuffix(name, "[]") {
			found[name] = append(found[name], value)
		} else {
			found[name] = []string{value}
		}
	}
	return found
}

// unquoted is a value without its quotes, or without the comment after it.
func unquoted(value string) string {
	if len(value) >= 2 && value[0] == '\'' && value[len(value)-1] == '\'' {
		return value[1 : len(value)-1]
	}
	var text string
	if len(value) >= 2 && value[0] == '"' && json.Unmarshal([]byte(value), &text) == nil {
		return text
	}
	if at := strings.IndexAny(value, ";#"); at >= 0 {
		value = strings.TrimSpace(value[:at])
	}
	return value
}

var variable = regexp.MustCompile(`\$\{([^${}?]+)\??\}`)

// expand puts in the caller's variables, among which a token often is. One that is not set is left as it stands.
func (i Installer) expand(text string) string {
	return variable.ReplaceAllStringFunc(text, func(named string) string {
		return orElse(i.getenv(strings.TrimRight(named[2:len(named)-1], "?")), named)
	})
}

// text is the file that npm is given in the place of all others.
func (rc npmrc) text() []byte {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(rc)) {
		for _, value := range rc[name] {
			quoted, err := json.Marshal(value)
			if err != nil { // a text always can
				panic(err)
			}
			fmt.Fprintf(&b, "%s = %s\n", name, quoted)
		}
	}
	return []byte(b.String())
}

// environment is the settings as variables, so that what is secret in them is found as it is there.
func (rc npmrc) environment() environment {
	all := make(environment)
	for name, values := range rc {
		all[name] = strings.Join(values, " ")
	}
	return all
}

// isNPMLogin tells the settings of a registry that are secret.
func isNPMLogin(name string) bool {
	at := strings.LastIndexByte(name, ':')
	return strings.HasPrefix(name, "//") && at >= 0 && slices.Contains(secretOfHost, name[at+1:]) || name == "key"
}
