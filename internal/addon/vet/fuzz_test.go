package vet

import (
	"crypto/sha256"
	"encoding/base64"
	"reflect"
	"testing"

	"hermes.example/hermes/internal/addon/lock"
)

// Whatever a wheel says of itself: it is judged without a panic, and if nothing is wrong then the tree is the report's.
func FuzzWhatAWheelSays(f *testing.F) {
	const honest, group = "Name: demo\nVersion: 1\nRequires-Dist: x\n", "[g]\na = b\n"
	for _, record := range []string{"", "../../demo.py,,\n", "/etc/passwd,,\n", "\"", "demo.py\n", "demo.py,sha256,\n", ".,,\n", "demo.py,md5=x,\n", "__pycache__/gone.pyc,,\n"} {
		f.Add(honest, record, group)
	}
	f.Add("", "", "")
	f.Add("Name: demo\n Version: 1\n", "", "[g")
	f.Add(" continued\nName:demo\nVersion:1.0\n", "", "=\n[]\n=")
	f.Fuzz(func(t *testing.T, metadata, record, points string) {
		tree := t.TempDir()
		files := map[string]string{"demo.py": "", "demo-1.dist-info/METADATA": metadata, "demo-1.dist-info/entry_points.txt": points}
		files["demo-1.dist-info/RECORD"] = record + recordOf(files)
		write(t, tree, files)
		wanted := []lock.Package{{Name: "demo", Version: "1"}}
		first, err := Check(tree, core, wanted, noBytecode)
		if err != nil {
			t.Fatal(err)
		}
		if len(first.Problems) > 0 {
			if metadata == honest && points == group && record == "" {
				t.Errorf("an honest one has problems:\n%s", lines(first.Problems))
			}
			return
		}
		if err := first.Tidy(); err != nil {
			t.Fatal(err)
		}
		second, err := Check(tree, core, wanted, noBytecode)
		if err != nil {
			t.Fatal(err)
		}
		if second.Err() != nil || !reflect.DeepEqual(first.Files, second.Files) || !reflect.DeepEqual(first.Distributions, second.Distributions) {
			t.Errorf("after Tidy: %v\n%v\n%v", second.Err(), first, second)
		}
	})
}

func recordOf(files map[string]string) string {
	record := "demo-1.dist-info/RECORD,,\n"
	for name, content := range files {
		sum := sha256.Sum256([]byte(content))
		record += name + ",sha256=" + base64.RawURLEncoding.EncodeToString(sum[:]) + ",\n"
	}
	return record
}
