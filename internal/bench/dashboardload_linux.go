package bench

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"path"
	"regexp"
	"strings"
)

// What a page loads: in HTML by these attributes, in modules by imports, in style sheets by url().
var loads = regexp.MustCompile(`(?:\b(?:src|href)=|\bfrom\s*|\bimport\s*\(?\s*)["']([^"']+)["']|url\(["']?([^"')]+)["']?\)`)

// firstPaint loads the first page with everything that it and its modules name, as a browser would and compressed, and
// says how many bytes that is in how many files. What only the terminal needs is left out.
func (h *homeProcess) firstPaint() (size int64, files int, err error) {
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
		for _, found := range loads.FindAllStringSubmatch(string(text), -1) {
			next := found[1] + found[2]
			if !strings.HasPrefix(next, "/") && !strings.HasPrefix(next, ".") {
				continue // no file of this server
			}
			if next = resolved(at, next); path.Ext(next) == "" || seen[next] || isTerminal(next) {
				continue
			}
			seen[next] = true
			todo = append(todo, next)
		}
	}
	return size, files, nil
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
