package install

import (
	"net/http"
	"os"
	"testing"

	"hermes.example/hermes/internal/addon/lock"
	"hermes.example/hermes/internal/addon/sealed"
	"hermes.example/hermes/test/wheels"
)

// What is kept can be installed without a network afterwards; what is not is gone: other packages, other versions, and
// what was built.
func TestPruneKeepsWhatIsNeeded(t *testing.T) {
	tools(t, func(t *testing.T, r *sealed.Runtime) {
		older := wheels.Wheel{Name: "alpha", Version: "0.9", Files: map[string]string{"alpha/__init__.py": "name = 'older'\n"}}
		x := wheels.Serve(t, append(sample(), older, wheels.Backend())...)
		x.AddSource(unbuilt)
		i := installer(t, r, x.URL)
		i.Tools = locked(wheels.Backend())
		all := map[string][]lock.Package{"alpha 1.0": locked(sample()[0]), "alpha 0.9": locked(older), "beta": locked(sample()[1])}
		if r.UV() != "" {
			all["gamma"] = []lock.Package{source()}
		}
		for name, packages := range all {
			into := target(t)
			if err := install(t, i, packages, into); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			os.RemoveAll(into)
		}
		x.Break("*", wheels.Fault{Status: http.StatusServiceUnavailable})
		i.Offline = true
		prune := func(keep ...lock.Package) int64 {
			t.Helper()
			freed, err := i.Prune(t.Context(), keep, nil)
			if err != nil {
				t.Fatal(err)
			}
			i.checkClean(t)
			return freed
		}
		prune(append(all["alpha 0.9"], append(all["gamma"], append(i.Tools, append(all["alpha 1.0"], all["beta"]...)...)...)...)...)
		for name, packages := range all {
			if err := install(t, i, packages, target(t)); err != nil {
				t.Errorf("%s was kept, and is gone: %v", name, err)
			}
		}
		if freed := prune(all["alpha 1.0"]...); freed == 0 {
			t.Error("nothing was freed")
		}
		for name, packages := range all {
			if err := install(t, i, packages, target(t)); (err == nil) != (name == "alpha 1.0") {
				t.Errorf("%s afterwards: %v", name, err)
			}
		}
		prune()
		if err := install(t, i, all["alpha 1.0"], target(t)); err == nil {
			t.Error("the last one is still there")
		}
	})
}
