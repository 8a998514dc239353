package vet

import (
	"bytes"
	"encoding/base64"
	"encoding/csv"
	"encoding/hex"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// checkRecords compares every RECORD with the files that are there, and finds the files that no RECORD names.
func (t *contents) checkRecords() {
	for _, d := range t.distributions {
		record := t.files[d.dir+"/RECORD"]
		if record == nil || record.content == nil {
			t.refuse(Record, d.dir, "it has no RECORD that can be read")
			continue
		}
		lines := csv.NewReader(bytes.NewReader(record.content))
		lines.FieldsPerRecord = 3
		all, err := lines.ReadAll()
		if err != nil {
			t.refuse(Record, record.Path, "it cannot be read: %v", err)
			continue
		}
		for _, line := range all {
			t.checkLine(d, line[0], line[1])
		}
	}
	for name := range t.files {
		if t.owners[name] == nil && !t.isInstallers(name) && !isBytecode(name) {
			t.refuse(Record, name, "no RECORD names it")
		}
	}
}

// ownerOf is the distribution that a file came with. Bytecode goes with its source, whoever compiled it.
func (t *contents) ownerOf(name string) string {
	owner := t.owners[name]
	if owner == nil && isBytecode(name) {
		owner = t.owners[sourceOf(name)]
	}
	if owner == nil {
		return ""
	}
	return owner.name
}

// checkLine compares one line of a RECORD with its file.
func (t *contents) checkLine(d *distribution, said, hash string) {
	name, inside := place(said)
	if !inside {
		t.problems = append(t.problems, Problem{Outside, said, d.String(), "this path in RECORD leads out of the tree"})
		return
	}
	if top, _, _ := strings.Cut(name, "/"); isDistInfo(top) && top != d.dir {
		t.problems = append(t.problems, Problem{Metadata, name, d.String(), "it is metadata of another distribution"})
		return
	}
	f := t.files[name]
	if f == nil {
		if !isBytecode(name) {
			t.problems = append(t.problems, Problem{Record, name, d.String(), "RECORD names it and it is not there"})
		}
		return
	}
	switch owner := t.owners[name]; owner {
	case nil:
		t.owners[name] = d
	case d:
	default:
		owner.shares, d.shares = append(owner.shares, d.name), append(d.shares, owner.name)
	}
	d.claims = append(d.claims, name)
	algorithm, sum, _ := strings.Cut(hash, "=")
	switch {
	case hash == "" && (mayLackHash(d, name) || isBytecode(name)):
	case algorithm != "sha256":
		t.problems = append(t.problems, Problem{Record, name, d.String(), "RECORD has no SHA-256 of it"})
	case strings.TrimRight(sum, "=") != f.recordHash():
		t.problems = append(t.problems, Problem{Record, name, d.String(), "it is not the file that RECORD describes"})
	}
}

// place is where a path of a RECORD leads in the tree. What pip puts beside the modules it calls by where it was
// before pip moved it to the target: two directories up.
func place(said string) (name string, inside bool) {
	name = strings.TrimPrefix(said, "../../")
	return name, fs.ValidPath(name) && name != "."
}

// mayLackHash are the files whose hash RECORD cannot hold: itself, and signatures of itself.
func mayLackHash(d *distribution, name string) bool {
	dir, base := path.Split(name)
	return dir == d.dir+"/" && (base == "RECORD" || base == "RECORD.jws" || base == "RECORD.p7s")
}

func (f *file) recordHash() string {
	sum, err := hex.DecodeString(f.SHA256)
	if err != nil {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(sum)
}

// canonicalRecord lists the files of a distribution that stay. It does not depend on the tool that installed them,
// so that one lock gives one generation.
func (t *contents) canonicalRecord(d *distribution) []byte {
	var b bytes.Buffer
	lines := csv.NewWriter(&b)
	claims := slices.Clone(d.claims)
	slices.Sort(claims)
	for _, name := range slices.Compact(claims) {
		line := []string{name, "", ""}
		switch {
		case t.isInstallers(name) || isBytecode(name):
			continue
		case !mayLackHash(d, name):
			line[1], line[2] = "sha256="+t.files[name].recordHash(), strconv.FormatInt(t.files[name].Size, 10)
		}
		_ = lines.Write(line) // into memory
	}
	lines.Flush()
	return b.Bytes()
}
