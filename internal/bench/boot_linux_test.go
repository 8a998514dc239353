package bench

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTheEntrypointIsMeasured(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a boot a machine of its own")
	}
	program := filepath.Join(t.TempDir(), "hermes")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho '{}'\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	home, err := os.MkdirTemp("", "bench-boot")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(home)
	r := &runner{Options: Options{Rounds: 1, Quick: true, Hermes: program}, ctx: t.Context(), home: home}
	if err := r.boot(); err != nil {
		t.Fatalf("%v: was it built with make guest?", err)
	}
	if len(r.report.Rows) != 2 {
		t.Fatalf("the rows are %+v", r.report.Rows)
	}
	for _, row := range r.report.Rows {
		t.Logf("%s: %.2f %s", row.What, row.Ours, row.Unit)
		if row.Ours <= 0 || row.Budget == 0 {
			t.Errorf("it measures nothing: %+v", row)
		}
	}
	if _, err := os.Stat(filepath.Join(home, "image/opt/data/logs/container-boot.log")); err != nil {
		t.Errorf("what was measured was no boot: %v", err)
	}
}
