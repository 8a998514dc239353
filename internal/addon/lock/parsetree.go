package lock

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"hermes.example/hermes/internal/addon/npm"
)

// Text is the tree as a file.
func (t Tree) Text() []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(t); err != nil { // there is nothing in it that cannot be written
		panic(err)
	}
	return b.Bytes()
}

// ParseTree reads a tree. It takes exactly what Text writes.
func ParseTree(data []byte) (Tree, error) {
	var t Tree
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	err := d.Decode(&t)
	if err == nil {
		err = t.check()
	}
	if err == nil && !bytes.Equal(t.Text(), data) {
		err = errors.New("it is not as a lock is written")
	}
	if err != nil {
		return Tree{}, fmt.Errorf("cannot read the lock: %w", err)
	}
	return t, nil
}

var (
	// rangeForm is what a range of versions is made of: no address, no path, no alias.
	rangeForm  = regexp.MustCompile(`^[0-9A-Za-z.*^~<>=| -]{1,200}$`)
	systemForm = regexp.MustCompile(`^!?[a-z0-9]{1,20}$`)
)

// Range is a range of versions as npm writes it, or nothing if the text is something else.
func Range(text string) string {
	if !rangeForm.MatchString(text) {
		return ""
	}
	return text
}

// check finds what no lock of ours has: a package without an integrity, one from elsewhere than a registry, or one that
// requires what is not there.
func (t Tree) check() error {
	switch {
	case t.Format != treeFormat:
		return fmt.Errorf("its format is %d, not %d", t.Format, treeFormat)
	case t.Feature == "" || !hashForm.MatchString(t.Specs):
		return errors.New("it does not say what it was made for")
	case len(t.Packages) == 0:
		return errors.New("it has no packages")
	}
	for i, n := range t.Packages {
		if err := n.check(); err != nil {
			return fmt.Errorf("%.200q: %w", n.Path, err)
		}
		if i > 0 && t.Packages[i-1].Path >= n.Path {
			return fmt.Errorf("%.200q: packages are sorted, and each place is there once", n.Path)
		}
		if above := strings.LastIndex(n.Path, "/node_modules/"); above >= 0 && t.at(n.Path[:above]) == nil {
			return fmt.Errorf("%.200q: it lies in a package that is not there", n.Path)
		}
		for j, name := range n.Requires {
			if npm.CheckName(name) != nil || j > 0 && n.Requires[j-1] >= name || t.Found(n.Path, name) == nil {
				return fmt.Errorf("%.200q: what it requires, %.80q, is not there", n.Path, name)
			}
		}
	}
	return nil
}

func (n Node) check() error {
	if err := errors.Join(npm.CheckPath(n.Path), npm.CheckVersion(n.Version), npm.CheckIntegrity(n.Integrity)); err != nil {
		return err
	}
	if n.Size < 0 || n.Engine != Range(n.Engine) {
		return errors.New("its size, or the versions of Node.js that it is for, are none")
	}
	for _, system := range slices.Concat(n.OS, n.CPU, n.Libc) {
		if !n.Optional || !systemForm.MatchString(system) {
			return fmt.Errorf("only what is optional is for some systems only: %.80q", system)
		}
	}
	return nil
}
