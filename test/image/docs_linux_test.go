package image

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hermes.example/hermes/internal/addon/feature"
)

// Who comes from the image before this one finds every messenger in the page, by the name of its feature.
func TestThePageNamesEveryMessenger(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/image.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`platform\.[a-z_]+`).FindAllString(string(page), -1)
	var known []string
	for _, f := range feature.All() {
		if strings.HasPrefix(f.Name, "platform.") {
			known = append(known, f.Name)
		}
	}
	slices.Sort(named)
	slices.Sort(known)
	if !slices.Equal(named, known) {
		t.Errorf("the page has %q, the list of features %q", named, known)
	}
}
