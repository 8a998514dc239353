package cli

import (
	"strings"
	"testing"

	"hermes.example/hermes/client"
	"hermes.example/hermes/sandbox"
)

func TestSheetEndsWithWhatIsWeaker(t *testing.T) {
	a, stdout, _ := testApp()
	s := sheet{sandboxRow: sandboxRow{client.Sandbox{Info: sandbox.Info{Identity: sandbox.Identity{Task: "x"}}}}, Posture: sandbox.Posture{Facts: []sandbox.Fact{
		{Name: sandbox.FactSeccomp, Value: "filter 1", Enforced: true},
		{Name: sandbox.FactNetwork, Value: "host", Deviation: "all of it"},
		{Name: sandbox.FactCPUs, Value: "no limit"},
	}}}
	if err := s.write(a); err != nil {
		t.Fatal(err)
	}
	_, enforced, ok := strings.Cut(stdout.String(), "\nenforced\n")
	want := "  seccomp    filter 1\n  network    host\n  cpus       no limit\n\nweaker than the default\n  network    all of it\n"
	if !ok || enforced != want {
		t.Errorf("got\n%s\nwant\n%s", stdout, want)
	}
	s.Posture.Facts = s.Posture.Facts[:1]
	stdout.Reset()
	if err := s.write(a); err != nil || !strings.HasSuffix(stdout.String(), "\nweaker than the default\n  nothing\n") {
		t.Errorf("%v\n%s", err, stdout)
	}
}

// What a process inside found may have been written by a hostile one.
func TestSheetShowsNothingThatATerminalActsUpon(t *testing.T) {
	a, stdout, _ := testApp()
	s := sheet{Posture: sandbox.Posture{Facts: []sandbox.Fact{{Name: sandbox.FactHost, Value: "/\x1b]0;x\x07\n", Deviation: "\x1b[2J"}}}}
	if err := s.write(a); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(stdout.String(), "\x1b\x07") {
		t.Errorf("%q", stdout)
	}
}

func TestSheetShowsTheLimitsOfContainers(t *testing.T) {
	for want, limits := range map[string]sandbox.Limits{
		"disk 64 MiB shared memory 1 MiB":          {Disk: 64 << 20, SharedMemory: 1 << 20},
		"disk none shared memory the engine's own": {Disk: -1, SharedMemory: -1},
		"": {},
	} {
		var got []string
		for _, row := range describeSpec(sandbox.Spec{Limits: limits}) {
			if row[0] == "disk" || row[0] == "shared memory" {
				got = append(got, row[0], row[1])
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%+v: %q, want %q", limits, got, want)
		}
	}
}
