package pyruntime_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hermes.example/hermes/test/apis"
)

// adapter is one as a test calls it.
type adapter struct {
	name    string
	feature string
	service string // what people are told that it is
	key     string // the variable; empty if it needs none
	address string // the variable
	tool    string
	call    map[string]any
	// answers is what its structured result has, as JSON.
	answers string
	// more are further calls that work.
	more func(t *testing.T, h *hosted, server string)
}

const threeFound = `"results":[{"title":"Result 1 of cats","url":"https://example.com/1","snippet":"what result 1 says of`

func extracts(urls ...string) func(*testing.T, *hosted, string) {
	return func(t *testing.T, h *hosted, server string) {
		t.Helper()
		r := h.call("web_extract", map[string]any{"urls": urls, "max_characters": 15})
		var pages struct {
			Pages []struct{ URL, Title, Text string }
		}
		if err := json.Unmarshal(r.Structured, &pages); err != nil || r.Failed || len(pages.Pages) != len(urls) {
			t.Fatalf("web_extract: %v, %v", err, r)
		}
		for i, page := range pages.Pages {
			if page.URL != urls[i] || page.Title != "Page" || len(page.Text) != 15 {
				t.Errorf("page %d is %+v", i, page)
			}
		}
	}
}

var adapters = []adapter{
	{
		name: "firecrawl", feature: "search.firecrawl", service: "Firecrawl", key: "FIRECRAWL_API_KEY", address: "FIRECRAWL_API_URL", tool: "web_search", call: search("cats"),
		answers: threeFound, more: extracts("https://example.com/a", "https://example.com/b"),
	},
	{
		name: "exa", feature: "search.exa", service: "Exa", key: "EXA_API_KEY", address: "EXA_BASE_URL", tool: "web_search", call: search("cats"),
		answers: threeFound, more: extracts("https://example.com/a", "https://example.com/b"),
	},
	{
		name: "parallel", feature: "search.parallel", service: "Parallel", key: "PARALLEL_API_KEY", address: "PARALLEL_BASE_URL", tool: "web_search", call: search("cats"),
		answers: threeFound, more: extracts("https://example.com/a", "https://example.com/b"),
	},
	{
		name: "ddgs", feature: "search.ddgs", service: "the search engines", address: "DDGS_BASE_URL", tool: "web_search", call: search("cats"), answers: threeFound,
		more: func(t *testing.T, h *hosted, server string) {
			r := h.call("web_extract", map[string]any{"urls": []string{server + "/page", server + "/none"}})
			for _, want := range []string{`"title":"A page"`, "with words", `"error":"cannot read the page: Failed to fetch ` + server + `/none: HTTP 404"`} {
				if r.Failed || !strings.Contains(string(r.Structured), want) {
					t.Errorf("web_extract: %v; no %s", r, want)
				}
			}
			if r := h.call("web_extract", map[string]any{"urls": []string{server + "/none"}}); !r.Failed {
				t.Errorf("a page that is not there: %v", r)
			}
		},
	},
	{
		name: "feishu", feature: "platform.feishu", service: "Feishu", key: "FEISHU_APP_SECRET", address: "FEISHU_DOMAIN", tool: "send_message",
		call: map[string]any{"receive_id": "oc_1", "text": "grüße 你好"}, answers: `"message_id":"om_1","chat_id":"oc_1"`,
		more: func(t *testing.T, h *hosted, server string) {
			if r := h.call("send_message", map[string]any{"receive_id": "oc_2", "text": "x"}); !r.Failed || r.text() != "Feishu has not sent the message (code 230002: the bot is not in the chat)" {
				t.Errorf("another chat: %v", r)
			}
			if r := h.call("send_message", map[string]any{"receive_id": "me", "text": "x", "receive_id_type": "email"}); r.Failed {
				t.Errorf("by mail: %v", r)
			}
		},
	},
	{
		name: "edge", feature: "tts.edge", service: "the speech service", address: "EDGE_TTS_BASE_URL", tool: "speak", call: map[string]any{"text": "hello"}, answers: `/speech-e7dba1f501672ec2.mp3","bytes":26`,
		more: func(t *testing.T, h *hosted, server string) {
			r := h.call("speak", map[string]any{"text": "hello"})
			var said struct{ Path string }
			if err := json.Unmarshal(r.Structured, &said); err != nil {
				t.Fatal(err)
			}
			if audio, err := os.ReadFile(said.Path); err != nil || string(audio) != apis.Speech {
				t.Errorf("the file has %q, %v", audio, err)
			}
			if left, err := os.ReadDir(filepath.Dir(said.Path)); err != nil || len(left) != 1 {
				t.Errorf("beside it there are %v, %v", left, err)
			}
			if r := h.call("speak", map[string]any{"text": "hello", "voice": "nobody"}); !r.Failed || r.text() != "cannot speak: Invalid voice 'nobody'." {
				t.Errorf("without such a voice: %v", r)
			}
		},
	},
}

// environment is what a process of the adapter is given, with an API that may be silent for two seconds.
func (a adapter) environment(t *testing.T, address, key string) []string {
	env := []string{a.address + "=" + address, "HERMES_BACKEND_API_TIMEOUT=2", "HERMES_BACKEND_DATA=" + t.TempDir(), "FEISHU_APP_ID=cli_1"}
	if a.key != "" && key != "" {
		env = append(env, a.key+"="+key)
	}
	return env
}

// tryAdapters calls every adapter, whose processes start makes, and lets the APIs fail.
func tryAdapters(t *testing.T, start func(t *testing.T, adapter string, env []string) *hosted) {
	for _, a := range adapters {
		t.Run(a.name, func(t *testing.T) {
			server := apis.New(t)
			h := start(t, a.name, a.environment(t, server.URL, apis.Key))
			r := h.call(a.tool, a.call)
			if r.Failed || !strings.Contains(string(r.Structured), a.answers) || !strings.Contains(r.text(), `"backend"`) {
				t.Fatalf("it answers %v; on standard error %s", r, h.said)
			}
			a.more(t, h, server.URL)
			a.fails(t, server, h)
			a.failsAnew(t, server, start)
		})
	}
}

// fails lets the API fail in every way under one process, which works again when the API does.
func (a adapter) fails(t *testing.T, server *apis.Server, h *hosted) {
	faults := map[string]apis.Fault{
		a.service + " was asked too often: try again":               {Status: 429, RetryAfter: 30},
		a.service + " has failed with status 500: try again later":  {Status: 500},
		a.service + " has failed with status 503: try again later":  {Status: 503},
		a.service + " has not answered within 2 s: try again later": {Never: true},
		"cannot reach " + a.service + " at " + server.URL + ": ":    {Cut: true},
	}
	if a.key != "" {
		faults[a.service+" refuses the key: check "+a.key] = apis.Fault{Status: 401}
	}
	for want, fault := range faults {
		server.Fail(fault)
		before := len(server.Asked())
		r := h.call(a.tool, a.call)
		// Whoever called decides whether it is tried again; aiohttp asks a second time for what it can get without an effect.
		if asked := server.Asked()[before:]; len(asked) != 1 && (a.name != "edge" || !fault.Cut) {
			t.Errorf("%+v: it asked %q", fault, asked)
		}
		if !r.Failed || !strings.HasPrefix(r.text(), want) || strings.Contains(r.text(), "\n") || strings.Contains(r.text(), apis.Key) {
			t.Errorf("%+v: it answers %v; on standard error %s", fault, r, h.said)
		}
		if fault.RetryAfter > 0 && a.name != "ddgs" && !strings.HasSuffix(r.text(), " in 30 s") { // ddgs does not look at headers
			t.Errorf("it does not say when to try again: %s", r.text())
		}
	}
	server.Fail(apis.Fault{Delay: 200 * time.Millisecond})
	if r := h.call(a.tool, a.call); r.Failed {
		t.Errorf("slowly, it answers %v", r)
	}
	h.finish()
	if strings.Contains(h.said.String(), apis.Key) {
		t.Errorf("its key is on standard error: %s", h.said)
	}
}

// failsAnew starts processes that nothing can come of.
func (a adapter) failsAnew(t *testing.T, server *apis.Server, start func(*testing.T, string, []string) *hosted) {
	cases := map[string][]string{
		"cannot reach " + a.service + " at http://127.0.0.1:1: ": a.environment(t, "http://127.0.0.1:1", apis.Key),
	}
	if a.key != "" {
		cases[a.service+" refuses the "] = a.environment(t, server.URL, "wrong-key-1234")
		cases[a.feature+" has no key: set "+a.key+" in the environment or in HERMES_HOME/.env"] = a.environment(t, server.URL, "")
	}
	if os.Getenv("HERMES_RUN_NETWORK_TESTS") == "1" && a.name != "feishu" { // which takes no such address
		cases["cannot reach "+a.service+" at http://nobody.invalid: "] = a.environment(t, "http://nobody.invalid", apis.Key)
	}
	if a.name == "feishu" {
		cases["FEISHU_DOMAIN must be feishu, lark or an address with https"] = a.environment(t, "http://example.com", apis.Key)
	}
	for _, want := range slices.Sorted(maps.Keys(cases)) {
		h := start(t, a.name, cases[want])
		if r := h.call(a.tool, a.call); !r.Failed || !strings.HasPrefix(r.text(), want) || strings.Contains(r.text(), "wrong-key-1234") {
			t.Errorf("it answers %v, and not %s", r, want)
		}
	}
}

// The adapters, with small packages in the place of the SDKs.
func TestAdaptersWithStandIns(t *testing.T) {
	s := newStore(t)
	s.publish(apis.StandIns())
	tryAdapters(t, func(t *testing.T, adapter string, env []string) *hosted {
		t.Helper()
		cmd := s.command("-I", "-m", "hermes_host", "adapter", adapter)
		cmd.Env = append(slices.Clone(s.env), env...)
		return start(t, cmd)
	})
}
