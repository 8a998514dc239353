package cli

import (
	"testing"

	"hermes.example/hermes/sandbox"
)

func TestProcessesAreFoundByIDNameOrBeginning(t *testing.T) {
	all := []sandbox.ProcessInfo{
		{ID: "proc_aaaa00000001", Name: "web", State: sandbox.ProcessExited},
		{ID: "proc_aaaa00000002", Name: "web", State: sandbox.ProcessRunning},
		{ID: "proc_bbbb00000003", Name: "web", State: sandbox.ProcessLost},
		{ID: "proc_cccc00000004", Name: "job", State: sandbox.ProcessExited},
		{ID: "proc_cccd00000005", Name: "job", State: sandbox.ProcessExited},
		{ID: "proc_dddd00000006", Name: "cccc", State: sandbox.ProcessExited},
	}
	for word, want := range map[string]string{
		"proc_aaaa00000001": "proc_aaaa00000001",
		"web":               "proc_aaaa00000002", // it runs
		"job":               "proc_cccd00000005", // the last of them
		"proc_b":            "proc_bbbb00000003",
		"bb":                "proc_bbbb00000003",
		"cccc":              "proc_dddd00000006", // a name comes first
		"proc_cccc":         "proc_cccc00000004",
		"aaaa":              "",
		"ccc":               "",
		"nobody":            "",
		"":                  "",
		"proc_":             "",
	} {
		got, err := match(all, word)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q is %q, %v, not %q", word, got, err, want)
		}
	}
}

func TestSignals(t *testing.T) {
	for text, want := range map[string]int{"HUP": 1, "sighup": 1, "SIGKILL": 9, "15": 15, "64": 64} {
		if got, err := parseSignal(text); got != want || err != nil {
			t.Errorf("%q is %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "0", "-1", "65", "NOPE", "9x"} {
		if got, err := parseSignal(text); err == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
}
