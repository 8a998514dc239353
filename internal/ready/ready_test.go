package ready

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

func number(f *os.File) func(string) (string, bool) {
	return func(name string) (string, bool) { return strconv.Itoa(int(f.Fd())), name == Variable }
}

func TestOneLineIsTold(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	n := Claim(number(w))
	n.Tell()
	n.Tell()
	if got, err := io.ReadAll(r); err != nil || string(got) != "\n" {
		t.Errorf("%q, %v", got, err)
	}
	w.Close() // closed already: the number may not be used again
}

func TestOnlyAPipeIsWrittenTo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "precious")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	Claim(number(file)).Tell()
	if content, _ := os.ReadFile(path); len(content) != 0 {
		t.Errorf("a file holds %q", content)
	}
	if _, err := file.WriteString("x"); err != nil {
		t.Errorf("the file was closed: %v", err)
	}
}

func TestNobodyAsked(t *testing.T) {
	for _, text := range []string{"", "x", "-1", "0", "1", "2", "65000", "99999999"} {
		Claim(func(string) (string, bool) { return text, true }).Tell()
	}
}
