package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// What fails every other test here is noticed, or they would show nothing.
func TestWhatIsWrongOnAPageIsNoticed(t *testing.T) {
	for name, c := range map[string]struct{ script, says string }{
		"an error on the console":  {"console.error('it is broken')", "it is broken"},
		"an exception":             {"throw new Error('nobody caught this')", "nobody caught this"},
		"a refused promise":        {"Promise.reject(new Error('nobody waited'))", "nobody waited"},
		"a breach of the policy":   {"document.body.append(Object.assign(document.createElement('img'), {src: 'http://127.0.0.2:9/x.png'}))", "Content Security Policy"},
		"a script inside of HTML":  {"document.body.setAttribute('onclick', 'x()')", "Content Security Policy"},
		"a file that is not there": {"fetch('/missing')", "404"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newTab(t)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Security-Policy", "default-src 'self'")
				switch r.URL.Path {
				case "/":
					w.Header().Set("Content-Type", "text/html")
					fmt.Fprint(w, `<!doctype html><link rel="icon" href="data:,"><body><script src="/script.js"></script>`)
				case "/script.js":
					w.Header().Set("Content-Type", "text/javascript")
					fmt.Fprint(w, c.script)
				default:
					http.NotFound(w, r)
				}
			}))
			t.Cleanup(server.Close)
			p.expects("^.*favicon.*$|data:,") // the policy of this page does not allow the icon
			p.open(server.URL)
			p.until("it is noticed", func() bool { return strings.Contains(strings.Join(p.wrong(), "\n"), c.says) })
			p.expects(".*")
		})
	}
}
