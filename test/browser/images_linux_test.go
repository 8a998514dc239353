package browser

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// imagesTime is how long a house is lived in before its pictures are taken, so that there is something in its plots.
const imagesTime = 5 * time.Minute

// The pictures of README and docs show a house that is lived in. They are taken only when somebody asks for them:
// HERMES_BROWSER_IMAGES=$PWD/docs/images go test -run TestPicturesForTheDocs -timeout 20m ./test/browser
func TestPicturesForTheDocs(t *testing.T) {
	if os.Getenv(imagesVariable) == "" {
		t.Skip("no pictures are wanted: " + imagesVariable + " is not set")
	}
	const dir = "/srv/agent" // which is on them
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	h := newHouseIn(t, dir)
	for _, name := range []string{"coder", "research"} {
		h.hermes("profile", "create", name)
		h.hermes("-p", name, "gateway", "start")
	}
	h.hermes("-p", "research", "gateway", "stop")
	h.hermes("sandbox", "start", "--task", "website", "--name", "server", "--", "python3", "-um", "http.server", "8000")
	h.hermes("-p", "coder", "sandbox", "exec", "--task", "parser", "--", "true")
	h.work()
	p := h.visit("/")
	p.size(1280, 860)
	for _, theme := range []string{"light", "dark"} {
		p.prefers("prefers-color-scheme", theme)
		p.goes(h, "/")
		p.image("overview-" + theme)
	}
	p.prefers("prefers-color-scheme", "light")
	p.open(h.url + "/sandboxes/default/website")
	p.sees("What is enforced")
	p.sees("server")
	p.image("sandbox")
	p.open(h.url + "/sandboxes/default/website/terminal")
	p.prompts()
	p.types("python3 -c 'print(6 * 7)'")
	p.prints("42")
	p.types("curl -s localhost:8000 | head -3; ls -la")
	p.prints("total")
	p.image("terminal")
	p.size(360, 740)
	p.goes(h, "/services/gateway-default")
	p.image("phone")
}

// work runs commands for a while, now more and now fewer.
func (h *house) work() {
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	for i, end := 0, time.Now().Add(imagesTime); time.Now().Before(end); i++ {
		for j := range 1 + i/10%4 {
			h.hermes("sandbox", "exec", "--task", "website", "--", "sh", "-c", fmt.Sprintf("i=0; while [ $i -lt %d ]; do i=$((i+1)); done", 20000*(j+i/15%3)))
		}
		<-tick.C
	}
}
