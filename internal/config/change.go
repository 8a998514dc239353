package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hermes.example/hermes/internal/atomicfile"
)

// FileMode is that of a configuration file that is made.
const FileMode = 0o640

// Get returns what a key of the home's file says, by its names with dots between them, or nil.
func Get(home, key string) (any, error) {
	path, err := splitKey(key)
	if err != nil {
		return nil, err
	}
	value, err := readAll(File(home))
	for _, name := range path {
		section, _ := value.(map[string]any)
		value = section[name]
	}
	return value, err
}

// Set changes one key of the home's file, or makes it, and leaves everything else in it as it is, comments and
// order too. The value is YAML in one line; what is none is taken as text. A value that one of our own readers
// would not understand is refused.
func Set(home, key, value string) error {
	keys, err := splitKey(key)
	if err != nil {
		return err
	}
	file, err := resolved(File(home))
	if err != nil {
		return err
	}
	old, mode, err := readText(file)
	if err != nil {
		return err
	}
	mark, text := "", old
	if strings.HasPrefix(old, byteOrderMark) {
		mark, text = byteOrderMark, old[len(byteOrderMark):]
	}
	if err := parse([]byte(text), new(any)); err != nil {
		return misunderstood(file, err)
	}
	edited, err := edit(text, keys, oneLineValue(value))
	if err != nil {
		return fmt.Errorf("cannot set %s in %s: %w", key, file, err)
	}
	if err := judge(file, old, mark+edited); err != nil {
		return err
	}
	return atomicfile.Write(file, []byte(mark+edited), mode)
}

// resolved is where a file that is to be changed really is: one that lives elsewhere, and is linked to, stays there when
// it is replaced. A link of somebody else could lead to a file that he may not change and we may.
func resolved(file string) (string, error) {
	at := file
	for range mostLinks {
		link, err := os.Lstat(at)
		if err != nil || link.Mode()&os.ModeSymlink == 0 {
			return at, nil
		}
		if !ours(link) {
			return "", fmt.Errorf("cannot change %s: %s is a link that another user has made; put the file in its place", file, at)
		}
		to, err := os.Readlink(at)
		if err != nil {
			return "", fmt.Errorf("cannot change %s: %w", file, err)
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(at), to)
		}
		at = to
	}
	return "", fmt.Errorf("cannot change %s: its links lead nowhere; put the file in their place", file)
}

// mostLinks is how many links a kernel follows.
const mostLinks = 40

func splitKey(key string) ([]string, error) {
	names := strings.Split(key, ".")
	if slices.Contains(names, "") || strings.ContainsFunc(key, func(r rune) bool { return r < ' ' }) {
		return nil, fmt.Errorf("cannot use the key %q: give names with dots between them, like terminal.timeout", key)
	}
	return names, nil
}

func readText(file string) (string, os.FileMode, error) {
	data, err := read(file)
	if errors.Is(err, os.ErrNotExist) {
		return "", FileMode, nil
	}
	if err != nil {
		return "", 0, fmt.Errorf("cannot read the configuration: %w", err)
	}
	info, err := os.Stat(file)
	if err != nil {
		return "", 0, fmt.Errorf("cannot read the configuration: %w", err)
	}
	return string(data), info.Mode().Perm(), nil
}

func readAll(file string) (value any, err error) {
	text, _, err := readText(file)
	if err != nil {
		return nil, err
	}
	if err := parse([]byte(strings.TrimPrefix(text, byteOrderMark)), &value); err != nil {
		return nil, misunderstood(file, err)
	}
	return value, nil
}

// oneLineValue is what a person wrote, if that is YAML in the place of a value, else the same as a quoted text.
func oneLineValue(value string) string {
	var probe map[string]any
	plain := value != "" && value == strings.TrimSpace(value) && !strings.ContainsAny(value, "\n\r") && comment(" "+value) == "" &&
		!strings.HasPrefix(value, "|") && !strings.HasPrefix(value, ">") && !strings.HasPrefix(value, "&") && !strings.HasPrefix(value, "*")
	if plain && parse([]byte("value: "+value+"\n"), &probe) == nil && len(probe) == 1 {
		return value
	}
	return quoted(value)
}

// judge has all readers look at a file as it would become, and refuses what they would not take, unless they
// did not take it before either.
func judge(path, before, after string) error {
	old := complaints(path, before)
	for _, c := range complaints(path, after) {
		if !slices.Contains(old, c) {
			return errors.New(c)
		}
	}
	return nil
}

// complaints are what readers say about a file with this text, without an environment around it.
func complaints(path, text string) (found []string) {
	note := func(ignored []string, err error) {
		found = append(found, ignored...)
		if err != nil {
			found = append(found, err.Error())
		}
	}
	file, err := newFile(path, []byte(text))
	note(nil, err)
	c, err := load(func(string) (string, bool) { return "", false }, filepath.Dir(path), file)
	if note(nil, err); err != nil {
		return found
	}
	container, err := c.Container()
	note(container.Ignored, err)
	mounts, err := c.Mounts()
	note(mounts.Ignored, err)
	_, err = c.Gateway()
	note(nil, err)
	_, err = multiplexProfiles(c.settings.lookup, file)
	note(nil, err)
	_, err = allowsLazyInstalls(path, text)
	note(nil, err)
	_, err = c.Web()
	note(nil, err)
	_, err = c.AddOnIdle()
	note(nil, err)
	_, err = c.Tools()
	note(nil, err)
	dashboard, err := c.Dashboard()
	note(dashboard.Ignored, err)
	note(c.settings.odd, nil)
	return found
}
