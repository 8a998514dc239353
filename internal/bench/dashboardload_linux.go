package bench

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
)

// What a document, a module or a style sheet loads at once, and what a module loads only when it is needed.
var (
	loads = regexp.MustCompile(`(?:\b(?:src|href)=|\bfrom\s*|\bimport\s*)["']([^"']+)["']|url\(["']?([^"')]+)["']?\)`)
	needs = regexp.MustCompile(`\bimport\(\s*["']([^"']+)["']`)
)

// firstView is what the first page needs.
const firstView = "overview.js"

// firstPage is what a browser transfers for the first page, and allPages what it would for all of them but the terminal.
func (h *homeProcess) firstPage() (size int64, files int, err error) {
	return h.loadAll(func(view string) bool { return path.Base(view) == firstView })
}

func (h *homeProcess) allPages() (size int64, files int, err error) {
	return h.loadAll(func(view string) bool { return true })
}

// loadAll loads the document with everything that it and its modules name, as a browser would, and says how many bytes
// came in how many files.
func (h *homeProcess) loadAll(wanted func(view string) bool) (size int64, files int, err error) {
	seen := map[string]bool{"/": true}
	for todo := []string{"/"}; len(todo) > 0; {
		at := todo[0]
		todo = todo[1:]
		text, transferred, err := h.load(at)
		if err != nil {
			return 0, 0, err
		}
		size += transferred
		files++
		for _, next := range named(string(text), wanted) {
			if next = resolved(at, next); !seen[next] && path.Ext(next) != "" && !isTerminal(next) {
				seen[next] = true
				todo = append(todo, next)
			}
		}
	}
	return size, files, nil
}

// named are the files of this server that a text names.
func named(text string, wanted func(view string) bool) (names []string) {
	for _, found := range loads.FindAllStringSubmatch(text, -1) {
		names = append(names, found[1]+found[2])
	}
	for _, found := range needs.FindAllStringSubmatch(text, -1) {
		if wanted(found[1]) {
			names = append(names, found[1])
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, "/") && !strings.HasPrefix(name, ".") })
}

func resolved(from, to string) string {
	to, _, _ = strings.Cut(to, "?")
	if strings.HasPrefix(to, "/") {
		return path.Clean(to)
	}
	return path.Join(path.Dir(from), to)
}

func isTerminal(name string) bool {
	return strings.Contains(name, "xterm") || path.Base(name) == "terminal.js"
}

// load gets one file, and says how many bytes its answer has on the way.
func (h *homeProcess) load(at string) (text []byte, transferred int64, err error) {
	q, err := http.NewRequestWithContext(h.ctx, http.MethodGet, h.url+at, nil)
	if err != nil {
		return nil, 0, err
	}
	q.Header.Set("Accept-Encoding", "gzip")
	answer, err := h.client.Do(q)
	if err != nil {
		return nil, 0, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, 0, err
	}
	if answer.StatusCode != http.StatusOK {
		return nil, 0, fmt.Errorf("%s was answered %s", at, answer.Status)
	}
	head := int64(len("HTTP/1.1 ") + len(answer.Status) + 4)
	for name, values := range answer.Header {
		for _, value := range values {
			head += int64(len(name) + len(value) + 4)
		}
	}
	transferred = head + int64(len(body))
	if answer.Header.Get("Content-Encoding") != "gzip" {
		return body, transferred, nil
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, 0, err
	}
	text, err = io.ReadAll(unpacked)
	return text, transferred, err
}
