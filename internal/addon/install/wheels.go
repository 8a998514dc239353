package install

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hermes.example/hermes/internal/addon/lock"
	"hermes.example/hermes/internal/addon/pep508"
)

// haveWheels says whether a wheel of every package is kept that has one of its hashes. A file that was cut short by a
// kill or a full disk is none.
func (i Installer) haveWheels(packages []lock.Package) (bool, error) {
	files, err := os.ReadDir(i.wheels())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, failed("", "cannot look for kept wheels: %w", err)
	}
	byName := make(map[string][]string)
	for _, f := range files {
		name, _, isWheel := strings.Cut(f.Name(), "-")
		if isWheel && f.Type().IsRegular() && strings.HasSuffix(f.Name(), ".whl") {
			name = pep508.Normalize(name)
			byName[name] = append(byName[name], filepath.Join(i.wheels(), f.Name()))
		}
	}
	for _, p := range packages {
		if !slices.ContainsFunc(byName[p.Name], func(path string) bool { return slices.Contains(p.Hashes, fileHash(path)) }) {
			return false, nil
		}
	}
	return true, nil
}

// fileHash is a file's, as locks write it, or nothing if the file cannot be read.
func fileHash(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return ""
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
}
