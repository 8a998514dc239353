package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"hermes.example/hermes/client"
	"hermes.example/hermes/internal/configured"
	"hermes.example/hermes/internal/gateway/api"
)

// site is a gateway that runs, with native sandboxes in a home of its own.
type site struct {
	*running
	boxes *configured.Sandboxes
	home  string
	book  *book
}

// newSite runs a gateway until the test ends.
func newSite(t *testing.T, change func(*Options)) *site {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	run, err := os.MkdirTemp("", "hermes-gateway-") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(run) })
	t.Setenv("XDG_RUNTIME_DIR", run)
	s := &site{home: filepath.Join(base, "home"), book: readBook(t)}
	vars := map[string]string{"HERMES_HOME": s.home, "HOME": base, "TERMINAL_ENV": "native"}
	lookup := func(name string) (string, bool) { value, ok := vars[name]; return value, ok }
	s.boxes, err = configured.OpenSandboxes(configured.Options{Serves: true, Lookup: lookup})
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if _, err := s.boxes.Manager().Prune(ctx, s.boxes.Home(), true); err != nil {
			t.Error(err)
		}
		if err := s.boxes.Close(); err != nil {
			t.Error(err)
		}
	})
	s.running = start(t, func(o *Options) {
		o.Sandboxes = func() (api.Sandboxes, error) { return s.boxes, nil }
		o.Addons = func() (api.Addons, error) {
			return configured.OpenAddons(configured.AddonOptions{Lookup: lookup, Dir: s.home})
		}
		if change != nil {
			change(o)
		}
	})
	return s
}

// reply is an answer that was read to its end.
type reply struct {
	*http.Response
	body []byte
}

// request makes a request with the key and whatever else is given: pairs of names and values of headers.
func (s *site) request(method, path, body string, headers ...string) *http.Request {
	s.t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	r, err := http.NewRequest(method, s.url+path, reader)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

// do makes a request, and holds the answer against the document.
func (s *site) do(r *http.Request) reply {
	s.t.Helper()
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	s.book.check(s.t, r, response, body)
	return reply{response, body}
}

func (s *site) ask(method, path, body string, headers ...string) reply {
	s.t.Helper()
	return s.do(s.request(method, path, body, headers...))
}

// into reads the JSON of an answer that has to have the status.
func (r reply) into(t *testing.T, status int, to any) {
	t.Helper()
	if r.StatusCode != status {
		t.Fatalf("%s %s: %d %s", r.Request.Method, r.Request.URL.Path, r.StatusCode, r.body)
	}
	if err := json.Unmarshal(r.body, to); err != nil {
		t.Fatalf("%s: %v", r.body, err)
	}
}

// refused wants a problem of a code.
func (r reply) refused(t *testing.T, code client.Code) client.Problem {
	t.Helper()
	var p client.Problem
	json.Unmarshal(r.body, &p)
	if p.Code != code || p.Status != r.StatusCode || r.Header.Get("Content-Type") != "application/problem+json" || p.Detail == "" || strings.Contains(p.Detail, "\n") {
		t.Errorf("%s %s: %d %s, want the code %s", r.Request.Method, r.Request.URL.Path, r.StatusCode, r.body, code)
	}
	return p
}

// isRefused wants a problem of a code, or that what a route is about is not there, which may be found out first.
func (r reply) isRefused(t *testing.T, code client.Code) {
	t.Helper()
	if r.StatusCode == http.StatusNotFound {
		code = client.CodeNotFound
	}
	r.refused(t, code)
}

// exec runs a line and returns how that ended.
func (s *site) exec(task, line string) client.ExecOutput {
	s.t.Helper()
	body, _ := json.Marshal(client.Exec{Line: line})
	var out client.ExecOutput
	s.ask("POST", "/v1/sandboxes/"+task+"/exec", string(body)).into(s.t, 200, &out)
	return out
}

// book is the document as the gateway serves it, for looking answers up.
type book struct {
	paths   map[string]map[string]operation
	schemas map[string]*jsonschema.Schema
}

type operation struct {
	Responses map[string]struct {
		Content map[string]struct {
			Schema *jsonschema.Schema `json:"schema"`
		} `json:"content"`
	} `json:"responses"`
}

func readBook(t *testing.T) *book {
	t.Helper()
	text := bytes.ReplaceAll(api.Document(), []byte("#/components/schemas/"), []byte("#/$defs/"))
	var d struct {
		Paths      map[string]map[string]operation
		Components struct{ Schemas map[string]*jsonschema.Schema }
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return &book{d.Paths, d.Components.Schemas}
}

// check fails unless the document says that such an answer may come.
func (b *book) check(t *testing.T, r *http.Request, response *http.Response, body []byte) {
	t.Helper()
	found, ok := b.find(r)
	if !ok {
		return // no route of the table
	}
	where := r.Method + " " + r.URL.Path + " " + response.Status
	answer, ok := found.Responses[response.Status[:3]]
	if !ok && response.StatusCode == http.StatusMethodNotAllowed {
		return
	}
	if !ok {
		t.Errorf("%s: the document does not know this status: %s", where, body)
		return
	}
	media, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	content, ok := answer.Content[media]
	if !ok && (len(answer.Content) > 0 || len(body) > 0) {
		t.Errorf("%s: the document does not know the kind %q", where, media)
		return
	}
	if content.Schema == nil || !strings.HasSuffix(media, "json") {
		return
	}
	whole := content.Schema.CloneSchemas()
	whole.Defs = b.schemas
	resolved, err := whole.Resolve(nil)
	if err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		t.Errorf("%s: %v", where, err)
	} else if err := resolved.Validate(value); err != nil {
		t.Errorf("%s: it is not what the document says: %v\n%s", where, err, body)
	}
}

// find looks for the operation of a request.
func (b *book) find(r *http.Request) (operation, bool) {
	parts := strings.Split(r.URL.EscapedPath(), "/")
	best, exact := operation{}, -1
	for path, methods := range b.paths {
		o, ok := methods[strings.ToLower(r.Method)]
		pattern := strings.Split(path, "/")
		if !ok || len(pattern) > len(parts) || len(pattern) < len(parts) && !strings.HasSuffix(path, "{path}") {
			continue
		}
		fits, literal := true, 0
		for i, p := range pattern {
			switch {
			case p == parts[i]:
				literal++
			case !strings.HasPrefix(p, "{"):
				fits = false
			}
		}
		if fits && literal > exact {
			best, exact = o, literal
		}
	}
	return best, exact >= 0
}
