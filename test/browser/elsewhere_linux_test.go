package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
)

// intruder is a page that tries what it can with the session of whoever looks at it.
const intruder = `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><body><pre id="said"></pre><script type="module">
const to = %q;
const say = (what, how) => { document.getElementById("said").textContent += what + ": " + how + "\n"; };
const tried = (what, f) => f().then(() => say(what, "done"), () => say(what, "refused"));
await tried("read", () => fetch(to + "/api/overview", { credentials: "include" }).then((r) => r.text()));
await tried("change", () => fetch(to + "/api/services/gateway-default/stop", { method: "POST", credentials: "include" }).then((r) => r.text()));
const frame = document.createElement("iframe");
frame.src = to + "/";
await new Promise((loaded) => { frame.onload = loaded; document.body.append(frame); });
let inside = "empty";
try { if (frame.contentDocument) inside = "readable"; } catch { }
say("frame", inside);
await tried("socket", () => new Promise((open, refused) => {
  const s = new WebSocket(to.replace("http", "ws") + "/api/profiles/default/v1/sandboxes/work/attach");
  s.onopen = open;
  s.onerror = refused;
}));
document.body.append("done");
</script>`

// elsewhere is the address of that page: another origin, by its port and its name.
func elsewhere(t *testing.T, to string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, intruder, to)
	}))
	t.Cleanup(server.Close)
	return server.URL
}
