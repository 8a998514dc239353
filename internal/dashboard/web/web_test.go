package web

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"testing"
)

// ask makes one request of the handler and returns its answer, as it travels.
func ask(t *testing.T, method, target string, header http.Header) *http.Response {
	t.Helper()
	server := httptest.NewServer(Handler())
	defer server.Close()
	request, err := http.NewRequest(method, server.URL+target, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header = header
	if request.Header == nil {
		request.Header = http.Header{}
	}
	transport := &http.Transport{DisableCompression: true}
	defer transport.CloseIdleConnections()
	answer, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(answer.Body)
	answer.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	answer.Body = io.NopCloser(strings.NewReader(string(body)))
	return answer
}

func text(t *testing.T, answer *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestEveryPageIsTheSameDocument(t *testing.T) {
	want, err := files.ReadFile("src/" + document)
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range []string{"/", "/services", "/services/gateway-default", "/sandboxes", "/sandboxes/default/build", "/sandboxes/a%2Fb/c%20d%3Fe",
		"/sandboxes/default/build/terminal", "/addons", "/profiles", "/?theme=dark", "/services/", "/sandboxes/default/build/"} {
		answer := ask(t, "GET", page, nil)
		if answer.StatusCode != 200 || answer.Header.Get("Content-Type") != "text/html; charset=utf-8" || text(t, answer) != string(want) {
			t.Errorf("GET %s: %s, %s", page, answer.Status, answer.Header.Get("Content-Type"))
		}
	}
	if answer := ask(t, "GET", "/login", nil); answer.StatusCode != 200 || text(t, answer) == string(want) {
		t.Errorf("GET /login: %s, and the document of the other pages", answer.Status)
	}
}

func TestWhatThereIsNotIsNotFound(t *testing.T) {
	for _, target := range []string{"/nowhere", "/services/a/b", "/sandboxes/default", "/sandboxes/default/build/files", "/assets/", "/assets/nothing.js", "/assets/views/",
		"/assets/index.html", "/assets/login.html", "/assets/.keep", "/assets/xterm/.keep", "/assets/xterm/.lock", "/assets/web.go", "/assets/..%2fweb.go", "/assets/%2e%2e/web.go",
		"/assets/src/index.html", "/assets/views/..%2Fapp.js", "/assets/views%2f..%2fapp.js", "/assets/%5c..%5cweb.go", "/api/overview"} {
		if answer := ask(t, "GET", target, nil); answer.StatusCode != 404 {
			t.Errorf("GET %s: %s", target, answer.Status)
		}
	}
	// A path that is not clean leads, at most, to a clean one that is asked for anew.
	for _, target := range []string{"/assets/../web.go", "/assets/../../web.go", "//etc/passwd", "/assets/./style.css"} {
		answer := ask(t, "GET", target, nil)
		if to := answer.Header.Get("Location"); answer.StatusCode < 300 || strings.Contains(to, "..") || strings.HasPrefix(to, "//") {
			t.Errorf("GET %s: %s, to %q", target, answer.Status, to)
		}
	}
}

// A person who follows a wrong address gets the page that says so, and a program, or a page that loads something, a line.
func TestAPersonWhoIsLostGetsAPage(t *testing.T) {
	want, err := files.ReadFile("src/" + document)
	if err != nil {
		t.Fatal(err)
	}
	person := http.Header{"Accept": {"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}, "If-None-Match": {"*"}}
	for _, target := range []string{"/servcies", "/services/a/b", "/sandboxes/default", "/sandboxes/default/build/files", "/favicon.ico/"} {
		answer := ask(t, "GET", target, person)
		if answer.StatusCode != 404 || answer.Header.Get("Content-Type") != "text/html; charset=utf-8" || answer.Header.Get("Cache-Control") != "no-store" ||
			answer.Header.Get("ETag") != "" || text(t, answer) != string(want) {
			t.Errorf("GET %s by a person: %s, %v", target, answer.Status, answer.Header)
		}
		if answer := ask(t, "HEAD", target, person); answer.StatusCode != 404 || answer.ContentLength != int64(len(want)) || text(t, answer) != "" {
			t.Errorf("HEAD %s by a person: %s, a length of %d", target, answer.Status, answer.ContentLength)
		}
		for _, accepts := range []string{"*/*", "application/json", "", "text/html;q=0"} {
			if answer := ask(t, "GET", target, http.Header{"Accept": {accepts}}); answer.StatusCode != 404 || strings.Contains(answer.Header.Get("Content-Type"), "html") {
				t.Errorf("GET %s by who accepts %q: %s, %s", target, accepts, answer.Status, answer.Header.Get("Content-Type"))
			}
		}
	}
	for _, target := range []string{"/assets/", "/assets/nothing.js", "/assets/login.html", "/assets/xterm/.keep"} {
		if answer := ask(t, "GET", target, person); answer.StatusCode != 404 || text(t, answer) != "404 page not found\n" {
			t.Errorf("GET %s: %s, and more than a line", target, answer.Status)
		}
	}
	packed := ask(t, "GET", "/servcies", http.Header{"Accept": {"text/html"}, "Accept-Encoding": {"gzip"}})
	if packed.StatusCode != 404 || packed.Header.Get("Content-Encoding") != "gzip" || packed.ContentLength >= int64(len(want)) {
		t.Errorf("packed: %s, %v", packed.Status, packed.Header)
	}
}

func TestPagesCanOnlyBeRead(t *testing.T) {
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "OPTIONS"} {
		for _, target := range []string{"/", "/services", "/login", "/assets/style.css"} {
			if answer := ask(t, method, target, nil); answer.StatusCode != http.StatusMethodNotAllowed {
				t.Errorf("%s %s: %s", method, target, answer.Status)
			}
		}
	}
	answer := ask(t, "HEAD", "/assets/style.css", nil)
	if answer.StatusCode != 200 || answer.ContentLength <= 0 || text(t, answer) != "" {
		t.Errorf("HEAD: %s, a length of %d", answer.Status, answer.ContentLength)
	}
}

func TestEveryFileIsServedAsWhatItIs(t *testing.T) {
	handler := Handler()
	for name, a := range load() {
		if a.kind == "" {
			t.Errorf("%s has an ending without a type", name)
		}
		if path.Ext(name) == ".html" {
			continue
		}
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequest("GET", AssetsPath+name, nil))
		if answer.Code != 200 || answer.Header().Get("Content-Type") != types[path.Ext(name)] || answer.Body.String() != string(a.plain) {
			t.Errorf("%s: %d, %s, %d bytes of %d", name, answer.Code, answer.Header().Get("Content-Type"), answer.Body.Len(), len(a.plain))
		}
	}
}

func TestABrowserThatUnpacksGetsLess(t *testing.T) {
	plain := ask(t, "GET", "/assets/style.css", nil)
	packed := ask(t, "GET", "/assets/style.css", http.Header{"Accept-Encoding": {"br, gzip;q=0.8"}})
	if packed.Header.Get("Content-Encoding") != "gzip" || packed.Header.Get("Vary") != "Accept-Encoding" || packed.ContentLength >= plain.ContentLength {
		t.Errorf("packed: %v, %d bytes of %d", packed.Header, packed.ContentLength, plain.ContentLength)
	}
	unpacked, err := gzip.NewReader(packed.Body)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(unpacked)
	if want := text(t, plain); err != nil || string(content) != want {
		t.Errorf("%d bytes came out, and not %d: %v", len(content), len(want), err)
	}
	for _, accepts := range []string{"", "br", "gzip;q=0", "gzip; q=0.0, br", "x-gzipped"} {
		if answer := ask(t, "GET", "/assets/style.css", http.Header{"Accept-Encoding": {accepts}}); answer.Header.Get("Content-Encoding") != "" {
			t.Errorf("who accepts %q got %s", accepts, answer.Header.Get("Content-Encoding"))
		}
	}
}

func TestABrowserThatHasItGetsNothing(t *testing.T) {
	for _, target := range []string{"/", "/assets/style.css"} {
		for _, accepts := range []string{"", "gzip"} {
			first := ask(t, "GET", target, http.Header{"Accept-Encoding": {accepts}})
			tag := first.Header.Get("ETag")
			if first.Header.Get("Cache-Control") != "no-cache" || len(tag) < 10 {
				t.Errorf("%s: %v", target, first.Header)
			}
			for asked, status := range map[string]int{tag: 304, "W/" + tag: 304, `"other", ` + tag: 304, "*": 304, `"other"`: 200} {
				answer := ask(t, "GET", target, http.Header{"Accept-Encoding": {accepts}, "If-None-Match": {asked}})
				if body := text(t, answer); answer.StatusCode != status || (status == 304) != (body == "") || answer.Header.Get("ETag") != tag {
					t.Errorf("%s, known %s: %s, %d bytes", target, asked, answer.Status, len(body))
				}
			}
		}
	}
}

func TestAnotherContentHasAnotherTag(t *testing.T) {
	if one, other := newAsset("a.js", []byte("1")), newAsset("a.js", []byte("2")); one.digest == other.digest {
		t.Error("both are", one.digest)
	}
}
