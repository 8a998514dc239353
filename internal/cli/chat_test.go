package cli

import (
	"strings"
	"testing"
)

// Who asks for the agent is told in one line, whatever the flags: scripts know the status.
func TestTheAgentIsNotThereYet(t *testing.T) {
	for _, line := range []string{"chat", "chat -q hi", "chat --model x --yolo hi", "-p coder chat -c", "--tui", "--tui chat"} {
		a, stdout, stderr := testApp()
		status := a.run(t.Context(), strings.Fields(line))
		if status != statusAbsent || stdout.Len() > 0 || strings.Count(stderr.String(), "\n") != 1 || !strings.Contains(stderr.String(), "the agent itself is not built yet; what works: hermes run") {
			t.Errorf("%s: status %d, %q, %q", line, status, stdout.String(), stderr.String())
		}
	}
	a, stdout, _ := testApp()
	if status := a.run(t.Context(), []string{"chat", "--help"}); status != 0 || !strings.Contains(stdout.String(), "hermes chat") || !strings.Contains(stdout.String(), "  69 ") {
		t.Errorf("its help: status %d, %s", status, stdout.String())
	}
}
