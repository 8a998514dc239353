package sbom

import (
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// known are identifiers of SPDX that packages use. A license that is not made of these is given by its name, which
// is never wrong; an identifier that SPDX does not have would make the document invalid.
var known = []string{
	"0BSD", "AFL-3.0", "AGPL-3.0-only", "AGPL-3.0-or-later", "Apache-2.0", "Artistic-2.0", "BlueOak-1.0.0", "BSD-2-Clause", "BSD-3-Clause",
	"BSL-1.0", "CC-BY-4.0", "CC0-1.0", "EPL-2.0", "EUPL-1.2", "GPL-2.0-only", "GPL-2.0-or-later", "GPL-3.0-only",
	"GPL-3.0-or-later", "HPND", "ISC", "LGPL-2.1-only", "LGPL-2.1-or-later", "LGPL-3.0-only", "LGPL-3.0-or-later", "MIT",
	"MIT-0", "MIT-CMU", "MPL-2.0", "NCSA", "PSF-2.0", "Python-2.0", "Unlicense", "Zlib", "ZPL-2.1",
}

func licenses(text string) *cdx.Licenses {
	switch {
	case text == "":
		return nil
	case slices.Contains(known, text):
		return &cdx.Licenses{{License: &cdx.License{ID: text}}}
	case isExpression(text):
		return &cdx.Licenses{{Expression: text}}
	}
	return &cdx.Licenses{{License: &cdx.License{Name: text}}}
}

// isExpression knows the common form: identifiers with AND or OR between them.
func isExpression(text string) bool {
	for i, word := range strings.Split(text, " ") {
		operator := i%2 == 1
		if operator && word != "AND" && word != "OR" || !operator && !slices.Contains(known, word) {
			return false
		}
	}
	return strings.Count(text, " ")%2 == 0
}
