package web

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// budget is what a browser may fetch before it shows the first page, packed, without the terminal.
const budget = 100 << 10

// What a document or a module loads.
var (
	linked   = regexp.MustCompile(`(?:href|src)="(/assets/[^"]+)"`)
	imported = regexp.MustCompile(`(?:\bfrom|\bimport)\s*\(?\s*"([^"]+)"`)
	styled   = regexp.MustCompile(`(?:@import|url\()\s*"?([^")\s]+)`)
)

// loads lists what a file names to be loaded, by the names of assets.
func loads(name string, content []byte) []string {
	var found []string
	add := func(pattern *regexp.Regexp, from string) {
		for _, match := range pattern.FindAllSubmatch(content, -1) {
			to := string(match[1])
			if strings.HasPrefix(to, "data:") || strings.HasPrefix(to, "#") {
				continue
			}
			if !strings.HasPrefix(to, "/") {
				to = path.Join(AssetsPath, from, to)
			}
			found = append(found, strings.TrimPrefix(to, AssetsPath))
		}
	}
	switch path.Ext(name) {
	case ".html":
		add(linked, "")
	case ".js":
		add(imported, path.Dir(name))
	case ".css":
		add(styled, path.Dir(name))
	}
	return found
}

// reach lists all that a document loads, now or later; the terminal's code is listed and not followed.
func reach(assets map[string]*asset, from string) []string {
	seen := []string{from}
	for i := 0; i < len(seen); i++ {
		a, there := assets[seen[i]]
		if !there {
			continue
		}
		for _, next := range loads(seen[i], a.plain) {
			if !slices.Contains(seen, next) {
				seen = append(seen, next)
			}
		}
	}
	return seen
}

func isTerminal(name string) bool { return strings.HasPrefix(name, "xterm/") }

func TestTheFirstPaintIsSmall(t *testing.T) {
	assets := load()
	total := 0
	for _, name := range reach(assets, document) {
		if a := assets[name]; a != nil && !isTerminal(name) {
			total += len(a.packed())
		}
	}
	t.Logf("%d bytes travel before the first page is there, and those of all other pages with them", total)
	if total > budget {
		t.Errorf("the pages take %d bytes, and may take %d", total, budget)
	}
}

func TestNothingThatIsLoadedIsMissing(t *testing.T) {
	assets := load()
	for name, a := range assets {
		for _, wanted := range loads(name, a.plain) {
			if assets[wanted] == nil && !isTerminal(wanted) {
				t.Errorf("%s loads %s, which is not there", name, wanted)
			}
		}
	}
	for name := range assets {
		if path.Ext(name) == ".js" && !slices.Contains(reach(assets, document), name) && !slices.Contains(reach(assets, login), name) {
			t.Errorf("nothing loads %s", name)
		}
	}
}

func TestDocumentsHoldNoScriptAndNoStyle(t *testing.T) {
	forbidden := regexp.MustCompile(`(?i)<script(?:\s[^>]*)?>[^<]|<style|\sstyle\s*=|\son[a-z]+\s*=\s*["']|javascript:`)
	for name, a := range load() {
		if path.Ext(name) == ".html" {
			if found := forbidden.Find(a.plain); found != nil {
				t.Errorf("%s has %q, which the policy of its own page forbids", name, found)
			}
		}
	}
}

// markup is what would make a page of what comes from outside.
var markup = regexp.MustCompile(`\b(?:innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|eval\(|new Function)\b|setAttribute\("style"`)

func TestNoModuleMakesMarkupOfData(t *testing.T) {
	for name, a := range load() {
		if found := markup.Find(a.plain); found != nil && path.Ext(name) == ".js" {
			t.Errorf("%s has %s", name, found)
		}
	}
}

func TestPagesNameNoOtherHost(t *testing.T) {
	foreign := regexp.MustCompile(`(?:https?:|wss?:|["'(\s=])//[A-Za-z0-9][^\s"')]*`)
	for name, a := range load() {
		if isTerminal(name) {
			continue
		}
		for _, found := range foreign.FindAllString(string(a.plain), -1) {
			if strings.Contains(found, "//www.w3.org/") { // the name of a language, which nobody fetches
				continue
			}
			t.Errorf("%s names %s", name, found)
		}
	}
}
