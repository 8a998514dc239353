package lock

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func hash(digit string) string { return "sha256:" + strings.Repeat(digit, 64) }

func sample() Lock {
	return Lock{
		Feature: "search.exa", Tag: "cpython-311-x86_64-linux-gnu", Kind: Shipped, Specs: Digest([]string{"exa-py==2.10.2"}),
		Packages: []Package{
			{Name: "certifi", Version: "2025.1.31", Hashes: []string{hash("a")}},
			{Name: "exa-py", Version: "2.10.2", Hashes: []string{hash("b"), hash("c")}, Size: 73000},
			{Name: "zope-interface", Version: "1.0+cpu", Hashes: []string{hash("d")}, Size: 1, Source: true},
		},
	}
}

func TestALockReadsAsItWasWritten(t *testing.T) {
	for _, l := range []Lock{sample(), {Feature: "a", Tag: "b", Kind: FirstUse, Specs: Digest(nil)}} {
		got, err := Parse(l.Format())
		if err != nil || !reflect.DeepEqual(got, l) {
			t.Errorf("%+v became %+v, %v", l, got, err)
		}
	}
}

func TestTheFileIsOneOfRequirements(t *testing.T) {
	want := `# hermes-lock 1
# feature: search.exa
# abi: cpython-311-x86_64-linux-gnu
# kind: shipped
# specs: ` + Digest([]string{"exa-py==2.10.2"}) + `
certifi==2025.1.31 \
    --hash=` + hash("a") + `
# 73000 bytes
exa-py==2.10.2 \
    --hash=` + hash("b") + ` \
    --hash=` + hash("c") + `
# 1 bytes
# built from source
zope-interface==1.0+cpu \
    --hash=` + hash("d") + "\n"
	if got := string(sample().Format()); got != want {
		t.Errorf("it is\n%s", got)
	}
}

func TestWhatIsNoLockIsRefused(t *testing.T) {
	text := string(sample().Format())
	refusesChanges(t, text, Parse, map[string][2]string{
		"another format":      {"hermes-lock 1", "hermes-lock 2"},
		"no feature":          {"# feature: search.exa\n", ""},
		"an empty feature":    {"search.exa", ""},
		"an unknown kind":     {"shipped", "guessed"},
		"no digest":           {"# specs: sha256:", "# specs: "},
		"a range":             {"exa-py==2.10.2", "exa-py>=2.10.2"},
		"a prefix":            {"exa-py==2.10.2", "exa-py==2.10.*"},
		"an extra":            {"exa-py==2.10.2", "exa-py[all]==2.10.2"},
		"no version":          {"exa-py==2.10.2", "exa-py"},
		"an odd name":         {"exa-py==2.10.2", "Exa_Py==2.10.2"},
		"a marker":            {"2.10.2 ", "2.10.2; x "},
		"an address":          {"exa-py==2.10.2", "exa-py @ file:///x"},
		"an option":           {"certifi==2025.1.31 \\\n", "--index-url=x\ncertifi==2025.1.31 \\\n"},
		"an option at a hash": {hash("c"), hash("c") + " --pre"},
		"another hash":        {hash("c"), "md5:" + strings.Repeat("c", 32)},
		"a short hash":        {hash("c"), hash("c")[:60]},
		"no hash":             {" \\\n    --hash=" + hash("a"), ""},
		"an unfinished line":  {hash("d") + "\n", hash("d") + " \\\n"},
		"no end":              {hash("d") + "\n", hash("d")},
		"a size of nothing":   {"# 1 bytes", "# 0 bytes"},
		"a size alone":        {"zope-interface==1.0+cpu \\\n    --hash=" + hash("d") + "\n", ""},
		"an empty line":       {"# 73000 bytes\n", "\n"},
		"no order":            {"certifi", "zz"},
		"a package twice":     {"zope-interface", "exa-py"},
	})
}

// refusesChanges makes one change to a text that is in order, and expects that it is not taken any more.
func refusesChanges[T any](t *testing.T, text string, parse func([]byte) (T, error), changes map[string][2]string) {
	t.Helper()
	for name, change := range changes {
		changed := strings.Replace(text, change[0], change[1], 1)
		if changed == text {
			t.Fatalf("%s: nothing was changed", name)
		}
		if got, err := parse([]byte(changed)); err == nil {
			t.Errorf("%s was taken: %+v", name, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(sample().Format())
	f.Add([]byte(format + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if l, err := Parse(data); err == nil && string(l.Format()) != string(data) {
			t.Errorf("%q reads as %q", data, l.Format())
		}
	})
}

func TestWhatTheCoreHasIsLeftOut(t *testing.T) {
	rest, left, err := sample().Without(map[string]string{"certifi": "2025.01.31", "other": "1"})
	if err != nil || !reflect.DeepEqual(left, []string{"certifi"}) || len(rest.Packages) != 2 || rest.Packages[0].Name != "exa-py" {
		t.Errorf("%+v without %v, %v", rest, left, err)
	}
	if rest.Feature != "search.exa" || rest.Specs == "" {
		t.Errorf("it is no lock of the feature any more: %+v", rest)
	}
}

func TestAConflictWithTheCoreNamesBothVersions(t *testing.T) {
	_, _, err := sample().Without(map[string]string{"exa-py": "1.0"})
	var c *Conflict
	if !errors.As(err, &c) || err.Error() != "search.exa needs exa-py 2.10.2, but the core has exa-py 1.0" {
		t.Error(err)
	}
}

func TestFeaturesTogetherHaveEachPackageOnce(t *testing.T) {
	one, two := sample(), sample()
	two.Feature = "search.other"
	two.Packages = []Package{
		{Name: "aiohttp", Version: "3.14.3", Hashes: []string{hash("1")}},
		{Name: "exa-py", Version: "2.10.2", Hashes: []string{hash("c"), hash("e")}},
	}
	all, err := Union(one, two)
	if err != nil || len(all) != 4 || all[0].Name != "aiohttp" || all[3].Name != "zope-interface" {
		t.Fatalf("%v, %v", all, err)
	}
	if want := []string{hash("b"), hash("c"), hash("e")}; !reflect.DeepEqual(all[2].Hashes, want) || all[2].Size != 73000 {
		t.Errorf("%+v", all[2])
	}
	two.Packages[1].Version = "2.11"
	if _, err := Union(one, two); err == nil || err.Error() != "search.other needs exa-py 2.11, but search.exa has exa-py 2.10.2" {
		t.Error(err)
	}
}

// What one of the locks has a wheel of is not built.
func TestAWheelIsPreferredToItsSource(t *testing.T) {
	source := Lock{Feature: "one", Packages: []Package{{Name: "a", Version: "1", Hashes: []string{hash("a")}, Source: true}}}
	wheel := Lock{Feature: "two", Packages: []Package{{Name: "a", Version: "1", Hashes: []string{hash("b")}}}}
	for _, both := range [][]Lock{{source, wheel}, {wheel, source}} {
		all, err := Union(both...)
		if err != nil || len(all) != 1 || all[0].Source || len(all[0].Hashes) != 2 {
			t.Errorf("%+v, %v", all, err)
		}
	}
	all, err := Union(source, source)
	if err != nil || len(all) != 1 || !all[0].Source {
		t.Errorf("%+v, %v", all, err)
	}
	if wheels, sources := Apart(sample().Packages); len(wheels) != 2 || len(sources) != 1 || sources[0].Name != "zope-interface" {
		t.Errorf("%v, %v", wheels, sources)
	}
}

func TestAStaleLockIsNoticed(t *testing.T) {
	if err := sample().Current([]string{"exa-py==2.10.2"}); err != nil {
		t.Error(err)
	}
	for _, specs := range [][]string{nil, {"exa-py==2.10.3"}, {"exa-py==2.10.2", "more"}} {
		if err := sample().Current(specs); err == nil {
			t.Errorf("%v is what it was made for", specs)
		}
	}
}

func TestLoad(t *testing.T) {
	dir, l := t.TempDir(), sample()
	write := func(name string, data []byte) {
		t.Helper()
		path := filepath.Join(dir, l.Tag, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Load(dir, l.Tag, l.Feature); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
	write("search.exa.txt", l.Format())
	write("other.txt", l.Format())
	write("unlocked.txt", []byte("stt.silk: pilk 0.2.4 has no wheel: none\n"))
	if got, err := Load(dir, l.Tag, l.Feature); err != nil || !reflect.DeepEqual(got, l) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := Load(dir, l.Tag, "other"); err == nil || errors.Is(err, ErrNone) {
		t.Errorf("the lock of another feature: %v", err)
	}
	var none *Unlockable
	if _, err := Load(dir, l.Tag, "stt.silk"); !errors.As(err, &none) || none.Reason != "pilk 0.2.4 has no wheel: none" {
		t.Error(err)
	}
	if _, err := Load(dir, l.Tag, "stt.unknown"); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
}
