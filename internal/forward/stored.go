package forward

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"hermes.example/hermes/internal/config"
)

// storedName is the home's file of variables, and storedLimit what is read of one.
const (
	storedName  = ".env"
	storedLimit = 1 << 20
)

// readStored looks for names in the home's file. That there is none is no error, and
// lines that nobody asked for are nobody's business.
func readStored(home string, names []string) (Values, []string) {
	text, err := storedText(home)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	path := filepath.Join(home, storedName)
	if err != nil {
		return nil, []string{fmt.Sprintf("cannot read %s: %v; nothing of it is forwarded", path, err)}
	}
	found := make(Values)
	var warnings []string
	for a := range assignments(text) {
		switch {
		case !slices.Contains(names, a.name):
		case a.wrong != "":
			warnings = append(warnings, fmt.Sprintf("cannot forward %s: its value in line %d of %s %s; it is not forwarded", a.name, a.line, path, a.wrong))
		default:
			found[a.name] = config.NewSecret(a.value)
		}
	}
	for name, value := range found {
		if value.Reveal() == "" {
			delete(found, name)
		}
	}
	return found, warnings
}

// storedText reads the file, if it is one of the home's own.
func storedText(home string) (string, error) {
	home, err := filepath.EvalSymlinks(home)
	if err != nil {
		return "", withoutPath(err)
	}
	file, err := filepath.EvalSymlinks(filepath.Join(home, storedName))
	if err != nil {
		return "", withoutPath(err)
	}
	rel, err := filepath.Rel(home, file)
	if err != nil || !filepath.IsLocal(rel) {
		return "", errors.New("a link leads out of the home")
	}
	// It is opened where nothing leads out of the home: it may have changed since.
	root, err := os.OpenRoot(home)
	if err != nil {
		return "", withoutPath(err)
	}
	defer root.Close()
	return readRegular(root, rel)
}

func readRegular(root *os.Root, name string) (string, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return "", withoutPath(err)
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("it is not a regular file")
	}
	file, err := root.Open(name)
	if err != nil {
		return "", withoutPath(err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, storedLimit+1))
	if err == nil && len(data) > storedLimit {
		err = fmt.Errorf("it has more than %d bytes", storedLimit)
	}
	return string(data), err
}

// withoutPath is an error without the path, which the line has already.
func withoutPath(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}
