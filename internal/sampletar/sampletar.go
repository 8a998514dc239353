// Package sampletar writes small tar archives of entries that are short to write down, also of ones that no
// honest program would write.
//
// Tests and measurements use it, and nothing else does.
package sampletar

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"
)

// Entry is one of an archive. What is not given is guessed: a Name that ends in a slash is a directory's, a Link
// makes it a symbolic one, and directories have the mode 755, all else 644.
type Entry struct {
	Name, Content, Link string
	Typeflag            byte
	Mode                int64
	UID, GID            int
	PAX                 map[string]string
	Major, Minor        int64
}

// Time is when everything in an archive was modified.
var Time = time.Unix(1_600_000_000, 0)

// Archive writes entries in their order.
func Archive(entries ...Entry) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range entries {
		h := e.header()
		if err := w.WriteHeader(h); err != nil {
			return nil, fmt.Errorf("%s: %w", e.Name, err)
		}
		if h.Size == 0 {
			continue
		}
		if _, err := io.WriteString(w, e.Content); err != nil {
			return nil, fmt.Errorf("%s: %w", e.Name, err)
		}
	}
	err := w.Close()
	return out.Bytes(), err
}

func (e Entry) header() *tar.Header {
	h := &tar.Header{Name: e.Name, Linkname: e.Link, Typeflag: e.Typeflag, Mode: e.Mode, Uid: e.UID, Gid: e.GID,
		ModTime: Time, PAXRecords: e.PAX, Devmajor: e.Major, Devminor: e.Minor}
	switch {
	case h.Typeflag != 0:
	case strings.HasSuffix(e.Name, "/"):
		h.Typeflag = tar.TypeDir
	case e.Link != "":
		h.Typeflag = tar.TypeSymlink
	default:
		h.Typeflag = tar.TypeReg
	}
	if h.Typeflag == tar.TypeReg {
		h.Size = int64(len(e.Content))
	}
	if h.Mode == 0 {
		h.Mode = 0o644
		if h.Typeflag == tar.TypeDir {
			h.Mode = 0o755
		}
	}
	return h
}
