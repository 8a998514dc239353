package image

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func TestProvenance(t *testing.T) {
	t.Parallel()
	for target, image := range targets(t) {
		var p struct {
			Schema                                                int
			Kind                                                  string `json:"deployment_kind"`
			Manager, Target, Architecture, Base, Version, Created string
			Revision                                              string
		}
		if err := json.Unmarshal([]byte(inside(t, image, "cat", "/etc/hermes/image-provenance.json")), &p); err != nil {
			t.Fatal(err)
		}
		labels := inspected(t, image).Labels
		label := func(name string) string { return labels["org.opencontainers.image."+name] }
		if p.Schema != 1 || p.Kind != "image" || p.Manager != "docker" || p.Target != target ||
			p.Base != label("base.name") || p.Version != label("version") || p.Revision != label("revision") || p.Created != label("created") {
			t.Errorf("%s: %+v, labels %v", image, p, labels)
		}
		if h := files(t, image, "/etc/hermes")["/etc/hermes/image-provenance.json"]; h.Uid != 0 || h.Gid != 0 || h.Mode&0o7777 != 0o444 {
			t.Errorf("%s: the file is %+v", image, h)
		}
		said := inside(t, image, "hermes", "version")
		if !strings.Contains(said, "hermes "+p.Version+" (commit "+p.Revision) || !strings.Contains(said, "linux/"+p.Architecture) {
			t.Errorf("%s: the program is %s", image, said)
		}
	}
}

func TestTheBillOfMaterialsIsWhole(t *testing.T) {
	t.Parallel()
	purl := regexp.MustCompile(`(?m)^ *"purl": "pkg:(\w+)/`)
	for _, image := range targets(t) {
		said := inside(t, image, "sh", "-c", `dpkg-query -W -f '${db:Status-Abbrev}\n' | grep -c '^ii'; ls /var/lib/dpkg/status.d | wc -l
			ls -d /opt/hermes/.venv/lib/python3.11/site-packages/*.dist-info | wc -l; cat /etc/hermes/sbom.cdx.json`)
		lines := strings.SplitN(said, "\n", 4)
		number := func(line string) int {
			n, err := strconv.Atoi(strings.TrimSpace(line))
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		listed := map[string]int{}
		for _, m := range purl.FindAllStringSubmatch(lines[3], -1) {
			listed[m[1]]++
		}
		if debian := number(lines[0]) + number(lines[1]); listed["deb"] != debian || debian < 100 {
			t.Errorf("%s: %d packages of Debian, %d in the bill", image, debian, listed["deb"])
		}
		if wheels := number(lines[2]); listed["pypi"] != wheels || wheels < 20 {
			t.Errorf("%s: %d wheels, %d in the bill", image, wheels, listed["pypi"])
		}
		for _, name := range []string{`"docker`, `"uv"`, `"github.com/spf13/cobra"`, `"stdlib"`} {
			if !strings.Contains(lines[3], `"name": `+name) {
				t.Errorf("%s: no %s in the bill", image, name)
			}
		}
	}
}
