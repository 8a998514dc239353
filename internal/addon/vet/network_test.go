package vet

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hermes.example/hermes/internal/addon/lock"
	"hermes.example/hermes/internal/addon/pep508"
	"hermes.example/hermes/internal/addon/sealed"
	"hermes.example/hermes/test/wheels"
)

// Honest packages pass: large ones, with namespaces, with libraries, and with scripts.
func TestRealPackagesPass(t *testing.T) {
	if os.Getenv("HERMES_RUN_NETWORK_TESTS") != "1" {
		t.Skip("needs the network: HERMES_RUN_NETWORK_TESTS=1")
	}
	uv, cache := wheels.UV(t), t.TempDir()
	standard := strings.Fields(python(t, "print(*sys.stdlib_module_names)"))
	for _, requirements := range []string{
		"boto3", "google-cloud-pubsub google-api-python-client", "opentelemetry-sdk opentelemetry-exporter-otlp-proto-http",
		"numpy sounddevice", "discord.py[voice]", "azure-identity", "anthropic", "firecrawl-py", "qrcode lark-oapi", "mautrix[encryption]", "Pillow",
	} {
		t.Run(requirements, func(t *testing.T) {
			tree := t.TempDir()
			command := append([]string{"pip", "install", "--quiet", "--python", "/usr/bin/python3", "--cache-dir", cache, "--only-binary", ":all:", "--target", tree},
				strings.Fields(requirements)...)
			if out, err := exec.Command(uv, command...).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			r, err := Check(tree, sealed.Description{Stdlib: standard}, installed(t, tree), noBytecode)
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Problems) > 0 {
				t.Errorf("the problems are:\n%s", lines(r.Problems))
			}
			if err := r.Tidy(); err != nil {
				t.Error(err)
			}
			t.Logf("%d distributions, %d files", len(r.Distributions), len(r.Files))
		})
	}
}

// installed is a lock of whatever is in a tree.
func installed(t *testing.T, tree string) []lock.Package {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(tree, "*.dist-info"))
	if err != nil || len(found) == 0 {
		t.Fatalf("there is nothing in %s: %v", tree, err)
	}
	var packages []lock.Package
	for _, dir := range found {
		name, version, _ := strings.Cut(strings.TrimSuffix(filepath.Base(dir), ".dist-info"), "-")
		packages = append(packages, lock.Package{Name: pep508.Normalize(name), Version: version})
	}
	return packages
}
