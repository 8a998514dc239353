package install

import (
	"maps"
	"strings"
	"testing"
)

func TestReadINI(t *testing.T) {
	found := make(map[string]settings)
	const first = "# comment\r\n[global]\r\n--Index_URL : http://a:1/x=y\r\nextra-index-url=\r\n\tone\r\n; between\r\n  two\r\n\r\n[install]\nno-index = on\n"
	for _, text := range []string{first, "[global]\nindex-url = http://b\n"} {
		if err := readINI(text, found); err != nil {
			t.Fatal(err)
		}
	}
	if want := (settings{"index-url": "http://b", "extra-index-url": "one\ntwo"}); !maps.Equal(found["global"], want) {
		t.Errorf("%q", found["global"])
	}
	if want := (settings{"no-index": "on"}); !maps.Equal(found["install"], want) {
		t.Errorf("%q", found["install"])
	}
}

func FuzzReadINI(f *testing.F) {
	f.Add("[global]\nindex-url = x\n  more\n# y\n")
	f.Add("[]\n=")
	f.Fuzz(func(t *testing.T, text string) {
		found := make(map[string]settings)
		if err := readINI(text, found); err != nil {
			return
		}
		for _, section := range found {
			for name := range section {
				if strings.Contains(name, "_") {
					t.Errorf("%q gives the name %q", text, name)
				}
			}
		}
	})
}
