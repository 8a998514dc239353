package boot

import (
	"strings"
	"syscall"
	"testing"

	"hermes.example/hermes/test/machine"
)

const gatewayKey = "0123456789abcdef"

// A gateway that is asked to restart is back at once, and has not failed; its owner's stop is written down as one, and
// the end of its container is not.
func TestHowAGatewayEndsIsWrittenDown(t *testing.T) {
	m := image(t)
	m.File("/opt/data/gateway_state.json", `{"desired_state":"running","mine":1}`, 0o644)
	r := booted(t, m, machine.Boot{Env: []string{"API_SERVER_KEY=" + gatewayKey}})
	isReady := func() bool { return of(t, r, "gateway-default").State == "ready" || r.Ended() }
	state := func(words ...string) {
		t.Helper()
		text := strings.ReplaceAll(readFile(t, m, "/opt/data/gateway_state.json"), " ", "")
		for _, word := range append(words, `"mine":1`) {
			if !strings.Contains(text, word) {
				t.Errorf("%s lacks %s", text, word)
			}
		}
	}
	r.Eventually("the gateway is ready", isReady)
	state(`"gateway_state":"running"`)

	first := of(t, r, "gateway-default")
	said := r.Must(hermes, "bash", "-c", `exec 3<>/dev/tcp/127.0.0.1/8642; printf 'POST /v1/restart HTTP/1.0\r\nHost: localhost\r\nAuthorization: Bearer `+gatewayKey+`\r\n\r\n' >&3; head -n 1 <&3`)
	if !strings.Contains(said, "202") {
		t.Errorf("it says %q", said)
	}
	r.Eventually("another one is ready", func() bool {
		s := of(t, r, "gateway-default")
		return s.PID != first.PID && s.State == "ready" || r.Ended()
	})

	r.Must(hermes, "env", "HERMES_HOME=/opt/data", "hermes", "gateway", "stop")
	state(`"gateway_state":"stopped"`, `"desired_state":"stopped"`)
	r.Must(hermes, "env", "HERMES_HOME=/opt/data", "hermes", "gateway", "start")
	r.Eventually("it is ready again", isReady)
	if code, _ := stops(r, syscall.SIGTERM); code != 143 {
		t.Errorf("the container ended with %d", code)
	}
	state(`"gateway_state":"running"`, `"desired_state":"running"`)
}
