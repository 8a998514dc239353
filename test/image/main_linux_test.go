// Package image tests the image itself, as it was built, in real containers.
//
// HERMES_TEST_IMAGE names an image that is there already; otherwise the slim target is built, which costs seconds
// where only the source has changed since the last time. HERMES_TEST_FULL_IMAGE names one of the full target, which
// is looked at beside it; it is not built, because its packages are more than a gigabyte.
package image

import (
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// image is the name of what is tested; while it is empty, missing says why there is none.
var image, missing string

// containersAtOnce is how many tests run beside each other, unless -parallel says otherwise: containers are mostly waited for.
const containersAtOnce = "4"

func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", containersAtOnce); err != nil {
		panic(err)
	}
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

// targets are the images to look at, by their targets.
func targets(t *testing.T) map[string]string {
	t.Helper()
	need(t)
	images := map[string]string{"slim": image}
	if full := os.Getenv("HERMES_TEST_FULL_IMAGE"); full != "" {
		images["full"] = full
	}
	return images
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
	name = fmt.Sprintf("hermes-test/slim:%.6x", sha256.Sum256([]byte(root)))
	cmd := exec.Command("make", "-C", root, "image", "TARGET=slim", "IMAGE="+name)
	cmd.Env = append(os.Environ(), "MAKEFLAGS=") // those of a make that runs this test are not for this one
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

// inside boots an image with a command and returns what the command printed.
func inside(t *testing.T, image string, command ...string) string {
	t.Helper()
	var said, log bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "docker", append([]string{"run", "--rm", image}, command...)...)
	cmd.Stdout, cmd.Stderr = &said, &log
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s, %q: %v: %s%s", image, command, err, said.String(), last(log.Bytes()))
	}
	return said.String()
}
