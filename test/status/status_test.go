package status

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

func TestTheStatusPageIsWhole(t *testing.T) {
	rows, err := Rows(read(t, "docs/status.md"))
	if err != nil {
		t.Fatal(err)
	}
	cases := Cases(read(t, "docs/cases.txt"))
	if len(cases) < 200 {
		t.Fatalf("the list holds only %d cases", len(cases))
	}
	for _, p := range Problems(rows, cases, testSources(t)) {
		t.Error(p)
	}
	covered := 0
	for _, r := range rows {
		if r.State == "covered" {
			covered++
		}
	}
	t.Logf("%d of %d cases covered", covered, len(cases))
}

func TestProblemsAreFound(t *testing.T) {
	const sources = "func TestOne(t *testing.T) {\n\tt.Run(\"a b\", nil)\n}\nfunc (s *Suite) TestTwo() {}\n"
	good := "| S1 | x | covered | TestOne/a_b, `TestTwo` |\n| D2 | x | open | docker |\n| D3 | y | void | no shell |\n"
	cases := []string{"S1", "D2", "D3"}
	for name, c := range map[string]struct {
		page, want string
	}{
		"all well":         {good, ""},
		"row missing":      {strings.Replace(good, "| D2 | x | open | docker |\n", "", 1), "D2 has 0 rows"},
		"row twice":        {good + "| D2 | x | open | docker |\n", "D2 has 2 rows"},
		"row of nothing":   {good + "| S9 | x | open | docker |\n", "S9 is not in the list"},
		"test is gone":     {strings.Replace(good, "TestOne", "TestOther", 1), "TestOther/a_b: no such test"},
		"subtest is gone":  {strings.Replace(good, "a_b", "a_c", 1), "TestOne/a_c: no such subtest"},
		"covered by words": {strings.Replace(good, "TestOne/a_b, `TestTwo`", "the suite", 1), "S1 is covered by no test"},
		"unknown state":    {strings.Replace(good, "open", "done", 1), `D2 has the unknown state "done"`},
		"open, no area":    {strings.Replace(good, "docker", "", 1), "D2 is open without a word"},
	} {
		t.Run(name, func(t *testing.T) {
			rows, err := Rows(c.page)
			if err != nil {
				t.Fatal(err)
			}
			got := Problems(rows, cases, sources)
			if c.want == "" && len(got) > 0 {
				t.Errorf("found %q in a good page", got)
			}
			if !slices.ContainsFunc(got, func(p string) bool { return strings.Contains(p, c.want) }) && c.want != "" {
				t.Errorf("found %q, not %q", got, c.want)
			}
		})
	}
	if _, err := Rows("| S1 | a | b | open | docker |"); err == nil {
		t.Error("a row with five columns was accepted")
	}
}

// testSources is the text of every test of the tree, the conformance suites included.
func testSources(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && strings.HasPrefix(d.Name(), ".") {
			return filepath.SkipDir
		}
		rel, _ := filepath.Rel(root, path)
		rel = filepath.ToSlash(rel)
		isSuite := strings.HasPrefix(rel, "sandbox/enginetest/") || strings.HasPrefix(rel, "internal/supervise/drivertest/")
		isTest := strings.HasSuffix(rel, "_test.go") || isSuite && strings.HasSuffix(rel, ".go")
		if !isTest || strings.HasPrefix(rel, "test/status/") { // the names in this file are made up
			return nil
		}
		all.WriteString(read(t, rel))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

func read(t *testing.T, rel string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, rel))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
