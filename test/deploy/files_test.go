package deploy

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// root is the top of the source.
const root = "../.."

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// parse reads all documents of a file into values of one type; what the type does not have is an error.
func parse[T any](t *testing.T, path string, options ...yaml.DecodeOption) (all []T) {
	t.Helper()
	decoder := yaml.NewDecoder(strings.NewReader(read(t, path)), options...)
	for {
		var one T
		err := decoder.Decode(&one)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all = append(all, one)
	}
}

// manifests are those of Kubernetes.
func manifests(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(root, "image/kubernetes/*.yaml"))
	if err != nil || len(found) < 2 {
		t.Fatal(found, err)
	}
	for i := range found {
		found[i], _ = filepath.Rel(root, found[i])
	}
	return found
}
