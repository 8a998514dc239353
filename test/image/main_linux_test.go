// Package image tests the image itself, as it was built, in real containers.
//
// HERMES_TEST_IMAGE names an image that is there already; otherwise the slim target is built, which costs seconds
// where only the source has changed since the last time.
package image

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// image is the name of what is tested; while it is empty, missing says why there is none.
var image, missing string

func TestMain(m *testing.M) {
	image, missing = build()
	os.Exit(m.Run())
}

// need is called first by every test that uses the image.
func need(t *testing.T) {
	t.Helper()
	if image == "" {
		t.Skip(missing)
	}
}

// build makes the image under a name of this checkout's own, so that those of two can be tested at once.
func build() (name, missing string) {
	if name = os.Getenv("HERMES_TEST_IMAGE"); name != "" {
		return name, ""
	}
	if out, err := exec.Command("docker", "version").CombinedOutput(); err != nil {
		return "", "there is no Docker: " + last(out)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		return "", err.Error()
	}
	name = fmt.Sprintf("hermes-test/slim:%.12x", sha256.Sum256([]byte(root)))
	cmd := exec.Command("make", "-C", root, "image", "TARGET=slim", "IMAGE="+name)
	if out, err := cmd.CombinedOutput(); err != nil {
		fmt.Printf("cannot build the image: %v\n%s", err, out)
		os.Exit(1)
	}
	return name, ""
}

// last is the last line of what a program said.
func last(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}

// docker runs the client and returns what it printed.
func docker(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "docker", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("docker %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return string(out)
}
