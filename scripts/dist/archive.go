package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// file is one of an archive.
type file struct {
	name string // with slashes
	mode fs.FileMode
	data []byte
}

// filesIn reads a tree, in the order of its names.
func filesIn(dir string) (files []file, err error) {
	err = filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, at)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(at)
		files = append(files, file{filepath.ToSlash(name), 0o644, data})
		return err
	})
	return files, err
}

// packOne writes the archive of a program named hermes-OS-ARCH, a zip for Windows.
func packOne(program string, shared []file, to, version string, at time.Time) error {
	platform := strings.TrimPrefix(filepath.Base(program), "hermes-")
	data, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	name, write, suffix := "hermes", writeTar, ".tar.gz"
	if strings.HasPrefix(platform, "windows-") {
		name, write, suffix = "hermes.exe", writeZip, ".zip"
	}
	top := fmt.Sprintf("hermes-%s-%s", version, platform)
	files := []file{{path.Join(top, name), 0o755, data}}
	for _, f := range shared {
		files = append(files, file{path.Join(top, f.name), f.mode, f.data})
	}
	var archive bytes.Buffer
	if err := write(&archive, files, at); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(to, top+suffix), archive.Bytes(), 0o644)
}

func writeTar(w io.Writer, files []file, at time.Time) error {
	compressed, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(compressed)
	for _, f := range files {
		// Nobody's name and number: they are root's where root unpacks them, and the caller's elsewhere.
		h := &tar.Header{Typeflag: tar.TypeReg, Name: f.name, Size: int64(len(f.data)), Mode: int64(f.mode), ModTime: at, Format: tar.FormatUSTAR}
		if err := archive.WriteHeader(h); err != nil {
			return err
		}
		if _, err := archive.Write(f.data); err != nil {
			return err
		}
	}
	if err := archive.Close(); err != nil {
		return err
	}
	return compressed.Close()
}

func writeZip(w io.Writer, files []file, at time.Time) error {
	archive := zip.NewWriter(w)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at}
		h.SetMode(f.mode)
		inside, err := archive.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := inside.Write(f.data); err != nil {
			return err
		}
	}
	return archive.Close()
}

// writeSums writes SHA256SUMS, as sha256sum checks it.
func writeSums(dir string) error {
	files, err := filesIn(dir)
	if err != nil {
		return err
	}
	var sums strings.Builder
	for _, f := range files {
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(f.data), f.name)
	}
	return os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(sums.String()), 0o644)
}
