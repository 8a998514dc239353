package bench

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestMain is also the supervisor that is measured, as `hermes bench supervisor` is.
func TestMain(m *testing.M) {
	if slices.Equal(os.Args[1:], []string{"bench", "--supervisor"}) {
		if err := Supervisor(os.Stdin, os.Stdout); err != nil {
			panic(err)
		}
		return
	}
	os.Exit(m.Run())
}

func TestServicesAreMeasuredBesideOthers(t *testing.T) {
	r := &runner{Options: Options{Rounds: 5, Hermes: os.Args[0]}, ctx: t.Context()}
	ours, end, err := r.supervisor()
	if err != nil {
		t.Fatal(err)
	}
	base, err := os.MkdirTemp("", "bench-services")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(base)
	if err := os.Chmod(base, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(r.crowd(base, 20, ours), r.single(base, ours)); err != nil {
		t.Fatal(err)
	}
	end()
	var page strings.Builder
	if err := r.report.Print(&page); err != nil {
		t.Fatal(err)
	}
	t.Log(page.String())
	if len(r.report.Rows) != 5 || r.report.Rows[0].Ours <= 0 || r.report.Rows[0].Other <= 0 || r.report.Rows[0].Ratio <= 0 {
		t.Errorf("the rows are %+v", r.report.Rows)
	}
}
