package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"

	"hermes.example/hermes/internal/entry"
)

// imageRoot is as much of an image as is described. The programs are this test itself.
func imageRoot(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("etc/os-release", "ID=debian\nVERSION_ID=\"12\"\n")
	put("var/lib/dpkg/status", `Package: dpkg
Status: install ok installed
Architecture: arm64
Version: 1.21.22
Conffiles:
 /etc/dpkg/dpkg.cfg f4413ffb
Description: Debian package management system
 This package provides it.
 .
 Version: not this one

Package: gone
Status: deinstall ok config-files
Architecture: all
Version: 1

Package: libstdc++6
Status: install ok installed
Architecture: arm64
Version: 1:12.2.0-14+deb12u1
`)
	put("var/lib/dpkg/status.d/docker.io", "Package: docker.io\nVersion: 20.10.24+dfsg1\nArchitecture: arm64\n")
	put("opt/hermes/.venv/hermes-runtime.json", `{"distributions":{"uv":"0.13.6","local":"1.0+cpu"}}`)
	for _, program := range []string{entry.Program, entry.Init, entry.Shim} {
		put(program, "")
		path := filepath.Join(root, program)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(self, path); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func read(t *testing.T, root, name string) []byte {
	t.Helper()
	path := filepath.Join(root, name)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o444 {
		t.Errorf("%s: %v, %v", name, info.Mode(), err)
	}
	return text
}

func TestTheBillHasWhatTheImageHas(t *testing.T) {
	root := imageRoot(t)
	revision := "0123456789ab"
	if err := describe(root, Provenance{Schema: 1, Image: "hermes", Target: "slim", Version: "v1", Revision: &revision}); err != nil {
		t.Fatal(err)
	}
	text := read(t, root, billFile)
	var bom cdx.BOM
	if err := json.Unmarshal(text, &bom); err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, c := range *bom.Components {
		found = append(found, c.PackageURL)
	}
	for _, want := range []string{
		"pkg:deb/debian/dpkg@1.21.22?arch=arm64&distro=debian-12",
		"pkg:deb/debian/libstdc%2B%2B6@1%3A12.2.0-14%2Bdeb12u1?arch=arm64&distro=debian-12",
		"pkg:deb/debian/docker.io@20.10.24%2Bdfsg1?arch=arm64&distro=debian-12",
		"pkg:pypi/uv@0.13.6", "pkg:pypi/local@1.0%2Bcpu",
	} {
		if !slices.Contains(found, want) {
			t.Errorf("%s is not in %q", want, found)
		}
	}
	for _, module := range []string{"pkg:golang/stdlib@1.", "pkg:golang/github.com/CycloneDX/cyclonedx-go@v"} {
		if n := count(found, module); n != 1 {
			t.Errorf("%s is there %d times", module, n)
		}
	}
	if n := count(found, "pkg:deb/debian/"); n != 3 {
		t.Errorf("%d packages of Debian", n)
	}
	if err := os.RemoveAll(filepath.Join(root, "etc/hermes")); err != nil {
		t.Fatal(err)
	}
	if err := describe(root, Provenance{Image: "hermes", Target: "slim", Version: "v1"}); err != nil {
		t.Fatal(err)
	}
	if again := read(t, root, billFile); !bytes.Equal(again, text) {
		t.Error("the same image has another bill")
	}
}

func count(found []string, prefix string) (n int) {
	for _, purl := range found {
		if strings.HasPrefix(purl, prefix) {
			n++
		}
	}
	return n
}

func TestProvenanceSaysNothingThatIsNotKnown(t *testing.T) {
	root := imageRoot(t)
	if err := describe(root, Provenance{Schema: 1, Kind: "image", Manager: "docker", Image: "hermes", Target: "full", Base: "debian", Version: "dev", Revision: known(""), Created: known("2026-01-02T03:04:05Z")}); err != nil {
		t.Fatal(err)
	}
	want := `{"schema":1,"deployment_kind":"image","manager":"docker","image":"hermes","target":"full","architecture":"arm64","base":"debian","version":"dev","revision":null,"created":"2026-01-02T03:04:05Z"}` + "\n"
	if got := string(read(t, root, provenanceFile)); got != want {
		t.Errorf("got %s", got)
	}
}

func TestAnImageThatLacksSomethingIsNotDescribed(t *testing.T) {
	for _, lost := range []string{"etc/os-release", "var/lib/dpkg/status", "opt/hermes/.venv/hermes-runtime.json", entry.Init} {
		root := imageRoot(t)
		if err := os.Remove(filepath.Join(root, lost)); err != nil {
			t.Fatal(err)
		}
		if err := describe(root, Provenance{}); err == nil || !strings.Contains(err.Error(), filepath.Base(lost)) {
			t.Errorf("without %s: %v", lost, err)
		}
		if _, err := os.Stat(filepath.Join(root, "etc/hermes")); err == nil {
			t.Errorf("without %s: something is written", lost)
		}
	}
}
