package manifest

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Longest are names and paths; the kernel takes no longer ones.
const longest = 4095

var featureName = regexp.MustCompile(`^[a-z0-9_]+(\.[a-z0-9_]+)*$`)

// FeatureName says whether a name can be a feature's. It is safe as the name of a file.
func FeatureName(name string) bool { return len(name) <= 100 && featureName.MatchString(name) }

// IsDigest says whether a name can be a generation's, or a file's SHA-256.
func IsDigest(name string) bool {
	return len(name) == 64 && !strings.ContainsFunc(name, func(r rune) bool { return (r < '0' || r > '9') && (r < 'a' || r > 'f') })
}

// check finds what no honest manifest has: it is read back from a disk that others may have been at.
func (m Manifest) check() error {
	if m.Version != Version {
		return fmt.Errorf("its version is %d, not %d", m.Version, Version)
	}
	if m.ABI == "" {
		return errors.New("it names no ABI")
	}
	if err := checkFiles(m.Files); err != nil {
		return err
	}
	here := make(map[string]bool, len(m.Distributions))
	for i, d := range m.Distributions {
		if d.Name == "" || d.Version == "" || i > 0 && m.Distributions[i-1].Name >= d.Name {
			return fmt.Errorf("distribution %q: each has a name and a version, and they are sorted", d.Name)
		}
		here[d.Name] = true
	}
	for i, f := range m.Features {
		if !FeatureName(f.Name) || i > 0 && m.Features[i-1].Name >= f.Name {
			return fmt.Errorf("feature %q: each has a proper name, and they are sorted", f.Name)
		}
		for _, spec := range f.Specs {
			if spec == "" || strings.ContainsFunc(spec, unicode.IsControl) {
				return fmt.Errorf("feature %q: %q is no requirement", f.Name, spec)
			}
		}
		for _, name := range f.Distributions {
			if !here[name] {
				return fmt.Errorf("feature %q: its distribution %q is not there", f.Name, name)
			}
		}
	}
	return m.checkTrees()
}

func checkFiles(files []File) error {
	dirs := dirsOf(files)
	for i, f := range files {
		switch {
		case len(f.Path) > longest || f.Path == "." || !fs.ValidPath(f.Path) || strings.ContainsFunc(f.Path, unicode.IsControl):
			return fmt.Errorf("file %.200q: that is no path below a directory", f.Path)
		case i > 0 && files[i-1].Path >= f.Path:
			return fmt.Errorf("file %.200q: they are sorted, each once", f.Path)
		case dirs[f.Path]:
			return fmt.Errorf("file %.200q: it is a directory, too", f.Path)
		case f.Size < 0 || !IsDigest(f.SHA256):
			return fmt.Errorf("file %.200q: it has a size and a SHA-256", f.Path)
		}
	}
	return nil
}

// Names are the features' names.
func (m Manifest) Names() []string {
	names := make([]string, 0, len(m.Features))
	for _, f := range m.Features {
		names = append(names, f.Name)
	}
	slices.Sort(names)
	return names
}
