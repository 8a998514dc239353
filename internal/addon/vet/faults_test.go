package vet

import (
	"testing"

	"hermes.example/hermes/test/wheels"
)

var tools = []wheels.Tool{wheels.WithUV, wheels.WithPip}

// Installers put into a target what the core has already. It does not get further, and the store holds no copy that
// would grow old.
func TestD37WhatTheCoreHasIsNotInTheStore(t *testing.T) {
	for _, tool := range tools {
		t.Run(string(tool), func(t *testing.T) {
			t.Parallel()
			// Other modules than the core's, so that nothing but the metadata tells.
			w := wheels.Wheel{Name: "PyYAML", Version: "6.0", Files: map[string]string{"elsewhere.py": ""}}
			tree := t.TempDir()
			install(t, tool, tree, w)
			r := check(t, tree, w)
			expect(t, r, CoreDistribution, w.DistInfo())
			only(t, r, CoreDistribution)
		})
	}
}

// pip into a target that has the package already leaves the old files and says that it succeeded.
func TestD38AnInstallOverAnotherIsNoSuccess(t *testing.T) {
	before := wheels.Wheel{Name: "demo", Version: "1.0", Files: map[string]string{"demo/__init__.py": "version = 1\n"}}
	after := wheels.Wheel{Name: "demo", Version: "2.0", Files: map[string]string{"demo/__init__.py": "version = 2\n", "demo/new.py": ""}}
	tree := t.TempDir()
	install(t, wheels.WithPip, tree, before)
	install(t, wheels.WithPip, tree, after)
	if version := python(t, "import demo; print(demo.version)", tree); version != "1" {
		t.Skipf("this pip installs over what is there: the version is %s", version)
	}
	r := check(t, tree, after)
	expect(t, r, Unlocked, before.DistInfo())
	expect(t, r, Duplicate, after.DistInfo())
	expect(t, r, Record, "demo/__init__.py")
	expect(t, r, Record, "demo/new.py")
}

// All that a tree could do beyond adding, at once, by either tool.
func TestD40TheStoreCanOnlyAdd(t *testing.T) {
	hostile := []struct {
		rule  Rule
		file  string
		wheel wheels.Wheel
	}{
		{Startup, "path.pth", wheels.Wheel{Name: "path", Version: "1", Files: map[string]string{"path.pth": "import os\n"}}},
		{Startup, "start.start", wheels.Wheel{Name: "start", Version: "1", Files: map[string]string{"start.start": "start:main\n"}}},
		{Startup, "usercustomize.py", wheels.Wheel{Name: "custom", Version: "1", Files: map[string]string{"usercustomize.py": ""}}},
		{EntryPoint, "points-1.dist-info/entry_points.txt", wheels.Wheel{Name: "points", Version: "1", Files: map[string]string{"points.py": ""},
			EntryPoints: map[string][]string{"hermes.plugins": {"main = points:main"}}}},
		{CoreNamespace, "google/more.py", wheels.Wheel{Name: "more", Version: "1", Files: map[string]string{"google/more.py": ""}}},
		{CoreModule, "httpx/more.py", wheels.Wheel{Name: "inside", Version: "1", Files: map[string]string{"httpx/more.py": ""}}},
		{StandardLibrary, "json/__init__.py", wheels.Wheel{Name: "standard", Version: "1", Files: map[string]string{"json/__init__.py": ""}}},
	}
	var all []wheels.Wheel
	for _, h := range hostile {
		all = append(all, h.wheel)
	}
	for _, tool := range tools {
		t.Run(string(tool), func(t *testing.T) {
			t.Parallel()
			tree := t.TempDir()
			install(t, tool, tree, all...)
			r := check(t, tree, all...)
			for _, h := range hostile {
				expect(t, r, h.rule, h.file)
			}
			if r.Tidy() == nil {
				t.Error("it was tidied up for publication")
			}
		})
	}
}
