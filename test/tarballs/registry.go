package tarballs

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// Registry is one of npm on the loopback interface. It lives as long as its test.
type Registry struct {
	// URL is what npm calls the registry.
	URL string

	closing chan struct{}

	mu     sync.Mutex
	all    []Package
	faults map[string]Fault
	hits   map[string]int
	token  string
}

// Fault is how a request fails. The zero value is no fault.
type Fault struct {
	Silent bool // no answer ever comes
	Status int  // this instead of the content
	Wrong  bool // another archive than the registry says
}

// Serve starts a registry with these packages.
func Serve(t testing.TB, all ...Package) *Registry {
	r := &Registry{closing: make(chan struct{}), all: all, faults: make(map[string]Fault), hits: make(map[string]int)}
	server := httptest.NewServer(http.HandlerFunc(r.answer))
	r.URL = server.URL + "/"
	t.Cleanup(func() {
		close(r.closing) // lets go of those who were never to be answered
		server.CloseClientConnections()
		server.Close()
	})
	return r
}

// Add offers more packages.
func (r *Registry) Add(all ...Package) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, all...)
}

// Break makes requests for a package, by its name, or for an archive, by the name of its file, fail from now on; "*"
// stands for all that have no fault of their own. A Fault without anything mends it.
func (r *Registry) Break(name string, f Fault) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults[name] = f
}

// Token makes it answer nobody without this.
func (r *Registry) Token(token string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.token = token
}

// Hits says how often a package or an archive was asked for.
func (r *Registry) Hits(name string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hits[name]
}

// Requests says how often anything was asked for.
func (r *Registry) Requests() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, hits := range r.hits {
		n += hits
	}
	return n
}

// answer is the handler: /NAME for what there is of a package, /NAME/-/FILE for an archive.
func (r *Registry) answer(w http.ResponseWriter, q *http.Request) {
	path, err := url.PathUnescape(strings.Trim(q.URL.EscapedPath(), "/"))
	if err != nil {
		http.NotFound(w, q)
		return
	}
	name, file, isFile := strings.Cut(path, "/-/")
	if isFile {
		name = file
	}
	r.mu.Lock()
	r.hits[name]++
	fault, own := r.faults[name]
	if !own {
		fault = r.faults["*"]
	}
	known := r.token == "" || q.Header.Get("Authorization") == "Bearer "+r.token
	r.mu.Unlock()
	switch {
	case !known:
		http.Error(w, `{"error":"who are you?"}`, http.StatusUnauthorized)
	case fault.Silent:
		select {
		case <-q.Context().Done():
		case <-r.closing:
		}
		panic(http.ErrAbortHandler)
	case fault.Status != 0:
		http.Error(w, `{"error":"broken on request"}`, fault.Status)
	case isFile:
		r.archive(w, q, file, fault)
	default:
		r.packument(w, q, name)
	}
}

func (r *Registry) archive(w http.ResponseWriter, q *http.Request, file string, f Fault) {
	for _, p := range r.offered() {
		if p.file() != file {
			continue
		}
		if f.Wrong {
			p.Files = map[string]string{"index.js": "throw new Error('another one')\n"}
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = w.Write(p.Tarball()) // who has gone needs none
		return
	}
	http.NotFound(w, q)
}

// packument is what there is of a package.
func (r *Registry) packument(w http.ResponseWriter, q *http.Request, name string) {
	versions, times := make(map[string]any), make(map[string]string)
	latest := ""
	for _, p := range r.offered() {
		if p.Name != name {
			continue
		}
		about := p.about()
		about["name"] = p.Name
		about["dist"] = map[string]string{"integrity": p.Integrity(), "tarball": r.URL + p.Name + "/-/" + p.file()}
		if len(p.Scripts) > 0 {
			about["hasInstallScript"] = true
		}
		versions[p.Version], times[p.Version], latest = about, "2020-01-01T00:00:00.000Z", p.Version
	}
	if latest == "" {
		http.Error(w, `{"error":"Not found"}`, http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"name": name, "dist-tags": map[string]string{"latest": latest}, "versions": versions, "time": times})
}

func (r *Registry) offered() []Package {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Package(nil), r.all...)
}

// file is the name of the archive, which is without the scope.
func (p Package) file() string {
	return p.Name[strings.LastIndexByte(p.Name, '/')+1:] + "-" + p.Version + ".tgz"
}
