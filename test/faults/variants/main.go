// Command variants breaks the program in one place at a time and runs the test that
// has to notice. It fails when a test does not: such a test shows nothing.
//
//	variants [NAME…]
//
// The tree is never changed: the Go tool takes the broken file, and a guest that was
// built with it, in place of the real ones (-overlay). `make test-faults` calls it.
package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// variant is one deliberate fault: old text of a file becomes new text.
type variant struct {
	name, test string
	in         string // the test's package, where it is not test/faults
	times      int    // how often the test runs, where it notices only now and then
	file       string
	old, new   string
}

const (
	bound    = 20 * time.Minute // all tests as they are
	patience = 90 * time.Second // several times what any of the tests takes
)

func main() {
	os.Exit(run(os.Args[1:]))
}

func run(only []string) int {
	dir, err := os.MkdirTemp("", "hermes-variants-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	chosen := slices.DeleteFunc(slices.Clone(variants), func(v variant) bool { return len(only) > 0 && !slices.Contains(only, v.name) })
	if err := baseline(chosen); err != nil {
		fmt.Println(err)
		return 1
	}
	bad := 0
	for _, v := range chosen {
		began := time.Now()
		verdict := "red, as it has to be"
		if err := v.try(filepath.Join(dir, v.name)); err != nil {
			verdict = "NOT NOTICED: " + err.Error()
			bad++
		}
		fmt.Printf("%-32s %-44s %s (%.0f s)\n", v.name, v.test, verdict, time.Since(began).Seconds())
	}
	if bad > 0 {
		fmt.Printf("%d variants were not noticed\n", bad)
		return 1
	}
	return 0
}

// baseline checks that the tests pass as things are: otherwise they would be red for
// another reason.
func baseline(chosen []variant) error {
	tests, packages := make(map[string]bool), make(map[string]bool)
	for _, v := range chosen {
		tests[v.test], packages[v.pkg()] = true, true
	}
	pattern := "^(" + strings.Join(slices.Sorted(maps.Keys(tests)), "|") + ")$"
	args := []string{"test", "-count=1", "-p=1", "-timeout", bound.String(), "-run", pattern}
	if out, err := goTool(append(args, slices.Sorted(maps.Keys(packages))...)...); err != nil {
		return fmt.Errorf("without a variant: %w\n%s", err, out[max(0, len(out)-4000):])
	}
	return nil
}

func (v variant) pkg() string { return "./" + cmp.Or(v.in, "test/faults") }

// try returns nil when the test fails because of the variant.
func (v variant) try(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	source, err := os.ReadFile(v.file)
	if err != nil {
		return err
	}
	if n := bytes.Count(source, []byte(v.old)); n != 1 {
		return fmt.Errorf("%s has its text %d times: revise the variant", v.file, n)
	}
	broken := filepath.Join(dir, filepath.Base(v.file))
	if err := os.WriteFile(broken, bytes.Replace(source, []byte(v.old), []byte(v.new), 1), 0o600); err != nil {
		return err
	}
	replace := map[string]string{filepath.Join(root, v.file): broken}
	overlay := filepath.Join(dir, "overlay.json")
	if err := writeOverlay(overlay, replace); err != nil {
		return err
	}
	if err := addGuest(dir, root, overlay, replace); err != nil {
		return err
	}
	if err := writeOverlay(overlay, replace); err != nil {
		return err
	}
	// Some tests build programs themselves, which have to be broken, too.
	inner := "env GOFLAGS=-overlay=" + overlay
	out, err := goTool("test", "-overlay", overlay, "-exec", inner, "-failfast", "-count", strconv.Itoa(max(v.times, 1)), "-timeout", patience.String(), "-run", "^"+v.test+"$", v.pkg())
	switch {
	case err == nil:
		return errors.New("the test passes")
	case bytes.Contains(out, []byte("panic: test timed out")):
		return nil // a fault that makes everything wait is noticed, too
	case !bytes.Contains(out, []byte("--- FAIL: "+strings.Split(v.test, "/")[0])):
		return fmt.Errorf("the test did not run: %v\n%s", err, out[max(0, len(out)-2000):])
	}
	return nil
}

func writeOverlay(path string, replace map[string]string) error {
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}

// addGuest builds the guest with the variant and puts it where it is embedded.
func addGuest(dir, root, overlay string, replace map[string]string) error {
	guest := filepath.Join(dir, "guest")
	if out, err := goTool("build", "-overlay", overlay, "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", guest, "./cmd/hermes-guest"); err != nil {
		return fmt.Errorf("cannot build the guest: %w\n%s", err, out)
	}
	data, err := os.ReadFile(guest)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	if err := os.WriteFile(guest+".sha256", []byte(hex.EncodeToString(sum[:])), 0o600); err != nil {
		return err
	}
	embedded := filepath.Join(root, "internal", "programs", "bin", "hermes-guest-linux-"+runtime.GOARCH)
	replace[embedded], replace[embedded+".sha256"] = guest, guest+".sha256"
	return nil
}

func goTool(args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), bound+time.Minute)
	defer cancel()
	name := os.Getenv("GO")
	if name == "" {
		name = "go"
	}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	return cmd.CombinedOutput()
}
