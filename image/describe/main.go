// Command describe writes into the root directory of an image what the image is made of, and of which source. It is
// stamped as hermes is. The build runs it as one of its last steps; the image itself does not have it.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"hermes.example/hermes/internal/version"
)

// Where the two documents are in an image: beside the sealed tree, which somebody may mount a checkout over, and
// outside of the volume.
const (
	billFile       = "etc/hermes/sbom.cdx.json"
	provenanceFile = "etc/hermes/image-provenance.json"
)

// Provenance is where an image comes from. The names are those of the images before this one; what is not known is null.
type Provenance struct {
	Schema       int     `json:"schema"`
	Kind         string  `json:"deployment_kind"`
	Manager      string  `json:"manager"`
	Image        string  `json:"image"`
	Target       string  `json:"target"`
	Architecture string  `json:"architecture"`
	Base         string  `json:"base"`
	Version      string  `json:"version"`
	Revision     *string `json:"revision"`
	Created      *string `json:"created"` // the commit, not the image
}

func main() {
	p := Provenance{
		Schema: 1, Kind: "image", Manager: "docker", Image: "hermes",
		Version: version.Current().Version, Revision: known(version.Commit), Created: known(version.Date),
	}
	flag.StringVar(&p.Target, "target", "", "the image's `TARGET`")
	flag.StringVar(&p.Base, "base", "", "the `IMAGE` that it stands on")
	flag.Parse()
	if err := describe(flag.Arg(0), p); err != nil {
		fmt.Fprintln(os.Stderr, "cannot describe the image:", err)
		os.Exit(1)
	}
}

func known(value string) *string {
	if value == "" {
		return nil
	}
	return &value
}

func describe(root string, p Provenance) error {
	found, err := debianPackages(root)
	if err != nil {
		return err
	}
	p.Architecture = found.architecture
	wheels, err := pythonPackages(root)
	if err != nil {
		return err
	}
	modules, err := goModules(root)
	if err != nil {
		return err
	}
	bill, err := bill(p, append(append(found.packages, wheels...), modules...))
	if err != nil {
		return err
	}
	provenance, err := json.Marshal(p)
	if err != nil {
		return err
	}
	for name, text := range map[string][]byte{billFile: bill, provenanceFile: append(provenance, '\n')} {
		if err := write(filepath.Join(root, name), text); err != nil {
			return err
		}
	}
	return nil
}

// write makes a file that nobody changes.
func write(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o444)
}
