package vet

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/test/wheels"
)

// What the wheel says of its files and what they are.
func TestRecordAndFilesDiffer(t *testing.T) {
	for name, c := range map[string]struct {
		file string
		w    wheels.Wheel
	}{
		"lies":     {"demo.py", wheels.Wheel{Record: wheels.Swap("demo.py,sha256=", "demo.py,sha256=A")}},
		"no hash":  {"demo.py", wheels.Wheel{Record: wheels.Swap("demo.py,sha256=", "demo.py,md5=")}},
		"unlisted": {"more.py", wheels.Wheel{Hostile: []wheels.Entry{{Name: "more.py", Unlisted: true}}}},
	} {
		t.Run(name, func(t *testing.T) {
			c.w.Name, c.w.Version, c.w.Files = "demo", "1.0", map[string]string{"demo.py": "x = 1\n"}
			refused(t, Record, c.file, c.w)
		})
	}
}

// What happens to a tree after the installer is done, or when it dies.
func TestTreeThatWasTamperedWith(t *testing.T) {
	w := demo(map[string]string{"demo/__init__.py": "", "demo/data.txt": "data"})
	whole := staged(t, w)
	for name, c := range map[string]struct {
		rule Rule
		file string
		do   func(tree string) error
	}{
		"changed":        {Record, "demo/data.txt", put("demo/data.txt", "DATA")},
		"added":          {Record, "demo/extra.py", put("demo/extra.py", "")},
		"removed":        {Record, "demo/data.txt", remove("demo/data.txt")},
		"no record":      {Record, "demo-1.0.dist-info", remove("demo-1.0.dist-info/RECORD")},
		"broken record":  {Record, "demo-1.0.dist-info/RECORD", put("demo-1.0.dist-info/RECORD", "\"demo.py,,\n")},
		"no metadata":    {Metadata, "demo-1.0.dist-info", remove("demo-1.0.dist-info/METADATA")},
		"name":           {Metadata, "demo-1.0.dist-info/METADATA", put("demo-1.0.dist-info/METADATA", "Name: other\nVersion: 1.0\n")},
		"version":        {Metadata, "demo-1.0.dist-info/METADATA", put("demo-1.0.dist-info/METADATA", "Name: demo\nVersion: 1.1\n")},
		"dist-info file": {Metadata, "x-1.dist-info", put("x-1.dist-info", "")},
		"capital":        {Unlocked, "PIP-99.DIST-INFO", put("PIP-99.DIST-INFO/METADATA", "Name: pip\nVersion: 99\n")},
		"pipe":           {Special, "demo/pipe", pipe("demo/pipe")},
		"setuid":         {Special, "demo/data.txt", mode("demo/data.txt", 0o755|os.ModeSetuid)},
		"setgid":         {Special, "demo/data.txt", mode("demo/data.txt", 0o755|os.ModeSetgid)},
		"case":           {Name, "demo/data.txt", put("demo/DATA.txt", "")},
		"case of a core": {CoreModule, "Yaml.py", put("Yaml.py", "")},
		"letters":        {Name, "ｙaml.py", put("ｙaml.py", "")},
		"not UTF-8":      {Name, "demo/\xff.py", put("demo/\xff.py", "")},
		"newline":        {Name, "demo/a\nb", put("demo/a\nb", "")},
		"backslash":      {Name, "demo/..\\x", put("demo/..\\x", "")},
		"deep":           {Name, "demo" + strings.Repeat("/d", 64), put("demo"+strings.Repeat("/d", 70)+"/x", "")},
		"bytecode":       {Bytecode, "demo/__pycache__/gone.cpython-311.pyc", put("demo/__pycache__/gone.cpython-311.pyc", "")},
		"old metadata":   {Unlocked, "pip-99.egg-info", put("pip-99.egg-info/PKG-INFO", "")},
		"old link":       {Unlocked, "demo.egg-link", put("demo.egg-link", "/tmp\n")},
		"empty core dir": {CoreModule, "yaml", func(tree string) error { return os.Mkdir(filepath.Join(tree, "yaml"), 0o755) }},
		"encoding":       {Metadata, "demo-1.0.dist-info/METADATA", put("demo-1.0.dist-info/METADATA", "Name: demo\nVersion: 1.0\nSummary: \xff\n")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := t.TempDir()
			if err := os.CopyFS(tree, os.DirFS(whole)); err != nil {
				t.Fatal(err)
			}
			if err := check(t, tree, w).Err(); err != nil {
				t.Fatalf("before: %v", err)
			}
			if err := c.do(tree); err != nil {
				t.Fatal(err)
			}
			expect(t, check(t, tree, w), c.rule, c.file)
		})
	}
}

func put(name, content string) func(string) error {
	return func(tree string) error {
		path := filepath.Join(tree, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		return os.WriteFile(path, []byte(content), 0o644)
	}
}

func remove(name string) func(string) error {
	return func(tree string) error { return os.Remove(filepath.Join(tree, name)) }
}

func mode(name string, mode os.FileMode) func(string) error {
	return func(tree string) error { return os.Chmod(filepath.Join(tree, name), mode) }
}

func pipe(name string) func(string) error {
	return func(tree string) error { return unix.Mkfifo(filepath.Join(tree, name), 0o644) }
}

// The lock decides what is in a generation: these, in these versions, once.
func TestTreeAndLockDiffer(t *testing.T) {
	one := demo(map[string]string{"demo.py": ""})
	two := wheels.Wheel{Name: "demo", Version: "2.0", Files: map[string]string{"demo.py": ""}}
	other := wheels.Wheel{Name: "Other.Name", Version: "1", Files: map[string]string{"other.py": ""}}

	r := check(t, staged(t, one, other), one)
	expect(t, r, Unlocked, other.DistInfo())
	only(t, r, Unlocked)

	r = check(t, staged(t, one), two)
	expect(t, r, Unlocked, one.DistInfo())
	only(t, r, Unlocked)

	r = check(t, staged(t, one), one, other)
	if len(r.Problems) != 1 || r.Problems[0].Rule != Missing || r.Problems[0].Distribution != "other-name 1" {
		t.Errorf("the problems are:\n%s", lines(r.Problems))
	}

	same := wheels.Wheel{Name: "demo", Version: "1.0.0", Files: map[string]string{"demo.py": ""}}
	if err := check(t, staged(t, one), same).Err(); err != nil {
		t.Errorf("1.0 is 1.0.0: %v", err)
	}
}

// Two versions at once, as two runs of pip into one target leave them.
func TestTwoVersionsAtOnce(t *testing.T) {
	one := demo(map[string]string{"demo_one.py": ""})
	two := wheels.Wheel{Name: "demo", Version: "2.0", Files: map[string]string{"demo_two.py": ""}}
	tree, more := staged(t, one), staged(t, two)
	for _, name := range []string{two.DistInfo(), "demo_two.py"} {
		if err := os.Rename(filepath.Join(more, name), filepath.Join(tree, name)); err != nil {
			t.Fatal(err)
		}
	}
	expect(t, check(t, tree, one), Duplicate, two.DistInfo())
}

// Distributions share files honestly when these are the same, and only then.
func TestOneFileOfTwoDistributions(t *testing.T) {
	a := wheels.Wheel{Name: "a", Version: "1", Files: map[string]string{"shared/__init__.py": "# namespace\n", "shared/a.py": ""}}
	b := wheels.Wheel{Name: "b", Version: "1", Files: map[string]string{"shared/__init__.py": "# namespace\n", "shared/b.py": ""}}
	r := check(t, staged(t, a, b), a, b)
	if err := r.Err(); err != nil {
		t.Errorf("the same content: %v", err)
	}
	if d := r.Distributions; !slices.Equal(d[0].Shares, []string{"b"}) || !slices.Equal(d[1].Shares, []string{"a"}) {
		t.Errorf("nothing says that they share: %+v", d)
	}
	b.Files["shared/__init__.py"] = "# another\n"
	tree := t.TempDir()
	install(t, wheels.WithUV, tree, a)
	install(t, wheels.WithUV, tree, b)
	r = check(t, tree, a, b)
	expect(t, r, Record, "shared/__init__.py")
	only(t, r, Record)
}

// A RECORD that claims the metadata of another distribution could change it.
func TestMetadataOfAnother(t *testing.T) {
	a, b := demo(map[string]string{"demo.py": ""}), wheels.Wheel{Name: "b", Version: "1", Files: map[string]string{"b.py": ""}}
	tree := staged(t, a, b)
	record := filepath.Join(tree, b.DistInfo(), "RECORD")
	honest, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	write(t, tree, map[string]string{b.DistInfo() + "/RECORD": string(honest) + a.DistInfo() + "/METADATA,,\n"})
	expect(t, check(t, tree, a, b), Metadata, a.DistInfo()+"/METADATA")
}

// Older ones of pip do not compare the name in METADATA with the wheel's.
func TestWrongNameInMetadata(t *testing.T) {
	w := demo(map[string]string{"demo.py": ""})
	w.Metadata = wheels.Swap("Name: demo", "Name: pyyaml")
	tree := t.TempDir()
	if out, err := wheels.Install(t, wheels.WithPip, tree, w); err != nil {
		t.Skipf("this pip refuses such a wheel by itself: %s", out)
	}
	expect(t, check(t, tree, w), Metadata, "demo-1.0.dist-info/METADATA")
}

func TestEveryDistributionInACorePackageIsNamed(t *testing.T) {
	a := wheels.Wheel{Name: "a", Version: "1", Files: map[string]string{"yaml/a.py": ""}}
	b := wheels.Wheel{Name: "b", Version: "1", Files: map[string]string{"yaml/b.py": ""}}
	r := check(t, staged(t, a, b), a, b)
	expect(t, r, CoreModule, "yaml/a.py")
	expect(t, r, CoreModule, "yaml/b.py")
	text := r.Err().Error()
	if !strings.Contains(text, `"yaml/a.py" of a 1`) || !strings.Contains(text, "and 1 more") || strings.Contains(text, "\n") {
		t.Errorf("the error does not say it in one line: %s", text)
	}
}
