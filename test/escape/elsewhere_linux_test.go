package escape

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// elsewhere are ways out that other packages try, beside what they are about. A test
// is TestName, or TestName/theme/behaviour of the conformance suite.
var elsewhere = []struct {
	attempt string
	tests   []string
}{
	{"hostile images: names, links and whiteouts that lead out; devices, setuid bits", []string{"TestHostileArchivesAreRefused", "TestHostileArchivesAreContained", "TestRightsAreDroppedOrRefused", "FuzzUnpack"}},
	{"images that grow without end", []string{"TestLimits"}},
	{"images that point to other machines or files", []string{"TestLayersAtForeignAddressesAreRefused", "TestALayoutsLinksLeadNowhereElse"}},
	{"links and `..` in copies out of and into a sandbox", []string{"TestNative/files/links do not lead out of the root", "TestNative/files/links that are swapped meanwhile do not either", "TestNative/files/hostile archives are refused or stay inside"}},
	{"the guest's memory as a file to copy", []string{"TestNative/files/the guest's own memory is no file"}},
	{"end, stop or starve the guest", []string{"TestNothingInsideReachesTheGuest", "TestGuestSurvivesEverySignal", "TestGuestKeepsItsResources", "TestGuestCannotBeStopped"}},
	{"be traced by the guest", []string{"TestCommandThatAsksToBeTracedEndsAsAnyOther"}},
	{"every system call, against Docker's profile", []string{"TestEveryVerdictIsTheProfiles", "TestKernelEnforcesTheFilter", "TestForeignCallsAreRefused"}},
	{"files that cannot be removed, or lead the remover out", []string{"TestHostileFilesCanBeRemoved"}},
}

// elsewhereText is what the record says of them. Only tests that exist are named.
func elsewhereText() (string, error) {
	sources, err := testSources("../..")
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("\n## Elsewhere\n\nWays out that belong to other parts, and the tests that try them.\n\n| attempt | tests |\n|---|---|\n")
	for _, e := range elsewhere {
		var there []string
		for _, test := range e.tests {
			name, behaviour, nested := strings.Cut(test, "/")
			if strings.Contains(sources, "\nfunc "+name+"(") && (!nested || strings.Contains(sources, `"`+behaviour+`"`)) {
				there = append(there, "`"+strings.ReplaceAll(test, " ", "_")+"`")
			}
		}
		if len(there) > 0 {
			fmt.Fprintf(&b, "| %s | %s |\n", e.attempt, strings.Join(there, " "))
		}
	}
	return b.String(), nil
}

// testSources is the text of all tests, and of the conformance suite.
func testSources(root string) (string, error) {
	var b strings.Builder
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") && !strings.Contains(path, "/enginetest/") {
			return err
		}
		content, err := os.ReadFile(path)
		b.WriteByte('\n')
		b.Write(content)
		return err
	})
	return b.String(), err
}
