package image

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// dockerBuild runs the Dockerfile up to a stage, on a base, in a directory, and returns the end of what it said.
func dockerBuild(t *testing.T, dir, stage, base string, more ...string) (said string, err error) {
	t.Helper()
	args := append([]string{"build", "--force-rm", "--file", "image/Dockerfile", "--target", stage, "--build-arg", "BASE=" + base}, more...)
	cmd := exec.CommandContext(t.Context(), "docker", append(args, ".")...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// context is a build context with the Dockerfile and what it copies of image/, and nothing that make prepares.
func context(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "image"), os.DirFS("../../image")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestAnotherArchitectureFailsTheBuild(t *testing.T) {
	t.Parallel()
	need(t)
	base := fmt.Sprintf("hermes-test/riscv:%d", os.Getpid())
	cmd := exec.CommandContext(t.Context(), "docker", "build", "--tag", base, "-")
	cmd.Stdin = strings.NewReader("FROM " + image + "\nRUN printf '#!/bin/sh\\necho riscv64\\n' >/usr/bin/dpkg\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("docker", "image", "rm", "--force", base).Run() })
	said, err := dockerBuild(t, context(t), "base", base)
	if err == nil || !strings.Contains(said, "cannot build the image for riscv64: it is for amd64 and arm64\n") {
		t.Errorf("%v: %s", err, said)
	}
}

func TestABuildWithoutProgramsSaysSo(t *testing.T) {
	t.Parallel()
	need(t)
	said, err := dockerBuild(t, context(t), "programs", inspected(t, image).Labels["org.opencontainers.image.base.name"])
	if err == nil || !strings.Contains(said, "cannot build the image: its programs are not compiled; run \"make image\"\n") {
		t.Errorf("%v: %s", err, said)
	}
}

// A checkout that only its owner may read gives an image that everybody may.
func TestTheUmaskOfACheckoutDoesNotMatter(t *testing.T) {
	t.Parallel()
	need(t)
	dir := context(t)
	if out, err := exec.Command("chmod", "-R", "go=", filepath.Join(dir, "image")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(dir, "image/Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range regexp.MustCompile(`(?m)^COPY image/.*`).FindAllString(string(text), -1) {
		if words := strings.Fields(line); !strings.HasPrefix(words[len(words)-1], "/out/") && !strings.HasPrefix(words[len(words)-1], "/in/") {
			t.Errorf("%s: it is copied with the modes of the checkout", line)
		}
	}
	tag := fmt.Sprintf("hermes-test/umask:%d", os.Getpid())
	if said, err := dockerBuild(t, dir, "files", inspected(t, image).Labels["org.opencontainers.image.base.name"], "--tag", tag); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	t.Cleanup(func() { _ = exec.Command("docker", "image", "rm", "--force", tag).Run() })
	docker(t, "run", "--rm", "--network", "none", "--user", "10000", "--entrypoint", "sh", tag, "-ec",
		"find /out -type d -exec ls {} + >/dev/null; find /out -type f -exec cat {} + >/dev/null")
}

// What slim may weigh: to be pulled, in bytes, and on a disk, where it must not grow unseen.
const (
	pulledMax = 250e6
	onDiskMax = 330e6
)

func TestSizes(t *testing.T) {
	t.Parallel()
	for target, image := range targets(t) {
		onDisk, err := strconv.ParseFloat(strings.TrimSpace(docker(t, "inspect", "--type", "image", "--format", "{{.Size}}", image)), 64)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %.0f MB on a disk", target, onDisk/1e6)
		if target != "slim" {
			continue
		}
		pulled := compressed(t, image)
		t.Logf("%s: at most %.0f MB to pull", target, pulled/1e6)
		if onDisk > onDiskMax || pulled > pulledMax {
			t.Errorf("that is more than %.0f MB, or %.0f MB to pull", onDiskMax/1e6, pulledMax/1e6)
		}
	}
}

// compressed is the image as a registry would have it, with the fastest compression.
func compressed(t *testing.T, image string) float64 {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "docker", "save", image)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var n count
	w, err := gzip.NewWriterLevel(&n, gzip.BestSpeed)
	if err == nil {
		_, err = io.Copy(w, out)
	}
	if err == nil {
		err = w.Close()
	}
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		t.Fatal(err)
	}
	return float64(n)
}

type count int64

func (c *count) Write(p []byte) (int, error) {
	*c += count(len(p))
	return len(p), nil
}
