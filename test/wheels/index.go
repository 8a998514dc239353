package wheels

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// Index is a package index on the loopback interface. It lives as long as its test.
type Index struct {
	// URL is what uv and pip call the index URL.
	URL string

	server  *httptest.Server
	closing chan struct{}

	mu             sync.Mutex
	files          []*file // by order of their adding
	faults         map[string]Fault
	hits           map[string]int
	htmlOnly       bool
	user, password string
}

// file is one that the index offers.
type file struct {
	project  string // normalised
	name     string
	content  []byte
	metadata []byte // none: not offered apart from the file
	uploaded time.Time
}

// Serve starts an index with these wheels.
func Serve(t testing.TB, all ...Wheel) *Index {
	x := &Index{closing: make(chan struct{}), faults: make(map[string]Fault), hits: make(map[string]int)}
	x.Add(all...)
	x.server = httptest.NewServer(http.HandlerFunc(x.answer))
	x.URL = x.server.URL + "/simple/"
	t.Cleanup(func() {
		close(x.closing) // lets go of those who were never to be answered
		x.server.CloseClientConnections()
		x.server.Close()
	})
	return x
}

// Add offers more wheels.
func (x *Index) Add(all ...Wheel) {
	for _, w := range all {
		uploaded := w.Uploaded
		if uploaded.IsZero() {
			uploaded = made
		}
		x.add(&file{normalise(w.Name), w.FileName(), w.Bytes(), []byte(changed(w.metadata(), w.Metadata)), uploaded})
	}
}

// AddSource offers a source distribution.
func (x *Index) AddSource(s Source) {
	x.add(&file{normalise(s.Name), s.FileName(), s.Bytes(), nil, made})
}

func (x *Index) add(f *file) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.files = append(x.files, f)
}

// HTMLOnly makes it a mirror of the old kind: without JSON, and so without upload times.
func (x *Index) HTMLOnly() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.htmlOnly = true
}

// Login makes it answer nobody without these, and returns the URL that has them.
func (x *Index) Login(user, password string) string {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.user, x.password = user, password
	u, err := url.Parse(x.URL)
	must(err)
	u.User = url.UserPassword(user, password)
	return u.String()
}

// Host is its host and port.
func (x *Index) Host() string { return strings.TrimPrefix(x.server.URL, "http://") }

// Hits says how often a file, or the page of a project, was asked for.
func (x *Index) Hits(name string) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.hits[name]
}

// Requests says how often anything was asked for.
func (x *Index) Requests() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := 0
	for _, hits := range x.hits {
		n += hits
	}
	return n
}

// answer is the handler: /simple/<project>/ for pages, /files/<name> for files.
func (x *Index) answer(w http.ResponseWriter, r *http.Request) {
	name, isPage := strings.CutPrefix(r.URL.Path, "/simple/")
	name = strings.TrimPrefix(strings.Trim(name, "/"), "files/")
	fault, known := x.enter(name, r)
	if !known {
		w.Header().Set("WWW-Authenticate", `Basic realm="packages"`)
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	}
	if !x.wait(r, fault) {
		panic(http.ErrAbortHandler)
	}
	if fault.Status != 0 {
		http.Error(w, "broken on request", fault.Status)
		return
	}
	kind, content := "application/octet-stream", []byte(nil)
	if isPage {
		kind, content = x.page(name, r.Header.Get("Accept"))
	} else {
		content = x.content(name)
	}
	if content == nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", kind)
	if spoilt(w, fault, content) {
		panic(http.ErrAbortHandler)
	}
	if fault.Wrong {
		content = append([]byte("not what it should be"), content...)
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

// enter counts a request, and says how it is to fail and whether the caller may ask at all.
func (x *Index) enter(name string, r *http.Request) (f Fault, known bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.hits[name]++
	user, password, _ := r.BasicAuth()
	if x.user != "" && (user != x.user || password != x.password) {
		return Fault{}, false
	}
	return x.take(name), true
}

func (x *Index) content(name string) []byte {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, f := range x.files {
		switch name {
		case f.name:
			return f.content
		case f.name + ".metadata":
			return f.metadata
		}
	}
	return nil
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// normalise spells a project's name as indexes do.
func normalise(name string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return strings.ContainsRune("-_.", r) }), "-")
}
