package client

import (
	"fmt"
	"io/fs"
	"strconv"
	"time"
	"unicode/utf8"

	"hermes.example/hermes/sandbox"
)

// File is what is known of a file.
type File struct {
	Path       string `json:"path,omitempty" jsonschema:"relative to what was listed; absent where one file was asked for"`
	PathBase64 string `json:"path_base64,omitempty" jsonschema:"the bytes of the path in base64, where they are not UTF-8"`
	Type       string `json:"type" jsonschema:"file, directory, link or other"`
	Mode       string `json:"mode" jsonschema:"the permissions in octal digits, as in 0644"`
	Size       int64  `json:"size"`
	// Time is when it was changed.
	Time       time.Time `json:"time"`
	UID        uint32    `json:"uid" jsonschema:"its owner inside the sandbox"`
	GID        uint32    `json:"gid"`
	Link       string    `json:"link,omitempty" jsonschema:"where a symbolic link leads"`
	LinkBase64 string    `json:"link_base64,omitempty" jsonschema:"the bytes of that in base64, where they are not UTF-8"`
}

// The types of files.
const (
	TypeFile      = "file"
	TypeDirectory = "directory"
	TypeLink      = "link"
	TypeOther     = "other"
)

// The bits of a mode beside its permissions, as Linux has them.
const (
	setUID = 0o4000
	setGID = 0o2000
	sticky = 0o1000
)

// NewFile says the same of a file in JSON.
func NewFile(i sandbox.FileInfo) File {
	f := File{Type: TypeOther, Mode: formatMode(i.Mode), Size: i.Size, Time: i.Time.UTC(), UID: i.UID, GID: i.GID}
	switch {
	case i.Mode.IsRegular():
		f.Type = TypeFile
	case i.Mode.IsDir():
		f.Type = TypeDirectory
	case i.Mode&fs.ModeSymlink != 0:
		f.Type = TypeLink
	}
	f.Path, f.PathBase64 = name(i.Path)
	f.Link, f.LinkBase64 = name(i.Link)
	return f
}

// name puts a name, which is any bytes but NUL, into text, and into base64 beside it where the text cannot have it.
func name(s string) (text, base64 string) {
	if utf8.ValidString(s) {
		return s, ""
	}
	return fmt.Sprintf("%+q", s), NewData([]byte(s)).Base64
}

// Info is what package sandbox says of the file.
func (f File) Info() (sandbox.FileInfo, error) {
	mode, err := ParseMode(f.Mode)
	if err != nil {
		return sandbox.FileInfo{}, err
	}
	switch f.Type {
	case TypeFile:
	case TypeDirectory:
		mode |= fs.ModeDir
	case TypeLink:
		mode |= fs.ModeSymlink
	default:
		mode |= fs.ModeIrregular
	}
	i := sandbox.FileInfo{Path: f.Path, Mode: mode, Size: f.Size, Time: f.Time, UID: f.UID, GID: f.GID, Link: f.Link}
	for _, n := range []struct {
		base64 string
		into   *string
	}{{f.PathBase64, &i.Path}, {f.LinkBase64, &i.Link}} {
		if n.base64 == "" {
			continue
		}
		b, err := Data{Base64: n.base64}.Bytes()
		if err != nil {
			return sandbox.FileInfo{}, err
		}
		*n.into = string(b)
	}
	return i, nil
}

func formatMode(m fs.FileMode) string {
	bits := uint32(m.Perm())
	for _, b := range specialBits {
		if m&b.mode != 0 {
			bits |= b.bit
		}
	}
	return fmt.Sprintf("%04o", bits)
}

var specialBits = []struct {
	mode fs.FileMode
	bit  uint32
}{{fs.ModeSetuid, setUID}, {fs.ModeSetgid, setGID}, {fs.ModeSticky, sticky}}

// ParseMode reads permissions in octal digits.
func ParseMode(s string) (fs.FileMode, error) {
	bits, err := strconv.ParseUint(s, 8, 32)
	if err != nil || bits > 0o7777 {
		return 0, fmt.Errorf("%q is no mode: give octal digits, as in 0644", s)
	}
	mode := fs.FileMode(bits & 0o777)
	for _, b := range specialBits {
		if uint32(bits)&b.bit != 0 {
			mode |= b.mode
		}
	}
	return mode, nil
}

// Written is how much was written.
type Written struct {
	Bytes int64 `json:"bytes"`
}

// Listing is a directory. It is sent while it is read: what went wrong after its beginning is at its end.
type Listing struct {
	Entries   []File   `json:"entries" jsonschema:"in no order"`
	Truncated bool     `json:"truncated,omitempty" jsonschema:"there are more entries than were asked for"`
	Problem   *Problem `json:"problem,omitempty" jsonschema:"why the list ends before its end"`
}

// CopyTrailer is the trailer of an archive from a sandbox, which has a [sandbox.CopyResult] in JSON. An archive
// without it is not whole.
const CopyTrailer = "Hermes-Copy"
