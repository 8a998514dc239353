package install

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// settings are pip's, by their names on its command line without the dashes.
type settings map[string]string

// honoured are the settings that say where packages come from and how to get there. All others could move the
// installation elsewhere or weaken it, and are the installer's own to decide.
var honoured = []string{
	"index-url", "extra-index-url", "find-links", "no-index", "trusted-host",
	"cert", "client-cert", "proxy", "timeout", "default-timeout", "retries", "keyring-provider",
}

// pipSettings are what pip would find in its files and in the environment, in its order: the later wins.
func (i Installer) pipSettings() (settings, error) {
	found := make(map[string]settings) // by section
	files := i.pipFiles()
	for _, file := range files {
		data, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, failed("make it readable, or set PIP_CONFIG_FILE to "+os.DevNull, "cannot read pip's settings: %w", err)
		}
		if err := readINI(string(data), found); err != nil {
			return nil, failed("correct it, or set PIP_CONFIG_FILE to "+os.DevNull, "cannot understand pip's settings in %s: %w", file, err)
		}
	}
	all := make(settings)
	for _, name := range honoured {
		for _, section := range []string{"global", "install"} { // pip's order, whatever file they are in
			if value, ok := found[section][name]; ok {
				all[name] = value
			}
		}
		if value := i.getenv("PIP_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))); value != "" {
			all[name] = value
		}
	}
	return all, nil
}

// pipFiles are the files that pip reads, the strongest last.
func (i Installer) pipFiles() []string {
	named := i.getenv("PIP_CONFIG_FILE")
	if named == os.DevNull {
		return nil
	}
	var files []string
	for dir := range strings.SplitSeq(orElse(i.getenv("XDG_CONFIG_DIRS"), "/etc/xdg"), ":") {
		files = append(files, filepath.Join(i.FilesRoot, dir, "pip/pip.conf"))
	}
	files = append(files, filepath.Join(i.FilesRoot, "/etc/pip.conf"))
	if _, err := os.Stat(named); (named == "" || err != nil) && i.getenv("HOME") != "" { // a file that is named replaces the user's
		files = append(files,
			filepath.Join(i.getenv("HOME"), ".pip/pip.conf"),
			filepath.Join(orElse(i.getenv("XDG_CONFIG_HOME"), filepath.Join(i.getenv("HOME"), ".config")), "pip/pip.conf"))
	}
	files = append(files, filepath.Join(i.Runtime.Root, "pip.conf"))
	if named != "" {
		files = append(files, named)
	}
	return files
}

// readINI adds what a file of pip's format says: sections, names with "=" or ":", values that go on in lines that are
// indented, and comments in lines of their own.
func readINI(text string, into map[string]settings) error {
	var section settings
	name := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n\t ")
		trimmed := strings.TrimSpace(line)
		switch {
		case trimmed == "" || trimmed[0] == '#' || trimmed[0] == ';':
		case line[0] == ' ' || line[0] == '\t':
			if name == "" {
				return fmt.Errorf("%q continues nothing", trimmed)
			}
			section[name] = strings.TrimSpace(section[name] + "\n" + trimmed)
		case line[0] == '[' && strings.HasSuffix(line, "]"):
			heading := line[1 : len(line)-1]
			if into[heading] == nil {
				into[heading] = make(settings)
			}
			section, name = into[heading], ""
		default:
			at := strings.IndexAny(line, "=:")
			if section == nil || at <= 0 {
				return errors.New("a line that is neither a section nor a setting of one") // which may hold a password
			}
			name = settingName(line[:at])
			section[name] = strings.TrimSpace(line[at+1:])
		}
	}
	return nil
}

// settingName is how pip understands a name.
func settingName(name string) string {
	name = strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), "_", "-")
	return strings.TrimPrefix(name, "--")
}

func orElse(value, other string) string {
	if value == "" {
		return other
	}
	return value
}
