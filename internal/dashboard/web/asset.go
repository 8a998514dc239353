package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
)

// types are what the browser is told about a file. A test sees to it that no file has another ending.
var types = map[string]string{
	".css":  "text/css; charset=utf-8",
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".json": "application/json",
	".mjs":  "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
	".txt":  "text/plain; charset=utf-8",
}

// asset is one file. It is packed once, when a browser first asks for it. A browser keeps it and asks each time whether
// it is still the same, so that the pages of a new version are never mixed with those of the last one.
type asset struct {
	kind   string
	digest string
	plain  []byte
	packed func() []byte
}

func newAsset(name string, content []byte) *asset {
	sum := sha256.Sum256(content)
	return &asset{
		kind: types[path.Ext(name)], digest: hex.EncodeToString(sum[:8]),
		plain: content, packed: sync.OnceValue(func() []byte { return pack(content) }),
	}
}

func pack(content []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // a level that there is
	w.Write(content)
	w.Close()
	return b.Bytes()
}

func (a *asset) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	tag := `"` + a.digest + `"`
	if takesGzip(r.Header) {
		tag = `"` + a.digest + `-gzip"`
	}
	h := w.Header()
	h.Set("ETag", tag)
	h.Set("Cache-Control", "no-cache")
	if has(r.Header, tag) {
		h.Set("Vary", "Accept-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	a.serve(w, r, http.StatusOK)
}

// serveAsMissing serves a page in the place of one that there is not. Nobody keeps it under that address.
func (a *asset) serveAsMissing(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	a.serve(w, r, http.StatusNotFound)
}

func (a *asset) serve(w http.ResponseWriter, r *http.Request, status int) {
	body, h := a.plain, w.Header()
	if takesGzip(r.Header) {
		body = a.packed()
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("Content-Type", a.kind)
	h.Set("Vary", "Accept-Encoding")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		w.Write(body)
	}
}

// takesGzip says whether the browser can unpack.
func takesGzip(h http.Header) bool { return accepts(h.Values("Accept-Encoding"), "gzip") }

// accepts says whether a browser that sent these values of a header takes what has a name.
func accepts(values []string, wanted string) bool {
	for part := range strings.SplitSeq(strings.Join(values, ","), ",") {
		name, quality, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.TrimSpace(name) == wanted {
			weight, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(quality), "q="), 64)
			return err != nil || weight > 0
		}
	}
	return false
}

// has says whether the browser has what the tag names already.
func has(h http.Header, tag string) bool {
	for part := range strings.SplitSeq(strings.Join(h.Values("If-None-Match"), ","), ",") {
		if part = strings.TrimSpace(part); part == "*" || strings.TrimPrefix(part, "W/") == tag {
			return true
		}
	}
	return false
}
