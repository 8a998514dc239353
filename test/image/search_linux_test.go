package image

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"hermes.example/hermes/test/apis"
	"hermes.example/hermes/test/wheels"
)

// search is a feature whose backend is called in these tests.
const search = "search.firecrawl"

// A backend is installed at its first call, by the service user on an empty volume, and answers; the next call, of
// another process, finds it warm.
func TestABackendAnswersOnAnEmptyVolume(t *testing.T) {
	sdk := wheels.Wheel{Name: "firecrawl-py", Version: "4.17.0", Files: map[string]string{}}
	for path, content := range apis.StandIns() {
		if path == "firecrawl.py" || path == "standin.py" {
			sdk.Files[path] = content
		}
	}
	index := wheels.Serve(t, sdk)
	answers(t, shipping(dockerd(t), search, sdk), "--network host -e UV_HTTP_RETRIES=0 -e UV_DEFAULT_INDEX="+index.URL)
}

// The same with the SDK itself, by the lock that the image has.
func TestABackendAnswersWithItsOwnSDK(t *testing.T) {
	if os.Getenv("HERMES_RUN_NETWORK_TESTS") != "1" {
		t.Skip("it uses the network: make test-network")
	}
	answers(t, dockerd(t), networked())
}

// networked are options for a container that uses the network that this machine is in.
func networked() string {
	options := "--network host -e PIP_DEFAULT_TIMEOUT=120"
	if trusted := os.Getenv("SSL_CERT_FILE"); trusted != "" {
		options += " -v " + trusted + ":/tmp/trusted.crt:ro -e SSL_CERT_FILE=/tmp/trusted.crt -e NODE_EXTRA_CA_CERTS=/tmp/trusted.crt"
	}
	return options
}

// Servers of Node are for the full image, and the slim one says so.
func TestServersOfNode(t *testing.T) {
	e := dockerd(t)
	remember := []string{"hermes", "addon", "call", "--json", "mcp.memory", "create_entities", `{"entities":[{"name":"cat","entityType":"animal","observations":["sleeps"]}]}`}
	for target, image := range targets(t) {
		switch {
		case target == "slim":
			if r := e.with(image).idle().exec(service, remember...); r.code == 0 || !strings.Contains(r.stderr, "no Node.js") || !strings.Contains(r.stderr, "use the full image") {
				t.Errorf("the slim image: %s", r)
			}
		case os.Getenv("HERMES_RUN_NETWORK_TESTS") == "1":
			volume := " -v " + e.volume("") + ":/opt/data"
			c := e.with(image).idle(opts(networked() + volume)...)
			says(t, c.exec(service, remember...))
			e.remove(c.name)
			c = e.with(image).idle(opts("--network none" + volume)...)
			if r := c.exec(service, "hermes", "addon", "call", "mcp.memory", "read_graph"); r.code != 0 || !strings.Contains(r.stdout, "sleeps") {
				t.Errorf("in another container: %s", r)
			}
		}
	}
}

func answers(t *testing.T, e *engine, options string) {
	t.Helper()
	api := apis.New(t)
	c := e.idle(opts("-e FIRECRAWL_API_URL=" + api.URL + " -e FIRECRAWL_API_KEY=" + apis.Key + " " + options + " -v " + e.volume("") + ":/opt/data")...)
	called := func() {
		t.Helper()
		r := c.exec(service, "hermes", "addon", "call", "--json", search, "web_search", `{"query":"x","limit":1}`)
		var answer struct {
			Structured struct {
				Results []struct{ Title string }
				Backend string
			}
		}
		if err := json.Unmarshal([]byte(r.stdout), &answer); err != nil || r.code != 0 {
			t.Fatalf("%v: %s", err, r)
		}
		if s := answer.Structured; s.Backend != search || len(s.Results) != 1 || s.Results[0].Title != "Result 1 of x" {
			t.Errorf("it answers %+v", s)
		}
	}
	// processes are those of the backend, which is the only one: when each began, and what it is.
	processes := func() string {
		return c.do("", "sh", "-c", `cd /proc; for p in [0-9]*; do tr '\0' ' ' <$p/cmdline 2>/dev/null | grep -q '^[^ ]*python3 .*-m hermes_host ' && cut -d' ' -f1,22 $p/stat; done; :`)
	}
	called()
	first := processes()
	if strings.Count(first, "\n") != 0 || first == "" {
		t.Fatalf("its processes are %q", first)
	}
	called()
	if again := processes(); again != first {
		t.Errorf("the second call was not of the same process: %q, %q", first, again)
	}
	if user := c.do("", "stat", "-c", "%U", "/proc/"+strings.Fields(first)[0]); user != service {
		t.Errorf("it runs as %s", user)
	}
	for what, text := range map[string]string{
		"arguments": c.do("", "sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"),
		"logs":      c.logs() + c.do("", "sh", "-c", "find /opt/data/logs -type f -exec cat {} +"),
	} {
		if strings.Contains(text, apis.Key) {
			t.Errorf("the key is in the %s", what)
		}
	}
	t.Run("its process is killed", func(t *testing.T) {
		c.do("", "kill", "-KILL", strings.Fields(first)[0])
		called()
		if again := processes(); again == first || again == "" {
			t.Errorf("its processes are %q", again)
		}
	})
	t.Run("the container is restarted", func(t *testing.T) {
		c.restart()
		called()
	})
	t.Run("the service refuses the key", func(t *testing.T) {
		api.Fail(apis.Fault{Status: 401})
		r := c.exec(service, "hermes", "addon", "call", search, "web_search", `{"query":"x"}`)
		if r.code != 1 || !strings.Contains(r.stderr, "FIRECRAWL_API_KEY") || strings.Contains(r.stderr, apis.Key) {
			t.Errorf("it says %s", r)
		}
	})
}
