package sealed

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Fingerprint changes with every name, mode, time, link and content of a tree: of a core, which nothing may change.
func Fingerprint(t testing.TB, root string) string {
	t.Helper()
	sum := sha256.New()
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		link, _ := os.Readlink(path) // only links have one
		fmt.Fprintln(sum, path, info.Mode(), info.Size(), info.ModTime().UnixNano(), link)
		if !info.Mode().IsRegular() {
			return nil
		}
		content, err := os.ReadFile(path)
		sum.Write(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}
