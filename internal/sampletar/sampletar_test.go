package sampletar

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"reflect"
	"testing"
)

func TestTextIsEntries(t *testing.T) {
	got := Parse("5d/\n0d/f\t\tx\t640\n2a\t^/o/s\n\n1\n\xff\x00b\tc\tc\t1\xff\x00\t")
	want := []Entry{{Typeflag: '5', Name: "d/"}, {Typeflag: '0', Name: "d/f", Content: "x", Mode: 0o640}, {Typeflag: '2', Name: "a", Link: "../outside/secret"},
		{Typeflag: '1'}, {Typeflag: '7', Name: "a.wh.", Link: ".wh..wh..opq", Content: "c", Mode: 0o1701}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
}

func TestAMendedArchiveIsReadAsWhatItSays(t *testing.T) {
	b, err := Archive(Entry{Name: "first", Content: "content"}, Entry{Name: "link", Link: "to"}, Entry{Name: "last"})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(Mend(b), b) {
		t.Error("a good archive is changed")
	}
	changed := append([]byte(nil), b...)
	changed[0] = 'F'       // the first header's name
	changed[block] = 'C'   // what follows it
	changed[3*block] = 'L' // the last header's
	if _, err := names(changed); !errors.Is(err, tar.ErrHeader) {
		t.Errorf("not shown: without mending it is read with %v", err)
	}
	if got, err := names(Mend(changed)); err != nil || !reflect.DeepEqual(got, []string{"First Content", "link ", "Last "}) {
		t.Errorf("it is read as %q, %v", got, err)
	}
	for n := range b { // whatever is cut, or says that it is larger than it is
		Mend(b[:n])
	}
	copy(changed[sizeFrom:], "77777777777")
	Mend(changed)
}

// names lists names and contents.
func names(archive []byte) (found []string, err error) {
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := r.Next()
		if err == io.EOF {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(r)
		if err != nil {
			return nil, err
		}
		found = append(found, h.Name+" "+string(content))
	}
}
