//go:build linux

package unpack_test

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"hermes.example/hermes/internal/image/packed"
	"hermes.example/hermes/internal/image/unpack"
	"hermes.example/hermes/internal/sampletar"
)

// BenchmarkUnpack measures ours and `tar -x` of the same layer in turns; the ratio of the medians is how fast
// ours is (1.0: as fast, more: faster). The budget is 0.8. Ours computes the digest that the content is trusted
// by; the second figure compares with a tar whose input goes through sha256sum before.
func BenchmarkUnpack(b *testing.B) {
	if _, err := exec.LookPath("tar"); err != nil {
		b.Skip("no tar to compare with")
	}
	small, large := layerLikeSystem(b, 2000, 6<<10), layerLikeSystem(b, 8, 4<<20)
	for _, c := range []struct {
		name, flag string
		blob       []byte
	}{
		{"small files, plain", "", small}, {"small files, gzip", "-z", gzipped(b, small)}, {"small files, zstd", "--zstd", zstded(b, small)},
		{"large files, plain", "", large}, {"large files, gzip", "-z", gzipped(b, large)}, {"large files, zstd", "--zstd", zstded(b, large)},
	} {
		b.Run(c.name, func(b *testing.B) {
			file := filepath.Join(b.TempDir(), "layer")
			if err := os.WriteFile(file, c.blob, 0o600); err != nil {
				b.Fatal(err)
			}
			var ours, theirs, checked []time.Duration
			for b.Loop() {
				ours = append(ours, timed(b, func(dir string) error {
					f, err := os.Open(file)
					if err != nil {
						return err
					}
					_, err = packed.Unpack(b.Context(), dir, f, unpack.Options{Owner: &unpack.Owner{os.Getuid(), os.Getgid()}})
					return err
				}))
				theirs = append(theirs, timed(b, func(dir string) error {
					args := []string{"-C", dir, "-xpf", file}
					if c.flag != "" {
						args = append(args, c.flag)
					}
					return exec.CommandContext(b.Context(), "tar", args...).Run()
				}))
				checked = append(checked, theirs[len(theirs)-1]+timed(b, func(string) error {
					return exec.CommandContext(b.Context(), "sha256sum", file).Run()
				}))
			}
			b.ReportMetric(median(theirs)/median(ours), "x_of_tar")
			b.ReportMetric(median(checked)/median(ours), "x_of_sha256sum+tar")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func median(d []time.Duration) float64 {
	slices.Sort(d)
	return float64(d[len(d)/2])
}

// timed leaves the making and the removal of the directory out.
func timed(b *testing.B, do func(dir string) error) time.Duration {
	b.Helper()
	dir, err := os.MkdirTemp(b.TempDir(), "")
	if err != nil {
		b.Fatal(err)
	}
	defer os.RemoveAll(dir)
	start := time.Now()
	err = do(dir)
	took := time.Since(start)
	if err != nil {
		b.Fatal(err)
	}
	return took
}

// layerLikeSystem holds files of about the given size, half of each compressible, twenty to a directory.
func layerLikeSystem(b *testing.B, files, size int) []byte {
	b.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	random := rand.New(rand.NewPCG(1, 2))
	noise := rand.NewChaCha8([32]byte{1})
	for i := range files {
		dir := fmt.Sprintf("usr/lib/package%d/", i/20)
		if i%20 == 0 {
			if err := w.WriteHeader(&tar.Header{Name: dir, Typeflag: tar.TypeDir, Mode: 0o755, ModTime: sampletar.Time}); err != nil {
				b.Fatal(err)
			}
		}
		content := bytes.Repeat([]byte("some text that repeats "), size/15+1)[:size/2+random.IntN(size)]
		noise.Read(content[:len(content)/2])
		h := &tar.Header{Name: fmt.Sprintf("%sfile%d", dir, i), Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(content)), ModTime: sampletar.Time}
		if err := w.WriteHeader(h); err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(w, bytes.NewReader(content)); err != nil {
			b.Fatal(err)
		}
	}
	w.Close()
	return out.Bytes()
}
