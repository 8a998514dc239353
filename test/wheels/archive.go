package wheels

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/csv"
	"fmt"
	"strconv"
	"time"
)

// made is the time of every entry; an archive of the same content is the same file.
var made = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// record lists the entries with their hashes, and itself without one.
func record(entries []Entry, distInfo string) string {
	var b bytes.Buffer
	lines := csv.NewWriter(&b)
	for _, e := range entries {
		if e.Unlisted {
			continue
		}
		sum := sha256.Sum256([]byte(e.Content))
		must(lines.Write([]string{e.Name, "sha256=" + base64.RawURLEncoding.EncodeToString(sum[:]), strconv.Itoa(len(e.Content))}))
	}
	must(lines.Write([]string{distInfo + "/RECORD", "", ""}))
	lines.Flush()
	return b.String()
}

func archive(entries []Entry) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, e := range entries {
		header := &zip.FileHeader{Name: e.Name, Method: zip.Deflate, Modified: made}
		header.SetMode(cmp.Or(e.Mode, 0o644))
		w, err := z.CreateHeader(header)
		must(err)
		_, err = w.Write([]byte(e.Content))
		must(err)
	}
	must(z.Close())
	return b.Bytes()
}

// Source is a source distribution, whose setup.py runs when somebody builds it.
type Source struct {
	Name, Version string
	Setup         string
}

// FileName is the name of the archive.
func (s Source) FileName() string { return s.Name + "-" + s.Version + ".tar.gz" }

// Bytes are the whole archive.
func (s Source) Bytes() []byte {
	var b bytes.Buffer
	packed := gzip.NewWriter(&b)
	files := tar.NewWriter(packed)
	info := fmt.Sprintf("Metadata-Version: 2.1\nName: %s\nVersion: %s\n", s.Name, s.Version)
	for _, f := range []struct{ name, content string }{{"PKG-INFO", info}, {"setup.py", s.Setup}} {
		must(files.WriteHeader(&tar.Header{
			Name: s.Name + "-" + s.Version + "/" + f.name, Mode: 0o644, Size: int64(len(f.content)), ModTime: made,
		}))
		_, err := files.Write([]byte(f.content))
		must(err)
	}
	must(files.Close())
	must(packed.Close())
	return b.Bytes()
}

// must is for writers into memory, which have no way to fail but a mistake in the test.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
