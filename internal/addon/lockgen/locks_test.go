package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hermes.example/hermes/internal/addon/feature"
	"hermes.example/hermes/internal/addon/lock"
	"hermes.example/hermes/internal/addon/pep508"
	"hermes.example/hermes/internal/addon/unavailable"
)

const top = "../../.."

// Locks, list and core are three files that change apart; what is sealed has to be of one piece.
func TestLocksFeaturesAndCoreAgree(t *testing.T) {
	core, err := readCore(filepath.Join(top, coreFile))
	if err != nil {
		t.Fatal(err)
	}
	all, err := readLocks(filepath.Join(top, locksDir), core) // which compares the requirements and the core's versions
	if err != nil {
		t.Fatalf("%v; run make lock", err)
	}
	trees, err := readTrees(filepath.Join(top, locksDir))
	if err != nil {
		t.Fatalf("%v; run make lock", err)
	}
	if files, err := os.ReadDir(filepath.Join(top, locksDir, lock.NodeLocks)); err != nil || len(files) != len(trees) || len(trees) == 0 {
		t.Errorf("there are %d locks of npm: one is of no feature; %v", len(files), err)
	}
	for _, p := range platforms {
		here := all[p.tag]
		if len(here.locked)+len(here.unlocked) != len(python()) || len(here.locked) == 0 {
			t.Errorf("%s has %d locks, and %d reasons for none", p.tag, len(here.locked), len(here.unlocked))
		}
		files, err := os.ReadDir(filepath.Join(top, locksDir, p.tag))
		if err != nil || len(files) != len(here.locked)+2 {
			t.Errorf("%s has %d files: one is of no feature; %v", p.tag, len(files), err)
		}
		tools, err := lock.Load(filepath.Join(top, locksDir), p.tag, lock.BuildTools)
		if _, sources := lock.Apart(tools.Packages); err != nil || len(tools.Packages) == 0 || len(sources) > 0 {
			t.Errorf("what sources are built with on %s: %v, %v", p.tag, tools.Packages, err)
		}
		for name, l := range here.locked {
			f, _ := feature.Find(name)
			if len(l.Packages) == 0 {
				t.Errorf("%s on %s: there is nothing to install", name, p.tag)
			}
			if !holds(t, f, l, core) {
				t.Errorf("%s on %s: its lock is not what it asks for", name, p.tag)
			}
		}
	}
}

// holds says whether a lock, with the core, has what a feature asks for.
func holds(t *testing.T, f feature.Feature, l lock.Lock, core map[string]string) bool {
	t.Helper()
	for _, spec := range f.Specs {
		r, err := pep508.Parse(spec)
		if err != nil {
			t.Fatal(err)
		}
		name := pep508.Normalize(r.Name)
		version := core[name]
		if i := slices.IndexFunc(l.Packages, func(p lock.Package) bool { return p.Name == name }); i >= 0 {
			version = l.Packages[i].Version
		}
		if ok, err := r.Accepts(version); err != nil || !ok {
			return false
		}
	}
	return true
}

func TestTheTableIsThatOfTheLocks(t *testing.T) {
	want, err := table(top)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(top, tableFile))
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is of other locks; run make lock-table; %v", tableFile, err)
	}
}

// A lock says what, and the operator's settings say from where.
func TestNoLockNamesAnIndex(t *testing.T) {
	address := regexp.MustCompile(`://|\.(org|com|net|io|dev)\b`)
	dirs := []string{lock.NodeLocks}
	for _, p := range platforms {
		dirs = append(dirs, p.tag)
	}
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(top, locksDir, dir, "*"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%v, %v", files, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if found := address.Find(text); found != nil {
				t.Errorf("%s has %q", file, found)
			}
		}
	}
}

func TestReasonsAreShort(t *testing.T) {
	for text, want := range map[string]string{
		"cannot resolve x: error: No solution found\n  cause: Because pilk==0.2.4 has no usable wheels and you require pilk==0.2.4, we can conclude": "pilk 0.2.4 has no wheel",
		"error: No solution found cause: Because all versions of a need b>=2 and b==1, we can conclude that nothing fits.":                           "Because all versions of a need b>=2 and b==1",
		"error: Request failed after 3 retries": "",
	} {
		got, lasting := why(unavailable.Because(unavailable.Failed, errors.New(text), ""))
		if lasting != (want != "") || lasting && got != want {
			t.Errorf("%q becomes %q, %v", text, got, lasting)
		}
	}
	if got, lasting := why(unavailable.Because(unavailable.Conflict, errors.New("a needs b 1"), "")); !lasting || got != "a needs b 1" {
		t.Errorf("a conflict becomes %q, %v", got, lasting)
	}
	if _, lasting := why(os.ErrNotExist); lasting {
		t.Error("any error is a reason")
	}
}

// Which features are built, and why others cannot be had, is for people to read: both versions of a conflict are named.
func TestTheTableSaysWhatIsBuiltAndWhatCannotBeHad(t *testing.T) {
	names := python()
	all := locks{platforms[0].tag: {
		locked:   map[string]lock.Lock{names[0].Name: {Packages: []lock.Package{{Name: "p", Version: "1"}, {Name: "q", Version: "2", Source: true}}}},
		unlocked: map[string]string{names[1].Name: "it needs mcp==2.0.0, but the core has mcp 1.30.0"},
	}}
	var b bytes.Buffer
	all.writeSources(&b)
	all.writeUnlocked(&b)
	for _, want := range []string{"| `" + names[0].Name + "` | x86_64 | q 2 |\n", "HERMES_ADDON_BUILD_FROM_SOURCE=1", "| `" + names[1].Name + "` | x86_64 | it needs mcp==2.0.0, but the core has mcp 1.30.0 |\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in %s", want, &b)
		}
	}
	if got := all[platforms[0].tag].cell(names[0].Name); !strings.Contains(got, "1 of them built from source") {
		t.Errorf("its cell is %q", got)
	}
}

// Whose scripts do not run is for people to read, too.
func TestTheTableSaysWhichScriptsDoNotRun(t *testing.T) {
	name := ofNPM()[0].Name
	var b bytes.Buffer
	writeScripts(&b, map[string]lock.Tree{name: {Packages: []lock.Node{{Path: "a", Version: "1.0.0"}, {Path: "a/node_modules/b", Version: "2.0.0", Scripts: true}}}})
	if got := b.String(); !strings.Contains(got, "| `"+name+"` | b@2.0.0 |\n") || strings.Contains(got, "a@1.0.0") {
		t.Errorf("it is %s", got)
	}
}

func TestFeaturesThatExcludeEachOtherAreListed(t *testing.T) {
	names := python()
	one, two := names[0].Name, names[1].Name
	all := locks{platforms[0].tag: {locked: map[string]lock.Lock{
		one: {Feature: one, Packages: []lock.Package{{Name: "p", Version: "1"}}},
		two: {Feature: two, Packages: []lock.Package{{Name: "p", Version: "2"}}},
	}}}
	var b bytes.Buffer
	all.writeConflicts(&b)
	if want := "| x86_64 | `" + one + "`, `" + two + "` | " + two + " needs p 2, but " + one + " has p 1 |"; !strings.Contains(b.String(), want) {
		t.Errorf("it is %s", &b)
	}
}
