package clients

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/goccy/go-yaml"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// server is what a client's configuration says about one.
type server struct {
	command []string
	env     map[string]string
	url     string
	headers map[string]string
}

var fence = regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$")

// servers finds those in a configuration of whatever client: each is an object with a command or an address.
func servers(value any) (found []server) {
	object, ok := value.(map[string]any)
	if !ok {
		if list, ok := value.([]any); ok {
			for _, v := range list {
				found = append(found, servers(v)...)
			}
		}
		return found
	}
	text := func(names ...string) string {
		for _, name := range names {
			if s, ok := object[name].(string); ok {
				return s
			}
		}
		return ""
	}
	pairs := func(name string) map[string]string {
		all := make(map[string]string)
		if m, ok := object[name].(map[string]any); ok {
			for k, v := range m {
				all[k], _ = v.(string)
			}
		}
		return all
	}
	if command := text("command", "cmd"); command != "" {
		s := server{command: []string{command}, env: pairs("env")}
		if args, ok := object["args"].([]any); ok {
			for _, a := range args {
				s.command = append(s.command, a.(string))
			}
		}
		return []server{s}
	}
	if url := text("url", "httpUrl", "uri"); url != "" {
		s := server{url: url, headers: pairs("headers")}
		if name := text("bearer_token_env_var"); name != "" {
			s.headers["Authorization"] = "Bearer ${" + name + "}"
		}
		return []server{s}
	}
	for _, v := range object {
		found = append(found, servers(v)...)
	}
	return found
}

// word is one of a command line, in quotes or not.
var word = regexp.MustCompile(`'([^']*)'|"([^"]*)"|(\S+)`)

// typed is the server that a command line tells a client of.
func typed(line string) (s server, ok bool) {
	var words []string
	for _, m := range word.FindAllStringSubmatch(line, -1) {
		words = append(words, m[1]+m[2]+m[3])
	}
	if at := slices.Index(words, "--"); at >= 0 {
		return server{command: words[at+1:]}, true
	}
	switch {
	case slices.Contains(words, "--add-mcp"):
		var value map[string]any
		if json.Unmarshal([]byte(words[len(words)-1]), &value) != nil {
			return s, false
		}
		return servers(value)[0], true
	case slices.Contains(words, "--with-extension"):
		return server{command: strings.Fields(words[len(words)-1])}, true
	case slices.Contains(words, "--transport"):
		at := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "http://") })
		name, value, _ := strings.Cut(words[slices.Index(words, "--header")+1], ": ")
		return server{url: words[at], headers: map[string]string{name: value}}, true
	case words[0] == "gemini":
		return server{command: words[4:]}, true
	}
	return s, false
}

var variable = regexp.MustCompile(`\$\{[^}]*\}|\$[A-Z_]+`)

// keyed sends headers with every request.
type keyed struct{ headers map[string]string }

func (k keyed) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, value := range k.headers {
		r.Header.Set(name, variable.ReplaceAllString(value, key))
	}
	return http.DefaultTransport.RoundTrip(r)
}

// use does what a client does with its configuration: it starts the server, lists its tools and calls one.
func (w *world) use(s server, served func() string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), bound)
	defer cancel()
	var transport mcp.Transport
	if s.url != "" {
		if s.url != "http://127.0.0.1:8642/mcp" {
			w.t.Errorf("the address is %s, which is not a gateway's", s.url)
		}
		transport = &mcp.StreamableClientTransport{Endpoint: served() + "/mcp", HTTPClient: &http.Client{Transport: keyed{s.headers}}}
	} else {
		cmd := w.command(s.command[0], s.command[1:]...)
		for name, value := range s.env {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		transport = &mcp.CommandTransport{Command: cmd}
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "docs"}, nil).Connect(ctx, transport, nil)
	if err != nil {
		w.t.Fatalf("%+v: %v", s, err)
	}
	defer session.Close()
	list, err := session.ListTools(ctx, nil)
	if err != nil || len(list.Tools) < 9 {
		w.t.Errorf("%+v: %v, %v", s, list, err)
	}
	command := "echo $((6*7)); pwd"
	if slices.Contains(s.command, "--here") {
		command = "echo $((6*7)); touch made; pwd"
	}
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "terminal", Arguments: map[string]any{"command": command}})
	if err != nil || result.IsError || result.StructuredContent.(map[string]any)["output"] != "42\n/workspace\n" {
		w.t.Errorf("%+v: %v, %v", s, result, err)
	}
	if slices.Contains(s.command, "--here") {
		if _, err := os.Stat(filepath.Join(w.work, "made")); err != nil {
			w.t.Errorf("%+v: the workspace is not the client's directory: %v", s, err)
		}
	}
}

func TestEveryConfigurationOfThePageWorks(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "mcp.md"))
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var found []server
	for _, m := range append(fence.FindAllStringSubmatch(string(page), -1), fence.FindAllStringSubmatch(string(readme), -1)...) {
		kind, block := m[1], m[2]
		var value map[string]any
		var here []server
		switch kind {
		case "console": // run with all others
			continue
		case "sh":
			if !strings.Contains(block, "mcp") {
				continue
			}
			s, ok := typed(strings.TrimSpace(block))
			if !ok {
				t.Errorf("this cannot be read:\n%s", block)
				continue
			}
			here = []server{s}
		case "json":
			err = json.Unmarshal([]byte(block), &value)
		case "toml":
			_, err = toml.Decode(block, &value)
		case "yaml":
			err = yaml.Unmarshal([]byte(block), &value)
		default:
			continue
		}
		if err != nil {
			t.Errorf("%v in\n%s", err, block)
		}
		if here = append(here, servers(value)...); len(here) != 1 {
			t.Errorf("%d servers in\n%s", len(here), block)
		}
		found = append(found, here...)
	}
	if len(found) < 19 {
		t.Errorf("only %d configurations were found", len(found))
	}
	w := newWorld(t)
	w.env = append(w.env, "API_SERVER_PORT=0", "HERMES_GATEWAY_NO_SUPERVISE=1")
	var gateway string
	served := func() string {
		if gateway == "" {
			gateway = w.serve("gateway", "run")
		}
		return gateway
	}
	for _, s := range found {
		w.use(s, served)
	}
}
