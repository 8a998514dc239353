package pyruntime_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hermes.example/hermes/internal/addon/feature"
)

// variables are how an adapter names those that it reads.
var variables = regexp.MustCompile(`(?:(key=|optional\()|(?:address=|setting\())"([A-Z_]+)"`)

// A process is given the variables that its feature declares and no others: an adapter that reads another one would
// never see it, and a secret that is declared as a setting would be shown.
func TestAnAdapterReadsWhatItsFeatureDeclares(t *testing.T) {
	adapters, err := filepath.Glob("host/hermes_adapters/[a-z]*.py")
	if err != nil || len(adapters) < 6 {
		t.Fatalf("%q, %v", adapters, err)
	}
	for _, path := range adapters {
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, name, _ := strings.Cut(string(source), `BACKEND = "`)
		name, _, _ = strings.Cut(name, `"`)
		f, listed := feature.Find(name)
		if entry := "adapter:" + strings.TrimSuffix(filepath.Base(path), ".py"); !listed || f.Entry != entry {
			t.Errorf("%s is of %s, which is started as %q", path, name, f.Entry)
		}
		var secrets, settings []string
		for _, found := range variables.FindAllStringSubmatch(string(source), -1) {
			switch _, ours := f.Env[found[2]]; {
			case ours:
			case found[1] != "":
				secrets = append(secrets, found[2])
			default:
				settings = append(settings, found[2])
			}
		}
		slices.Sort(secrets)
		slices.Sort(settings)
		if !slices.Equal(secrets, f.Credentials) || !slices.Equal(settings, slices.Sorted(slices.Values(f.Settings))) {
			t.Errorf("%s reads %q and %q; declared are %q and %q", path, secrets, settings, f.Credentials, f.Settings)
		}
	}
	for _, f := range feature.All() {
		if name, ours := strings.CutPrefix(f.Entry, "adapter:"); ours && !slices.Contains(adapters, "host/hermes_adapters/"+name+".py") {
			t.Errorf("%s is started by %s, which is not there", f.Name, f.Entry)
		}
	}
}
