package deploy

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	block   = regexp.MustCompile("(?ms)^```.*?^```$")
)

// Every link of a page to another file, and to a heading, leads somewhere.
func TestLinksLeadSomewhere(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	more, _ := filepath.Glob(filepath.Join(root, "docs", "*", "*.md"))
	top, _ := filepath.Glob(filepath.Join(root, "*.md"))
	found := 0
	for _, page := range append(append(pages, more...), top...) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(block.ReplaceAllString(string(text), ""), -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			found++
			if why := deadEnd(page, m[1]); why != "" {
				t.Errorf("%s: %s: %s", page, m[1], why)
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d links were found", found)
	}
	if deadEnd(filepath.Join(root, "README.md"), "docs/nowhere.md") == "" || deadEnd(filepath.Join(root, "README.md"), "docs/cli.md#nothing") == "" {
		t.Error("every link leads somewhere")
	}
}

// deadEnd says why a link of a page leads nowhere.
func deadEnd(page, to string) string {
	file, anchor, hasAnchor := strings.Cut(to, "#")
	path := page
	if file != "" {
		path = filepath.Join(filepath.Dir(page), filepath.FromSlash(file))
	}
	if _, err := os.Stat(path); err != nil {
		return "there is no such file"
	}
	if !hasAnchor {
		return ""
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	for _, m := range heading.FindAllStringSubmatch(block.ReplaceAllString(string(text), ""), -1) {
		if slug(m[1]) == anchor {
			return ""
		}
	}
	return "there is no such heading"
}

// slug is a heading as links name it.
func slug(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		case r == ' ':
			return '-'
		}
		return -1
	}, heading)
}
