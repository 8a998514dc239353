//go:build linux

package containers

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// debian is the files of a minimal Debian, kept in the repository's cache under the name of their digest.
func debian(t testing.TB) layer {
	t.Helper()
	dir := cache(t)
	kept, err := filepath.Glob(filepath.Join(dir, "debian-*.tar"))
	if err != nil {
		t.Fatal(err)
	}
	if len(kept) == 0 {
		kept = []string{makeDebian(t, dir)}
	}
	info, err := os.Stat(kept[0])
	if err != nil {
		t.Fatal(err)
	}
	return layer{
		digest: strings.TrimSuffix(strings.TrimPrefix(filepath.Base(kept[0]), "debian-"), ".tar"),
		size:   info.Size(),
		open:   func() (io.ReadCloser, error) { return os.Open(kept[0]) },
	}
}

// makeDebian gets its name last, so that a file of that name is whole.
func makeDebian(t testing.TB, dir string) string {
	t.Helper()
	tool, err := exec.LookPath("mmdebstrap")
	if err != nil {
		t.Skip("mmdebstrap is not installed")
	}
	half, err := os.MkdirTemp(dir, "debian-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(half)
	made := filepath.Join(half, "root.tar")
	cmd := exec.CommandContext(t.Context(), tool, "--variant=minbase", "bookworm", made)
	// With a fixed date the same packages give the same bytes, and other checkouts the same image.
	cmd.Env = append(os.Environ(), fmt.Sprintf("SOURCE_DATE_EPOCH=%d", longAgo.Unix()), "TMPDIR="+half)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("mmdebstrap cannot make a Debian here: %v\n%s", err, tail(out))
	}
	f, err := os.Open(made)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(dir, fmt.Sprintf("debian-%x.tar", sum.Sum(nil)))
	if err := os.Rename(made, kept); err != nil {
		t.Fatal(err)
	}
	return kept
}

func tail(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return strings.Join(lines[max(0, len(lines)-3):], "\n")
}
