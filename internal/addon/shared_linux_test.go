package addon

import (
	"testing"

	"hermes.example/hermes/internal/addon/feature"
	"hermes.example/hermes/test/wheels"
)

// Two distributions have one file. When one of them goes the other keeps it, whichever of them it counted as.
func TestWhoSharesAFileKeepsIt(t *testing.T) {
	const space = "__path__ = __import__('pkgutil').extend_path(__path__, __name__)\n"
	for _, goes := range []string{"a", "b"} {
		t.Run(goes, func(t *testing.T) {
			d := newDesk(t)
			for _, name := range []string{"a", "b"} {
				d.index.Add(wheels.Wheel{Name: "space-" + name, Version: "1.0", Files: map[string]string{"space/__init__.py": space, "space/" + name + ".py": ""}})
				d.features = append(d.features, feature.Feature{Name: "space." + name, Ecosystem: "python", Specs: []string{"space-" + name + "==1.0"}, Probes: []string{"space." + name}})
			}
			d.ensure("space.a", "space.b")
			d.index.Break("*", wheelsDown)
			if err := d.manager().Remove(d.ctx(), "space."+goes); err != nil {
				t.Fatal(err)
			}
			stays := map[string]string{"a": "b", "b": "a"}[goes]
			if got := d.python("import space." + stays + " as x; print(x.__name__)"); got != "space."+stays {
				t.Errorf("Python says %q", got)
			}
		})
	}
}
