package gateway

import (
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hermes.example/hermes/client"
	"hermes.example/hermes/internal/gateway/api"
)

// sample is a path that a route has.
var sample = strings.NewReplacer("{task}", "untouched", "{id}", "some-id", "{path...}", "workspace/file", "{feature}", "none.such", "{tool}", "none")

// Every route that the document has, as the table has it: nothing that lacks the key, or came by another name or from
// another page, gets further than the gate.
func TestEveryRouteIsRefusedToOthers(t *testing.T) {
	s := newSite(t, nil)
	before := s.files()
	for _, o := range new(api.API).Operations() {
		path := sample.Replace(o.Path)
		ask := func(headers ...string) reply {
			body := ""
			if o.Request != nil {
				body = "{}"
			}
			return s.ask(o.Method, path, body, headers...)
		}
		if o.Open {
			if got := ask("Authorization", ""); got.StatusCode != 200 {
				t.Errorf("%s is not open: %d", path, got.StatusCode)
			}
		} else {
			for _, wrong := range []string{"", "Bearer", "Bearer wrong-key-of-somebody", "Basic " + key, "Bearer " + key + "x", key} {
				got := ask("Authorization", wrong)
				got.refused(t, client.CodeUnauthorized)
				if got.Header.Get("WWW-Authenticate") != "Bearer" {
					t.Errorf("%s: how to get in is not said", path)
				}
			}
		}
		for _, host := range []string{"evil.example", "localhost.evil.example:80", "192.0.2.1", "gateway"} {
			ask("Host", host).refused(t, client.CodeForeignHost)
		}
		for _, origin := range []string{"https://evil.example", "null", s.url, "http://localhost"} {
			ask("Origin", origin).refused(t, client.CodeForeignOrigin)
		}
	}
	if after := s.files(); !slices.Equal(before, after) {
		t.Errorf("something was done: %v, before %v", after, before)
	}
	if s.exited() {
		t.Error("the gateway ended")
	}
}

// files are all of the home's.
func (s *site) files() (all []string) {
	filepath.WalkDir(s.home, func(path string, _ fs.DirEntry, _ error) error {
		all = append(all, path)
		return nil
	})
	return all
}

func (s *site) exited() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

func TestEveryRouteRefusesWhatItDoesNotUnderstand(t *testing.T) {
	s := newSite(t, nil)
	methods := map[string][]string{}
	for _, o := range new(api.API).Operations() {
		methods[o.Path] = append(methods[o.Path], o.Method)
	}
	for _, o := range new(api.API).Operations() {
		path := sample.Replace(o.Path)
		for _, method := range []string{"GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"} {
			if strings.Contains(o.Path, "{path...}") || slices.Contains(methods[o.Path], method) {
				continue
			}
			got := s.ask(method, path, "")
			if got.refused(t, client.CodeWrongMethod); !strings.Contains(got.Header.Get("Allow"), o.Method) {
				t.Errorf("%s: allowed is %q", path, got.Header.Get("Allow"))
			}
		}
		if !o.Open {
			s.ask(o.Method, path+"?unheard=of", bodyOf(o)).refused(t, client.CodeBadRequest)
		}
		if o.Request == nil || o.Request.Type == nil {
			continue
		}
		const unread = `{"unheard": "of"}`
		if _, any := o.Request.Type.(map[string]any); !any {
			s.ask(o.Method, path, unread).isRefused(t, client.CodeBadRequest)
		}
		s.ask(o.Method, path, "{").isRefused(t, client.CodeBadRequest)
		s.ask(o.Method, path, "{} {}").isRefused(t, client.CodeBadRequest)
		s.ask(o.Method, path, "[]").isRefused(t, client.CodeBadRequest)
		s.ask(o.Method, path, "{\"line\":\"\xff\"}").isRefused(t, client.CodeBadRequest)
		s.ask(o.Method, path, "{}", "Content-Type", "text/plain").isRefused(t, client.CodeMediaType)
		s.ask(o.Method, path, "{}", "Content-Type", "application/json; charset=latin1").isRefused(t, client.CodeMediaType)
		limit := o.Request.Limit
		if limit == 0 {
			limit = 1 << 20
		}
		large := `{"line":"` + strings.Repeat("x", int(limit)) + `"}`
		s.ask(o.Method, path, large).isRefused(t, client.CodeTooLarge)
		chunked := s.request(o.Method, path, large)
		chunked.ContentLength = -1 // how long it is comes to light on the way
		s.do(chunked).isRefused(t, client.CodeTooLarge)
	}
	for _, path := range []string{"/", "/v1", "/v1/", "/v2/status", "/v1/sandboxes/a/b/c", "/health/"} {
		s.ask("GET", path, "").refused(t, client.CodeNoSuchRoute)
	}
	if _, err := os.Stat(filepath.Join(s.home, "sandboxes", "untouched")); !os.IsNotExist(err) {
		t.Errorf("a sandbox was made: %v", err)
	}
}

func bodyOf(o api.Operation) string {
	if o.Request != nil {
		return "{}"
	}
	return ""
}

func TestTheDocumentIsServed(t *testing.T) {
	s := newSite(t, nil)
	got := s.ask("GET", "/v1/openapi.json", "")
	kept, err := os.ReadFile("../../docs/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	if string(got.body) != string(kept) || string(kept) != string(api.Document()) {
		t.Error("docs/openapi.json is not the document of the table: run make generate")
	}
}

func TestPagesThatMayAsk(t *testing.T) {
	s := newSite(t, func(o *Options) {
		o.Settings.Origins, o.Settings.Hosts = []string{"https://agent.example"}, []string{"agent.example"}
	})
	got := s.ask("GET", "/v1/status", "", "Origin", "https://agent.example", "Host", "agent.example")
	if got.StatusCode != 200 || got.Header.Get("Access-Control-Allow-Origin") != "https://agent.example" || got.Header.Get("Vary") != "Origin" {
		t.Errorf("%d %v", got.StatusCode, got.Header)
	}
	look := s.request("OPTIONS", "/v1/sandboxes/x/exec", "", "Origin", "https://agent.example", "Access-Control-Request-Method", "POST", "Authorization", "")
	if got := s.do(look); got.StatusCode != http.StatusNoContent || !strings.Contains(got.Header.Get("Access-Control-Allow-Headers"), "Authorization") {
		t.Errorf("a browser asks whether it may ask: %d %v", got.StatusCode, got.Header)
	}
	s.ask("GET", "/v1/status", "", "Origin", "http://agent.example").refused(t, client.CodeForeignOrigin)
	s.ask("OPTIONS", "/v1/status", "", "Origin", "https://evil.example", "Access-Control-Request-Method", "GET").refused(t, client.CodeForeignOrigin)
}

// A path that is written otherwise than the table has it is no route, and nobody is led to one by a page for people.
func TestAPathInAnotherFormIsNoRoute(t *testing.T) {
	s := newSite(t, nil)
	for _, path := range []string{"//v1/status", "/v1//status", "/v1/./status", "/v1/../v1/status", "/v1/status/", "/x/../mcp", "//mcp", "//"} {
		r, err := http.NewRequest("GET", s.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.URL.Path = path
		r.Header.Set("Authorization", "Bearer "+key)
		response, err := http.DefaultTransport.RoundTrip(r) // which follows nothing
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(response.Body)
		response.Body.Close()
		if response.StatusCode != 404 || response.Header.Get("Content-Type") != "application/problem+json" || !strings.Contains(string(body), "no_such_route") {
			t.Errorf("%s: %d %s", path, response.StatusCode, body)
		}
	}
	if out := s.exec("a%2F..%2Fb", "echo $?"); out.Stdout.Text != "0\n" {
		t.Errorf("a task with such a name: %+v", out)
	}
}
