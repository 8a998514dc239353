package gateway

import (
	"strings"
	"testing"

	"hermes.example/hermes/client"
)

func TestFiguresSayWhatWasDone(t *testing.T) {
	s := newSite(t, nil)
	s.exec("work", "printf 12345")
	s.exec("work", "printf 678")
	s.ask("GET", "/v1/sandboxes/absent", "").refused(t, client.CodeNotFound)
	s.ask("GET", "/v1/made-up-path", "").refused(t, client.CodeNoSuchRoute)
	s.ask("GET", "/v1/status", "", "Authorization", "Bearer wrong").refused(t, client.CodeUnauthorized)
	got := s.ask("GET", "/metrics", "")
	for _, line := range []string{
		`hermes_http_requests_total{route="POST /v1/sandboxes/{task}/exec",status="200"} 2`,
		`hermes_http_requests_total{route="GET /v1/sandboxes/{task}",status="404"} 1`,
		`hermes_http_requests_total{route="",status="404"} 1`,
		`hermes_http_requests_total{route="",status="401"} 1`,
		`hermes_http_request_seconds_count{route="POST /v1/sandboxes/{task}/exec"} 2`,
		"hermes_exec_output_bytes_total 8", "hermes_execs_running 0", "hermes_sandboxes_held 1", "go_goroutines ", "process_open_fds ",
	} {
		if !strings.Contains(string(got.body), "\n"+line) {
			t.Errorf("%q is missing in\n%s", line, got.body)
		}
	}
	if strings.Contains(string(got.body), "made-up-path") {
		t.Error("whoever asks makes names up")
	}
}
